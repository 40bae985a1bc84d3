"""Controls of the error lab and the Consistency page: what is released, how its budget is split, what is looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import streamlit as st

from pages.ui.presets import Presets, popover
from pages.ui.refusals import refusal
from pages.ui.settings import REG, get
from pages.ui.shared import fits
from pages.ui.text import plural, short, whole
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import DELTA_USUAL, InputError
from treedp_core.errors import METRICS
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.records import Dataset
from treedp_core.studies.sweep.series import VIEWS
from treedp_core.studies.sweep.split import split_table
from treedp_core.words import privacy_text

PRESETS: Final[Presets] = {
    "Uniform vs minimax": (
        "Gaussian noise with least squares, level by level, split by minimax: every node gets the same error. "
        "Then choose the split “Uniform” and compare.",
        {
            "delta": DELTA_USUAL,  # or less: see `_apply`
            "lab_mechanisms": ["gaussian"],
            "lab_post": ["none", "least_squares"],
            "lab_metric": "rmse",
            "lab_view": "level",
            "lab_allocation": "minimax",
        },
    ),
    "What least squares buys": (
        "Discrete Laplace noise with and without least squares, level by level: no level loses, and it is free.",
        {
            "lab_mechanisms": ["discrete_laplace"],
            "lab_post": ["none", "least_squares"],
            "lab_metric": "rmse",
            "lab_view": "level",
            "lab_allocation": "uniform",
        },
    ),
    "Deep binary tree": (
        "A generated tree with 12 binary splits: more and more levels share the budget, and the error grows with them.",
        {
            "source": "generate",
            "gen_branching": ",".join(["2"] * 12),
            "lab_mechanisms": ["laplace", "discrete_laplace"],
            "lab_post": ["none", "least_squares"],
            "lab_metric": "rmse",
            "lab_view": "n_levels",
            "lab_allocation": "uniform",
        },
    ),
}


def mechanisms(key: str, label: str, *, several: bool) -> None:
    """Show the mechanisms as pills."""
    about = "\n\n".join(f"**{one.label}**: {one.help}" for one in MECHANISMS.values())
    _pills(label, list(MECHANISMS), lambda name: MECHANISMS[name].label, key, about, several=several)


def _pills(
    label: str, names: list[str], format_func: Callable[[str], str], key: str, about: str, *, several: bool
) -> None:
    """Show names to choose from: exactly one, or any number."""
    if several:
        st.pills(
            label, names, selection_mode="multi", format_func=format_func, key=key, persist_state="session", help=about
        )
    else:
        st.pills(
            label,
            names,
            required=True,
            format_func=format_func,
            key=key,
            persist_state="session",
            help=about,
        )


def pipelines(key: str, label: str, *, several: bool) -> None:
    """Show the post-processing pipelines as pills: the first ones, in advanced mode all."""
    chosen = get(key) if several else (get(key),)
    offered = [name for name in CHAINS if get("level") == "Advanced" or CHAINS[name].basic or name in chosen]
    about = "Costs no privacy budget. “Advanced” in the sidebar shows all.\n\n" + "\n\n".join(
        f"**{one.label}**: {one.help}" for one in POSTPROCESSORS.values()
    )
    _pills(label, offered, lambda name: CHAINS[name].label, key, about, several=several)


def metric() -> None:
    """Show the error metrics, and the settings the chosen one takes."""
    st.segmented_control(
        "Metric",
        list(METRICS),
        required=True,
        format_func=lambda name: METRICS[name].label,
        key="lab_metric",
        persist_state="session",
        help="\n\n".join(f"**{one.label}**: {one.help}" for one in METRICS.values()),
    )


def view() -> None:
    """Show what the error is drawn against."""
    st.segmented_control(
        "View",
        list(VIEWS),
        required=True,
        format_func=lambda name: VIEWS[name],
        key="lab_view",
        persist_state="session",
        help="“One draw” is a single simulated release beside the true counts: NOT PRIVATE.",
    )


def trials() -> None:
    """Show how many releases a simulation draws."""
    st.segmented_control(
        "Repetitions",
        REG["lab_trials"].choices(get("lab_trials")),
        required=True,
        format_func=whole,
        key="lab_trials",
        persist_state="session",
        help="Simulated releases for each marker. Four times as many halve the 95 % bars.",
    )


def split(prefix: str) -> None:
    """Show the budget split: a named one, or shares of your own."""
    st.selectbox(
        "Budget split",
        list(ALLOCATIONS),
        format_func=lambda name: ALLOCATIONS[name].label,
        key=f"{prefix}_allocation",
        persist_state="session",
        help="\n\n".join(f"**{one.label}**: {one.help}" for one in ALLOCATIONS.values()),
    )
    if get(f"{prefix}_allocation") == "custom":
        st.text_input(
            "Shares",
            key=f"{prefix}_shares",
            persist_state="session",
            max_chars=200,
            placeholder="0.2, 0.3, 0.5",
            help="One share for each level from the root down, summing to at most 1; 0 leaves a level unmeasured.",
        )


def shares(prefix: str) -> tuple[float, ...]:
    """Return the custom shares that are in force: none unless the split is custom.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT``.
    """
    return shares_from_text(get(f"{prefix}_shares")) if get(f"{prefix}_allocation") == "custom" else ()


def split_by_level(experiment: Experiment, data: Dataset, label: str = "") -> None:
    """Show who gets what: each level's nodes, share, budget and noise."""
    try:
        table = split_table(experiment, data.tree, data.labels.level_names)
    except InputError as error:
        refusal(error)
        return
    table["noise"] = [short(sigma) for sigma in table["noise"]]
    table |= {name: [privacy_text(spent) for spent in table[name]] for name in ("ε", "ρ") if name in table}
    st.dataframe(
        table,
        hide_index=True,
        column_config={
            "share": st.column_config.NumberColumn(format="percent"),
            "ε": st.column_config.TextColumn(alignment="right"),
            "ρ": st.column_config.TextColumn(alignment="right"),
            "noise": st.column_config.TextColumn("noise st. dev. (records)", alignment="right"),
        },
        alt="Share of the budget, budget and noise of each level",
    )
    st.caption(
        f"{label} {MECHANISMS[experiment.mechanism].label} noise. Noise 0: published exactly, as the total is public. "
        "Noise ∞: not measured; least squares derives such a level from the others where it can. Formula."
    )


def presets() -> None:
    """Show ready-made comparisons; each sets only the settings it names."""
    popover("lab", PRESETS, _apply, list(PRESETS))


def _apply(settings: Mapping[str, Any]) -> None:
    st.session_state.update({key: list(v) if isinstance(v, list) else v for key, v in settings.items()})
    if "delta" in settings:
        st.session_state["delta"] = fits()


def level_picker(key: str, data: Dataset) -> int:
    """Show the levels of the data set and return the chosen one; a link's level beyond the last means the last."""
    last = data.tree.height
    if get(key) > last:
        st.session_state[key] = last
    names = data.labels.level_names
    st.selectbox(
        "Level",
        range(data.tree.n_levels),
        format_func=lambda level: f"{level}: {names[level]} ({plural(int(data.tree.level_sizes[level]), 'node')})",
        key=key,
        persist_state="session",
        help="Which level of the tree is drawn; 0 is the root.",
    )
    return int(get(key))
