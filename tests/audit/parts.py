"""The parts of the audit, how much each does in its short and in its full form, and the run of all of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

import numpy as np

from treedp_core.checks import InputError

from . import (
    black_box,
    budgets,
    conversions,
    events,
    files,
    level_noise,
    numerical,
    partition,
    plans,
    promises,
    samplers,
    stability,
    sums,
    targets,
    thresholds,
    top_down,
)
from .faults import FAULTS, Fault
from .report import Report, UntilWrong, Wrong

Audit = Callable[[Report, np.random.Generator, int], None]


@dataclass(frozen=True)
class Part:
    """An audit and its amounts: short for every run of the tests, full for `make audit`, tiny to look for a fault."""

    name: str
    audit: Audit
    short: int
    full: int
    tiny: int

    def run(self, amount: int, seed: int = 1, report: Report | None = None) -> Report:
        """Return what this part finds; the same seed lists the same data sets."""
        report = Report() if report is None else report
        self.audit(report, np.random.default_rng([seed, *self.name.encode()]), amount)
        return report


PARTS = {
    part.name: part
    for part in (
        Part("levels", level_noise.audit, 5, 150, 4),
        Part("top-down", top_down.audit, 2, 40, 2),
        Part("budgets", budgets.audit, 2, 100, 2),
        Part("thresholds", thresholds.audit, 8, 300, 8),
        Part("conversions", conversions.audit, 15, 400, 10),
        Part("composed", conversions.composed, 12, 400, 8),
        Part("numerical", numerical.audit, 15, 300, 15),
        Part("stability", stability.audit, 10, 200, 10),
        Part("partition", partition.audit, 12, 200, 12),
        Part("sums", sums.audit, 8, 200, 8),
        Part("events", events.audit, 7, 140, 7),
        Part("files", files.audit, 1, 2, 1),
        Part("promises", promises.audit, 60, 2000, 60),
        Part("plans", plans.audit, 2, 40, 1),
        Part("targets", targets.audit, 4, 20, 4),
        Part("samplers", samplers.audit, 200, 2000, 400),
        Part("black box", black_box.audit, 25, 100, 25),
    )
}

LONGEST = "budgets"
"""The part that is to begin first."""


def finds(part: Part, fault: Fault) -> bool:
    """Whether a part flags a fault that is planted while it runs, or the faulty code refuses its own budgets."""
    with fault.plant():
        try:
            return bool(part.run(part.tiny, report=UntilWrong()).wrong)
        except (InputError, Wrong):
            return True


@dataclass
class Whole:
    """Everything that was found, and the seconds of one core that it took."""

    parts: dict[str, tuple[Report, float]] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def total(self) -> Report:
        """All parts together."""
        report = Report()
        for part, _ in self.parts.values():
            report.add(part)
        return report


def run_all(tell: Callable[[str], None], seed: int = 1) -> Whole:
    """Run every part in full, and look for every fault, on all cores; what is found does not depend on how many."""
    whole = Whole()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        runs = {name: pool.submit(_timed, name, seed) for name in sorted(PARTS, key=lambda name: name != LONGEST)}
        looks = [(fault, name, pool.submit(_found, fault.name, name)) for fault in FAULTS for name in fault.parts]
        for name in PARTS:
            report, seconds = whole.parts[name] = runs[name].result()
            whole.seconds += seconds
            tell(f"{name:<14}{report.pairs:>10,}{report.checks:>12,}{report.settings:>10,}"
                 f"{report.tight:>9,}{len(report.wrong):>8,}{seconds:>9.1f}")  # fmt: skip
        for fault, name, look in looks:
            is_found, seconds = look.result()
            whole.seconds += seconds
            (whole.found if is_found else whole.missed).append(f"{fault.name} ({name})")
    return whole


def _timed(name: str, seed: int) -> tuple[Report, float]:
    started = time.process_time()
    report = PARTS[name].run(PARTS[name].full, seed)
    return report, time.process_time() - started


def _found(fault_name: str, part: str) -> tuple[bool, float]:
    started = time.process_time()
    fault = next(one for one in FAULTS if one.name == fault_name)
    return finds(PARTS[part], fault), time.process_time() - started
