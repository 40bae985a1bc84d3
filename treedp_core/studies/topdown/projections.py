"""Repeated releases by every projection, on the same noise: errors, bias, false positives and false negatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from treedp_core import checks
from treedp_core.errors.compare import BiasBySize, Compared, Ways, bias_by_size, compare_leaves, mean_and_error
from treedp_core.studies.topdown.contingency_table import Subject
from treedp_core.studies.topdown.draw import compare, tidied
from treedp_core.studies.topdown.plan import noise_on_tree
from treedp_core.studies.topdown.release_spec import RULES, Wanted, rules_for
from treedp_core.studies.topdown.sparse import refuse_no_records, release
from treedp_core.tree import FloatArray
from treedp_core.watch import Cancelled, Watch, generator

MEASURES: Final = {
    "rmse": "RMSE of a leaf (records)",
    "max_error": "Largest error of a leaf (records)",
    "spurious": "Spurious leaves (false positives)",
    "lost": "Lost leaves (false negatives)",
    "bias_empty": "Bias of empty leaves (records)",
    "bias_filled": "Bias of filled leaves (records)",
}


@dataclass(frozen=True, eq=False)
class RuleResult:
    """What one rule did to the leaves in repeated releases.

    Parameters
    ----------
    rule : str
        A name in `RULES`.
    mean, se : dict of float
        Of each measure: mean over the releases, and standard error of that mean.
    bias : BiasBySize
        Of the leaves in one release; its standard errors are over the releases.
    """

    rule: str
    mean: dict[str, float]
    se: dict[str, float]
    bias: BiasBySize


def compare_rules(
    subject: Subject, wanted: Wanted, trials: int, seed: int, watch: Watch | None = None
) -> list[RuleResult]:
    """Return the errors of every rule that the subject allows, over the same releases where it is a tree.

    Raises
    ------
    InputError
        As `Wanted.plan`; ``NO_RECORDS``, ``TRIALS_RANGE``, ``TOO_MANY_CELLS``.
    Cancelled
        When the watch says so.
    """
    watch = watch or Watch()
    names = rules_for(subject)
    checks.trials(trials, len(names) * (subject.tree.n_nodes if subject.tree is not None else subject.table.n_leaves))
    rows: dict[str, list[list[float]]] = {name: [] for name in names}
    bias: dict[str, list[BiasBySize]] = {name: [] for name in names}
    for leaves in _releases(subject, wanted, names, trials, seed, watch):
        for name, one in leaves:
            rows[name].append(_measured(one))
            bias[name].append(bias_by_size([one]))
        watch.step(1)
    return [_summary(name, np.array(rows[name]), bias[name]) for name in names]


def _releases(
    subject: Subject, wanted: Wanted, names: Sequence[str], trials: int, seed: int, watch: Watch
) -> Iterator[Iterator[tuple[str, Compared]]]:
    ready = wanted.plan(subject)
    refuse_no_records(wanted.unit, subject.total)
    tree, counts, stop_only = subject.tree, subject.counts, Watch(cancelled=watch.cancelled)
    if tree is None or counts is None:
        for trial in range(trials):
            runs = (
                (name, release(subject.table, ready, _rng(seed, trial), str(RULES[name].sparse), stop_only))
                for name in names
            )
            yield ((name, compare(run)[-1]) for name, run in runs)
        return
    noise = noise_on_tree(ready, tree)
    steps = {name: RULES[name].on(noise) for name in names}
    for trial in range(trials):
        noisy = noise.draw(_rng(seed, trial)) + counts
        yield (
            (name, compare_leaves(tree, counts, tidied(function(noisy))))
            for name, function in steps.items()
            if _goes_on(watch)
        )


def _rng(seed: int, trial: int) -> np.random.Generator:
    return generator("runs of TopDown", checks.seed(seed), trial)


def _goes_on(watch: Watch) -> bool:
    if watch.cancelled():
        raise Cancelled
    return True


def _measured(one: Compared) -> list[float]:
    filled = one.truth > 0
    error = one.released - one.truth
    n_empty = one.n_cells - one.n_true
    return [
        one.rmse,
        one.max_error,
        float(one.spurious),
        float(one.lost),
        float(error[~filled].sum() / n_empty) if n_empty else np.nan,
        float(error[filled].mean()) if filled.any() else np.nan,
    ]


def _summary(name: str, rows: FloatArray, bias: Sequence[BiasBySize]) -> RuleResult:
    mean, se = mean_and_error(rows)
    by_size = mean_and_error(np.array([one.bias for one in bias]))  # the truth, so the sizes, are those of every run
    return RuleResult(name, dict(zip(MEASURES, mean.tolist(), strict=True)),
                      dict(zip(MEASURES, se.tolist(), strict=True)),
                      replace(bias[0], bias=by_size[0], standard_error=by_size[1]))  # fmt: skip


def ways_of_rules(found: Sequence[RuleResult], measure: str) -> Ways:
    """Return one of `MEASURES` under every rule."""
    mean, se = (np.array([values[measure] for values in part])
                for part in ([one.mean for one in found], [one.se for one in found]))  # fmt: skip
    return Ways(tuple(RULES[one.rule].label for one in found), mean, se)
