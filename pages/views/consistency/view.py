"""The Consistency page: what is released, cards, errors by level, and what one learns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import streamlit as st

from pages.ui import controls, frame, plans, tuned
from pages.ui.cards import cards
from pages.ui.page import Told
from pages.ui.result import at_once, show_state
from pages.ui.setting import in_a_row
from pages.ui.shared import experiment, note_of_slack, slack_of
from pages.ui.store import dataset, used
from pages.ui.strip import of_data, of_experiment
from pages.ui.text import prose
from pages.views.consistency import settings as s
from pages.views.consistency import words
from pages.views.consistency.ledger import ledger
from pages.views.consistency.pictures import drawn_again, picture, strips
from treedp_core.experiment import Experiment
from treedp_core.figures import error_boxes
from treedp_core.figures.sweep import expected_by_level
from treedp_core.notebook.code import Ran, call
from treedp_core.postprocess.chains import CHAINS
from treedp_core.studies.budget import Ledger
from treedp_core.studies.sweep.before_after import Draw, Expected, bias_table, box_table, draw, expected, expected_table
from treedp_core.studies.sweep.series import Series
from treedp_core.words import plural, short, whole


class Shown(NamedTuple):
    """One draw, the closed forms, and of the split: what it and its tuning cost together, and what must be said."""

    draw: Draw
    expected: Ran[list[Expected]]
    ledger: Ledger | None
    label: str


def show() -> Told:
    """Show the page: one family and the tree, before or after; the rest under *More*."""
    with in_a_row():
        s.SHOWN.draw(bare=True)
        controls.pipelines(s.POST)
        controls.draw_again("con_draw")
    promised = experiment(
        mechanism=s.MECHANISM.value, delta=slack_of([s.MECHANISM.value]),
        accounting=tuned.accounting("con", s.ACCOUNTING.value),
    )  # fmt: skip
    asked = (promised, s.POST.value, s.ALLOCATION.value, s.SHARES.value, tuned.in_force("con"))
    about = of_experiment(promised, Series(s.MECHANISM.value, s.POST.value).label, seeded=True)
    found = at_once("con_draw", asked, lambda: _computed(promised), about=about)
    shown = found.value
    if shown is not None:
        promised = shown.draw.experiment
        picture(shown.draw, shown.label, words.answer(shown.draw, shown.expected.value))
    tuned.note("con", found.here().ledger if found.is_ready else None)
    show_state(found, "Drawing")
    note_of_slack([s.MECHANISM.value], "con_set_delta")
    told = of_experiment(promised, *of_data(dataset()), seeded=shown is not None)
    return Told(told, "formula, simulation, NOT PRIVATE", more=partial(_more, shown))


def _more(shown: Shown | None) -> None:
    with in_a_row():
        s.MECHANISM.draw()
        controls.split(s.ALLOCATION, s.SHARES)
        controls.accounting(s.ACCOUNTING, [s.MECHANISM.value])
    if shown is None:
        return
    _cards(shown)
    strips(shown.draw, shown.label)
    _by_level(shown)
    ledger(shown.draw)
    controls.split_by_level(shown.draw.experiment, dataset(), key="con_split_table", label=shown.label)
    plans.button("con", partial(plans.of_experiment, shown.draw.experiment, "con"), "from Consistency")
    _learned(shown)


def _computed(promised: Experiment) -> Shown:
    """One draw with the settings of this page.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` for custom shares that are no shares; ``BUDGET_EXCEEDED`` and ``PRIOR_OTHER`` when what they
        were tuned on does not go with them; what `experiment.prepare` refuses.
    """
    data, source = dataset(), used()
    chosen = replace(
        promised, postprocess=CHAINS[s.POST.value].steps, allocation=s.ALLOCATION.value,
        shares=controls.shares(s.ALLOCATION, s.SHARES), metric="rmse",
    )  # fmt: skip
    paid = tuned.admit_experiment("con", chosen, data.tree)
    forms = call(expected, chosen, s.POST.value, source.get("tree"), source.get("counts")).named("forms")
    return Shown(draw(chosen, data.tree, data.counts), forms, paid, tuned.label("con"))


def _cards(shown: Shown) -> None:
    """What the estimator changed in this draw, and what it changes on average."""
    the = shown.draw
    gaps, below = the.gaps, the.negatives
    tau = f"Relative to the count, or to τ = {short(the.experiment.threshold)} if that is larger."
    rmse, rmsre = the.metric("rmse"), the.metric("rmsre")
    told = (
        ("Mean parent–children gap", short(gaps[1]), f"was {short(gaps[0])}",
         "Mean of |parent − sum of its children|, in records."),
        ("RMSE, all nodes", short(rmse[1]), words.change(*rmse), "Root mean square error of this draw, in records."),
        ("RMSRE", short(rmsre[1]), words.change(*rmsre), tau),
        ("Negative counts", whole(below[1]), f"was {whole(below[0])}", f"Of {plural(the.tree.n_nodes, 'count')}."),
    )  # fmt: skip
    only = "This draw only: simulation on the true counts, NOT PRIVATE."
    cards([(label, after, was, f"{about} {only}") for label, after, was, about in told])
    prose(words.expected_line(shown.expected.value, the.experiment))


def _by_level(shown: Shown) -> None:
    """Errors level by level: this draw as boxes, and the expected RMSE from the formula."""
    names, boxes = used().get("labels.level_names"), drawn_again(shown.draw).get("quantiles")
    st.header("Error by level", anchor=False)
    left, right = st.columns(2)
    with left:
        frame.figure(
            call(error_boxes, boxes, names),
            key="con_boxes",
            alt="Boxes of signed errors before and after, for each level.",
            caption="NOT PRIVATE: signed errors of this draw (simulation on the true counts, seed "
            f"{shown.draw.experiment.seed}). Boxes: quartiles and median; dashed: mean; whiskers: 95 % of the nodes.",
            ran=call(box_table, boxes, names),
            simulated=True,
            label=shown.label,
        )
    silent = words.is_biased(shown.draw.experiment)
    with right:
        frame.figure(
            call(expected_by_level, shown.expected, names),
            key="con_levels",
            alt="Expected root mean square error of each level, before and after.",
            caption="Expected RMSE by level: formula, from noise variances (after least squares Dawson et al., "
            "Algorithm 2)"
            + ("." if shown.label else "; it does not depend on the counts.")  # a tuned split does
            + (" After a biased step no formula is known." if silent else ""),
            ran=call(expected_table, shown.expected, names),
            label=shown.label,
        )


def _learned(shown: Shown) -> None:
    """Where the gain is largest, and what clipping does to counts of each size."""
    st.header("What you learn", anchor=False)
    told = (words.gain_line(shown.expected.value, dataset().labels), words.bias_line(shown.draw))
    prose("  \n".join(filter(None, told)))
    frame.plain_table(
        bias_table(shown.draw),
        alt="Mean signed error of this draw by size of the true count",
        caption="NOT PRIVATE: mean signed error of this draw by true count; levels published exactly are left out.",
        formats=dict.fromkeys(("mean error before", "mean error after"), short),
        width="content",
    )
