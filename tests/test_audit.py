"""The privacy audit in its short form; `make audit` runs the whole of it."""

from __future__ import annotations

import pytest

from audit.faults import FAULTS, Fault
from audit.parts import PARTS, Part, finds


@pytest.mark.parametrize("part", PARTS.values(), ids=lambda part: part.name)
def test_nothing_loses_more_than_is_claimed(part: Part) -> None:
    report = part.run(part.short)
    assert report.wrong == []
    assert report.checks > 0


@pytest.mark.parametrize(
    ("fault", "part"), [(f, name) for f in FAULTS for name in f.parts], ids=lambda x: getattr(x, "name", x)
)
def test_the_audit_is_awake(fault: Fault, part: str) -> None:
    assert finds(PARTS[part], fault)
