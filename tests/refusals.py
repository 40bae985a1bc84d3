"""What is refused is refused in one sentence, with a code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from treedp_core.checks import InputError


@contextmanager
def refuses(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Expect an `InputError` of this code whose message is one sentence on one line.

    ``with refuses("EPS_RANGE"): call()``
    """
    with pytest.raises(InputError, match=match) as refused:
        yield refused
    said = str(refused.value)
    assert refused.value.code == code, (refused.value.code, said)
    assert said.endswith((".", "?")) and "\n" not in said, said
