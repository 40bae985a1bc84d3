"""From wanted accuracies to the smallest budget: the targets, the answer with its split, and what it costs."""

from __future__ import annotations

from functools import partial
from typing import Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.setting import in_a_row, key_of
from pages.ui.inputs.settings import EPSILON, EPSILON_TUNED
from pages.ui.inputs.text import cards, lit, prose
from pages.ui.notebook import undo
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, see
from pages.ui.tables import plans, tuning_provenance
from pages.ui.tables.experiment_inputs import inputs_now
from pages.ui.tables.store import dataset
from pages.views.budget import settings as s
from pages.views.budget.controls import draw_prior, more, say
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.studies.budget import Ask, Price, Source, Wanted, with_target, without
from treedp_core.studies.budget.targets.target_text import TARGETS
from treedp_core.views import VIEWS, budget
from treedp_core.views.budget import BudgetInputs, words
from treedp_core.words import plural, setting_text

CHIPS: Final = "bud_chips"
LEVEL: Final = "bud_add_level"
VALUE: Final = "bud_add_value"
UNIT: Final = "bud_add_unit"
PART: Final = "bud_add_part"
AMONG: Final = "bud_add_among"
UNITS: Final = ("%", "records")


def show() -> Told:
    """Show the targets, and the smallest budget that meets them as far as the prior tells."""
    with in_a_row():
        _chips()
        with st.popover("Add a target", icon=":material/add:", help="A level, and how close its counts should be"):
            _add()
        s.MARGINS.draw()
        draw_prior()
    seen = see(VIEWS["budget.targets"], inputs_now(BudgetInputs))
    frame.found(seen)
    say(seen, "Searching for a smaller ε" if _is_known(seen) else "Searching for the smallest ε")
    return seen.told(more=partial(_more, seen))


def _is_known(seen: Seen[BudgetInputs]) -> bool:
    """Whether the smallest ε is shown, and only what simulated releases reach is still to come."""
    answer = None if seen.value is None else seen.value.answer
    return answer is not None and not answer.is_simulated


def _chips() -> None:
    """One chip a target, which takes it away.

    Other targets are another widget: a browser may still say what was chosen of those before.
    """
    data, inputs = dataset(), inputs_now(BudgetInputs)
    try:
        there = dict(enumerate(inputs.wanted(data)))
    except InputError:
        there = {}
    names, key = data.labels.level_names, f"{CHIPS}_{key_of(inputs.targets_for(data), inputs.margins)}"
    st.session_state[key] = list(there)
    st.pills(
        "Targets", list(there), selection_mode="multi", key=key, on_change=_dropped, args=(key, tuple(there)),
        format_func=lambda number: words.target(there[number], lit(names[there[number].level], 18)),
        help="What the smallest ε must reach, each with the probability chosen under **Add a target**. A click takes "
        "a target away.",
    )  # fmt: skip


def _dropped(key: str, there: tuple[int, ...]) -> None:
    inputs, gone = inputs_now(BudgetInputs), [number for number in there if number not in st.session_state[key]]
    s.TARGETS.set(without(inputs.targets_for(dataset()), gone, inputs.usual))


def _add() -> None:
    data, asked = dataset(), s.ASK.draw()
    names = data.labels.level_names
    st.selectbox(
        "Level", range(data.tree.n_levels), index=min(1, data.tree.height), key=LEVEL,
        format_func=lambda level: f"{lit(names[level], 24)} ({plural(int(data.tree.level_sizes[level]), 'node')})",
        help="Whose counts are to be close. A level may have several targets; one that asks the same of the same "
        "counts takes the place of the old one.",
    )  # fmt: skip
    single = Ask[asked.upper()] not in (Ask.RMSE, Ask.RMSRE)
    left, right = st.columns(2)
    left.number_input(
        "At most (records)" if asked == "rmse" else "x", min_value=0.0, value=5.0, key=VALUE, format="%g",
        help="x in the kind above, before **Margins ×**; 0 takes the target away.",
    )  # fmt: skip
    if single:
        right.segmented_control(
            "in", UNITS, key=UNIT, required=True, default=UNITS[0],
            help="Per cent of the true count, or a margin in records.",
        )  # fmt: skip
    left, right = st.columns(2)
    left.number_input(
        "Counts from … on", min_value=0.0, value=0.0, key=AMONG, format="%g",
        help="Only counts of at least so many records in the prior, which may be looked at; the true counts may not. "
        "0 asks about all.",
    )  # fmt: skip
    if asked == "share":
        right.number_input(
            "Part of them (%)", min_value=0.1, max_value=100.0, value=95.0, key=PART, format="%g",
            help="How many of the counts of one release are to be close, at least; 100 is all of them at once.",
        )  # fmt: skip
    if single:
        s.CONFIDENCE.draw()
    st.button("Add", key="bud_add", type="primary", icon=":material/add:", on_click=_added, help="Adds this target.")


def _added() -> None:
    held, inputs = st.session_state, inputs_now(BudgetInputs)
    kind = inputs.usual
    one = Wanted(
        kind, float(held[VALUE] or 0.0), kind not in (Ask.RMSE, Ask.RMSRE) and held.get(UNIT) == UNITS[1],
        float(held.get(PART) or 95.0) if kind is Ask.SHARE else 95.0, float(held[AMONG] or 0.0),
    )  # fmt: skip
    s.TARGETS.set(with_target(inputs.targets_for(dataset()), int(held[LEVEL]), one, kind))


def _more(seen: Seen[BudgetInputs]) -> None:
    more()
    s.TARGETS.draw()
    paid, found = seen.of(budget.cost), seen.of(budget.costs)
    if seen.slow is None or paid is None:
        return
    cards(list(zip(*found.table.values(), strict=True)), flow=True)
    frame.plain_table(seen.finding.table, alt="Targets, budget and what is reached, by level")
    prose(found.answer)
    asked = seen.slow.here().request.question.experiment
    plans.button("bud_targets", partial(plans.of_ledger, paid.ledger, asked), "from Budget split")
    st.button(
        f"Set ε = {setting_text(paid.to_set)} and this split", key="bud_targets_use", icon=":material/send:",
        type="primary", disabled=not paid.shares, on_click=_use, args=(paid, asked),
        help="Puts the total into the sidebar, and the split with this noise into “Your own split”, the Error lab, "
        "Consistency and Release plan. Back undoes it.",
    )  # fmt: skip


def _use(paid: Price, asked: Experiment) -> None:
    now, prior = inputs_now(BudgetInputs), paid.ledger.prior
    source = Source(TARGETS, paid.to_set, now.scaled_targets(dataset()), now.confidence, now.threshold)
    undo.take_split(paid.shares, source, prior, asked)
    EPSILON.set(paid.to_set)
    EPSILON_TUNED.set(EPSILON_TUNED.default if prior is None or prior.is_private else paid.to_set)
    s.SHARES.set(paid.shares)
    s.STRATEGY.set(s.CUSTOM)
    s.VIEW.set(s.CUSTOM)
    tuning_provenance.keep("bud", prior)
