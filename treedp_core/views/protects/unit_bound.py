"""How many records of one unit to count: a bound leaves records out, and needs noise in proportion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.experiment import Experiment
from treedp_core.figures.protects.unit_bound import bound_figure, rows_figure
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation
from treedp_core.privacy.accounting import Accounting
from treedp_core.privacy.prior_provenance import NOT_PRIVATE, of_truth
from treedp_core.records import Dataset
from treedp_core.records.unit_rows import MOST, UnitRows, each_alone
from treedp_core.studies.protects.unit_bound import (
    BOUNDS,
    BoundErrors,
    Mark,
    PaidChoice,
    bound_errors,
    bound_table,
    bounds_with,
    level_table,
    paid_choices,
    paid_table,
    unit_table,
)
from treedp_core.views.entries import Entry, FromFile
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, about_data, forgetful
from treedp_core.views.inputs import ReleaseInputs, of, parameter
from treedp_core.views.parameters import choice, whole, words
from treedp_core.views.protects.attacker import ProtectsInputs
from treedp_core.words import percent, plural, setting_text, short, with_noun
from treedp_core.words import whole as in_full

VIEW: Final = "bound"
PRIOR: Final = "pro_prior"
"""Where a session keeps the file of public units."""


@dataclass(frozen=True, kw_only=True)
class BoundInputs(ReleaseInputs):
    """What is asked of a bound on the records of one unit; `contributions` is not: the bound stands in its place.

    Parameters
    ----------
    bound : int
        Records of one unit that are counted at most.
    level : int
        Whose error counts: 0 all levels', added up; l + 1 that of level l.
    mechanism, allocation, shares : str
        Of the release: its noise, and the split of its budget; `shares` where that is "custom".
    """

    bound: int = of(
        whole("pro_bound", 5, 1, MOST, code="CONTRIBUTIONS_RANGE", grid=BOUNDS, label="Records of one unit, at most")
    )  # fmt: skip
    level: int = of(whole("pro_level", 0, 0, 64))
    mechanism: str = of(parameter(ProtectsInputs, "mechanism"))
    allocation: str = of(choice("pro_split", "uniform", ALLOCATIONS, label="Budget split"))
    shares: str = of(words("pro_shares", "", shares_from_text))

    def release(self, data: Dataset) -> Experiment:
        """Return what is released of a table.

        Raises
        ------
        InputError
            ``BUDGET_SPLIT`` for custom shares that are no shares.
        """
        return self.experiment(
            data, mechanism=self.mechanism, allocation=self.allocation, contributions=self.bound,
            shares=shares_from_text(self.shares) if self.allocation == "custom" else (),
            delta=self.delta_for([self.mechanism], data.total), accounting=Accounting.FORMULA.value,
        )  # fmt: skip

    def level_of(self, data: Dataset) -> int | None:
        """Return the level whose error counts; None for all. One beyond the last means the last."""
        return None if self.level == 0 else min(self.level, data.tree.n_levels) - 1


def bound_on_units(inputs: BoundInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what bounds on the records of one unit leave out against the noise they need, and the best of them.

    It is of the prior, taken to be public, where there is one that names units; else it is NOT PRIVATE. Where no column
    names units each record is taken for a unit of its own.

    Raises
    ------
    InputError
        What `studies.protects.unit_bound.bound_errors` refuses.
    """
    data = of_units(tables)
    found, names = _found(inputs, data, memo), data.labels.level_names
    if found is None:
        return _nothing(data)
    said = ("" if data is tables.data else OF_PRIOR) + answer(found, inputs, data)
    return Finding(
        figure=bound_figure(found, inputs.bound, names), columns=partial(bound_table, found, _mark(tables)),
        answer=said, alt=said, caption=f"{_start(tables)}{caption(inputs, data)}", learnt=LEARNT,
        **_marks(inputs, tables),
    )  # fmt: skip


def records_of_units(inputs: BoundInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return how many units have how many records."""
    data = of_units(tables)
    rows = data.report.unit_rows
    if rows is None:
        return _nothing(data)
    beyond = int(rows.units_beyond(np.array([inputs.bound]))[0])
    return Finding(
        figure=rows_figure(rows, inputs.bound), columns=partial(unit_table, rows, _mark(tables)),
        alt=f"Units by their records: {plural(beyond, 'unit')} of {in_full(rows.units)} beyond the bound",
        caption=f"{_start(tables)}Units by how many records they have{_and_more(rows)}.", **_marks(inputs, tables),
    )  # fmt: skip


def by_level(inputs: BoundInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what each level lacks with the bound, and its noise: it refuses as `bound_on_units` does."""
    data = of_units(tables)
    found = _found(inputs, data, memo)
    if found is None:
        return _nothing(data)
    return Finding(
        columns=partial(level_table, found, inputs.bound, data.labels.level_names, _mark(tables)),
        alt=f"Bias, noise and RMSE of each level with at most {plural(inputs.bound, 'record')} of one unit",
        caption=f"{_start(tables)}With at most {plural(inputs.bound, 'record')} of one unit, in records. Bias is never "
        "above 0: a bound only leaves out. Left out: root mean square over nodes; best bound: of that level alone.",
        **_marks(inputs, tables),
    )  # fmt: skip


def paid_for(inputs: BoundInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what it costs to choose the bound privately: it refuses as `bound_on_units` does."""
    data = of_units(tables)
    rows = data.report.unit_rows
    if rows is None:
        return _nothing(data)
    release, level = inputs.release(data), inputs.level_of(data)
    key = ("unit_bound.paid", data.fingerprint, rows, replace(release, contributions=1), level)
    found = memo(key, lambda: paid_choices(release, data.tree, rows, bounds_with(1), level))
    return Finding(
        columns=partial(paid_table, found, _mark(tables)),
        answer=paid_answer(found, "bound", inputs.epsilon),
        alt="What a private choice of the bound costs, for parts of ε",
        caption=f"{_start(tables)}{PAID_FOR}", **_marks(inputs, tables),
    )  # fmt: skip


def of_units(tables: Tables) -> Dataset:
    """Return the table whose units are looked at: the prior where it names some, else the table in use."""
    prior = tables.prior
    return prior if prior is not None and prior.report.unit_rows is not None else tables.data


# ---- what is said about bounds


OF_PRIOR: Final = "By the public table: "
LEARNT: Final = (
    "A count with a bound is too small by the records left out, on every level and in every release; noise grows in "
    "proportion to the bound. The best bound leaves out about as much as it saves in noise. **Read off the records, it "
    "is no private choice**: ε covers the counts, not the bound. Take it from public data or from what is known of "
    "units, or pay for it (under *More*)."
)
PAID_FOR: Final = (
    "The bound is drawn by the exponential mechanism (McSherry and Talwar, 2007): its score says how many units must "
    "come or go until this bound is the first one that at most w units exceed; w, the noise that one more record costs "
    "over what one more left out does, is public. One unit moves a score by at most 1, however many records it has. "
    "Chances by formula; the error is expected over choice and noise, and compared with all of ε on the counts and the "
    "best bound read off the records. What is NOT PRIVATE is this table, not such a choice."
)


def paid_answer(choices: Sequence[PaidChoice], what: str, epsilon: float) -> str:
    """Return what a private choice costs at least; nothing where none can be paid for. `what` is chosen."""
    best = min(choices, key=lambda one: one.error, default=None)
    if best is None:
        return ""
    return (
        f"Paid for with {percent(best.part)} of ε, the {what} costs least: the expected RMSE is {short(best.times)} "
        f"times the smallest. Both parts together are ε = {setting_text(epsilon)}."
    )


def without_units(data: Dataset) -> str:
    """Return why nothing is known of the units of a table."""
    if not data.report.recipe.unit:
        return "No column of this table names units: each record is one of its own, and no bound leaves anything out."
    if data.report.recipe.bound > MOST:
        return f"More than {in_full(MOST)} records of each unit were counted; no release here protects as many."
    return "Units and leaves of this table make too many pairs to compare bounds."


def answer(found: BoundErrors, inputs: BoundInputs, data: Dataset) -> str:
    """Return what the bound leaves out, what it costs in noise, and which bound has the smallest error."""
    at, rows, bound = found.at(inputs.bound), found.rows, inputs.bound
    mine = np.array([bound])
    lacking, beyond = int(rows.lacking(mine)[0, 0]), int(rows.units_beyond(mine)[0])
    out = "Nothing is left out: no unit has more records."
    if data.report.unit_rows is None:
        out = without_units(data)
    if lacking:
        out = (
            f"{plural(lacking, 'record')} ({percent(lacking / rows.records)}) of {plural(beyond, 'unit')} "
            f"{'is' if lacking == 1 else 'are'} left out, so counts are too small."
        )
    rmse, best = found.added_up(found.rmse), int(found.bounds[found.best])
    of_one = inputs.level_of(data) is not None
    what = "RMSE of the level" if of_one else f"RMSE of {plural(int(found.shown.sum()), 'level')}, added up"
    least = f"smallest, {short(float(rmse[found.best]))}, with **at most {in_full(best)}**"
    told = "the smallest there is" if best == bound else least
    return f"{out} {what}: **{with_noun(short(float(rmse[at])), 'record')}**; {told}."


def caption(inputs: BoundInputs, data: Dataset) -> str:
    """Return what lines and bars mean."""
    level = inputs.level_of(data)
    of_what = "added up over the levels that are released" if level is None else f"of level {level}"
    numerical = MECHANISMS[inputs.mechanism].two_accountings
    return (
        f"Left: against the bound, in records and {of_what}: what is left out (root mean square over the nodes of a "
        "level, exact: each count is too small by just that), standard deviation of the noise before post-processing "
        "(formula), and RMSE, the root of the sum of both squared. Right: the same of each level with the bound "
        "set. Of each unit the first records in the order of the file count. The best is that of the bounds compared: "
        "all up to 20, then in steps of about an eighth."
        f"{' Accounting by the zCDP formula.' if numerical else ''}"
    )


def _nothing(data: Dataset) -> Finding:
    return Finding(answer=without_units(data), provenance=Provenance(about=about_data(data)))


def _and_more(rows: UnitRows) -> str:
    return f"; {in_full(MOST)} stands for more as well" if rows.largest >= MOST else ""


def _is_private(tables: Tables) -> bool:
    """Whether what is shown was found from the records of the table in use."""
    return of_units(tables) is tables.data and tables.data.report.unit_rows is not None


def _mark(tables: Tables) -> Mark:
    return of_truth if _is_private(tables) else str


def _start(tables: Tables) -> str:
    if of_units(tables) is not tables.data:
        return "Records of the prior, taken to be public. "
    return f"{NOT_PRIVATE}: exact. " if _is_private(tables) else ""


def _found(inputs: BoundInputs, data: Dataset, memo: Memo) -> BoundErrors | None:
    rows = data.report.unit_rows
    if rows is None and not data.report.recipe.unit:
        rows = each_alone(data.total, data.tree.n_levels)
    if rows is None:
        return None
    release, level, bounds = inputs.release(data), inputs.level_of(data), bounds_with(inputs.bound)
    key = ("unit_bound", data.fingerprint, rows, replace(release, contributions=1), level, tuple(bounds.tolist()))
    return memo(key, lambda: bound_errors(release, data.tree, rows, bounds, level))


def _marks(inputs: BoundInputs, tables: Tables) -> dict[str, Any]:
    """Return what every finding says of itself."""
    data = of_units(tables)
    release = inputs.release(data)
    return {
        "badges": ("formula", NOT_PRIVATE) if _is_private(tables) else ("formula",),
        "provenance": Provenance(
            about=about_data(data), relation=NeighbouringRelation(release.relation), epsilon=release.epsilon,
            delta=release.delta if MECHANISMS[inputs.mechanism].needs_delta else 0.0,
        ),
    }  # fmt: skip


def _prior_of(inputs: BoundInputs, data: Dataset, from_file: FromFile, memo: Memo) -> Dataset | None:
    return from_file(PRIOR)


_entry = partial(Entry, page="protects", view=VIEW, inputs=BoundInputs, prior=_prior_of)
ENTRIES = (
    _entry(part="pro_bounds", label="A bound on records", question="How many records per unit?", find=bound_on_units),
    _entry(section="units", part="pro_units", find=records_of_units),
    _entry(section="levels", part="pro_levels", find=by_level),
    _entry(section="paid", part="pro_paid", find=paid_for),
)
