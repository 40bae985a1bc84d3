"""Every page in every view opens on odd data, under every relation: no exception, and the badges are right.

What the views themselves owe is tried of all of them on everything in `views/test_contract.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import RAGGED, Later, answer, dataset, open_page, press, widget
from pages.ui.figure import frame
from pages.ui.inputs.settings import REG
from pages.ui.jobs import jobs
from pages.ui.page.view import Seen
from pages.ui.tables.session_tables import Kept
from pages.views.cdf.settings import VIEWS as CDF_VIEWS
from pages.views.multiplicative.settings import VIEWS as MULTIPLICATIVE_VIEWS
from pages.views.plan import LABELS as PLAN_VIEWS
from pages.views.topdown.settings import SECTIONS
from pages.views.topdown.settings import VIEWS as TOPDOWN_VIEWS
from test_contract import shown as all_of
from test_pages_help import CONTROLS, of, unexplained, unnamed, without_help
from test_views import look
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset, DomainSource, ReadReport
from treedp_core.records.dataset import labels_of
from treedp_core.studies.methods.terms import TERMS
from treedp_core.studies.sweep.series import VIEWS as LAB_VIEWS
from treedp_core.tree import Tree
from treedp_core.views import VIEWS as ENTRIES
from treedp_core.views.budget import VIEWS as BUDGET_VIEWS
from treedp_core.views.inputs import Inputs, parameters_of
from treedp_core.views.lesson import PLACES as LESSON_PLACES
from treedp_core.views.protects import VIEWS as PROTECTS_VIEWS

pytestmark = pytest.mark.usefixtures("own_jobs")

ALL = {"formula", "simulation", "NOT PRIVATE"}
VIEWS: dict[tuple[str, str, str], set[str]] = {
    ("start", "", ""): {"simulation", "NOT PRIVATE"},
    ("data", "", ""): {"NOT PRIVATE"},
    ("branching", "", ""): {"formula"},
    ("consistency", "", ""): ALL,
    **{("lab", "lab_view", view): ALL if view == "draw" else {"formula"} for view in LAB_VIEWS},
    **{("cdf", "cdf_view", view): {"release": ALL, "experiment": {"simulation"}}.get(view, {"formula"})
       for view in CDF_VIEWS},
    **{("multiplicative", "mul_view", view): {"run": ALL, "prefixes": {"formula"}}.get(view, {"formula", "simulation"})
       for view in MULTIPLICATIVE_VIEWS},
    **{("budget", "bud_view", view): ALL for view in BUDGET_VIEWS},
    **{("topdown", "td_view", view): {"simulation", "NOT PRIVATE"} for view in TOPDOWN_VIEWS},
    ("ranges", "", ""): ALL,
    ("methods", "met_view", "methods"): {"formula"},
    ("methods", "met_view", "glossary"): set(),
    ("methods", "met_view", "papers"): {"formula", "simulation"},
    **{("lesson", "step", place): {"formula"} for place in LESSON_PLACES},
    **{("protects", "pro_view", view): {"formula", "NOT PRIVATE"} if view == "clip" else {"formula"}
       for view in PROTECTS_VIEWS},
    **{("plan", "plan_view", view): {"formula"} for view in PLAN_VIEWS},
    **{("topdown", "td_more", section): {"simulation", "NOT PRIVATE"} for section in SECTIONS},
}  # fmt: skip
"""Page, the setting of its view, the view -> badges."""
RELATIONS = [relation.value for relation in NeighbouringRelation]
LEVELS = ("Basic", "Advanced")
SMALL = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])
HOSTILE = ("<img src=x onerror=alert(1)>", "![x](http://192.0.2.1/b.png)", "[y](javascript:1)", "$x$", ":red[z]")
OPENED = {"ragged": RAGGED, "one level": dataset(Tree.from_child_counts([]), [12])}
SET = {"eps": "2", "delta": "0.000001", "seed": "12345", "nbr": "add_or_remove_one"}
NAMED = {"eps": "ε = 2", "delta": "δ = 1e-6", "seed": "seed 12345", "nbr": "add or remove one"}
NOISES = {"lab_mechanisms": "lab", "con_mechanism": "consistency", "cdf_mechanism": "cdf", "bud_mechanism": "budget",
          "bra_noise": "branching", "plan_mechanism": "plan", "pro_mechanism": "protects"}  # fmt: skip
"""The setting of the noise -> its page."""
NOISE_OF_ITS_OWN = {("cdf", "error"), ("cdf", "experiment"), ("cdf", "optimal")}
QUICK = {"td_product": "1", "td_trials": "20", "bud_phases": "10", "lab_trials": "20", "bra_bins": "66"}
MOVED = {"alpha": 0.3, "threshold": 50.0}
MATTERS = {"map": {"bud_strategy": "optimum"}, "targets": {"bud_targets": "0, 0, 30"}}
"""Where τ or a noisy prior makes a difference."""
METRICS = [
    *(("lab", "lab_view", view, {"lab_metric": metric}) for view in LAB_VIEWS for metric in ("alpha_rmse", "rmsre")),
    *(("budget", "bud_view", view, {"bud_metric": "rmse"}) for view in ("custom", "strategies")),
]
ASKED = [*((*one, MATTERS.get(one[2], {})) for one in VIEWS), *METRICS]


def opened(data: Dataset | None, **link: Any) -> AppTest:
    """The app on one data set, its trips replaced by it where a page has a choice."""
    return open_page("data", data, td_source="current", cdf_source="current", mul_source="current", **link)


def visited(app: AppTest, page: str, setting: str, view: str, relation: str, level: str) -> None:
    """Open a view and hold it to the contract."""
    app.session_state["nbr"], app.session_state["level"] = relation, level
    if setting:
        app.session_state[setting] = view
    app.switch_page(f"pages/{page}.py").run()
    place = f"{page} {view} {relation} {level}"
    assert not app.exception, (place, [one.message for one in app.exception])
    broken = [one.value for one in app.error if "Something went wrong" in one.value or "SIMULATION_FAILED" in one.value]
    assert not broken, place
    assert without_help(app) == [] and unexplained(app) == [], place
    assert unnamed(app) == [], place
    assert symbols_left_open(app) == [], place
    badges = [re.search(r"-badge\[:\S+ (.*)\]$", str(part.value)) for part in app.main.markdown]
    if any(":small[`" in one.value for one in app.error) and not app.get("plotly_chart"):
        assert not any(badges), f"{place}: refused, so there are no numbers"
        return
    expected = VIEWS[page, setting, view]
    if page == "budget" and view != "targets" and app.session_state["source"] != "upload":  # tuned on another draw
        expected = expected - {"simulation"}
    assert expected <= {found[1] for found in badges if found}, place
    if page not in ("data", "start"):  # which have more badges further down
        assert {found[1] for found in badges if found} == expected, place


def symbols_left_open(app: AppTest) -> list[str]:
    """Symbols of the first screen's question, strip, answer and figure that no tooltip in view explains."""
    said = [one.value for one in (*app.title, *app.main.caption[:1])]
    charts = [json.loads(one.proto.spec)["layout"] for one in app.get("plotly_chart")[:1]]
    said += [one["title"]["text"] for chart in charts for one in chart.values() if _is_titled(one)]
    said += [note["text"] for chart in charts for note in chart.get("annotations", [])]
    said += [answer(app)] if any("-answer" in getattr(one.proto, "id", "") for one in _blocks(app)) else []
    told = " ".join(str(of(one, "help") or "") for kind in ("title", *CONTROLS) for one in app.get(kind))
    open_ones = {"ε": "epsilon", "δ": "delta", "ρ": "rho", "α": "alpha", "τ": "tau", "σ": "sigma", "β": "beta",
                 "η": "eta", "E₂": "e2", "γ₂": "gamma"}  # fmt: skip
    return [one for one, name in open_ones.items() if one in " ".join(said) and TERMS[name].text not in told]


def _is_titled(axis: Any) -> bool:
    return isinstance(axis, dict) and isinstance(axis.get("title"), dict) and "text" in axis["title"]


def _blocks(app: AppTest) -> list[Any]:
    blocks: list[Any] = [app.main]
    for block in blocks:
        blocks += [one for one in block.children.values() if hasattr(one, "children")]
    return blocks


def test_a_symbol_that_nothing_explains_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from pages.ui.page import page

    assert symbols_left_open(open_page("topdown", SMALL, level="Basic")) == []
    monkeypatch.setattr(page, "explain_all", lambda *words: "")
    assert symbols_left_open(open_page("methods", SMALL, level="Basic", met_one="bounds.cumulative")) == ["ρ"]


def covering(kind: str) -> Iterator[tuple[tuple[str, str, str], str, str]]:
    """One visit of each view on this kind of data, relations and levels in turn."""
    shift = list(OPENED).index(kind)
    for i, view in enumerate(VIEWS):
        yield view, RELATIONS[(i + shift) % 3], LEVELS[(i + i // 3 + shift) % 2]


@pytest.mark.parametrize("kind", OPENED)
def test_every_view_opens_on_odd_data(kind: str) -> None:
    app = opened(OPENED[kind])
    for view, relation, level in covering(kind):
        visited(app, *view, relation, level)


@pytest.mark.parametrize("setting", ["present", "explain"])
def test_every_view_opens_in_a_presentation_and_without_explanations(
    setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in one of the two."""
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("data", SMALL, td_source="current", **{setting: "1" if setting == "present" else "0"})
    for page, switch, view in list(VIEWS)[setting == "explain" :: 2]:
        if switch:
            app.session_state[switch] = view
        app.switch_page(f"pages/{page}.py").run()
        assert not app.exception, (page, view)
        assert not app.main.error, (page, view)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Seen[Any]]:
    """Views that a page has shown with a footer since this was emptied."""
    shown, footer = list[Seen[Any]](), frame.footer
    monkeypatch.setattr(frame, "footer", lambda one, **more: (shown.append(one), footer(one, **more)))
    return shown


def hostile() -> Dataset:
    """A table whose names all are what no page may show as anything but text."""
    tree = Tree.from_branching_factors((2, 2))
    codes = [np.tile(np.arange(2), n) for n in (1, 2)]
    labels = labels_of(tree, codes, [[HOSTILE[0], HOSTILE[1]], [HOSTILE[2], HOSTILE[3]]], [HOSTILE[1], HOSTILE[4]])
    counts, report = tree.counts_of_leaves(np.array([90, 4, 0, 7])), ReadReport(101, 101)
    return Dataset(HOSTILE[0], tree, labels, counts, DomainSource.PUBLIC, report)


def shows_names_as_they_are(app: AppTest) -> None:
    read = [*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.title, *app.header]
    prose = [str(part.value) for part in read] + [button.label for button in app.button]
    outside = ["".join(text.split("`")[::2]) for text in prose]
    assert [text for text in outside if any(piece in text for piece in HOSTILE)] == []
    assert "<img" not in "".join(chart.proto.spec for chart in app.get("plotly_chart"))


def named(app: AppTest) -> dict[str, bool]:
    """Whether the strip says that a setting of the sidebar was used."""
    strip = (
        str(app.main.caption[0].value).replace("\u00a0", " ").replace(f"{NAMED['nbr']}, whatever the sidebar says", "")
    )
    return {key: text in strip for key, text in NAMED.items()}


def greyed(app: AppTest, keys: Iterable[str]) -> dict[str, bool]:
    """Whether a setting of the sidebar is greyed, which says why."""
    found = {key: widget(app, key) for key in keys}
    assert all(one.disabled == one.help.startswith("**Not used here.**") for one in found.values())
    return {key: one.disabled for key, one in found.items()}


@cache
def found(name: str, inputs: Inputs, data: Dataset) -> tuple[str, ...]:
    return all_of(look(ENTRIES[name], data, **{one.name: getattr(inputs, one.name) for one in fields(inputs)}))


def follows(one: Seen[Any], name: str) -> bool:
    """Whether a view finds something else with another value of one of its inputs."""
    if name not in parameters_of(type(one.inputs)):
        return False
    moved = replace(one.inputs, **{name: MOVED[name]})
    return len({found(one.entry.name, inputs, one.tables.value.data) for inputs in (one.inputs, moved)}) > 1


@pytest.mark.parametrize("page", dict.fromkeys(page for page, *_ in VIEWS))
def test_a_view_shows_names_as_they_are_and_the_sidebar_greys_what_nothing_follows(
    page: str, seen: list[Seen[Any]]
) -> None:
    """What a strip names moves what is shown: see `views/test_contract.py`."""
    app = opened(hostile(), **SET, **QUICK, **dict.fromkeys(NOISES, "gaussian"))
    for _, switch, view, link in (one for one in ASKED if one[0] == page):
        for key, value in ({switch: view} | link if switch else link).items():
            app.session_state[key] = value
        seen.clear()
        app.switch_page(f"pages/{page}.py").run()
        for key in [one.key for one in app.button if (one.key or "").endswith("_run") and not one.disabled]:
            press(app, key)
        assert not app.exception, view
        shows_names_as_they_are(app)
        used = named(app) | ({"delta": True} if page == "start" else {})  # under *More*, which no strip speaks for
        assert greyed(app, NAMED) == {key: not is_used for key, is_used in used.items()}, view
        names = {"alpha": "alpha", "tau": "threshold"}
        moves = {key: any(follows(one, name) for one in seen) for key, name in names.items()}
        moves |= {"tau": True} if page == "consistency" else {}  # its cards are of relative errors
        assert greyed(app, moves) == {key: not is_moved for key, is_moved in moves.items()}, view


def script() -> None:
    """What no view of any page uses, and why, as the settings of the session stand: nothing is drawn."""
    import streamlit as st

    from app import all_pages
    from pages.ui.inputs.inactive_settings import said

    told = dict[tuple[str, str], dict[str, str]]()
    for page in all_pages():
        for view in page.views:
            if page.switch is not None:
                page.switch.set(view.name)
            told[page.name, view.name] = said(view.ignores)
    st.session_state["_told"] = told


def reasons(key: str, page: str, data: Dataset = SMALL, **chosen: Any) -> dict[str, str]:
    """Why each view of a page greys a setting of the sidebar; nothing where it does not."""
    app = AppTest.from_function(script)
    app.session_state["_from_file"], app.session_state["source"] = {"upload": Kept(data)}, "upload"
    for name, value in chosen.items():
        app.session_state[name] = value
    app.run()
    assert not app.exception
    return {view: said.get(key, "") for (one, view), said in app.session_state["_told"].items() if one == page}


def follow(page: str, name: str, values: tuple[Any, Any], data: Dataset, **inputs: Any) -> set[str]:
    """Views of a page, and what stands under them, that find something else with another value of an input."""
    entries = [one for one in ENTRIES.values() if one.page == page and name in parameters_of(one.inputs)]
    return {one.name for one in entries
            if len({all_of(look(one, data, **inputs, **{name: value})) for value in values}) > 1}  # fmt: skip


@pytest.mark.parametrize("key", NOISES)
def test_delta_is_greyed_with_the_reason_while_no_noise_of_a_page_spends_one(key: str) -> None:
    """Pages are visited with Gaussian noise above."""
    page = NOISES[key]
    laplace, gaussian, mixed = (
        reasons("delta", page, **{key: list(names) if REG[key].is_many else names[0]})
        for names in (["laplace"], ["gaussian"], ["gaussian", "laplace"])
    )
    own = {view: why for view, why in laplace.items() if (page, view) in NOISE_OF_ITS_OWN}
    assert all("spends no δ" in laplace[view] for view in laplace.keys() - own) and len(own) < len(laplace)
    assert gaussian == mixed == dict.fromkeys(laplace, "") | own


def test_the_seed_is_greyed_just_while_splits_are_tuned_on_what_is_not_drawn() -> None:
    made_up = replace(SMALL, is_made_up=True)
    drawn, paid = (reasons("seed", "budget", data) for data in (made_up, SMALL))
    assert all("drawn" in why for why in drawn.values()) and paid == dict.fromkeys(drawn, "")
    assert follow("budget", "seed", (7, 12345), made_up, phases=10) == set()
    assert follow("budget", "seed", (7, 12345), SMALL, phases=10) != set()


def test_epsilon_is_greyed_just_while_a_page_has_a_budget_of_its_own() -> None:
    own, left = (reasons("eps", "topdown", td_rho=rho) for rho in ("0.5", " "))
    assert all("ρ" in why for why in own.values()) and left == dict.fromkeys(own, "")
    chosen: dict[str, Any] = {"source": "current", "product": True, "trials": 20}
    assert follow("topdown", "epsilon", (1.0, 2.0), SMALL, rho="0.5", **chosen) == set()
    assert follow("topdown", "epsilon", (1.0, 2.0), SMALL, **chosen) >= {f"topdown.{view}" for view in own}


def test_what_is_greyed_keeps_its_value() -> None:
    app = opened(SMALL, cdf_view="experiment", cdf_trials="20", eps="2")
    app.switch_page("pages/cdf.py").run()
    assert greyed(app, ("eps",)) == {"eps": True} and widget(app, "eps").value == 2.0
    app.session_state["cdf_view"] = "release"
    app.run()
    assert greyed(app, ("eps",)) == {"eps": False} and widget(app, "eps").value == 2.0
    app.switch_page("pages/consistency.py").run()
    assert widget(app, "eps").value == 2.0
