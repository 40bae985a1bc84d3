"""Sums of values on a tree: what a clip on each value leaves out, and the noise that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from treedp_core.allocation.shares import handed_over, shares_from_text
from treedp_core.experiment import Experiment, total_of
from treedp_core.figures.protects.unit_bound import Measure, bound_figure
from treedp_core.mechanisms import MECHANISMS
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.accounting import Accounting
from treedp_core.privacy.prior_provenance import NOT_PRIVATE, of_truth
from treedp_core.privacy.sums import unit_of_sums
from treedp_core.records import Dataset
from treedp_core.records.dataset import sums_of, too_many
from treedp_core.records.unit_rows import MOST
from treedp_core.studies.protects.unit_bound import (
    BOUNDS,
    BoundErrors,
    LeftOut,
    Mark,
    PaidChoice,
    bound_errors,
    bound_table,
    bounds_with,
    paid_choices,
    paid_table,
)
from treedp_core.studies.protects.value_clip import (
    SMALL,
    LawOfValues,
    SumSplit,
    budgets_for_sums,
    clipped_levels,
    made_up,
    split_table,
)
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, about_data, forgetful
from treedp_core.views.inputs import ReleaseInputs, of, parameter
from treedp_core.views.parameters import whole
from treedp_core.views.protects.attacker import ProtectsInputs
from treedp_core.views.protects.unit_bound import OF_PRIOR, BoundInputs, paid_answer
from treedp_core.words import literal, percent, plural, setting_text, short
from treedp_core.words import whole as in_full

VIEW: Final = "clip"


@dataclass(frozen=True, kw_only=True)
class ClipInputs(ReleaseInputs):
    """What is asked of a clip on values; `contributions` is not: each record is a unit of its own.

    Parameters
    ----------
    clip : int
        What a value adds at most, in steps of its grid.
    level : int
        Whose error counts: 0 all levels', added up; l + 1 that of level l.
    mechanism, allocation, shares : str
        Of the release: its noise, and the split of its budget; `shares` where that is "custom".
    """

    clip: int = of(whole("pro_clip", 50, 1, MOST, code="CLIP_RANGE", grid=BOUNDS, label="Clip, in steps"))
    level: int = of(parameter(BoundInputs, "level"))
    mechanism: str = of(parameter(ProtectsInputs, "mechanism"))
    allocation: str = of(parameter(BoundInputs, "allocation"))
    shares: str = of(parameter(BoundInputs, "shares"))

    def release(self, data: Dataset) -> Experiment:
        """Return what is released of a table: its unit is that of sums.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT`` for custom shares that are no shares.
        """
        known = min(self.known_levels, data.tree.n_levels)
        unit = unit_of_sums(ProtectedUnit(NeighbouringRelation(self.relation), 1, known), self.clip)
        return self.experiment(
            data, mechanism=self.mechanism, allocation=self.allocation, accounting=Accounting.FORMULA.value,
            relation=unit.relation.value, contributions=unit.contributions, known_levels=unit.known_levels,
            shares=shares_from_text(self.shares) if self.allocation == "custom" else (),
            delta=self.delta_for([self.mechanism], data.total),
        )  # fmt: skip

    def level_of(self, data: Dataset) -> int | None:
        """Return the level whose error counts; None for all. One beyond the last means the last."""
        return None if self.level == 0 else min(self.level, data.tree.n_levels) - 1


def clip_on_values(inputs: ClipInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what clips on values leave out against the noise they need, and the best of them.

    It is of the prior, taken to be public, where there is one with values; else it is NOT PRIVATE. Where no column is a
    value, each record has one of a made-up law.

    Raises
    ------
    InputError
        What `studies.protects.unit_bound.bound_errors` refuses.
    """
    data = of_values(tables)
    rows, found = _found(inputs, data, memo)
    if rows is None or found is None:
        return _nothing(data)
    step, name = _step(data), data.report.recipe.value  # the figure escapes names by itself
    measure = Measure(f"clip on “{name}”", f"“{name}”", step) if name else Measure("clip, in steps", "steps", step)
    said = ("" if data is tables.data else OF_PRIOR) + answer(found, inputs, data)
    return Finding(
        figure=bound_figure(found, inputs.clip, data.labels.level_names, measure),
        columns=partial(_clip_table, found, step, _mark(tables)),
        answer=said, alt=said, caption=f"{_start(tables)}{caption(inputs, data)}", learnt=LEARNT,
        **_marks(inputs, tables),
    )  # fmt: skip


def by_level(inputs: ClipInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what each level lacks with the clip, and its noise: it refuses as `clip_on_values` does."""
    data = of_values(tables)
    _, found = _found(inputs, data, memo)
    if found is None:
        return _nothing(data)
    names = data.labels.level_names
    return Finding(
        columns=partial(clipped_levels, found, inputs.release(data), data.tree, inputs.clip, step=_step(data),
                        names=names, mark=_mark(tables)),
        alt="Bias, noise and RMSE of the sums of each level with the clip",
        caption=f"{_start(tables)}With a clip at {_shown(inputs.clip, data)}, in {_noun(data)}. Bias is never above 0: "
        "a clip only leaves out. Left out: root mean square over nodes; RMSE before post-processing; best clip: of "
        "that level alone.",
        **_marks(inputs, tables),
    )  # fmt: skip


def paid_for(inputs: ClipInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what it costs to choose the clip privately: it refuses as `clip_on_values` does."""
    data = of_values(tables)
    rows = _rows(data, memo)
    if rows is None:
        return _nothing(data)
    release, level = inputs.release(data), inputs.level_of(data)
    key = ("value_clip.paid", *Tables(data).fingerprints, replace(release, contributions=1), level)
    found = memo(key, lambda: paid_choices(release, data.tree, rows, bounds_with(1), level))
    return Finding(
        columns=partial(_paid_table, found, _step(data), _mark(tables)),
        answer=paid_answer(found, "clip", inputs.epsilon),
        alt="What a private choice of the clip costs, for parts of ε",
        caption=f"{_start(tables)}{PAID_FOR}", **_marks(inputs, tables),
    )  # fmt: skip


def budgets(inputs: ClipInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return splits of the budget over levels for the sums with the clip, and their errors after least squares.

    Raises
    ------
    InputError
        ``ONE_LEVEL``; what `studies.budget.splits` refuses.
    """
    data = of_values(tables)
    found = _splits(inputs, data, memo)
    if not found:
        return _nothing(data)
    best, even = min(found, key=lambda one: one.error), found[0]
    return Finding(
        columns=partial(split_table, found, data.labels.level_names, _mark(tables)),
        answer=f"RMSRE of the sums after least squares: **{percent(best.error)}** with the {best.name} split, "
        f"{percent(even.error)} with equal shares, {percent(even.plain)} without least squares.",
        alt="Splits of the budget for sums, and their errors",
        caption=f"{_start(tables)}Tuned for these sums and judged by them; errors relative to the sum, or to τ = "
        f"{setting_text(inputs.threshold)} {_noun(data)} where that is more. A sum of clipped values is a count that "
        f"one record moves by the clip, so the searches of Budget split hold as they are. Best found: up to "
        f"{in_full(SMALL)} nodes; could be smaller by: proved. Formula.",
        **_marks(inputs, tables),
    )  # fmt: skip


def _splits(inputs: ClipInputs, data: Dataset, memo: Memo) -> Sequence[SumSplit]:
    """Splits of the budget for sums; none of a table that has too many values."""
    rows = _rows(data, memo)
    if rows is None:
        return ()
    release, tau = inputs.release(data), inputs.threshold / _step(data)

    def compute() -> list[SumSplit]:
        sums = rows.sums(inputs.clip) if isinstance(rows, LawOfValues) else sums_of(data, inputs.clip).counts
        return budgets_for_sums(release, data.tree, sums, tau)

    return memo(("value_clip.budgets", *Tables(data).fingerprints, release, tau), compute)


def best_shares(inputs: ClipInputs, tables: Tables, *, memo: Memo = forgetful) -> str:
    """Return the shares of the split for the sums with the smallest error, as a setting has them; "" without values.

    Raises
    ------
    InputError
        As `budgets` refuses.
    """
    data = of_values(tables)
    best = min(_splits(inputs, data, memo), key=lambda one: one.error, default=None)
    total = total_of(inputs.release(data), data.tree)
    return "" if best is None else handed_over(best.amounts, total, total)


def release_plan(inputs: ClipInputs, tables: Tables, whom: str = "") -> ReleasePlan:
    """Return the plan of a release of the sums, whose program adds noise for the clip; it needs a column of values.

    Raises
    ------
    InputError
        ``VALUES_NONE``, ``VALUES_MANY``; what `ReleasePlan.of` refuses.
    """
    release = replace(inputs.release(tables.data), postprocess=("least_squares",))
    return ReleasePlan.of(release, sums_of(tables.data, inputs.clip), whom=whom)


def of_values(tables: Tables) -> Dataset:
    """Return the table whose values are looked at: the prior where it has some, else the table in use."""
    prior = tables.prior
    return prior if prior is not None and prior.report.values is not None else tables.data


# ---- what is said about clips


LEARNT: Final = (
    "A clipped sum is too small by what values have above the clip, on every level and in every release; noise grows "
    "in proportion to the clip, and so does what one record can change: c where it comes or goes, 2 c on levels below "
    "the root where it is replaced, for then its value leaves one node and another one enters. Even where the number "
    "of records is public, their sum is not. **Read off the values, the clip is no private choice**: take it from "
    "public data, or pay for it (under *More*)."
)
PAID_FOR: Final = (
    "The clip is drawn by the exponential mechanism (McSherry and Talwar, 2007), as a bound on records is: its score "
    "says how many records must come or go until this clip is the first one that at most w values exceed; w, the noise "
    "that one more step costs over what one less left out saves, is public. One record moves a score by at most 1, "
    "whatever its value. Chances by formula; the error is expected over choice and noise."
)


def answer(found: BoundErrors, inputs: ClipInputs, data: Dataset) -> str:
    """Return what the clip leaves out, what it costs in noise, and which clip has the smallest error."""
    at, rows, noun = found.at(inputs.clip), found.rows, _noun(data)
    mine, step = np.array([inputs.clip]), _step(data)
    lacking, beyond = float(rows.lacking(mine)[0, 0]), float(rows.units_beyond(mine)[0])
    within = f"in {noun}" if data.report.recipe.value else noun
    made = "" if data.report.recipe.value else "Values are made up: the table was counted without a column of values. "
    out = "Nothing is left out: no value is larger."
    if lacking:
        out = (
            f"{percent(lacking / rows.records)} of the sum is left out, of {plural(round(beyond), 'value')} above "
            f"{_shown(inputs.clip, data)}, so sums are too small."
        )
    rmse, best = step * found.added_up(found.rmse), int(found.bounds[found.best])
    of_one = inputs.level_of(data) is not None
    what = "RMSE of the level" if of_one else f"RMSE of {plural(int(found.shown.sum()), 'level')}, added up"
    least = f"smallest, {short(float(rmse[found.best]))}, with a clip at **{_shown(best, data)}**"
    told = "the smallest there is" if best == inputs.clip else least
    return f"{made}{out} {what}: **{short(float(rmse[at]))}** {within}; {told}."


def caption(inputs: ClipInputs, data: Dataset) -> str:
    """Return what lines and bars mean."""
    level = inputs.level_of(data)
    of_what = "added up over the levels that are released" if level is None else f"of level {level}"
    law = "exact: the sum of rounded values is too small by just that"
    grid = f"Values are rounded to multiples of {short(_step(data))}, a public grid. "
    if not data.report.recipe.value:
        law, grid = "expected: values of a log-normal law with median 20 and 16 % above 54, whatever the leaf", ""
    return (
        f"Left: against the clip, {of_what}: what is left out (root mean square over the nodes of a level, {law}), "
        "standard deviation of the noise before post-processing (formula), and RMSE, the root of the sum of both "
        f"squared. Right: the same of each level with the clip set. {grid}The best is that of the clips compared: all "
        "up to 20 steps, then in steps of about an eighth."
    )


def _nothing(data: Dataset) -> Finding:
    return Finding(answer=too_many(), provenance=Provenance(about=about_data(data)))


def _step(data: Dataset) -> float:
    return data.report.recipe.grid or 1.0


def _noun(data: Dataset) -> str:
    """What values are measured in."""
    return f"“{literal(data.report.recipe.value, 24)}”" if data.report.recipe.value else "steps"


def _shown(clip: int, data: Dataset) -> str:
    return short(_step(data) * clip)


def _is_private(tables: Tables) -> bool:
    """Whether what is shown was found from the records of the table in use."""
    return of_values(tables) is tables.data


def _mark(tables: Tables) -> Mark:
    return of_truth if _is_private(tables) else str


def _start(tables: Tables) -> str:
    if not _is_private(tables):
        return "Values of the prior, taken to be public. "
    return f"{NOT_PRIVATE}: " + ("exact. " if tables.data.report.recipe.value else "of the table's counts. ")


def _rows(data: Dataset, memo: Memo) -> LeftOut | None:
    """What clips leave out; of made-up values where no column is one."""
    values = data.report.values
    if not data.report.recipe.value:
        return made_up(data.tree, data.counts)
    if values is None:
        return None
    return memo(("value_clip.rows", *Tables(data).fingerprints), lambda: values.rows(data.tree))


def _found(inputs: ClipInputs, data: Dataset, memo: Memo) -> tuple[LeftOut | None, BoundErrors | None]:
    rows = _rows(data, memo)
    if rows is None:
        return None, None
    release, level, bounds = inputs.release(data), inputs.level_of(data), bounds_with(inputs.clip)
    key = ("value_clip", *Tables(data).fingerprints, replace(release, contributions=1), level, tuple(bounds.tolist()))
    return rows, memo(key, lambda: bound_errors(release, data.tree, rows, bounds, level))


def _clip_table(found: BoundErrors, step: float, mark: Mark) -> dict[str, list[Any]]:
    """What each clip leaves out, in the unit of the values."""
    heads = ("clip", mark("values above"), mark("left out of the sum"), mark("left out, RMS"), "noise", mark("RMSE"))
    columns = dict(zip(heads, bound_table(found).values(), strict=True))
    return {head: one if head == heads[1] else [step * value for value in one] for head, one in columns.items()}


def _paid_table(found: Sequence[PaidChoice], step: float, mark: Mark) -> dict[str, list[Any]]:
    """What private choices cost, in the unit of the values."""
    part, bound, counts, *_ = paid_table(found, mark).values()
    return {
        "part of ε": part,
        "ε for the clip": bound,
        "ε for the sums": counts,
        mark("clips chosen, 9 times in 10"): [f"{short(step * one.low)} to {short(step * one.high)}" for one in found],
        mark("expected RMSE"): [step * one.error for one in found],
        mark("times the best"): [one.times for one in found],
    }


def _marks(inputs: ClipInputs, tables: Tables) -> dict[str, Any]:
    """Return what every finding says of itself."""
    data = of_values(tables)
    release = inputs.release(data)
    return {
        "badges": ("formula", NOT_PRIVATE) if _is_private(tables) else ("formula",),
        "provenance": Provenance(
            about=about_data(data), relation=NeighbouringRelation(inputs.relation), epsilon=release.epsilon,
            delta=release.delta if MECHANISMS[inputs.mechanism].needs_delta else 0.0,
        ),
    }  # fmt: skip


ENTRIES = (
    Entry(page="protects", view=VIEW, part="pro_clips", label="A clip on values", inputs=ClipInputs,
          question="How much may one value add?", find=clip_on_values),
    Entry(page="protects", view=VIEW, section="levels", part="pro_clip_levels", inputs=ClipInputs, find=by_level),
    Entry(page="protects", view=VIEW, section="budgets", part="pro_clip_budgets", inputs=ClipInputs, find=budgets),
    Entry(page="protects", view=VIEW, section="paid", part="pro_clip_paid", inputs=ClipInputs, find=paid_for),
)  # fmt: skip
