"""The other views of the page Multiplicative error: what printed budgets would cost, and what the question means."""

from __future__ import annotations

from typing import Any

import numpy as np
import streamlit as st

from pages.ui import frame
from pages.ui.settings import REG, get
from pages.ui.shared import say_slack
from pages.ui.snippets import call
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.ui.text import plural, short, whole
from pages.views.multiplicative import controls, state
from pages.views.multiplicative.growth import schedule_table
from pages.views.multiplicative.meaning import WORDS, accuracy_table
from pages.views.multiplicative.view import ABOUT_TOTAL, about
from treedp_core.figures.multiplicative import schedule_figure
from treedp_core.mechanisms.thresholds.schedule import PrintedSchedule, growth_ratio, printed_schedule
from treedp_core.words import privacy_text, setting_text


def schedule() -> str:
    """Show what the printed budgets sum to; return the strip for the title."""
    most = 60
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        controls.alpha()
        with st.container(width=260):
            st.slider(
                "Rounds ℓ", 1, most, key="mul_rounds", persist_state="session",
                help="Thresholds grow by 1 + 2α/3 a round, so ℓ rounds reach from α τ up to α τ (1 + 2α/3) to the ℓ.",
            )  # fmt: skip
    chosen = state.setting()
    alpha, eps, rounds = chosen.alpha, chosen.epsilon, get("mul_rounds")
    every = [printed_schedule(alpha, eps, n) for n in range(1, most + 1)]
    one = every[rounds - 1]
    _verdict(one, rounds)
    over = next((n for n, each in enumerate(every, 1) if each.overspend > 1.0), None)
    if over is not None:
        st.markdown(f"The printed budgets break the promise from **ℓ = {over}** rounds on.")
    ran = call(schedule_table, alpha, eps, most)
    columns = {name: np.array(values) for name, values in ran.value.items()}
    numbers = columns.pop("rounds")
    frame.figure(
        schedule_figure(numbers, columns, promised=eps, chosen=rounds),
        key="mul_schedule",
        alt=f"With {rounds} rounds the printed budgets sum to {short(one.overspend)} times the promise.",
        caption=f"Formula. α = {short(alpha)}, ε = {setting_text(eps)}, r = {short(growth_ratio(alpha))}. Algorithm 4 "
        "of Ghazi et al. prints εᵢ = ε i rⁱ⁻¹ / C with C = Σ i rⁱ⁻¹ = (1 − r)⁻²; as r > 1 that sum diverges, and ℓ "
        "rounds cost ε (1 + rˡ (ℓ (r − 1) − 1)). With q = 1/r in place of r everything the proof needs holds, and the "
        "budgets sum to ε. The printed schedule is an exhibit: nothing here can run it.",
        ran=ran,
    )
    _budgets(one)
    return strip(f"α = {short(alpha)}", plural(rounds, "round"), epsilon=eps)


def _verdict(one: PrintedSchedule, rounds: int) -> None:
    columns = st.columns(3)
    for column, label, value, note in (
        (columns[0], "Promised", setting_text(one.promised), f"over {plural(rounds, 'round')}"),
        (columns[1], "Printed budgets cost", privacy_text(one.printed_total),
         f"{short(one.overspend)} times the promise"),
        (columns[2], "Corrected budgets cost", privacy_text(one.corrected_total), "never more than promised"),
    ):  # fmt: skip
        with column, st.container(border=True, height="stretch"):
            st.metric(
                label, f"ε = {value}", note, delta_arrow="off", delta_color="off", help="Sum of εᵢ over the rounds."
            )


def _budgets(one: PrintedSchedule) -> None:
    with st.expander("The budget of every round"):
        table: dict[str, list[Any]] = {
            "round i": list(range(1, len(one.printed) + 1)),
            "εᵢ as printed": list(one.printed),
            "εᵢ corrected": list(one.corrected),
        }
        number = st.column_config.NumberColumn(format="%.4g")
        shown = dict.fromkeys(list(table)[1:], number)
        st.dataframe(table, hide_index=True, width="content", column_config=shown, alt="Budgets of all rounds")
        st.caption("Round 1 has the lowest threshold; the mechanism runs them from the last to the first.")


def meaning() -> str:
    """Say what multiplicative error is good for, and from which count on it promises something."""
    st.markdown(WORDS)
    st.header("From which count on is the promise kept?", anchor=False)
    with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
        controls.alpha()
        controls.levels()
        controls.total(ABOUT_TOTAL)
        with st.container(width=220):
            st.select_slider(
                "May fail with probability η", REG["mul_eta"].choices(get("mul_eta")), key="mul_eta",
                persist_state="session", format_func=short, help="For each node by itself.",
            )  # fmt: skip
    say_slack("thresholds and Gaussian noise", "mul_set_delta", int(get("mul_total")))
    chosen, d = state.setting(), state.levels()
    if d is None:
        return about(chosen, d)
    eta = get("mul_eta")
    ran = call(accuracy_table, chosen, d, eta)
    table = remember(("mul accuracy", chosen, d, eta), lambda: ran.value)
    number = st.column_config.NumberColumn(format="%.4g")
    st.dataframe(
        table, hide_index=True, width="content", column_config={"τ (records)": number},
        alt="Thresholds from which on counts are accurate, by mechanism",
    )  # fmt: skip
    st.caption(
        f"Every count of τ or more is within a factor 1 ± {short(chosen.alpha)} with probability {short(1 - eta)}, "
        f"smaller ones within α τ records ((α, η)-accurate with threshold τ in Ghazi et al.), on "
        f"{plural(d, 'level')}, {whole(round(chosen.max_total))} records at most. Lemma 3.2 is Markov's inequality: "
        "plans do better than it says."
    )
    frame.footer("mul_accuracy", ran)
    return about(chosen, d)
