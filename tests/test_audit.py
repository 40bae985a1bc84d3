"""The privacy audit in its short form; `make audit` runs the whole of it."""

from __future__ import annotations

import re

import pytest

from audit.faults import FAULTS, Fault
from audit.parts import PARTS, Part, finds
from browsing import ROOT


@pytest.mark.parametrize("part", PARTS.values(), ids=lambda part: part.name)
def test_nothing_loses_more_than_is_claimed(part: Part) -> None:
    report = part.run(part.short)
    assert report.wrong == []
    assert report.checks > 0


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_audit_is_awake(fault: Fault) -> None:
    """By the first of the parts that must flag it; `make audit` asks them all."""
    assert finds(PARTS[fault.parts[0]], fault)


def test_readme_says_how_many_faults_are_planted() -> None:
    said = re.search(r"(\d+) of (\d+) planted faults", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert said and said.groups() == (str(sum(len(one.parts) for one in FAULTS)),) * 2
