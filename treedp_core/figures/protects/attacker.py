"""What is learnt about one unit on the left, what the noise costs on the right: two sides of one epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from treedp_core.figures.base.colour import rgba
from treedp_core.figures.base.draft import Draft, bar, scatter
from treedp_core.figures.base.style import AFTER, BEFORE, GREEN, GREY, axis, limits, new_figure
from treedp_core.figures.base.text import plot_text
from treedp_core.studies.protects.attacker import EDGES, Protected
from treedp_core.words import PLOTLY, hover, margin, percent_set, privacy_text

LEFT: Final = (0.0, 0.55)
RIGHT: Final = (0.68, 1.0)
FILL: Final = 0.5
"""Opacity of a law, so that both show where they overlap."""


def beliefs_and_levels(found: Protected, prior: float, said: tuple[str, str], level_names: Sequence[str]) -> Draft:
    """Return what an attacker believes after the release, with a unit's records and without, beside the noise.

    Parameters
    ----------
    found : Protected
    prior : float
        The belief before.
    said : (str, str)
        What the two laws are called.
    level_names : sequence of str
        (n_levels,), escaped here.
    """
    middle = (EDGES[1:] + EDGES[:-1]) / 2
    bars = [
        bar(
            x=middle, y=shares, width=np.diff(EDGES), name=plot_text(name),
            marker={"color": rgba(colour, FILL), "line": {"width": 0}},
            hovertemplate=f"belief {hover('x', 'whole percent')}: {hover('y', 'percent')} of releases"
            "<extra>%{fullData.name}</extra>",
        )
        for shares, name, colour in zip(found.beliefs(prior), said, (AFTER, BEFORE), strict=True)
    ]  # fmt: skip
    top = 1.9 * max(float(np.max(one["y"])) for one in bars)
    fig = _beside(bars, found, level_names, axis("share of releases", log=False, bounds=(0.0, top), grid=True))
    fig.update_layout(barmode="overlay", bargap=0, xaxis={"title": {"text": "belief afterwards"}})
    _line(fig, prior, f"before: {percent_set(prior)}", GREY, 0.76, at_left=prior < 0.4)
    most = found.risk.posterior(prior)
    _line(fig, most, f"at most {privacy_text(100 * most)} %", AFTER, 1.0, at_left=most < 0.6)
    return fig


def misses_and_levels(found: Protected, level_names: Sequence[str]) -> Draft:
    """Return the best attacker's misses over his false alarms, beside the margin of each level."""
    alarms = np.linspace(0.0, 1.0, 201)
    lines = [
        scatter(
            x=[0, 1], y=[1, 0], mode="lines", name="blind guess", line={"color": GREY, "dash": "dot"}, hoverinfo="skip",
        ),
        scatter(
            x=alarms, y=found.risk.misses(alarms), mode="lines", name="best test", fill="tonexty",
            fillcolor=rgba(AFTER, 0.16), line={"color": AFTER, "width": 2.5},
            hovertemplate=f"false alarms {hover('x', 'whole percent')}, misses {hover('y', 'percent')}<extra></extra>",
        ),
    ]  # fmt: skip
    fig = _beside(lines, found, level_names, axis("misses", log=False, bounds=(0.0, 1.02), grid=True))
    return fig.update_layout(xaxis={"title": {"text": "false alarms"}})


def _beside(left: list[Any], found: Protected, level_names: Sequence[str], yaxis: dict[str, Any]) -> Draft:
    """Put the attacker's side on the left, shares from 0 to 1 below it, and the margins on the right."""
    percents = {"tickformat": PLOTLY["whole percent"]}
    share = axis("", log=False, bounds=(0.0, 1.0)) | percents | {"domain": list(LEFT), "anchor": "y"}
    names = [plot_text(name, 16) for name in level_names]
    high = limits([found.margins], log=False, default=(0.0, 1.0))[1]
    finite = np.where(np.isfinite(found.margins), found.margins, high)
    told = [_told(one) for one in found.margins.tolist()]
    levels = bar(
        x=finite, y=np.arange(len(names)), orientation="h", xaxis="x2", yaxis="y2", showlegend=False, text=told,
        textposition="outside", cliponaxis=False, width=0.6, marker={"color": rgba(GREEN, 0.75)},
        customdata=names, hovertemplate="%{customdata}: %{text} records<extra></extra>",
    )  # fmt: skip
    fig = new_figure([*left, levels], xaxis=share, yaxis=yaxis | percents | {"nticks": 5})
    fig.update_layout(
        xaxis2=axis("noise, ± records (95 %)", log=False, bounds=(0.0, 1.35 * high))
        | {"domain": list(RIGHT), "anchor": "y2", "nticks": 4},
        yaxis2={
            "anchor": "x2", "tickvals": list(range(len(names))), "ticktext": names, "automargin": True,
            "range": [len(names) - 0.5, -0.5], "showgrid": False, "zeroline": False,
        },
    )  # fmt: skip
    return fig


def _told(value: float) -> str:
    return "exact" if value == 0 else "not released" if not np.isfinite(value) else f"± {margin(value)}"


def _line(fig: Draft, x: float, text: str, colour: str, height: float, *, at_left: bool) -> None:
    """Mark a belief over the left side, its words beside it; those of a mark at the left on its right."""
    fig.add_shape(
        type="line", x0=x, x1=x, y0=0, y1=height, yref="y domain", line={"color": colour, "width": 1.5, "dash": "dot"}
    )
    fig.add_annotation(
        x=x, y=height, yref="y domain", xanchor="left" if at_left else "right", yanchor="top",
        xshift=4 if at_left else -4, text=plot_text(text), showarrow=False, font={"color": colour},
    )  # fmt: skip
