"""Splits of a budget over levels: who gets which slice, what each strategy costs in error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from treedp_core.figures.base.colour import LEVEL_ENDS, text_ink
from treedp_core.figures.base.curves import legend_name, name_ends, shown
from treedp_core.figures.base.draft import Draft, Trace, bar, scatter
from treedp_core.figures.base.style import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    MORE,
    ORANGE,
    PINK,
    axis,
    limits,
    new_figure,
    your_value_marker,
)
from treedp_core.figures.base.text import apart, coloured, plot_text
from treedp_core.studies.budget import STRATEGIES, Answer, Ask, Result, Target
from treedp_core.tree import FloatArray, IntArray
from treedp_core.words import PLOTLY, alike, hover, percent, privacy_text, short, with_noun

LEGEND_LINE: Final = 19
"""Height in px of a line of a legend; a narrow page has two entries a line."""
EDGE: Final = GREY
"""Outline of every level's part: seen on both themes, whatever its filling."""
MANY_SLICES: Final = 60
"""From here on outlines would be all that is seen of narrow bars."""
VEIL: Final = "rgba(127,127,127,0.55)"
MAX_SCRUB_STEPS: Final = 100
CUT: Final = 3.0
"""How many times the best, or what is wanted, an axis of errors reaches at most; longer bars end there."""


@dataclass(frozen=True, eq=False)
class StrategyRow:
    """One strategy of a comparison.

    Parameters
    ----------
    name, label : str
        The name gives the colour, see `strategy_colour`.
    shares : (n_levels,)
        What each level spends, as a part of the total; 0 for public levels.
    level : (n_levels,)
        Error of each level; inf where a count is not determined.
    tree : float
    prior : float
        Part of the total that a prior cost.
    """

    name: str
    label: str
    shares: FloatArray
    level: FloatArray
    tree: float
    prior: float = 0.0


def rows_of(results: Sequence[Result], n_levels: int, to_come: str = "") -> list[StrategyRow]:
    """Return strategies of the budget study as they are drawn; the one `to_come` has no share and no error."""
    rows = [
        StrategyRow(one.name, one.label, one.shares, one.errors.level, one.errors.tree, one.spent / one.ledger.total)
        for one in results
    ]
    sought = StrategyRow(to_come, "", np.zeros(n_levels), np.full(n_levels, np.nan), np.nan)
    return [*rows, replace(sought, label=STRATEGIES[to_come].label)] if to_come else rows


_STRATEGIES: Final = {
    "uniform": (GREY, ""),
    "leaves_only": (ORANGE, ""),
    "minimax": (GREY, "x"),
    "cube_root": (GREY, "/"),
    "greedy": (BLUE, ""),
    "optimum": (GREEN, ""),
    "custom": (PINK, ""),
    "census_2020_units": (PINK, "+"),
}


def strategy_colour(name: str) -> tuple[str, str]:
    """Return the colour and the pattern of a strategy; published splits are dots or crosses in purple.

    >>> strategy_colour("greedy"), strategy_colour("census_2020_persons")
    (('#0072B2', ''), ('#CC79A7', '.'))
    """
    return _STRATEGIES.get(name, (PINK, "."))


def level_colour(level: int, n_levels: int) -> str:
    """Return the colour of a level: one ramp from dark at the root to light at the leaves.

    >>> level_colour(0, 3), level_colour(2, 3)
    ('#43309A', '#D6CEF5')
    """
    first, last = (np.array([int(end[i : i + 2], 16) for i in (1, 3, 5)]) for end in LEVEL_ENDS)
    mixed = first + (last - first) * level / max(n_levels - 1, 1)
    return "#{:02X}{:02X}{:02X}".format(*np.rint(mixed).astype(int).tolist())


def _level_fill(level: int, n_levels: int, *, edge: bool = True) -> dict[str, Any]:
    return {"color": level_colour(level, n_levels), "line": {"width": 1 if edge else 0, "color": EDGE}}


def greedy_steps(
    start: FloatArray, size: float, steps: IntArray, losses: FloatArray, level_names: Sequence[str], symbol: str
) -> Draft:
    """Return what each level has after each greedy slice, stacked, with a slider that goes through the slices.

    Parameters
    ----------
    start, size, steps, losses
        As in `budgets.GreedySplit`: (n_levels,), a slice, (phases,), (phases, n_levels).
    level_names : sequence of str
    symbol : str
        Of what is split: ε or ρ.

    >>> losses = np.array([[4.0, 1.0], [0.25, 1.0]])
    >>> fig = greedy_steps(np.zeros(2), 0.5, np.array([1, 0]), losses, ["all", "x"], "ε").figure()
    >>> fig.data[1].y.tolist(), fig.layout.sliders[0].steps[1].args[0]["annotations[0].text"]
    ([0.5, 0.5], 'slice 2 of 2 → all, error 0.5')
    """
    phases, n_levels = steps.size, start.size
    spent = start + size * np.cumsum(steps[:, None] == np.arange(n_levels), axis=0)
    x = np.arange(1, phases + 1)
    bars = [
        bar(
            x=x, y=spent[:, level], name=plot_text(level_names[level], 24),
            marker=_level_fill(level, n_levels, edge=phases < MANY_SLICES),
            hovertemplate=f"after slice %{{x}}<br>%{{fullData.name}}: {hover('y', 'short')}<extra></extra>",
        )
        for level in range(n_levels)
    ]  # fmt: skip
    fig = new_figure(
        bars,
        xaxis=axis("slice", log=False, bounds=(0.4, phases + 0.6)) | {"showline": False},
        yaxis=axis(f"{symbol} spent so far", log=False, bounds=(0.0, 1.08 * float(spent[-1].sum()) or 1.0), grid=True),
    )
    names = [plot_text(name, 24) for name in level_names]
    error = np.sqrt(losses[np.arange(phases), steps])
    told = [
        f"slice {i + 1} of {phases} → {names[level]}, error {short(float(error[i]))}"
        for i, level in enumerate(steps.tolist())
    ]
    fig.update_layout(barmode="stack", bargap=0.12, margin={"b": 70}, sliders=[_scrubber(told, phases)])
    fig.add_shape(
        type="rect", x0=phases + 0.5, x1=phases + 0.5, y0=0, y1=1, yref="paper", fillcolor=VEIL, line={"width": 0}
    )
    fig.add_annotation(
        x=0, xref="paper", y=1, yref="paper", xanchor="left", yanchor="top", text=told[-1], showarrow=False, xshift=6
    )
    return fig


def _scrubber(told: Sequence[str], phases: int) -> dict[str, Any]:
    """A slider that only moves a veil and changes a text, so that it never asks the server."""
    every = -(-phases // MAX_SCRUB_STEPS)
    places = [k for k in range(1, phases + 1) if k % every == 0 or k == phases]
    steps = [
        {"method": "relayout", "label": str(k), "args": [{"shapes[0].x0": k + 0.5, "annotations[0].text": told[k - 1]}]}
        for k in places
    ]
    return {
        "active": len(steps) - 1,
        "steps": steps,
        "currentvalue": {"prefix": "up to slice ", "xanchor": "right"},
        "pad": {"t": 44, "b": 0},
        "font": {"color": "rgba(0,0,0,0)", "size": 1},
        "ticklen": 0,
        "minorticklen": 0,
        "bordercolor": GREY,
        "bgcolor": BLUE,
    }


def strategies(rows: Sequence[StrategyRow], level_names: Sequence[str], *, error_title: str) -> Draft:
    """Return strategies side by side: on the left who gets what, on the right the error of the tree.

    The first row is on top. An infinite error has no bar: ∞ is written instead. Bars end at three times the best, and
    the figure says so.

    >>> rows = [StrategyRow("leaves_only", "Leaves only", np.array([0.0, 1.0]), np.array([np.inf, 0.5]), np.inf)]
    >>> fig = strategies(rows, ["all", "state"], error_title="RMSRE").figure()
    >>> fig.data[-1].text, [len(trace.x) for trace in fig.data]
    (('∞',), [1, 1, 1])
    """
    names = [plot_text(row.label, 40) for row in rows]
    shares = [
        bar(
            x=np.array([row.shares[level] for row in rows]), y=names, orientation="h", xaxis="x",
            name=plot_text(level_names[level], 24),
            marker=_level_fill(level, len(level_names)),
            hovertemplate=f"%{{y}}<br>%{{fullData.name}}: {hover('x', 'percent')}<extra></extra>",
        )
        for level in range(len(level_names))
    ]  # fmt: skip
    if any(row.prior for row in rows):
        shares.append(_prior_bar(rows, names))
    errors = np.array([row.tree for row in rows])
    cut = _cut(errors)
    high = limits([np.minimum(errors[np.isfinite(errors)], cut)], log=False, default=(0.0, 1.0))[1]
    looks, each = [strategy_colour(row.name) for row in rows], errors.tolist()
    tree = bar(
        x=np.where(np.isfinite(errors), np.minimum(errors, cut), 0.0), y=names, orientation="h", xaxis="x2",
        showlegend=False,
        text=[told + " →" * (cut < error < np.inf) for error, told in zip(each, alike(each), strict=True)],
        textposition="outside", cliponaxis=False,
        marker={
            "color": [colour for colour, _ in looks],
            "pattern": {"shape": [pattern for _, pattern in looks], "fillmode": "replace", "size": 6},
        },
        hovertemplate="%{y}: %{text}<extra></extra>",
    )  # fmt: skip
    fig = new_figure(
        [*shares, tree],
        xaxis=axis("share of the total", log=False, bounds=(0.0, 1.0))
        | {"domain": [0.0, 0.46], "tickformat": PLOTLY["whole percent"], "showline": False},
        yaxis={"autorange": "reversed", "automargin": True, "showgrid": False, "ticks": ""},
    )
    second = axis(error_title, log=False, bounds=(0.0, 1.25 * high)) | {"domain": [0.54, 1.0], "anchor": "y"}
    if (errors[np.isfinite(errors)] > cut).any():
        second["title"]["text"] += f"{MORE}→ ends at 3 × the best"
    return fig.update_layout(barmode="stack", bargap=0.3, height=160 + 34 * len(rows), xaxis2=second)


def _cut(errors: FloatArray) -> float:
    """Where bars of errors (n,) end: at three times the best, if one is longer."""
    finite = errors[np.isfinite(errors)]
    return min(CUT * float(finite.min()), float(finite.max())) if finite.size and finite.min() > 0 else np.inf


@dataclass(frozen=True)
class Met:
    """A target beside what two splits of one total reach: levels by position, errors as parts of what is wanted."""

    level: int
    wanted: str
    tuned: float
    tuned_text: str
    equal: float
    equal_text: str


def met_of(targets: Sequence[Target], found: Answer) -> list[Met]:
    """Return targets and what reaches them as they are drawn."""
    every = zip(targets, found.reached, found.reached_equally, strict=True)
    return [
        Met(one.level, f"≤ {_sized(one, one.value)}", tuned / one.value, _sized(one, tuned), equal / one.value,
            _sized(one, equal))
        for one, tuned, equal in every
    ]  # fmt: skip


def _sized(one: Target, error: float) -> str:
    is_size = one.in_records or one.ask is Ask.RMSE
    return with_noun(short(error), "record") if is_size else f"{short(100 * error)} %"


def targets_met(
    shares: Sequence[float], level_names: Sequence[str], met: Sequence[Met], saved: Sequence[float] = ()
) -> Draft:
    """Return who gets what of the smallest budget, shares (n_levels,), and each error against its target beside.

    `saved` (n_levels,) is the part of the budget that is saved where a level is skipped; 0 for the others.

    Where two or more levels get something or have a target, the others have no row. Without shares and targets the axes
    stand alone.

    >>> one = Met(1, "within 5 %", 1.0, "5 %", 2.5, "12.5 %")
    >>> [trace.x.tolist() for trace in targets_met([0.0, 1.0], ["all", "state"], [one]).figure().data]
    [[0.0, 1.0], [1.0], [2.5]]
    """
    asked, levels = {one.level for one in met}, list(range(len(level_names)))
    busy = [i for i in levels if (shares and shares[i]) or i in asked or (saved and saved[i])]
    levels = busy if shares and len(busy) > 1 else levels
    names, parts = [plot_text(level_names[i], 24) for i in levels], [shares[i] for i in levels if shares]
    met = [replace(one, level=levels.index(one.level)) for one in met]
    rows = np.arange(len(names), dtype=np.float64)
    share = bar(
        x=np.array(parts), y=rows[: len(parts)], orientation="h", showlegend=False, width=0.6,
        marker={"color": [level_colour(i, len(level_names)) for i in levels], "line": {"width": 1, "color": EDGE}},
        text=[_share_told(part, saved[i] if saved else 0.0) for i, part in zip(levels, parts, strict=False)],
        textposition="outside", cliponaxis=False,
        hovertemplate=f"%{{customdata}}: {hover('x', 'percent')}<extra></extra>", customdata=names,
    )  # fmt: skip
    worst = max([one.equal for one in met if np.isfinite(one.equal)], default=1.0)
    high = 1.1 * max(min(worst, CUT), 1.2)
    fig = new_figure(
        [share, *_error_bars(met, high)],
        xaxis=axis("share of ε", log=False, bounds=(0.0, 1.4))
        | {"domain": [0.0, 0.3], "tickformat": PLOTLY["whole percent"]},
        yaxis={
            "tickvals": rows, "ticktext": names, "range": [rows.size - 0.4, -0.6], "automargin": True,
            "showgrid": False, "ticks": "", "zeroline": False,
        },
    )  # fmt: skip
    second = axis("error ÷ wanted", log=False, bounds=(0.0, high)) | {"domain": [0.34, WORDS_FROM - 0.02]}
    fig.update_layout(barmode="overlay", xaxis2=second | {"anchor": "y"}, legend={"x": 0.34})
    fig.add_shape(
        type="line", x0=1, x1=1, xref="x2", y0=0, y1=1, yref="paper", line={"color": ORANGE, "width": 2, "dash": "dot"}
    )
    _name_targets(fig, met, rows.size)
    return fig


def _share_told(part: float, saved: float) -> str:
    """What stands beside a level's share: how much it gets, or what is saved by skipping it."""
    if part:
        return percent(part)
    return f"skipped: −{percent(saved)}" if saved else ""


def _name_targets(fig: Draft, met: Sequence[Met], n_rows: int) -> None:
    """Write what each target reaches and wants beside its bars, in a column of its own; what is long has two lines."""
    is_long = any(len(one.tuned_text + one.equal_text + one.wanted) > LONG_WORDS for one in met)
    tall = (0.2 if is_long else 0.1) * n_rows
    size = 12.0 * min(1.0, (n_rows - 1) / (tall * max(1, len(met) - 1)))
    for one, at in zip(met, apart([y for y, _ in _places(met)], tall, 0.0, n_rows - 1.0), strict=True):
        tuned, equal = f"<b>{coloured(one.tuned_text, BLUE)}</b>", coloured(one.equal_text, text_ink(GREY))
        told = f"{tuned} · {equal}{'<br>' if is_long else ' · '}{coloured(one.wanted, text_ink(ORANGE))}"
        fig.add_annotation(
            x=WORDS_FROM, xref="paper", xanchor="left", y=at, yref="y", yanchor="middle", showarrow=False,
            align="left", text=told, font={"size": size},
        )  # fmt: skip


def _error_bars(met: Sequence[Met], high: float) -> list[Trace]:
    """The error at each target, of this split and of an equal one, cut at `high`."""
    sides = (("this split", BLUE, -0.2, [(one.tuned, one.tuned_text) for one in met]),
             ("an equal split of the levels' ε", GREY, 0.2, [(one.equal, one.equal_text) for one in met]))  # fmt: skip
    places = _places(met)
    return [
        bar(
            x=np.array([min(value, high) for value, _ in values]),
            y=np.array([at + size * shift for at, size in places]), orientation="h",
            width=[0.36 * size for _, size in places], xaxis="x2", name=name, marker={"color": colour},
            text=["→" * (value > high) for value, _ in values], textposition="outside", cliponaxis=False,
            hovertext=[said for _, said in values], hovertemplate=f"{name}: %{{hovertext}}<extra></extra>",
        )
        for name, colour, shift, values in sides
    ]  # fmt: skip


def _places(met: Sequence[Met]) -> list[tuple[float, float]]:
    """Where each target stands, and how large it is drawn: those of one level share its row."""
    rows = Counter(one.level for one in met)
    seen: Counter[int] = Counter()
    places = []
    for one in met:
        n, i = rows[one.level], seen[one.level]
        places.append((one.level + (i - (n - 1) / 2) / n, 1.0 / n))
        seen[one.level] += 1
    return places


def _prior_bar(rows: Sequence[StrategyRow], names: Sequence[str]) -> Trace:
    """What a prior cost, as an empty box at the end of the bar."""
    return bar(
        x=np.array([row.prior for row in rows]),
        y=list(names),
        orientation="h",
        xaxis="x",
        name="for the prior",
        marker={"color": "rgba(127,127,127,0.15)", "line": {"width": 1, "color": GREY}},
        hovertemplate=f"%{{y}}<br>for the prior: {hover('x', 'percent')}<extra></extra>",
    )


def strategy_levels(rows: Sequence[StrategyRow], level_names: Sequence[str], *, y_title: str) -> Draft:
    """Return the error of each level, strategies side by side in the order and colours of `strategies`.

    ∞ and 0 are written where a bar cannot be.

    >>> rows = [StrategyRow("leaves_only", "Leaves only", np.array([0.0, 1.0]), np.array([np.inf, 0.5]), np.inf)]
    >>> strategy_levels(rows, ["all", "state"], y_title="RMSRE").figure().data[1].text
    ('↑<br>∞',)
    """
    low, high = limits([row.level for row in rows], log=True, default=(0.1, 10.0))
    width = min(0.84 / max(len(rows), 1), 0.3)
    traces: list[Any] = []
    for j, row in enumerate(rows):
        colour, pattern = strategy_colour(row.name)
        x = np.arange(len(level_names), dtype=np.float64) + (j - (len(rows) - 1) / 2) * width
        traces.append(
            bar(
                x=x, y=shown(row.level, True), width=0.9 * width, name=plot_text(row.label, 40),
                legendgroup=str(j), customdata=[plot_text(name, 24) for name in level_names],
                marker={"color": colour, "pattern": {"shape": pattern, "fillmode": "replace", "size": 5}},
                hovertemplate=f"%{{fullData.name}}<br>%{{customdata}}: {hover('y', 'short')}<extra></extra>",
            )
        )  # fmt: skip
        for sign, where, y in (("∞", np.isposinf(row.level), high / 1.06), ("0", row.level == 0, low * 1.06)):
            if where.any():
                traces.append(_written(sign, x[where], y, colour, str(j)))
    ticks = {"tickvals": np.arange(len(level_names)), "ticktext": [plot_text(name, 18) for name in level_names]}
    fig = new_figure(
        traces,
        xaxis=axis("level (root first)", log=False, bounds=(-0.5, len(level_names) - 0.5)) | ticks,
        yaxis=axis(y_title, log=True, bounds=(low, high), grid=True),
    )
    return fig.update_layout(height=HEIGHT + LEGEND_LINE * (len(rows) // 2))


def _written(sign: str, x: FloatArray, y: float, colour: str, group: str) -> Trace:
    told = "↑<br>∞" if sign == "∞" else "0<br>↓"  # beyond the axis
    return scatter(
        x=x, y=np.full(x.size, y), mode="text", text=[told] * x.size, textfont={"color": colour, "size": 13},
        textposition="bottom center" if sign == "∞" else "top center",
        legendgroup=group, showlegend=False, hoverinfo="skip",
    )  # fmt: skip


WORDS_FROM: Final = 0.66
"""Where the column with what targets reach begins, as a part of the figure's width."""
LONG_WORDS: Final = 22
"""Letters of what stands beside the bars from which on it has two lines."""
_CURVES: Final = (
    (GREY, "dash", "circle-open"),
    (GREY, "solid", "circle"),
    (ORANGE, "solid", "square"),
    (BLUE, "dash", "diamond-open"),
    (BLUE, "solid", "diamond"),
)


def strategy_curves(
    totals: FloatArray, labels: Sequence[str], errors: FloatArray, *, y_title: str, marker_x: float, stale: bool = False
) -> Draft:
    """Return the error of the tree against ε for the strategies of Dawson et al., Figure 4, in their order.

    Totals are (n,), in epsilon, errors (n_strategies, n). Least squares has solid lines, errors before it are dashed.
    No labels: the axes stand alone.

    >>> fig = strategy_curves(
    ...     np.array([1.0, 2.0]), ["Uniform"], np.array([[0.5, 0.2]]), y_title="e", marker_x=1.0
    ... ).figure()
    >>> fig.data[0].line.dash, fig.data[0].name
    ('dash', 'Uniform')
    """
    traces = []
    for label, error, (colour, dash, symbol) in zip(labels, errors, _CURVES, strict=False):
        colour = GREY if stale else colour
        traces.append(
            scatter(
                x=totals, y=shown(error, True), mode="lines+markers", name=legend_name(label, error, True),
                customdata=[privacy_text(total) for total in totals.tolist()],
                opacity=0.4 if stale else 1.0, line={"color": colour, "dash": dash, "width": 2.5},
                marker={"color": colour, "symbol": symbol, "size": 8, "line": {"color": colour, "width": 1.5}},
                hovertemplate=f"%{{fullData.name}}<br>ε = %{{customdata}}: {hover('y', 'short')}<extra></extra>",
            )
        )  # fmt: skip
    low, high = (float(totals.min()), float(totals.max())) if totals.size else (0.1, 10.0)
    fig = new_figure(
        traces,
        xaxis=axis("privacy budget ε", log=True, bounds=(low / 1.06, high * 1.06)),
        yaxis=axis(y_title, log=True, bounds=limits([errors], log=True, default=(0.01, 10.0)), grid=True),
    )
    ends = [(label, GREY if stale else look[0], float(error[-1])) for label, error, look in
            zip(labels, errors, _CURVES, strict=False)]  # fmt: skip
    name_ends(fig, ends)
    return your_value_marker(fig, marker_x) if low <= marker_x <= high else fig
