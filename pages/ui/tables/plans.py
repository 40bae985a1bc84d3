"""From a ledger to the page Release plan: the button that makes a plan, and the plan that page shows meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import streamlit as st

from pages.ui.inputs.refusals import refusal
from pages.ui.tables import store, tuning_provenance
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.notebook.code import Ran, call
from treedp_core.plans import ReleasePlan, Split
from treedp_core.privacy.prior_provenance import Ledger, without_counts
from treedp_core.views.cells.rerun import opened

PAGE: Final = "pages/plan.py"
_KEPT: Final = "_plan"
_ASKED: Final = "_plan_asked"


@dataclass(frozen=True, eq=False)
class Kept:
    """A plan that is no plan of the page's own settings.

    Parameters
    ----------
    made : Ran
        The call that makes it.
    source : str
        Where it was made (Markdown).
    fingerprint : str
        Of the data set in use then; empty for a plan from a file, which is of none.
    """

    made: Ran[ReleasePlan]
    source: str
    fingerprint: str = ""


def button(key: str, make: Callable[[], Ran[ReleasePlan]], source: str, label: str = "Make plan") -> None:
    """Show the button that stands beside a ledger: it opens the page Release plan with the plan that `make` returns.

    The plan is made once the page has run with what may have changed just before the press.
    """
    st.button(
        label, key=f"{key}_plan", icon=":material/assignment:", on_click=st.session_state.update, args=({_ASKED: key},),
        help="What would be promised to whom, what each level costs, and what is still open: as a document, and as a "
        "program for a library that publishes.",
    )  # fmt: skip
    if st.session_state.get(_ASKED) != key:
        return
    del st.session_state[_ASKED]
    try:
        made = make()
        made.value.verify()
    except InputError as error:
        refusal(error)
    else:
        keep(Kept(made, source, store.dataset().fingerprint))
        st.switch_page(PAGE)


def end() -> None:
    """Forget a press whose button was not drawn again: what it stood beside is refused now."""
    st.session_state.pop(_ASKED, None)


def of_experiment(one: Experiment, page: str) -> Ran[ReleasePlan]:
    """Return the plan of an experiment on the data set in use, its split tuned on what that of a page was."""
    of = tuning_provenance.of_plan(tuning_provenance.in_force(page))
    return call(ReleasePlan.of, one, store.used(), whom=store.unit(), **of).named("plan")


def of_ledger(ledger: Ledger, spent: Experiment) -> Ran[ReleasePlan]:
    """Return the plan of a split on the data set in use; of the experiment that `spent` it all but the split counts."""
    public = replace(ledger, prior=tuning_provenance.of_plan(without_counts(ledger.prior)).get("tuned"))
    split = call(Split, public, spent.mechanism, spent.delta, spent.postprocess).named("split")
    return call(ReleasePlan.of, split, store.used(), whom=store.unit()).named("plan")


def keep(plan: Kept) -> None:
    """Have the page Release plan show a plan, until it is dropped or other data come into use."""
    st.session_state[_KEPT] = plan


def kept() -> Kept | None:
    """Return the plan that the page is to show instead of one of its own settings."""
    plan: Kept | None = st.session_state.get(_KEPT)
    if plan is not None and plan.fingerprint not in ("", store.dataset().fingerprint):
        drop()
        return None
    return plan


def of_cell(plan: ReleasePlan | None) -> None:
    """Have the page show the plan that was kept in a notebook, or that of its own settings: in a callback."""
    drop()
    if plan is not None:
        of_file(plan, "from the notebook")


def of_file(plan: ReleasePlan, source: str) -> None:
    """Have the page show a plan that came from somewhere else, whatever data are in use."""
    keep(Kept(opened(plan), source))


def to_keep() -> ReleasePlan | None:
    """Return the plan that a notebook keeps: one that the page's own settings do not give."""
    plan = kept()
    return None if plan is None else plan.made.value


def put_back(plan: Kept | None) -> None:
    """Have the page show what it did when `kept` returned this."""
    drop()
    if plan is not None:
        keep(plan)


def drop() -> None:
    """Have the page show the plan of its own settings again."""
    st.session_state.pop(_KEPT, None)
