"""What the address bar is given to say, and which of the addresses a browser reports are taken for a link."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit import file_util
from streamlit.testing.v1 import AppTest

from oracles_pages import Later, dataset, open_page, shared_link, widget
from pages.ui.jobs import jobs
from treedp_core.records import Dataset
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")

OWN = dataset(Tree.from_branching_factors((2, 3)), [70, 20, 1, 2, 30, 45], name="SECRET-4711")
TUNED = {"lab_allocation": "custom", "lab_shares": "0, 0.25, 0.75", "lab_tuned": "true_counts"}
TUNED |= {"eps": "0.7", "eps_tuned": "0.7"}
SET = {
    "start": {"eps": "2"},
    "data": {"source": "generate", "gen_branching": "3,4"},
    "lab": {"lab_metric": "rmsre"},
    "branching": {"bra_noise": "gaussian"},
    "cdf": {"cdf_post": "0"},
    "multiplicative": {"mul_total": "1000"},
    "budget": {"bud_metric": "rmse"},
    "consistency": {"con_post": "none"},
    "topdown": {"td_product": "1"},
    "plan": {"plan_post": "none"},
    "protects": {"pro_prior": "0.9"},
    "ranges": {"ran_bins": "16"},
}
"""A setting of each page that has an ε of its own, not its default."""


def told(app: AppTest) -> dict[str, Any]:
    """What the script in the browser is given."""
    found: dict[str, Any] = json.loads(app.main.get("bidi_component")[0].proto.json)
    return found


def query(app: AppTest) -> dict[str, list[str]]:
    found = parse_qs(told(app)["query"], keep_blank_values=True)
    return {key: texts for key, texts in found.items() if key not in ("level", "sample")}  # which tests begin with


def report(app: AppTest, **link: str) -> None:
    """Have the browser report an address with the next run."""
    app.query_params.clear()
    for key, value in link.items():
        app.query_params[key] = value


def test_the_address_names_what_the_page_uses_and_what_all_share() -> None:
    app = open_page("lab", eps="2", lab_metric="rmsre", con_post="none", lab_post="")
    assert query(app) == {"eps": ["2"], "lab_metric": ["rmsre"], "lab_post": [""]}
    assert told(app)["page"] == "lab" and told(app)["view"] == "lab/epsilon"
    assert Path(file_util.get_static_dir(), "static", "js", told(app)["draws"]).is_file(), "Streamlit's, which draws"
    app.switch_page("pages/consistency.py").run()
    assert query(app) == {"eps": ["2"], "con_post": ["none"]}
    app.switch_page("pages/start.py").run()
    assert query(app) == {"eps": ["2"]} and told(app)["page"] == ""


@pytest.mark.parametrize("page", SET)
def test_an_address_and_a_shared_link_keep_what_a_link_set_when_another_setting_moves(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page(page, **SET[page])
    assert query(app).items() >= {key: [value] for key, value in SET[page].items()}.items()
    other, value = ("bud_margins", 2.0) if page == "budget" else ("eps", 5.0)  # there ε is what is sought
    widget(app, other).set_value(value).run()
    kept = {key: [text] for key, text in (SET[page] | {other: f"{value:g}"}).items()}
    assert query(app).items() >= kept.items()
    assert parse_qs(urlsplit(shared_link(app)).query).items() >= query(app).items(), "nothing was lost on the way"
    assert not app.toast and not app.exception


def test_an_address_that_was_written_is_no_link_when_it_is_reported_later() -> None:
    app = open_page("consistency", eps="2")
    widget(app, "eps").set_value(3.0).run()
    written = {key: texts[0] for key, texts in parse_qs(told(app)["query"]).items()}
    assert written["eps"] == "3"
    report(app, **written)
    widget(app, "eps").set_value(5.0).run()
    assert query(app) == {"eps": ["5"]}
    app.run()
    assert query(app) == {"eps": ["5"]}
    report(app, eps="0.7")
    app.run()
    assert query(app) == {"eps": ["0.7"]}, "which is one that the page never wrote"


def test_a_link_to_another_page_is_followed_again() -> None:
    app = open_page("lab")
    report(app, con_post="none")
    app.switch_page("pages/consistency.py").run()
    assert query(app) == {"con_post": ["none"]}
    widget(app, "con_post").set_value("least_squares").run()
    report(app)
    app.switch_page("pages/lab.py").run()
    report(app, con_post="none")
    app.switch_page("pages/consistency.py").run()
    assert query(app) == {"con_post": ["none"]}


@pytest.mark.parametrize(("data", "is_told"), [(None, True), (OWN, False)])
def test_nothing_of_a_file_goes_into_the_address(data: Dataset | None, is_told: bool) -> None:
    """Shares tuned on true counts tell about them: of a sample that is public, of a file nobody's browser keeps it."""
    app = open_page("lab", data, **TUNED)
    assert (TUNED.keys() <= query(app).keys()) == is_told
    assert (TUNED.keys() & query(app).keys() == set()) != is_told
    assert "SECRET" not in told(app)["query"]


@pytest.mark.usefixtures("own_jobs")
def test_a_link_opens_more_where_it_sets_what_stands_there() -> None:
    """In Basic too, and only on arrival: who closes it is not shown it again by the next change."""

    def is_open(app: AppTest) -> bool:
        return any(one.key == "td_more" for one in app.segmented_control)

    for link in ({"td_more": "orders"}, {"td_rho": "0.5"}):
        app = open_page("topdown", level="Basic", **link)
        assert is_open(app) and not app.exception, link
    for link in ({}, {"td_view": "counts"}, {"eps": "2"}, {"lab_trials": "100"}):
        assert not is_open(open_page("topdown", level="Basic", **link)), link
    app.session_state["more_topdown_release_basic"] = False
    app.run()
    app.session_state["eps"] = 3.0
    assert not is_open(app.run())
