"""The Consistency page: its controls, and that it shows what its views find (see views/test_consistency.py)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import answer, dataset, figure, metric_values, open_page, pick, words
from pages.ui.inputs.text import lit
from treedp_core.tree import Tree
from treedp_core.views import Tables, consistency
from treedp_core.views.consistency import ConsistencyInputs

SMALL = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])


@pytest.fixture
def page() -> Callable[..., AppTest]:
    return lambda data=SMALL, **link: open_page("consistency", data, **link)


def test_the_page_shows_what_its_views_find(page: Callable[..., AppTest]) -> None:
    app = page(con_node="2", con_post="none", eps="2")
    assert not app.exception and not app.error
    given = ConsistencyInputs(node=2, postprocess="none", epsilon=2.0), Tables(SMALL)
    changes = consistency.changes(*given)
    assert metric_values(app) == dict(zip(changes.table["number"], changes.table["after"], strict=True))
    assert answer(app) == consistency.balance(*given).answer
    for found in (changes, consistency.sums(*given), consistency.bias_by_size(*given)):
        assert found.answer in words(app)
    assert app.dataframe[0].value["path"].tolist() == list(consistency.sums(*given).table["path"])
    captions = [caption.value for caption in app.main.caption]
    assert sum("NOT PRIVATE" in caption for caption in captions) == 3  # boxes, ledger, bias
    assert any(part.value.startswith("NOT PRIVATE: one simulated draw") for part in app.main.markdown)  # the figure
    assert any("NOT PRIVATE" in badge.value for badge in app.main.markdown)


def test_draw_again_takes_the_next_seed(page: Callable[..., AppTest]) -> None:
    app = page()
    first = metric_values(app)
    app.button(key="con_draw").click().run()
    assert app.session_state["seed"] == 8
    assert metric_values(app) != first
    app.number_input(key="seed").set_value(7).run()
    assert metric_values(app) == first


def test_gaussian_without_delta_takes_one_that_fits(page: Callable[..., AppTest]) -> None:
    app = pick(page(), con_mechanism="gaussian")
    assert not app.error
    assert "δ = 1e-6 is used on this page" in words(app)
    before = metric_values(app)
    app.button(key="con_set_delta").click().run()
    assert not app.error
    assert metric_values(app) == before
    assert app.metric


def test_refused_shares_leave_the_last_draw_but_no_way_down_its_tree(page: Callable[..., AppTest]) -> None:
    before = page()
    app = pick(pick(page(), con_allocation="custom"), con_shares="0, 0.5")
    assert "got 2" in words(app) and "BUDGET_SPLIT" in words(app) and "Shown meanwhile" in words(app)
    assert figure(app, "con_figure")["data"] == figure(before, "con_figure")["data"]
    assert metric_values(app) == metric_values(before)
    selects = [one.proto.selection_mode for one in app.get("plotly_chart")]
    assert not selects[0] and before.get("plotly_chart")[0].proto.selection_mode
    app = pick(app, con_shares="0, 0.5, 0.5")
    assert not app.error


def test_up_and_home(page: Callable[..., AppTest]) -> None:
    app = page(con_node="5")  # a leaf: its family is its parent's
    assert app.button(key="con_node_to_1").label == lit("n1.0")
    app.button(key="con_node_up").click().run()
    assert app.session_state["con_node"] == 0
    assert app.button(key="con_node_up").disabled
    assert app.button(key="con_node_to_0").disabled


def test_the_finder_lists_labels(page: Callable[..., AppTest]) -> None:
    app = pick(page(), con_find="N2.1")
    assert app.dataframe[0].value["path"].tolist() == ["n1.0 › n2.1", "n1.2 › n2.10", "n1.2 › n2.11"]
    assert "No label contains that." in words(pick(app, con_find="zebra"))


def test_strips_of_a_tree_too_large_to_show(page: Callable[..., AppTest]) -> None:
    app = page(None, source="generate", gen_branching="30,30")
    app.session_state["con_strips"] = True
    app.run()
    assert not app.exception
    assert figure(app, "con_strips_after")["data"][0]["type"] == "heatmap"


def test_removed_data_leave_no_draw_behind(page: Callable[..., AppTest]) -> None:
    app = page()
    assert any(SMALL.fingerprint in key for key in app.session_state["_remembered"][""])
    app.switch_page("pages/data.py").run().button(key="upload_remove").click().run()
    app.switch_page("pages/consistency.py").run()
    kept = app.session_state["_remembered"]
    assert kept["results"]["consistency"].of != (SMALL.fingerprint,) and len(kept["results"]["consistency"].values) == 1
    assert not any(SMALL.fingerprint in key for key in kept[""])


@pytest.mark.parametrize("label", ["<img src=x onerror=alert(1)>", ":red[x] `a`"])
def test_labels_reach_only_what_shows_them_literally(page: Callable[..., AppTest], label: str) -> None:
    data = dataset(Tree.from_branching_factors((2, 2)), [1, 2, 3, 4], name=label, prefix=label)
    app = pick(page(data, con_node="1"), con_find=label[:5])
    assert not app.exception
    prose = [part.value for part in [*app.main.markdown, *app.main.caption, *app.main.info]]
    shown = [text for text in prose if label in text]
    assert shown
    pieces = [lit(label), lit(f"{label}1.0", 40), lit(f"{label}level1", 40), lit(f"{label}level2", 40)]
    assert all(any(piece in text for piece in pieces) for text in shown)
    assert app.dataframe[-2].value["path"].tolist()[0] == f"{label}1.0"
