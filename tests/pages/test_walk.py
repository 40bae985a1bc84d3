"""The walk through a tree: down by a click, up by a click or a button, and the root where there is no such node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import dataset, open_page
from pages.ui.tables.session_tables import Kept
from treedp_core.tree import Tree

MAP = {"bud_view": "map", "bud_prior": "true"}
ASKED: dict[str, Any] = {}
SHOWN: list[int] = []
LEAVES: list[int] = []


def script() -> None:
    """A tree of three levels: 0; 1, 2; 3, 4 below 1 and 5, 6 below 2."""
    from oracles_pages import dataset
    from pages.ui.inputs.walk import walk
    from test_walk import ASKED, LEAVES, SHOWN
    from treedp_core.tree import Tree

    def show(node: int) -> str | None:
        SHOWN.append(node)
        clicked: str | None = ASKED.pop("click", None)
        return clicked

    data = dataset(Tree.from_branching_factors((2, 2)), [1, 2, 3, 4], prefix="*")
    walk(show, data.tree, data.labels, key="at", on_leaf=LEAVES.append if ASKED.get("tells") else None)


@pytest.fixture
def page() -> Callable[..., AppTest]:
    app = AppTest.from_function(script, default_timeout=30)
    ASKED.clear()
    SHOWN.clear()
    LEAVES.clear()

    def ask(**asked: Any) -> AppTest:
        ASKED.update(asked)
        return app.run()

    return ask


def test_a_click_goes_down_and_one_on_the_top_block_up(page: Callable[..., AppTest]) -> None:
    page()
    page(click="2")
    assert SHOWN == [0, 0, 2]  # the page that was clicked is drawn again at once
    page(click="2")
    assert SHOWN[-1] == 0
    page(click="0")
    assert SHOWN[-2:] == [0, 0] and "at" in page().session_state


def test_a_leaf_leads_to_its_parent_or_is_told_of(page: Callable[..., AppTest]) -> None:
    page(click="6")
    assert SHOWN[-1] == 2 and LEAVES == []
    page(click="3", tells=True)
    assert SHOWN[-1] == 2 and LEAVES == [3]


def test_a_block_of_others_leads_to_its_node_and_nonsense_nowhere(page: Callable[..., AppTest]) -> None:
    page(click="others-1")
    assert SHOWN[-1] == 1
    page(click="others-1")
    assert SHOWN[-1] == 0
    for nonsense in ("7", "-1", "x", "²"):
        page(click=nonsense)
        assert SHOWN[-1] == 0


def test_buttons_lead_up(page: Callable[..., AppTest]) -> None:
    app = page()
    assert app.button(key="at_up").disabled and app.button(key="at_to_0").disabled
    app = page(click="2")
    assert app.button(key="at_to_2").label == "`*1.1`"  # shown as it is
    app.button(key="at_up").click().run()
    assert SHOWN[-1] == 0
    page(click="1")
    app.button(key="at_to_0").click().run()
    assert SHOWN[-1] == 0


@pytest.mark.parametrize(("held", "shown"), [(5, 2), (7, 0), (10**9, 0), (-1, 0)])
def test_a_node_that_is_not_there_means_the_root(page: Callable[..., AppTest], held: int, shown: int) -> None:
    app = page()
    app.session_state["at"] = held
    app.run()
    assert SHOWN[-1] == shown


@pytest.mark.usefixtures("own_jobs")
@pytest.mark.parametrize(("name", "key", "link"), [("consistency", "con_node", {}), ("budget", "bud_node", MAP)])
def test_a_node_of_one_data_set_is_not_looked_at_in_another(name: str, key: str, link: dict[str, str]) -> None:
    one, other = (dataset(Tree.from_branching_factors((2, 2)), counts) for counts in ([1, 2, 3, 4], [5, 6, 7, 8]))
    app = open_page(name, one, **link, **{key: "1"})
    assert app.session_state[key] == 1
    app.session_state["_from_file"]["upload"] = Kept(other)
    app.run()
    assert not app.exception and app.session_state[key] == 0


def test_a_large_tree_is_searched_and_what_is_found_is_gone_to() -> None:
    app = open_page("data", sample="geography")
    find = next(one for one in app.text_input if one.key.endswith("_find"))
    find.set_value("alaska").run()
    assert not app.exception
    (way,) = [one for one in app.button if "_found_" in one.key and one.label.endswith("Alaska")]
    way.click().run()
    assert not app.exception
    assert any(one.label == "Alaska" and one.disabled for one in app.button if "_to_" in one.key)


def test_a_small_tree_has_no_search(page: Callable[..., AppTest]) -> None:
    assert not page().text_input
