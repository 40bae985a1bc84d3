"""The privacy audit in its short form; `make audit` runs the whole of it."""

from __future__ import annotations

from fnmatch import fnmatch

import pytest

from audit.faults import FAULTS, Fault
from audit.parts import PARTS, Part, finds
from treedp_core.studies.cdf.baselines import BASELINES
from treedp_core.studies.methods.entries import METHODS


@pytest.mark.parametrize("part", PARTS.values(), ids=lambda part: part.name)
def test_nothing_loses_more_than_is_claimed(part: Part) -> None:
    report = part.run(part.short)
    assert report.wrong == []
    assert report.checks > 0


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_audit_is_awake(fault: Fault) -> None:
    """By the first of the parts that must flag it; `make audit` asks them all."""
    assert finds(PARTS[fault.parts[0]], fault)


AUDITED = {
    "levels": (
        "mechanisms.*", "published.*", "simple.gaussian", "simple.laplace", "simple.shrunk_*", "allocations.uniform",
        "allocations.leaves_only", "allocations.minimax", "allocations.cube_root", "allocations.custom",
    ),
    "budgets": (
        "strategies.tree", "strategies.root", "strategies.optimal", "strategies.identity", "allocations.greedy",
        "allocations.optimum", "finer.*",
    ),
    "thresholds": ("thresholds.*",),
    "stability": ("simple.stability", "simple.stability_leaves"),
    "partition": ("strategies.partition", "baselines.ahp"),
    "top-down": ("marginals.*",),
    "spends nothing": ("postprocessors.*", "fits.*", "metrics.*", "bounds.*"),
    "an error only, no release": ("baselines.h2", "baselines.hb", "baselines.greedy_h", "baselines.privelet"),
}  # fmt: skip
"""What is on *Methods*, by the part of the audit that holds its claim."""


def test_whatever_claims_privacy_is_audited() -> None:
    """A new entry of any table fails here until a part of the audit takes it."""
    held = {name: [part for part, some in AUDITED.items() if any(fnmatch(name, one) for one in some)]
            for name, one in METHODS.items() if not one.author}  # fmt: skip
    assert {name: parts for name, parts in held.items() if len(parts) != 1} == {}
    assert set(AUDITED) - set(PARTS) == {"spends nothing", "an error only, no release"}
    assert all(BASELINES[name.split(".")[1]].release is None for name in AUDITED["an error only, no release"])
