"""From wanted accuracies to the smallest budget: the targets, the answer with its split, and what binds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame, handover, plans, result, tuned
from pages.ui.cards import cards
from pages.ui.page import Told
from pages.ui.setting import in_a_row, key_of
from pages.ui.settings import EPSILON, EPSILON_TUNED, THRESHOLD
from pages.ui.store import dataset
from pages.ui.text import lit, plain, prose
from pages.views.budget import ask, compared, words
from pages.views.budget import settings as s
from pages.views.budget.compared import Compared
from pages.views.budget.strategies import marked
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.figures.budget import targets_met
from treedp_core.figures.of_budget import targets_of
from treedp_core.notebook.code import Ran, call, given
from treedp_core.studies.budget import (
    Answer,
    Ask,
    Origin,
    Price,
    Prior,
    Source,
    Target,
    Wanted,
    answer,
    price,
    target_table,
    with_target,
    without,
)
from treedp_core.studies.budget.source import TARGETS
from treedp_core.words import plural, privacy_text, setting_text

SLOT: Final = "budget_targets"
SEARCHING: Final = "Searching for the smallest ε"
PANELS: Final = (
    "Left: each level's share of the smallest budget. Right: the error at each target, that of an equal split, and "
    "what is wanted, as bars and in numbers."
)
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
        ask.draw_prior()
    told = compared.show(ask.question(), _targets, _more, best=False)
    return told._replace(badges=words.CONFIRMED)


def _chips() -> None:
    """One chip a target, which takes it away.

    Other targets are another widget: a browser may still say what was chosen of those before.
    """
    try:
        there = dict(enumerate(ask.wanted()))
    except InputError:
        there = {}
    names, key = dataset().labels.level_names, f"{CHIPS}_{key_of(ask.text())}"
    st.session_state[key] = list(there)
    st.pills(
        "Targets", list(there), selection_mode="multi", key=key, on_change=_dropped, args=(key, tuple(there)),
        format_func=lambda number: words.target(there[number], lit(names[there[number].level], 18)),
        help="What the smallest ε must reach, each with the probability chosen under **Add a target**. A click takes "
        "a target away.",
    )  # fmt: skip


def _dropped(key: str, there: tuple[int, ...]) -> None:
    s.TARGETS.set(without(ask.text(), [number for number in there if number not in st.session_state[key]], ask.usual()))


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
        help="x in the kind above; 0 takes the target away.",
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
    held, kind = st.session_state, ask.usual()
    one = Wanted(
        kind, float(held[VALUE] or 0.0), kind not in (Ask.RMSE, Ask.RMSRE) and held.get(UNIT) == UNITS[1],
        float(held.get(PART) or 95.0) if kind is Ask.SHARE else 95.0, float(held[AMONG] or 0.0),
    )  # fmt: skip
    s.TARGETS.set(with_target(ask.text(), int(held[LEVEL]), one, kind))


def _targets(one: Compared) -> None:
    kept = _sought(one)
    of, targets = kept.made_for if kept.value is not None else (one, ())
    _figure(of, targets, kept)
    if one.tuned is None:
        st.info("The search needs a prior to look at.", icon=":material/history:")
    result.show_state(kept if one.tuned is not None else replace(kept, error=None), SEARCHING)


def _sought(one: Compared) -> result.Result[Answer]:
    """The answer; below targets that are refused, and while another is sought, the last one."""
    try:
        targets = ask.wanted()
        if one.tuned is None:
            raise InputError("PRIOR_EMPTY", "Expected a prior to look at.")
    except InputError as error:
        return result.refused(SLOT, error)
    about = "; ".join(target.described for target in targets)
    return result.in_background(
        SLOT, (one, targets), 100, partial(answer, one.tuned.value, targets),
        about=f"{about} · {compared.about(one.question)}",
    )  # fmt: skip


def _figure(of: Compared, targets: tuple[Target, ...], kept: result.Result[Answer]) -> None:
    names, found = dataset().labels.level_names, kept.value
    if found is None:
        told = f"{SEARCHING} …" if kept.is_pending else "No answer: see below."
        fig, ran = call(targets_met, (), names, ()), None
    else:
        told = words.smallest(of.question, _prior(of), targets, found, [lit(name, 24) for name in names])
        fig = call(targets_of, _answered(of, targets, found), names, targets)
        ran = _table(of, targets, found)
    frame.figure(
        marked(fig, of),
        key="bud_targets_split",
        alt="Share of each level in the smallest budget, and the error at each target beside an equal split's.",
        answer=told,
        caption=PANELS if found is None else words.answered(found.found, of.question, targets),
        ran=ran,
    )


def _prior(of: Compared) -> Prior | None:
    return None if of.prior is None else of.prior.value


def _answered(of: Compared, targets: tuple[Target, ...], found: Answer) -> Ran[Answer]:
    return given(found, answer, of.tuned, targets).named("answered")


def _table(of: Compared, targets: tuple[Target, ...], found: Answer) -> Ran[dict[str, Any]]:
    """The targets level by level, with what the prior, simulated releases and the true counts say of them."""
    names, again = dataset().labels.level_names, _answered(of, targets, found)
    return call(
        target_table, of.tuned, of.truth, again.get("found"), targets, names, of.question.symbol,
        confirmed=again.get("confirmed"),
    ).saying(of.label)  # fmt: skip


def _more(one: Compared) -> None:
    ask.more()
    s.TARGETS.draw()
    if one.tuned is None:
        return
    kept = _sought(one)
    if kept.value is not None:
        of, targets = kept.made_for
        _ledger(of, targets, kept.value)


def _ledger(of: Compared, targets: tuple[Target, ...], of_targets: Answer) -> None:
    found, seen = of_targets.found, of_targets.seen
    names, symbol, prior = dataset().labels.level_names, of.question.symbol, _prior(of)
    cost = price(of.question, of.truth.value, found, prior)
    cards((
        ("Smallest ε in all", privacy_text(cost.epsilon), f"{symbol} = {privacy_text(found.total)}, levels",
         "What the levels and the prior cost together, in ε, rounded up."),
        ("For the prior", privacy_text(prior.spent if prior else 0), symbol,
         "What the split was tuned on cost; 0 where it is public, or where nothing depends on counts."),
        ("Seen in simulation", *words.seen(seen),
         "What simulated releases with this split reach of the target that binds; the table below has every target."),
        ("Binding level", *words.binding(found, names), "The level whose target asks for the most."),
        ("Proved lower bound", *words.lower_bound(found, of.question), "No split reaches the targets with less."),
    ), flow=True)  # fmt: skip
    ran = _table(of, targets, of_targets)
    table = result.at_once("budget_target_table", (of, targets), lambda: ran.value).here()
    frame.plain_table(table, alt="Targets, budget and what is reached, by level")
    prose(f"{words.answered(found, of.question, targets)}\n\n**Ledger.** {plain(cost.ledger.sentence())}")
    plans.button("bud_targets", partial(plans.of_ledger, cost.ledger, of.question.experiment), "from Budget split")
    st.button(
        f"Set ε = {setting_text(cost.to_set)} and this split",
        key="bud_targets_use",
        icon=":material/send:",
        type="primary",
        disabled=not cost.shares,
        on_click=_use,
        args=(cost, None if prior is None else prior.origin, of.question.experiment),
        help="Puts the total into the sidebar, and the split with this noise into “Your own split”, the Error lab, "
        "Consistency and Release plan. Back undoes it.",
    )


def _use(cost: Price, prior: Origin | None, asked: Experiment) -> None:
    source = Source(TARGETS, cost.to_set, ask.text(), s.CONFIDENCE.value, THRESHOLD.value)
    handover.take(cost.shares, source, prior, asked)
    EPSILON.set(cost.to_set)
    EPSILON_TUNED.set(EPSILON_TUNED.default if prior is None or prior.is_private else cost.to_set)
    s.SHARES.set(cost.shares)
    s.STRATEGY.set(s.CUSTOM)
    s.VIEW.set(s.CUSTOM)
    tuned.keep("bud", prior)
