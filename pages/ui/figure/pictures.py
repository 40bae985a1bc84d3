"""Two pictures that explain, wherever they help: what a release tells about you, and a range counted in three ways."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final, TypeVar

import streamlit as st

from pages.ui.figure import frame
from pages.ui.page.page import show_badge
from pages.ui.page.scripts import script
from pages.ui.page.view import Seen, see
from pages.ui.tables.store import remember
from treedp_core.studies.ranges import for_browser
from treedp_core.views import VIEWS
from treedp_core.views.inputs import ReleaseInputs
from treedp_core.views.ranges import LABEL, ExampleInputs, how, ways

AnyRanges = TypeVar("AnyRanges", bound=ExampleInputs)
BADGES: Final = ("formula", "simulation", "NOT PRIVATE")
"""Of the range that moves."""
CAPTION: Final = (
    "NOT PRIVATE, but made up: grey bars are true counts. Blue: noisy counts that are added for the range; orange: "
    "those taken away; paler: in part. σ is the standard deviation (formula), the bar beside it is two of them to each "
    "side of the truth; the dot is one simulated release. "
)
HOW: Final = "Drag the ends or the middle, or use the arrow keys; nothing is asked of the server."


def show_range(seen: Seen[AnyRanges], *, key: str, shown: tuple[int, int] = (0, 0)) -> None:
    """Show a range that is dragged: on the first screen where the view has an answer, else with its words below."""

    def picture(inputs: AnyRanges) -> Mapping[str, object]:
        return {"label": LABEL, **for_browser(ways(inputs, remember), shown)}

    draw = partial(_draggable, picture(seen.inputs), key=key)
    caption = f"{CAPTION}{how(ways(seen.inputs, remember))}"
    frame.found_moving(seen, draw, caption=caption, how=HOW, picture=picture)


def one_range(inputs: ExampleInputs, page: str, *, key: str) -> None:
    """Show one range in three ways below the first screen of a page, under a heading of its own."""
    _heading("One range, three ways", *BADGES)
    show_range(see(VIEWS[f"{page}.example"], inputs), key=key)


def with_or_without(inputs: ReleaseInputs, page: str) -> None:
    """Show what an attacker believes after a release with a record and without it, beside what the noise costs."""
    _heading("With or without you", "formula")
    frame.found(see(VIEWS[f"{page}.beliefs"], inputs))


def _heading(text: str, *badges: str) -> None:
    st.header(text, anchor=False)
    with st.container(horizontal=True, gap="small"):
        for one in badges:
            show_badge(one)


def _draggable(told: Mapping[str, object], *, key: str) -> None:
    """Show the ways to answer a range, as `treedp_core.studies.ranges.for_browser` writes them."""
    script("ranges", isolate_styles=False)(data=told, key=key, height="stretch")
