"""The Consistency page's settings as an experiment, its one draw, and the node it looks at."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.ui import tuned
from pages.ui.controls import shares
from pages.ui.settings import get
from pages.ui.shared import experiment, slack_of
from pages.ui.store import dataset, remember
from pages.views.consistency import draw as draws
from pages.views.consistency.draw import Draw
from pages.views.consistency.ledger import family
from pages.views.lab.state import keep_one
from treedp_core.checks import MAX_SEED
from treedp_core.errors import ErrorSummary
from treedp_core.experiment import Experiment
from treedp_core.studies.budget import Ledger
from treedp_core.studies.sweep.series import Series


def settings() -> Experiment:
    """Return the experiment of this page.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` for custom shares that are no shares.
    """
    shared = replace(release(), allocation=get("con_allocation"), shares=shares("con"), metric="rmse")
    return Series(get("con_mechanism"), get("con_post")).of(shared)


def release() -> Experiment:
    """Return what is promised, whatever the split of the budget and the estimator."""
    mechanism = get("con_mechanism")
    return experiment(mechanism=mechanism, delta=slack_of([mechanism]))


def ledger(chosen: Experiment) -> Ledger | None:
    """Return what the split and what it was tuned on cost together; None where it was tuned on nothing.

    Raises
    ------
    InputError
        ``BUDGET_EXCEEDED``, ``PRIOR_OTHER``.
    """
    return tuned.admit_experiment("con", chosen, dataset().tree)


def draw(chosen: Experiment) -> Draw:
    """Return this page's draw; the last one is kept.

    Raises
    ------
    InputError
        What `experiment.prepare` refuses.
    """
    data, tau = dataset(), get("tau")
    key = (data.fingerprint, chosen, tau)
    return keep_one("_con_draw", key, lambda: draws.draw(chosen, data.tree, data.counts, tau))


def formulas(chosen: Experiment) -> tuple[ErrorSummary | None, ErrorSummary | None]:
    """Return the expected RMSE before and after, where theory knows it."""
    data = dataset()
    before = Series(chosen.mechanism, "none").of(chosen)

    def of(one: Experiment) -> ErrorSummary | None:
        return remember(("con", data.fingerprint, one), lambda: draws.expected(one, data.tree, data.counts))

    return of(before), of(chosen)


def draw_again() -> None:
    """Take the next seed: other noise on the same counts."""
    st.session_state["seed"] = (get("seed") + 1) % (MAX_SEED + 1)


def node() -> int:
    """Return the node looked at: one with children, or the root; a link's node beyond the tree means the root."""
    return family(dataset().tree, get("con_node"))


def go(target: int) -> None:
    """Look at another node."""
    st.session_state["con_node"] = target
