"""How programs that have read files end."""

from __future__ import annotations

import atexit
import os
import sys
from typing import NoReturn


def end(status: int) -> NoReturn:
    """End the process once all that waits for its end is done, without taking the interpreter apart.

    A thread of Arrow's may still let go of a file's bytes, which aborts a process whose interpreter is gone.
    """
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
