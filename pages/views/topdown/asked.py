"""What the page TopDown is asked to release: the columns and their order, the budget, and the projection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.ui import tuned
from pages.ui.controls import draw_again, level_picker
from pages.ui.result import Result, at_once, show_state
from pages.ui.setting import Setting, in_a_row
from pages.ui.settings import EPSILON, KNOWN_LEVELS, RELATION, SEED
from pages.ui.shared import protected, say_slack, slack
from pages.ui.store import dataset, remember, sample, used, used_sample
from pages.ui.text import lit, small_print
from pages.views.topdown import settings as s
from treedp_core.allocation.shares import shares_from_text
from treedp_core.notebook.code import Ran, given
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.privacy.accounting import is_numerical
from treedp_core.records import Dataset, DomainSource
from treedp_core.studies.topdown import (
    Plan,
    Subject,
    Wanted,
    allocations_for,
    is_product,
    made_up,
    numerical,
    product_of_columns,
    rho_of,
    rules_for,
    tree_as_it_is,
)
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.tree.text import factors_from_text
from treedp_core.words import plural, whole

TRIPS: Final = "mobility"


# ---- which records, in which columns


class Asked(NamedTuple):
    """What is released, how its counting stands, and where a button may follow in the row of controls."""

    what: Subject
    found: Result[Subject]
    place: DeltaGenerator


def row(last: Callable[[Subject], object], *, source: bool = True) -> Asked:
    """Show the row of controls: where the records are from, their columns, and the `last` ones of a view.

    What is released is below a refusal the last of the same records, else the trips.
    """
    with in_a_row():
        if source:
            s.SOURCE.draw()
        if s.SOURCE.value == "sparse":
            s.SIZES.draw()
        found = _made_up() if s.SOURCE.value == "sparse" else _of_data(_data())
        what = found.value or remember("topdown trips", lambda: product_of_columns(sample(TRIPS), (0, 1, 2)))
        _admit(s.RULE, rules_for(what))
        _admit(s.ALLOCATION, allocations_for(what))
        last(what)
        return Asked(what, found, st.container(width="content"))


def _admit(setting: Setting[str], allowed: Sequence[str]) -> None:
    """Set what the subject does not allow to the first that it does."""
    if setting.value not in allowed:
        setting.set(allowed[0])


def notes(asked: Asked) -> None:
    """Say below the figure how the counting stands, and what is to be known of the settings."""
    what = asked.what
    show_state(asked.found, "Counting the columns")
    if asked.found.value is None:
        small_print(f"{lit(sample(TRIPS).name, 40)} is shown meanwhile.")
    _warn()
    if _is_nested() and not s.PRODUCT.value:
        small_print(
            ":material/account_tree: The levels of this tree are nested or not every combination is listed, so the "
            "tree is used as it is and the order of its columns cannot change (under More: use all combinations)."
        )
    if len(rules_for(what)) < len(RULES):
        small_print(
            f"{whole(what.n_leaves)} possible leaves are not laid out, so only rules that need no tree are here."
        )
    tuned.note("td")
    if RELATION.value == NeighbouringRelation.REPLACE_UNKNOWN.value and what.is_product:
        known = what.known_levels(KNOWN_LEVELS.value)
        small_print(
            f":material/info: {plural(known, 'level')} of this order {'is' if known == 1 else 'are'} built from known "
            f"columns, the root included; in the order of the data it is {KNOWN_LEVELS.value} (Data and tree page)."
        )
    if s.RHO.value.strip():
        small_print(":material/info: ρ is set here, so the ε of the sidebar is not used on this page.")
    say_slack("discrete Gaussian noise", "td_set_delta", what.total)


def again(what: Subject) -> Ran[Subject]:
    """Return the call that makes the released columns again."""
    if what.seed is not None:
        return given(what, made_up, what.table.sizes, what.total, what.seed).named("subject")
    trips = used_sample(TRIPS)
    data = trips if trips.value.name == what.name else used()
    if what.is_product:
        return given(what, product_of_columns, data, what.order).named("subject")
    return given(what, tree_as_it_is, data).named("subject")


def _data() -> Dataset:
    """The data set whose columns are released, where they come from one."""
    return sample(TRIPS) if s.SOURCE.value == "trips" else dataset()


def _made_up() -> Result[Subject]:
    sizes, people, seed = s.SIZES.value, s.PEOPLE.value, SEED.value
    about = f"{whole(people)} people in columns of {lit(sizes)}"
    return at_once("td_subject", (sizes, people, seed), lambda: made_up(factors_from_text(sizes), people, seed),
                   about=about, of="made up")  # fmt: skip


def _is_nested() -> bool:
    """Whether the levels in use are no columns of which every combination is a leaf."""
    if s.SOURCE.value == "sparse":
        return False
    data = _data()
    return not remember(("topdown product", data.fingerprint), lambda: is_product(data))


def subject_as_set() -> Subject:
    """Return what the settings release, without a control.

    Raises
    ------
    InputError
        What its columns are refused for.
    """
    if s.SOURCE.value == "sparse":
        return made_up(factors_from_text(s.SIZES.value), s.PEOPLE.value, SEED.value)
    data = _data()
    if _is_nested() and not s.PRODUCT.value:
        return tree_as_it_is(data)
    return product_of_columns(data, _positions(s.COLUMNS.value, data.tree.height))


def _of_data(data: Dataset) -> Result[Subject]:
    order = None if _is_nested() and not s.PRODUCT.value else _order(data.labels.level_names[1:])
    return at_once("td_subject", (data.fingerprint, order),
                   lambda: tree_as_it_is(data) if order is None else product_of_columns(data, order),
                   about=lit(data.name, 40), of=data.fingerprint)  # fmt: skip


def _warn() -> None:
    """Say what a domain reveals or leaves out; the trips' is known."""
    if s.SOURCE.value == "current" and _data().domain_source is DomainSource.FROM_DATA:
        st.warning(
            "The categories were taken from the data: which ones exist is then published without any noise. List them "
            "on the Data and tree page for a real release.", icon=":material/warning:",
        )  # fmt: skip


def _cut(name: str) -> str:
    return name if len(name) <= 40 else name[:39] + "…"


def _order(names: tuple[str, ...]) -> tuple[int, ...]:
    """Show the columns to choose from; return the positions of the chosen ones, of all where none is."""
    offered = {str(i): _cut(name) for i, name in enumerate(names, 1)}
    s.COLUMNS.set(tuple(position for position in s.COLUMNS.value if position in offered))
    chosen = s.COLUMNS.said(format=offered.__getitem__).draw(offered=offered)
    return _positions(chosen, len(names))


def _positions(chosen: Sequence[str], n_columns: int) -> tuple[int, ...]:
    """Which columns, from 0: the chosen ones that there are, else all of them."""
    there = [int(position) - 1 for position in chosen if int(position) <= n_columns]
    return tuple(there or range(n_columns))


# ---- what is spent, and for whom


def budget(what: Subject) -> None:
    """Show under *More* the controls that no row has: what is spent, on which levels, and for whom."""
    with in_a_row():
        if s.VIEW.value == "counts":
            s.SOURCE.draw()
        if s.SOURCE.value == "sparse":
            s.PEOPLE.draw()
        elif _is_nested():
            s.PRODUCT.draw()
        s.RHO.draw()
        if s.ALLOCATION.draw(offered=allocations_for(what)) == "custom":
            s.SHARES.draw()
        s.UNIT.draw()
        if protected() > 1:
            s.SPREAD.draw()
        if not s.RHO.value.strip():
            s.ACCOUNTING.draw()
        s.CONFIDENCE.draw()


def rule(what: Subject) -> None:
    """Show how noisy counts become whole, and the button that draws other noise."""
    s.RULE.draw(offered=rules_for(what))
    draw_again("td_draw")


def level(what: Subject) -> int:
    """Show the levels, and return the chosen one."""
    return level_picker(s.LEVEL, [_cut(name) for name in what.level_names])


def planned(what: Subject) -> tuple[Wanted, Plan]:
    """Return the settings of a release, and the noise they plan.

    Raises
    ------
    InputError
        ``RHO_RANGE``, ``BUDGET_SPLIT`` and what else `Wanted.plan` refuses; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER``
        for what shares were tuned on.
    """
    delta, allowed = slack(what.total), rules_for(what)
    is_custom = s.ALLOCATION.value == "custom" and bool(s.SHARES.value.strip())
    shares = shares_from_text(s.SHARES.value) if is_custom else None
    known = min(KNOWN_LEVELS.value, _data().tree.n_levels)
    who = ProtectedUnit(NeighbouringRelation(RELATION.value), protected(), known)
    spread = Spread(s.SPREAD.value) if who.contributions > 1 else Spread.STACKED
    rule = s.RULE.value if s.RULE.value in allowed else allowed[0]
    wanted = Wanted(rho_of(s.RHO.value, EPSILON.value, delta), delta, who, shares, spread, rule, s.ALLOCATION.value)
    if not s.RHO.value.strip() and is_numerical(tuned.accounting("td", s.ACCOUNTING.value)):
        key = ("topdown accounting", what.fingerprint, wanted, EPSILON.value)
        wanted = remember(key, partial(numerical, wanted, what, EPSILON.value))
    ready = wanted.plan(what)
    if shares is not None and tuned.in_force("td") is not None:
        tuned.admit("td", ready.unit, ready.budget.currency, wanted.rho, ready.budget.per_level)
    return wanted, ready
