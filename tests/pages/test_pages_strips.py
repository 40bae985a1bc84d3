"""The strip below a title names the table just where the figures, cards and tables follow it."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import answer, dataset, open_page
from pages.ui.tables.session_tables import Kept
from test_pages_contract import VIEWS
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")

SMALL = dataset(Tree.from_branching_factors((2, 3, 4)), [70, 1, 2, 30, 4, 0, 9, 50, 8, 0, 3, 77] * 2, name="small")
FLAT = dataset(Tree.from_branching_factors((3, 2)), [70, 20, 1, 2, 30, 45], name="flat")
FIRST_SCREENS = [view for view in VIEWS if view[1] != "td_more"]
"""Those that a strip speaks for: not the sections under *More* of TopDown."""


def strip(app: AppTest) -> str:
    """The first caption of a page's main part."""
    return str(app.main.caption[0].value)


def shown(app: AppTest) -> list[str]:
    """Figures, cards and tables of a page, and the captions below them."""
    figures = [one.proto.spec for kind in ("plotly_chart", "vega_lite_chart") for one in app.main.get(kind)]
    drawn = (one.proto for one in app.main.get("bidi_component"))
    figures += [one.json for one in drawn if one.component_name.endswith(".ranges")]
    tables = [one.value.to_csv() for one in app.main.dataframe]
    cards = [f"{one.label} {one.value} {one.delta}" for one in app.main.metric]
    captions = [str(one.value) for one in app.main.caption[1:]]
    components = [one.proto.json for one in app.main.get("bidi_component") if not one.proto.id.endswith("_script")]
    return [*figures, *tables, *cards, *captions, *components, answer(app)]


def opened(page: str, setting: str, view: str) -> AppTest:
    """The first screen of a view on the small data set: the strip speaks of that, not of what is under More."""
    link = {
        "level": "Basic",
        "td_source": "current",
        "cdf_source": "current",
        "mul_source": "current",
        "delta": "0.000001",
    }
    link |= {"td_product": "1", "td_trials": "20", "bud_phases": "10" if view == "curves" else "100"}
    return open_page(page, SMALL, **link, **({setting: view} if setting else {}))


def followed(app: AppTest, key: str, value: Any) -> tuple[bool, bool]:
    """Whether what is shown, and whether the strip, changes with a setting of the session, which stays changed."""
    before, was = shown(app), strip(app)
    app.session_state[key] = value
    app.run()
    assert not app.exception, key
    return shown(app) != before, strip(app) != was


@pytest.mark.parametrize(("page", "setting", "view"), FIRST_SCREENS)
def test_the_strip_names_the_table_just_where_what_is_shown_follows_it(page: str, setting: str, view: str) -> None:
    shows, names = followed(opened(page, setting, view), "_from_file", {"upload": Kept(FLAT)})
    assert shows == names


def test_a_budget_set_on_the_page_takes_the_place_of_epsilon() -> None:
    app = open_page("topdown", td_rho="0.5", delta="0.000001")
    assert "· replace one · ρ = 0.5, δ = 1e-6 · seed 7" in strip(app)
    assert followed(app, "eps", 2.0)[1] is False
