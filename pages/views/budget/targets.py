"""From wanted accuracies to the smallest budget: a target for each level, the answer with its split, what binds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final

import numpy as np
import streamlit as st

from pages.ui import frame, tuned
from pages.ui.refusals import refusal
from pages.ui.settings import REG, get
from pages.ui.snippets import call, given
from pages.ui.store import dataset
from pages.ui.text import lit, plain, plural, short
from pages.views.budget.settings import CONFIDENCE_GRID, CUSTOM
from pages.views.budget.split import Settings
from pages.views.budget.state import Results, data_again, key_of, later, wait
from pages.views.budget.tables import target_table
from pages.views.budget.view import CARD, marked
from treedp_core import checks
from treedp_core.allocation.shares import fitted, handed_over, text_of, values_of_text
from treedp_core.checks import InputError
from treedp_core.figures import budget as figures
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency
from treedp_core.privacy.conversions import rho_to_epsilon, rho_to_epsilon_gaussian
from treedp_core.rounding import float_above
from treedp_core.studies.budget import (
    Ask,
    Confirmation,
    Inverse,
    Ledger,
    Prior,
    Problem,
    Target,
    confirm,
    smallest_budget,
)
from treedp_core.watch import Watch
from treedp_core.words import budget_text, plus_minus, privacy_text, setting_text

ASKS: Final = {
    "average_node": "A count picked at random is within x %",
    "every_node": "Every count is within x %",
    "rmsre": "RMSRE at most x %",
    "rmse": "RMSE at most x records",
}
MAX_INPUTS: Final = 8
FIRST: Final = 10.0
"""Target of the level above the last until the reader sets one."""
SLOT: Final = "budget_targets"


def show(result: Results) -> None:
    """Show the targets, and the smallest budget that meets them as far as the prior tells."""
    _controls()
    if result.tuned is None or result.prior is None:
        st.info("The search needs a prior to look at.", icon=":material/history:")
        return
    tuned, chosen = result.tuned, result.settings
    try:
        targets = wanted()
        key = (key_of(chosen), tuple(targets))
        found = later(SLOT, key, lambda watch: _searched(tuned, targets, watch))
    except InputError as error:
        refusal(error)
        return
    if found is None:
        wait(SLOT, "Searching for the smallest budget")
        return
    _answer(result, *found, targets)


def _searched(tuned: Problem, targets: list[Target], watch: Watch) -> tuple[Inverse, Confirmation | None]:
    """The smallest budget, and simulated releases held against the first target that binds."""
    found = smallest_budget(tuned, targets, watch)
    binding = next((target for target in targets if target.level in found.binding), None)
    return found, None if binding is None else confirm(tuned.watched(watch), found.amounts, binding)


def wanted() -> list[Target]:
    """Return the targets that are set, level by level.

    Raises
    ------
    InputError
        ``TARGET_RANGE``.
    """
    ask = Ask[get("bud_ask").upper()]
    part = 1.0 if ask is Ask.RMSE else 0.01
    return [
        Target(level, ask, part * value, get("bud_confidence"), get("tau"))
        for level, value in enumerate(_values())
        if value > 0
    ]


def _values() -> list[float]:
    text, n_levels = get("bud_targets"), dataset().tree.n_levels
    if text.strip():
        return fitted(values_of_text(text), n_levels)
    return [FIRST if level == max(1, n_levels - 2) else 0.0 for level in range(n_levels)]


def _controls() -> None:
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        with st.container(width=340):
            st.selectbox(
                "Wanted",
                list(ASKS),
                key="bud_ask",
                persist_state="session",
                format_func=ASKS.__getitem__,
                help="Counts below τ are judged as if they were τ. “Every count” holds for each count by itself, not "
                "for all of them at once.",
            )
        if get("bud_ask") in ("average_node", "every_node"):
            confidence("bud_confidence")
    data = dataset()
    unit = "records" if get("bud_ask") == "rmse" else "%"
    if data.tree.n_levels <= MAX_INPUTS:
        try:
            values = _values()
        except InputError:
            values = [0.0] * data.tree.n_levels
        columns = st.columns(data.tree.n_levels)
        for level, (column, name) in enumerate(zip(columns, data.labels.level_names, strict=True)):
            key = f"bud_t{level}"
            st.session_state[key] = values[level]
            column.number_input(
                f"{lit(name, 18)} ({unit})",
                min_value=0.0,
                key=key,
                format="%g",
                on_change=_changed,
                help=f"{plural(int(data.tree.level_sizes[level]), 'node')}; 0: no target.",
            )
        return
    st.text_input(
        f"Targets ({unit}), from the root down",
        key="bud_targets",
        persist_state="session",
        max_chars=200,
        placeholder="0, 10, 0",
        help="One number for each level; 0: no target.",
    )


def confidence(key: str) -> None:
    """Show with what probability a count must be within reach."""
    with st.container(width=210):
        st.select_slider(
            "with probability",
            REG[key].choices(get(key)) or CONFIDENCE_GRID,
            key=key,
            persist_state="session",
            format_func=short,
            help="0.95 is nineteen times in twenty.",
        )


def _changed() -> None:
    values = [float(st.session_state.get(f"bud_t{level}") or 0.0) for level in range(dataset().tree.n_levels)]
    st.session_state["bud_targets"] = text_of(values) if any(values) else "0"


def _answer(result: Results, found: Inverse, seen: Confirmation | None, targets: list[Target]) -> None:
    chosen, prior = result.settings, result.prior
    assert prior is not None
    names = dataset().labels.level_names
    truth, tuned, _ = data_again(result)
    again = given(found, smallest_budget, tuned, targets).named("found")
    ran = call(target_table, tuned, truth, again, targets, names, chosen.symbol).saying(result.label)
    total = float_above(Fraction(found.total) + Fraction(prior.spent))
    epsilon = epsilon_for(chosen, total)
    lower = "–" if found.lower_bound is None else budget_text(found.lower_bound)
    cards = (
        ("Smallest ε in all", privacy_text(epsilon), f"{chosen.symbol} = {privacy_text(found.total)}, levels"),
        ("For the prior", privacy_text(prior.spent), chosen.symbol),
        ("Seen in simulation", *_seen(seen)),
        ("Binding level", ", ".join(str(level) for level in found.binding) or "–", _names(found, names)),
        ("Proved lower bound", lower, _bounded(found, chosen)),
    )
    with st.container(horizontal=True):
        for label, value, below in cards:
            st.metric(label, value, below or None, delta_arrow="off", delta_color="off", border=True, width=CARD)
    whole = total or 1.0
    row = figures.StrategyRow("custom", "Split", found.amounts / whole, found.amounts, math.nan, prior.spent / whole)
    fig = figures.strategies([row], names, error_title="")
    fig.update_layout(height=210, xaxis_domain=[0.0, 0.97], xaxis2_visible=False)
    fig.data = fig.data[:-1]
    frame.figure(
        marked(fig, result),
        key="bud_targets_split",
        alt="Share of each level in the smallest budget.",
        caption=f"Judged on the prior, with {MECHANISMS[chosen.law].label} noise"
        + (", after least squares. " if chosen.least_squares else ", before least squares. ")
        + ("" if found.exact else "Probabilities after least squares are partly simulated. ")
        + _certainty(found, chosen)
        + f" Counts below τ = {short(get('tau'))} are judged as τ.",
        ran=ran,
    )
    st.dataframe(ran.value, hide_index=True, alt="Targets, budget and what is reached, by level")
    _ledger(result, found, total, epsilon)


def _seen(seen: Confirmation | None) -> tuple[str, str]:
    """What simulated releases reached of the target that binds, ± 95 %, and in how many of them."""
    if seen is None:
        return "–", ""
    what = {Ask.EVERY_NODE: "worst count", Ask.AVERAGE_NODE: "mean count"}.get(seen.target.ask, seen.target.ask.name)
    shown = f"{seen.seen:.4f}" if seen.target.ask in (Ask.EVERY_NODE, Ask.AVERAGE_NODE) else short(seen.seen)
    return shown, f"{plus_minus(seen.standard_error).strip()}, {what}, {plural(seen.trials, 'run')}"


def _bounded(found: Inverse, settings: Settings) -> str:
    return "none: not convex" if found.lower_bound is None else f"{settings.symbol}, levels"


def _certainty(found: Inverse, settings: Settings) -> str:
    """Say what is proved of the answer, or why nothing is."""
    if found.lower_bound is not None:
        return "Proved optimal but for rounding." if _is_proved(found) else "The best of several searches."
    why = "with this noise" if settings.law != "gaussian" else "for a probability averaged over counts"
    return f"The best of several searches, not certified: {why} the problem is not convex, so no lower bound is proved."


def _is_proved(found: Inverse) -> bool:
    return found.lower_bound is not None and found.total <= found.lower_bound * (1 + 1e-3)


def _names(found: Inverse, names: tuple[str, ...]) -> str:
    return ", ".join(names[level][:24] for level in found.binding)


def epsilon_for(settings: Settings, amount: float) -> float:
    """Return the ε that an amount of the mechanism's currency promises."""
    if settings.currency is Currency.EPSILON or amount == 0:
        return amount
    convert = rho_to_epsilon_gaussian if MECHANISMS[settings.law].continuous_gaussian else rho_to_epsilon
    return convert(amount, settings.experiment.delta)


def _ledger(result: Results, found: Inverse, total: float, epsilon: float) -> None:
    chosen, prior = result.settings, result.prior
    spent = tuple(np.where(result.truth.paid > 0, found.amounts, 0.0).tolist())
    unit = result.truth.unit
    exact = unit.exact_charge(spent) + (Fraction(0) if prior is None else Fraction(prior.spent))
    ledger = Ledger(unit, chosen.currency, float_above(exact), prior, spent)
    st.markdown(f"**Ledger.** {plain(ledger.sentence())}")
    raised = float(privacy_text(epsilon))
    fits = checks.EPSILON_LOW <= raised <= checks.EPSILON_HIGH
    whole, cost = max(chosen.amount(raised), total) if fits else total, 0.0 if prior is None else prior.spent
    shares = handed_over(spent, found.total, whole, cost) if total else ""
    st.button(
        f"Set ε = {setting_text(raised)} and this split",
        key="bud_targets_use",
        icon=":material/send:",
        type="primary",
        disabled=not fits or not found.total,
        on_click=_use,
        args=(raised, shares, prior),
        help="Puts the total into the sidebar and the split into “Your own split”.",
    )


def _use(epsilon: float, shares: str, prior: Prior | None) -> None:
    update: dict[str, Any] = {"eps": epsilon, "bud_shares": shares, "bud_strategy": CUSTOM, "bud_view": "custom"}
    st.session_state.update(update | tuned.keep("bud", prior))
