"""The parts of the audit, how much each does in its short and in its full form, and the run of all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from . import black_box, budgets, conversions, events, files, level_noise, promises, samplers, thresholds, top_down
from .faults import FAULTS, Fault
from .report import Report

Audit = Callable[[Report, np.random.Generator, int], None]


@dataclass(frozen=True)
class Part:
    """An audit and its amounts: short for every run of the tests, full for `make audit`, tiny to look for a fault."""

    name: str
    audit: Audit
    short: int
    full: int
    tiny: int

    def run(self, amount: int, seed: int = 1) -> Report:
        """Return what this part finds; the same seed lists the same data sets."""
        report = Report()
        self.audit(report, np.random.default_rng([seed, *self.name.encode()]), amount)
        return report


PARTS = {
    part.name: part
    for part in (
        Part("levels", level_noise.audit, 10, 150, 4),
        Part("top-down", top_down.audit, 4, 40, 2),
        Part("budgets", budgets.audit, 6, 100, 2),
        Part("thresholds", thresholds.audit, 16, 300, 8),
        Part("conversions", conversions.audit, 15, 400, 10),
        Part("composed", conversions.composed, 12, 400, 8),
        Part("events", events.audit, 7, 140, 7),
        Part("files", files.audit, 1, 2, 1),
        Part("promises", promises.audit, 60, 2000, 60),
        Part("samplers", samplers.audit, 200, 2000, 400),
        Part("black box", black_box.audit, 25, 100, 25),
    )
}


def finds(part: Part, fault: Fault) -> bool:
    """Whether a part flags a fault that is planted while it runs."""
    with fault.plant():
        return bool(part.run(part.tiny).wrong)


@dataclass
class Whole:
    """Everything that was found."""

    parts: dict[str, tuple[Report, float]] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    @property
    def total(self) -> Report:
        """All parts together."""
        report = Report()
        for part, _ in self.parts.values():
            report.add(part)
        return report


def run_all(tell: Callable[[str], None], seed: int = 1) -> Whole:
    """Run every part in full, then look for every fault."""
    whole = Whole()
    for part in PARTS.values():
        started = time.process_time()
        report = part.run(part.full, seed)
        seconds = time.process_time() - started
        whole.parts[part.name] = report, seconds
        tell(f"{part.name:<14}{report.pairs:>10,}{report.checks:>12,}{report.settings:>10,}"
             f"{report.tight:>9,}{len(report.wrong):>8,}{seconds:>9.1f}")  # fmt: skip
    for fault in FAULTS:
        for name in fault.parts:
            (whole.found if finds(PARTS[name], fault) else whole.missed).append(f"{fault.name} ({name})")
    return whole
