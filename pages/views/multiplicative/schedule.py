"""Printed budgets on the page Multiplicative error: what the schedule in the paper would cost."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.cards import cards
from pages.ui.text import prose
from pages.views.multiplicative.growth import worst_case
from pages.views.multiplicative.settings import ROUNDS
from treedp_core.figures.multiplicative import schedule_figure
from treedp_core.mechanisms.thresholds.schedule import PrintedSchedule, growth_ratio, printed_schedule
from treedp_core.notebook.code import call
from treedp_core.studies.multiplicative.printed import breaks_at, budget_table, schedule_table
from treedp_core.words import plural, privacy_text, setting_text, short

MOST: Final = int(ROUNDS.drawn.high or 0)


def show_printed() -> None:
    """Show what the printed budgets sum to: an erratum."""
    st.header("Printed budgets", anchor=False)
    rounds = ROUNDS.draw()
    chosen = worst_case()
    alpha, eps = chosen.alpha, chosen.epsilon
    one, ran = printed_schedule(alpha, eps, rounds), call(schedule_table, alpha, eps, MOST)
    _verdict(one, rounds)
    over = breaks_at(ran.value, eps)
    if over is not None:
        prose(f"The printed budgets break the promise from **ℓ = {over}** rounds on.")
    frame.figure(
        call(schedule_figure, ran.named("budgets"), promised=eps, chosen=rounds),
        key="mul_schedule",
        alt=f"With {rounds} rounds the printed budgets sum to {short(one.overspend)} times the promise.",
        caption=f"Formula. α = {short(alpha)}, ε = {setting_text(eps)}, r = {short(growth_ratio(alpha))}. Algorithm 4 "
        "of Ghazi et al. prints εᵢ = ε i rⁱ⁻¹ / C with C = Σ i rⁱ⁻¹ = (1 − r)⁻²; as r > 1 that sum diverges, and ℓ "
        "rounds cost ε (1 + rˡ (ℓ (r − 1) − 1)). With q = 1/r in place of r everything the proof needs holds, and the "
        "budgets sum to ε. The printed schedule is an exhibit: nothing here can run it.",
        ran=ran,
    )
    _budgets(one)


def _verdict(one: PrintedSchedule, rounds: int) -> None:
    about = "Sum of εᵢ over the rounds."
    cards((
        ("Promised", f"ε = {setting_text(one.promised)}", f"over {plural(rounds, 'round')}", about),
        ("Printed budgets cost", f"ε = {privacy_text(one.printed_total)}",
         f"{short(one.overspend)} times the promise", about),
        ("Corrected budgets cost", f"ε = {privacy_text(one.corrected_total)}", "never more than promised", about),
    ))  # fmt: skip


def _budgets(one: PrintedSchedule) -> None:
    with st.expander("The budget of every round"):
        frame.plain_table(
            budget_table(one),
            alt="Budgets of all rounds",
            caption="Round 1 has the lowest threshold; the mechanism runs them from the last to the first.",
            formats=dict.fromkeys(("εᵢ as printed", "εᵢ corrected"), privacy_text),
            width="content",
        )
