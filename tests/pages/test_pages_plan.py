"""The page Release plan: the plan of the settings, plans from ledgers and files, and programs."""

from __future__ import annotations

import io
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import answer, codes, dataset, open_page, pick, press, words
from pages.ui.tables import plans
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.plans import ReleasePlan
from treedp_core.plans.together import together
from treedp_core.records import DomainSource
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")
SMALL = dataset(Tree.from_branching_factors((3, 4)), [5, 1, 2, 3, 5, 8, 13, 21, 7, 9, 40, 100])


def shown(app: AppTest) -> ReleasePlan:
    """The plan that the page shows: its code is run."""
    code = next(one.value for one in app.code if "levels(" in one.value)
    found: dict[str, Any] = {}
    exec(code.partition("\nfigure = ")[0].replace("levels", "release_plan"), found)
    plan: ReleasePlan = found["finding"]
    return plan


def kept(app: AppTest) -> plans.Kept:
    one: plans.Kept = app.session_state["_plan"]
    return one


def test_noted_plans_are_composed_until_they_are_forgotten() -> None:
    app = open_page(
        "plan", sample="small_town", plan_mechanism="discrete_gaussian", delta="1e-6", nbr="add_or_remove_one"
    )
    assert "paid for twice" in words(app)
    app = press(app, "plan_note")
    one = together([shown(app)])
    app = press(pick(app, eps=0.5), "plan_note")
    told = next(line for line in words(app).split("\n") if "releases together" in line)
    assert told.startswith("2 releases together: (ε = ") and "by numerical accounting; added up, ε = 1.5" in told
    epsilon = float(told.partition("ε = ")[2].partition(",")[0])
    assert one.epsilon < epsilon < 1.2
    app = press(pick(app, nbr="replace_one"), "plan_note")
    assert codes(app) == ["PLAN_UNITS"]
    other = open_page("plan", sample="small_town", nbr="replace_one")
    other.session_state["_plans_noted"] = app.session_state["_plans_noted"]
    assert codes(other.run()) == ["PLAN_UNITS"]
    app.session_state["source"] = "generate"
    assert not codes(app.run()) and "releases together" not in words(app), "not of these data"
    app.session_state["source"] = "sample"
    app = press(app.run(), "plan_forget")
    assert not app.error and "releases together" not in words(app)


def test_a_single_public_count_needs_no_noise_and_no_budget() -> None:
    app = open_page("plan", dataset(Tree.from_branching_factors(()), [50]))
    assert not app.exception and not app.error
    assert "no noise is needed" in words(app)


def test_the_plan_is_that_of_the_settings() -> None:
    app = open_page("plan", sample="small_town", eps="0.5", plan_post="none")
    plan = shown(app)
    assert plan.epsilon == 0.5
    assert plan.law.value == "discrete_laplace"
    assert "(ε = 0.5)-differential privacy" in answer(app)
    assert plan.sentence() in [one.value for one in app.code]
    pick(app, plan_mechanism="discrete_gaussian")
    assert shown(app).law.value == "discrete_gaussian"


def test_thresholds_are_planned_with_a_public_bound_that_is_asked_for() -> None:
    app = open_page("plan", sample="small_town", plan_mechanism="thresholds", nbr="add_or_remove_one")
    assert codes(app) == ["BOUND_REQUIRED"] and "plan_post" not in {one.key for one in app.selectbox}
    app = pick(app, plan_bound=100_000)
    plan = shown(app)
    assert not app.exception and not app.error and plan.thresholds is not None and plan.thresholds.bound == 100_000
    assert plan.sentence() in [one.value for one in app.code]
    assert any("composed again from their noise on another grid" in one.value for one in app.caption)
    app = pick(app, plan_rule="provable")
    assert "for every tree" in answer(app)
    app = press(app, "plan_note")
    assert "1 release together" in words(app)
    app = pick(app, plan_view="handover")
    assert "cannot express this plan" in answer(app) and not app.exception
    assert "Release plan: Mechanism" in [one.proto.label for one in app.get("page_link")]


def test_it_is_checked_on_the_page() -> None:
    app = open_page("plan", sample="small_town")
    assert any("worked out again" in one.value for one in app.caption)
    assert not app.main.error


def test_categories_from_the_data_are_an_open_point_and_no_program() -> None:
    app = open_page("plan", replace(SMALL, domain_source=DomainSource.FROM_DATA))
    assert any("taken from the data" in one.value for one in app.markdown)
    app = open_page("plan", replace(SMALL, domain_source=DomainSource.FROM_DATA), plan_view="handover")
    assert "cannot express" in answer(app)
    assert not [one for one in app.code if "import opendp" in one.value]
    assert "Data and tree: Which categories exist" in [one.proto.label for one in app.get("page_link")]


def test_errors_on_the_true_counts_are_marked() -> None:
    app = open_page("plan", sample="small_town", plan_true="rmsre")
    assert shown(app).label.startswith("NOT PRIVATE")
    assert any("NOT PRIVATE" in str(part.value) for part in app.main.markdown)


@pytest.mark.parametrize(("page", "link", "key"), [
    ("lab", {}, "lab_plan"),
    ("consistency", {}, "con_plan"),
    ("budget", {"bud_view": "strategies"}, "bud_plan"),
    ("budget", {"bud_view": "custom"}, "bud_plan"),
    ("cdf", {}, "cdf_plan"),
    ("cdf", {"cdf_tree": "root", "cdf_mechanism": "discrete_gaussian"}, "cdf_plan"),
    ("topdown", {}, "td_plan"),
])  # fmt: skip
def test_every_ledger_makes_a_plan(page: str, link: dict[str, str], key: str) -> None:
    app = planned(open_page(page, **link), key)
    assert app.title[0].value == "What do I promise, what is open?"
    plan = kept(app).made.value
    assert plan.verify() == ()
    assert f"{plan.epsilon:.3g}"[:3] in answer(app)
    press(app, "plan_back")
    assert "_plan" not in app.session_state


@pytest.mark.parametrize(("page", "prefix"), [("lab", "lab"), ("consistency", "con")])
def test_a_plan_is_of_what_was_typed_just_before_the_press(page: str, prefix: str) -> None:
    """Both reach the server before the page is drawn once more."""
    link = {f"{prefix}_allocation": "custom", f"{prefix}_shares": "0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.4"}
    app = open_page(page, sample="small_town", level="Advanced", nbr="add_or_remove_one", **link)
    app.text_input(key=f"{prefix}_shares").set_value("0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1")
    levels = kept(planned(app, f"{prefix}_plan")).made.value.levels
    assert 4 * levels[0].scale == pytest.approx(levels[-1].scale)


def test_a_plan_from_elsewhere_goes_with_its_data() -> None:
    app = planned(open_page("lab", sample="small_town"), "lab_plan")
    assert kept(app).fingerprint
    app.session_state["sample"] = "geography"
    app.switch_page("pages/plan.py").run()
    assert "_plan" not in app.session_state


def planned(app: AppTest, key: str) -> AppTest:
    """The page after a button "Make plan"."""
    press(app, key)
    assert not app.exception
    assert "_plan" in app.session_state, codes(app)
    return app


class Uploaded(io.BytesIO):
    """A file as the uploader returns it."""

    file_id = "one"
    name = "plan.json"


def test_a_plan_from_a_file_is_shown_and_a_hostile_one_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = ReleasePlan.of(Experiment(epsilon=0.25, mechanism="laplace"), SMALL)
    text = plan.to_json()
    given = [text.replace('"epsilon": 0.25', '"epsilon": NaN'), text, text.replace('"epsilon": 0.25', '"epsilon": 0.2')]
    monkeypatch.setattr("pages.ui.session.uploads.st.file_uploader", lambda *_, **__: _file(given))
    app = open_page("plan", sample="small_town")
    assert codes(app) == ["CONFIG_VALUE"]
    given.pop(0)
    app.run()
    assert "ε = 0.25" in answer(app)
    given.pop(0)
    app.run()
    assert answer(app).startswith("**This plan does not hold**: its noise does not keep (ε = 0.2)-differential privacy")
    assert any("does not keep the promise of ε = 0.2" in one.value for one in app.error)
    assert any(one.value.startswith("This plan does not hold: ") for one in app.code)


def _file(given: list[str]) -> Uploaded:
    file = Uploaded(given[0].encode())
    file.file_id = str(len(given))
    return file


def test_the_program_on_the_page_is_that_of_the_plan(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    app = open_page("plan", sample="small_town", plan_view="handover", eps="2")
    text = next(one.value for one in app.code if "import opendp" in one.value)
    (tmp_path / "release.py").write_text(text, encoding="utf-8")
    found = runpy.run_path(str(tmp_path / "release.py"))
    assert found["loss"](found["measurements"]()) == pytest.approx(2.0)
    pick(app, plan_library="tumult")
    assert any("tmlt.analytics" in one.value for one in app.code)
    assert "plan_records" in {one.proto.id.rpartition("-")[2] for one in app.get("download_button")}
    pick(app, nbr="replace_unknown")
    assert "some columns of a record are known" in answer(app)
    assert "Release plan: Neighbouring relation" in [one.proto.label for one in app.get("page_link")]


def test_a_law_of_somebody_else_is_refused_by_its_button(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise InputError("PLAN_LAW", "It is its author's.")

    monkeypatch.setattr(plans, "of_experiment", refuse)
    app = press(open_page("lab", sample="small_town"), "lab_plan")
    assert "PLAN_LAW" in codes(app)


def test_a_plan_from_another_page_is_reopened_from_its_cell_and_stays_with_the_session() -> None:
    app = press(open_page("lab", sample="small_town", eps="0.25", lab_mechanisms=["laplace"]), "lab_plan")
    app = press(app.switch_page("pages/plan.py").run(), "plan_levels_pin")
    said = answer(app)
    (cell,) = app.session_state["_notebook"].notebook.cells
    assert cell.plan is not None and "0.25" in cell.plan.sentence()
    app = press(app, "plan_back")
    assert answer(app) != said
    app = press(app.switch_page("pages/notebook.py").run(), "nb_follow")
    app.switch_page("pages/plan.py").run()
    assert answer(app) == said and "from the notebook" in "\n".join(one.value for one in app.caption)


def test_accounting_is_chosen_and_what_it_saves_is_told() -> None:
    link = {"plan_mechanism": "discrete_gaussian", "delta": "1e-6", "plan_post": "none"}
    app = open_page("plan", sample="small_town", **link, plan_accounting="formula")
    assert any("Numerical accounting would be noise −6." in one.value for one in app.caption)
    assert any("from 5 levels on" in one.value for one in app.caption)
    before = shown(app)
    pick(app, plan_accounting="numerical")
    after = shown(app)
    assert "by numerical accounting" in answer(app) and before.epsilon <= 1.0 >= after.epsilon
    assert 0.9 < (after.levels[-1].scale or 0) / (before.levels[-1].scale or 1) < 0.95
    assert any("**Numerical accounting: noise −6." in one.value for one in app.caption)


SOUGHT = {"eps": "0.7", "eps_tuned": "0.7"}


@pytest.mark.parametrize(
    ("page", "link", "button"),
    [("plan", {}, ""), ("lab", {}, "lab_plan"), ("cdf", {"cdf_mechanism": "laplace"}, "cdf_plan"),
     ("cdf", {"cdf_tree": "identity", "cdf_mechanism": "laplace"}, "cdf_plan"),
     ("topdown", {"td_source": "trips"}, "td_plan"), ("budget", {"bud_view": "strategies"}, "bud_plan")],
)  # fmt: skip
def test_a_plan_whose_epsilon_was_sought_on_the_true_counts_is_marked(
    page: str, link: dict[str, Any], button: str
) -> None:
    said = "NOT PRIVATE: the budget or its split was tuned on the true counts."
    for sought in (SOUGHT, SOUGHT | {"eps": "0.8"}):
        app = open_page(page, gen_branching="3,4", source="generate", **link, **sought)
        app = press(app, button) if button else app
        assert not app.exception and not app.error
        assert ((kept(app).made.value if button else shown(app)).label == said) == (sought == SOUGHT)
        assert (said in words(app)) == (sought == SOUGHT)


def test_a_plan_states_no_sought_epsilon_beside_a_prior_that_was_paid_for() -> None:
    app = open_page(
        "plan", gen_branching="3,4", source="generate", plan_allocation="custom", plan_shares="0, 0.25, 0.5",
        plan_tuned="noisy epsilon 0.125 replace_one 1 1", **SOUGHT,
    )  # fmt: skip
    assert codes(app) == ["PRIOR_OTHER"]
