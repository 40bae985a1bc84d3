"""An entry of the tables beside the others of its kind, closed forms beside simulations, and growth beside a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from treedp_core.figures.base.curves import name_ends
from treedp_core.figures.base.draft import Draft, scatter
from treedp_core.figures.base.style import AFTER, GREEN, GREY, ORANGE, PINK, VIOLET, YELLOW, axis, limits, new_figure
from treedp_core.figures.base.text import plot_text
from treedp_core.studies.methods.selfcheck import WITHIN
from treedp_core.words import hover

MOST: Final = 10.0
"""How many times the best is shown at most."""
_DASHES: Final = ("dash", "dot", "dashdot", "longdash", "longdashdot", "solid")
_VERDICTS: Final = {
    "reproduced": (GREY, "circle"), "corrected": (ORANGE, "x"), "sharpened": (GREEN, "triangle-up"),
    "open": (VIOLET, "diamond"),
}  # fmt: skip
_OTHERS: Final = (GREY, GREEN, ORANGE, PINK, VIOLET, YELLOW)


def beside_others(columns: Mapping[str, Sequence[float]], chosen: str, title: str, is_ratio: bool) -> Draft:
    """Return a line for each column over the first, the chosen one thick, each named at its end.

    Parameters
    ----------
    columns : mapping
        The `columns` of `treedp_core.studies.methods.comparison.Compared`.
    chosen : str
        The column that is drawn thick; none is if there is no such column.
    title : str
        Of the y axis.
    is_ratio : bool
        Whether values are over the best of them: what is worse than `MOST` then leaves the figure at the top.
    """
    over, *names = columns
    x = np.array(columns[over], dtype=float)
    values = {name: np.array(columns[name], dtype=float) for name in names}
    low, top = limits(values.values(), log=True, default=(0.1, 10.0))
    if is_ratio:
        top = max(1.25, min(MOST, 1.05 * max(float(np.nanmax(one)) for one in values.values())))
        low = 1.0 - 0.05 * (top - 1.0)
    shown = {name: np.where(one <= top, one, np.nan) for name, one in values.items()}
    traces, ends = [], []
    others = [name for name in names if name != chosen]
    for name in (*others, *(one for one in names if one == chosen)):
        at = others.index(name) % len(_OTHERS) if name in others else 0
        is_chosen = name == chosen
        colour, dash = (AFTER, "solid") if is_chosen else (_OTHERS[at], _DASHES[at])
        traces.append(
            scatter(
                x=x, y=shown[name], mode="lines+markers" if x.size < 20 else "lines", name=plot_text(name),
                line={"color": colour, "dash": dash, "width": 4 if is_chosen else 1.5},
                marker={"color": colour, "size": 7 if is_chosen else 4},
                hovertemplate=f"%{{fullData.name}}: {hover('y', 'short')}<extra></extra>",
            )
        )  # fmt: skip
        inside = shown[name][np.isfinite(shown[name])]
        ends.append((name, colour, float(inside[-1]) if inside.size else np.nan))  # where it leaves, if it does
    log = bool(x.min() > 0 and x.max() / x.min() > 12)
    bounds = (x.min() / 1.05, x.max() * 1.05) if log else (x.min() - 0.1, x.max() + 0.1)
    fig = new_figure(
        traces,
        xaxis=axis(over, log=log, bounds=bounds),
        yaxis=axis(title, log=not is_ratio, bounds=(low, top), grid=True),
    )
    return name_ends(fig, ends)


def checked(columns: Mapping[str, Sequence[float]]) -> Draft:
    """Return how many standard errors each simulation is from its closed form, with the limits of the self-check."""
    apart = np.array(columns["standard errors apart"], dtype=float)
    rows = [f"{entry}: {what}" for entry, what in zip(columns["entry"], columns["checked"], strict=True)]
    inside = np.abs(apart) <= WITHIN
    reach = max(WITHIN + 1.0, float(np.abs(apart[np.isfinite(apart)]).max()) + 0.5)
    dots = [
        scatter(
            x=np.clip(apart[which], -reach, reach), y=np.flatnonzero(which), mode="markers", name=name,
            marker={"color": colour, "symbol": symbol, "size": 9},
            customdata=[plot_text(rows[i], 90) for i in np.flatnonzero(which).tolist()],
            hovertemplate=f"%{{customdata}}: {hover('x', 'two places')}<extra></extra>",
        )
        for which, name, colour, symbol in (
            (inside, "within", AFTER, "circle"), (~inside, "outside", ORANGE, "x"),
        ) if which.any()
    ]  # fmt: skip
    fig = new_figure(
        dots,
        xaxis=axis("standard errors between simulation and closed form", log=False, bounds=(-reach, reach)),
        yaxis={
            "tickvals": list(range(len(rows))), "ticktext": [plot_text(row, 60) for row in rows], "automargin": True,
            "range": [len(rows) - 0.5, -0.5], "showgrid": False, "zeroline": False,
        },
    )  # fmt: skip
    for x in (-WITHIN, 0.0, WITHIN):
        fig.add_shape(
            type="line", x0=x, x1=x, y0=0, y1=1, yref="paper",
            line={"color": GREY, "width": 1.5, "dash": "dot" if x else "solid"},
        )  # fmt: skip
    return fig.update_layout(height=max(320, 60 + 22 * len(rows)))


def ratios(columns: Mapping[str, Sequence[Any]], chosen: str) -> Draft:
    """Return today's numbers over the paper's, in the order of the paper, by verdict; those of one place are marked.

    Parameters
    ----------
    columns : mapping
        As `treedp_core.studies.methods.papers.ratio_table` returns it.
    chosen : str
        The place whose numbers are ringed and named.
    """
    values = np.array(columns["today ÷ the paper's"], dtype=float)
    verdicts, places = np.array(columns["verdict"]), list(columns["place"])
    rows = [f"{place}: {number}" for place, number in zip(places, columns["number"], strict=True)]
    x = np.arange(1, values.size + 1)
    dots = []
    for name, (colour, symbol) in _VERDICTS.items():
        which = verdicts == name
        dots.append(
            scatter(
                x=x[which], y=values[which], mode="markers", name=name,
                marker={"color": colour, "symbol": symbol, "size": 10},
                customdata=[plot_text(rows[i], 100) for i in np.flatnonzero(which).tolist()],
                hovertemplate=f"%{{customdata}}<br>today ÷ the paper's: {hover('y', 'short')}"
                "<extra>%{fullData.name}</extra>",
            )
        )  # fmt: skip
    ringed = np.array([place == chosen for place in places])
    if ringed.any():
        ring = {"color": "rgba(0,0,0,0)", "symbol": "circle", "size": 20, "line": {"color": AFTER, "width": 2.5}}
        dots.append(
            scatter(x=x[ringed], y=values[ringed], mode="markers", marker=ring, showlegend=False, hoverinfo="skip")
        )
    low, high = limits([values], log=True, default=(0.1, 10.0))
    return new_figure(
        [one for one in dots if len(one["x"])],
        xaxis=axis("numbers in the order of the paper", log=False, bounds=(0.0, values.size + 1.0)),
        yaxis=axis("today ÷ the paper's", log=True, bounds=(low / 1.5, high * 1.5), grid=True),
    )


def grown(columns: Mapping[str, Sequence[float]], title: str) -> Draft:
    """Return curves over the first column on logarithmic axes, each named at its end: straight lines are powers."""
    over, *names = columns
    x = np.array(columns[over], dtype=float)
    values = [np.array(columns[name], dtype=float) for name in names]
    looks = list(zip((AFTER, *_OTHERS), ("solid", *_DASHES), strict=True))
    traces = [
        scatter(
            x=x, y=y, mode="lines+markers", name=plot_text(name), marker={"color": colour, "size": 5},
            line={"color": colour, "dash": dash, "width": 2.5},
            hovertemplate=f"%{{fullData.name}}: {hover('y', 'short')}<extra></extra>",
        )
        for name, y, (colour, dash) in zip(names, values, looks, strict=False)
    ]  # fmt: skip
    fig = new_figure(
        traces,
        xaxis=axis(over, log=True, bounds=(x.min() / 1.05, x.max() * 1.05)),
        yaxis=axis(title, log=True, bounds=limits(values, log=True, default=(1.0, 100.0)), grid=True),
    )
    last = [float(y[np.isfinite(y)][-1]) for y in values]
    ends = [(name, colour, y) for name, y, (colour, _) in zip(names, last, looks, strict=False)]
    return name_ends(fig, ends)
