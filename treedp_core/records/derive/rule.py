"""What makes a label of a level of one label of a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

CODE: Final = "DERIVE"
Rule = Callable[[str], str]
