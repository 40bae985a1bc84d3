"""The sidebar greys what a view does not use, with the reason, and nothing else: held against the strip."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import dataset, open_page, press, widget
from test_pages_contract import VIEWS
from treedp_core.studies.sweep.series import VIEWS as LAB_VIEWS
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")

SMALL = dataset(Tree.from_branching_factors((2, 3, 4)), [70, 1, 2, 30, 4, 0, 9, 50, 8, 0, 3, 77] * 2, name="small")
SET = {"eps": "2", "delta": "0.000001", "seed": "12345", "nbr": "add_or_remove_one"}
NAMED = {"eps": "ε = 2", "delta": "δ = 1e-6", "seed": "seed 12345", "nbr": "add or remove one"}
NOISES = ("lab_mechanisms", "con_mechanism", "cdf_mechanism", "bud_mechanism", "bra_noise")
UNDER_MORE = {"start": {"delta": True}}
"""What only a figure under *More* uses: the strip speaks for the first screen."""
QUICK = {"td_source": "current", "cdf_source": "current", "mul_source": "current", "td_product": "1"}
QUICK |= {"td_trials": "20", "bud_phases": "10", "lab_trials": "20", "bra_bins": "66"}
MOVED = {"eps": 1.0, "delta": 1e-5, "seed": 6, "nbr": "replace_one", "alpha": 0.3, "tau": 50.0}
"""Every setting of the sidebar but those of the page's looks, and where it is moved to."""
MATTERS = {"map": {"bud_strategy": "optimum"}, "targets": {"bud_targets": "0, 0, 0, 30"}}
"""Where τ or a noisy prior makes a difference."""
SLOW = ("curves", "rules", "growth")
ASKED = [
    *(
        pytest.param(*one, MATTERS.get(one[2], {}), marks=[pytest.mark.contract] if one[2] in SLOW else [])
        for one in VIEWS
    ),
    *(("lab", "lab_view", view, {"lab_metric": metric}) for view in LAB_VIEWS for metric in ("alpha_rmse", "rmsre")),
    *(("budget", "bud_view", view, {"bud_metric": "rmse"}) for view in ("custom", "strategies")),
]


def opened(page: str, setting: str, view: str, **link: str) -> AppTest:
    """A view on a small tree, once it has shown all that it can."""
    app = open_page(page, SMALL, **SET, **QUICK, **link, **({setting: view} if setting else {}))
    run(app)
    assert not app.exception
    return app


def shown(app: AppTest) -> dict[str, Any]:
    """Every figure, table, card and the answer of a page, by what tells them apart."""
    found: dict[str, Any] = {chart.proto.id.rsplit("-", 1)[-1]: chart.proto.spec for chart in app.get("plotly_chart")}
    moving = [one.proto for one in app.get("bidi_component") if one.proto.component_name.endswith(".ranges")]
    found |= {"moving": [one.json for one in moving]}
    for chart in app.get("arrow_vega_lite_chart"):
        found["live"] = chart.proto.spec, [one.data.data for one in chart.proto.datasets]
    found |= {f"table {i}": one.value.to_csv() for i, one in enumerate(app.main.dataframe)}
    found |= {f"card {one.label}": one.value for one in app.main.metric}
    told = (str(part.value).replace("\u00a0", " ") for part in app.main.markdown)
    return found | {"answer": [one for one in told if "ε = " in one]}


def still(app: AppTest, told: dict[str, bool]) -> dict[str, bool]:
    """Whether all that is shown stays as it is when a setting alone is moved and what waits for **Run** is run.

    What is `told` to be unused is moved together, and one by one only if that changes anything.
    """
    before, unused = shown(app), [key for key, is_unused in told.items() if is_unused]
    if moved(app, unused) == before:
        return {key: key in unused or moved(app, [key]) == before for key in told}
    return {key: moved(app, [key]) == before for key in told}


def moved(app: AppTest, keys: list[str]) -> dict[str, Any]:
    """What is shown with some settings moved, which are then put back."""
    old = {key: app.session_state[key] for key in keys}
    for key in keys:
        app.session_state[key] = MOVED[key]
    run(app.run())
    assert not app.exception and all(app.session_state[key] == MOVED[key] for key in keys)
    found = shown(app)
    for key, value in old.items():
        app.session_state[key] = value
    return found


def run(app: AppTest) -> AppTest:
    """Press every Run."""
    for key in [one.key for one in app.button if (one.key or "").endswith("_run") and not one.disabled]:
        press(app, key)
    return app


def named(app: AppTest) -> dict[str, bool]:
    """Whether the strip says that a setting of the sidebar was used."""
    strip = str(app.main.caption[0].value).replace(f"{NAMED['nbr']}, whatever the sidebar says", "")
    return {key: text in strip for key, text in NAMED.items()}


def greyed(app: AppTest, keys: Iterable[str] = NAMED) -> dict[str, bool]:
    found = {key: widget(app, key) for key in keys}
    assert all(one.disabled == one.help.startswith("**Not used here.**") for one in found.values())
    return {key: one.disabled for key, one in found.items()}


@pytest.mark.parametrize(("page", "setting", "view"), [one for one in VIEWS if one[2] in SLOW])
def test_a_setting_is_greyed_just_where_the_strip_does_not_name_it(page: str, setting: str, view: str) -> None:
    """The other views are held to it below."""
    greys_what_is_not_named(opened(page, setting, view, **dict.fromkeys(NOISES, "gaussian")), page)


def greys_what_is_not_named(app: AppTest, page: str) -> None:
    """The sidebar greys just what the strip does not name."""
    used = named(app) | UNDER_MORE.get(page, {})
    assert greyed(app) == {key: not is_used for key, is_used in used.items()}


@pytest.mark.parametrize(("page", "setting", "view", "link"), ASKED)
def test_a_setting_is_greyed_just_where_nothing_shown_moves_with_it(
    page: str, setting: str, view: str, link: dict[str, str]
) -> None:
    """With all of *More* open: what only that uses is not called unused.

    All that is greyed is moved, and half of the rest, the other half on the next view.
    """
    app = opened(page, setting, view, **dict.fromkeys(NOISES, "gaussian") | link)
    greys_what_is_not_named(app, page)
    half = list(VIEWS).index((page, setting, view)) + len(link)
    told = {key: is_greyed for i, (key, is_greyed) in enumerate(greyed(app, MOVED).items())
            if is_greyed or (i + half) % 2}  # fmt: skip
    assert told == still(app, told)


def test_the_seed_is_greyed_while_splits_are_tuned_on_another_draw_of_made_up_data() -> None:
    for view in ("targets", "custom", "strategies", "map"):
        app = open_page("budget", sample="small_town", bud_view=view, **QUICK)
        told = greyed(app, ("seed",))
        assert told == {"seed": True} == still(app, told)


@pytest.mark.parametrize(
    ("page", "setting", "view"),
    [
        one
        for one in VIEWS
        if one[0] in ("lab", "consistency", "cdf", "budget", "branching") and one[2] != "error"  # has Gaussian lines
    ],
)
def test_delta_is_greyed_while_nothing_spends_one(page: str, setting: str, view: str) -> None:
    app = opened(page, setting, view, **dict.fromkeys(NOISES, "laplace"))
    assert greyed(app)["delta"] and not named(app)["delta"]


def test_a_budget_of_the_page_greys_the_other() -> None:
    app = opened("topdown", "", "", td_rho="0.5")
    assert greyed(app)["eps"] and not named(app)["eps"]


def test_what_was_greyed_keeps_its_value() -> None:
    app = opened("cdf", "cdf_view", "optimal")
    assert greyed(app)["eps"]
    for view in ("experiment", "release"):
        app.session_state["cdf_view"] = view
        app.run()
    app.switch_page("pages/consistency.py").run()
    assert named(app) == dict.fromkeys(NAMED, True) | {"delta": False}
    assert widget(app, "eps").value == 2.0
