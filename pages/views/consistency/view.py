"""The Consistency page below its controls: cards, errors by level, the ledger of one family, what one learns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui import frame, tuned
from pages.ui.settings import get
from pages.ui.snippets import call
from pages.ui.store import dataset, used
from pages.ui.text import plural, short, whole
from pages.views.consistency import draw as draws
from pages.views.consistency.draw import Draw
from pages.views.consistency.ledger import MAX_ROWS, equation, family, find, found_table, rows
from pages.views.consistency.state import formulas, go, node
from pages.views.consistency.text import bias_line, change, expected_line, gain_line
from treedp_core.experiment import Experiment
from treedp_core.figures import LevelErrors, error_boxes, error_by_level, plot_text, style
from treedp_core.postprocess.chains import CHAINS

_FOUND: Final = "_con_found_nodes"


def cards(the: Draw, chosen: Experiment) -> None:
    """Show what the estimator changed in this draw, and what it changes on average."""
    errors = the.errors
    gaps = [draws.gap(the.tree, values)[0] for values in (the.before, the.after)]
    rmse = [draws.metric_of("rmse", the, e) for e in errors]
    rmsre = [draws.metric_of("rmsre", the, e) for e in errors]
    below = [draws.negatives(values) for values in (the.before, the.after)]
    shown: tuple[tuple[str, Sequence[float], str, str], ...] = (
        ("Mean parent–children gap", gaps, short(gaps[0]), "Mean of |parent − sum of its children|, in records."),
        ("RMSE, all nodes", rmse, "", "Root mean square error of this draw, in records."),
        ("RMSRE", rmsre, "", f"Relative to the count, or to τ = {short(the.tolerance.threshold)} if that is larger."),
        ("Negative counts", below, whole(below[0]), f"Of {plural(the.tree.n_nodes, 'count')}."),
    )
    for column, (label, (before, after), was, about) in zip(st.columns(4), shown, strict=True):
        column.metric(
            label,
            whole(after) if isinstance(after, int) else short(after),
            f"was {was}" if was else change(before, after),
            delta_arrow="off",
            delta_color="off",
            border=True,
            height="stretch",
            help=f"{about} This draw only: simulation on the true counts, NOT PRIVATE.",
        )
    st.markdown(expected_line(*formulas(chosen)))


def by_level(the: Draw, chosen: Experiment) -> None:
    """Show errors level by level: this draw as boxes, and the expected RMSE from the formula."""
    names = dataset().labels.level_names
    st.header("Error by level", anchor=False)
    left, right = st.columns(2)
    groups = [draws.boxes(the.tree, e, label) for e, label in zip(the.errors, ("before", "after"), strict=True)]
    with left:
        frame.figure(
            error_boxes(groups, names),
            key="con_boxes",
            alt="Boxes of signed errors before and after, for each level.",
            caption=f"NOT PRIVATE: signed errors of this draw (simulation on the true counts, seed {chosen.seed}). "
            "Boxes: quartiles and median; dashed: mean; whiskers: 95 % of the nodes.",
            data=partial(draws.box_table, groups, names),
            simulated=True,
            label=tuned.label("con"),
        )
    before, after = formulas(chosen)
    series = draws.expected_series(chosen, get("con_post"), before, after)
    source = used()
    with right:
        frame.figure(
            _expected_figure(series, names),
            key="con_levels",
            alt="Expected root mean square error of each level, before and after.",
            caption="Expected RMSE by level: formula, from noise variances (after least squares Dawson et al., "
            "Algorithm 2); it does not depend on the counts."
            + ("" if after is not None else " After a biased step no formula is known."),
            ran=call(
                draws.expected_table,
                chosen,
                get("con_post"),
                source.get("tree"),
                source.get("counts"),
                source.get("labels.level_names"),
            ),
            label=tuned.label("con"),
        )


def _expected_figure(series: Sequence[LevelErrors], names: Sequence[str]) -> Any:
    """Expected errors in the colours of this page: orange before, blue after."""
    fig = error_by_level(series, names, y_title="RMSE (records)")
    for one, colour in zip(series, (style.BEFORE, style.AFTER), strict=False):
        group = {"legendgroup": plot_text(one.label)}
        fig.update_traces(line_color=colour, selector=group | {"mode": "lines"})
        fig.update_traces(textfont_color=colour, selector=group | {"mode": "text"})
    return fig


def ledger(the: Draw) -> None:
    """Show whether the children of the chosen node add up to it, before and after."""
    data = dataset()
    here = node()
    st.header("Do the children add up?", anchor=False)
    _finder()
    n_children = int(data.tree.n_children[here])
    st.text(f"before   {equation(data.tree, here, the.before)}\nafter    {equation(data.tree, here, the.after)}")
    st.dataframe(
        rows(the, here, data.labels),
        hide_index=True,
        column_config={
            name: st.column_config.NumberColumn(format="%d" if values.dtype.kind == "i" else "%.1f")
            for name, values in (("true count", the.counts), ("before", the.before), ("after", the.after))
        },
        alt="The chosen node and its children: true count, and released counts before and after",
    )
    more = (
        f" The first {whole(MAX_ROWS)} of {plural(n_children, 'child', 'children')}." if n_children > MAX_ROWS else ""
    )
    st.caption(f"NOT PRIVATE: true counts, and one simulated release of them.{more}")


def _finder() -> None:
    """Find a node by its label; labels are shown in a table, which shows them literally."""
    data = dataset()
    text = st.text_input(
        "Find a node",
        key="con_find",
        max_chars=80,
        placeholder="part of a label",
        width=320,
        help="Lists the nodes whose label contains this, from the top of the tree; at most 50.",
    )
    if not text:
        return
    nodes = find(data.labels, text)
    st.session_state[_FOUND] = nodes
    if not nodes:
        st.caption("No label contains that.")
        return
    st.dataframe(
        found_table(data.labels, nodes),
        hide_index=True,
        key="con_found",
        on_select=_pick,
        selection_mode="single-row",
        height=min(240, 36 * (len(nodes) + 1)),
        alt="Nodes found; select one to go there",
    )


def _pick() -> None:
    chosen: Any = st.session_state["con_found"].selection.rows
    nodes = st.session_state.get(_FOUND, [])
    if chosen and chosen[0] < len(nodes):
        go(family(dataset().tree, nodes[chosen[0]]))


def learned(the: Draw, chosen: Experiment) -> None:
    """Say where the gain is largest, and show what clipping does to counts of each size."""
    st.header("What you learn", anchor=False)
    table = draws.bias_by_count(the)
    gain = gain_line(*formulas(chosen), dataset().labels)
    st.markdown("  \n".join(line for line in (gain, bias_line(the, table, CHAINS[get("con_post")].steps)) if line))
    st.dataframe(
        table,
        hide_index=True,
        width="content",
        column_config={
            name: st.column_config.NumberColumn(format="%.3g") for name in ("mean error before", "mean error after")
        },
        alt="Mean signed error of this draw by size of the true count",
    )
    st.caption("NOT PRIVATE: mean signed error of this draw by true count; levels published exactly are left out.")
