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


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_audit_is_awake(fault: Fault) -> None:
    """By the first of the parts that must flag it; `make audit` asks them all."""
    assert finds(PARTS[fault.parts[0]], fault)
