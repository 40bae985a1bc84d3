"""What links may not say, setting by setting: each wrong value has its code, and changes nothing."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from app import all_pages
from browsing import ROOT
from pages.ui.inputs.settings import REG
from refusals import refuses

PAGES = all_pages()
BAD: list[tuple[str, str | list[str], str]] = [
    ("eps", "0", "EPS_RANGE"), ("eps", "-1", "EPS_RANGE"), ("eps", "nan", "EPS_RANGE"), ("eps", "inf", "EPS_RANGE"),
    ("eps", "1e400", "EPS_RANGE"), ("eps", "1e-400", "EPS_RANGE"), ("eps", "1000000", "EPS_RANGE"),
    ("eps", "0,5", "EPS_FORMAT"), ("eps", "٠٫٥", "EPS_FORMAT"), ("eps", "1/3", "EPS_FORMAT"),
    ("eps", "1" + "0" * 400, "EPS_FORMAT"), ("eps", "", "EPS_FORMAT"), ("delta", "1", "DELTA_RANGE"),
    ("delta", "-0.1", "DELTA_RANGE"), ("delta", "nan", "DELTA_RANGE"), ("alpha", "1.0", "ALPHA_RANGE"),
    ("eps", "1e-300", "EPS_RANGE"), ("eps", "1e300", "EPS_RANGE"), ("tau", "0", "THRESHOLD_RANGE"),
    ("tau", "1e-300", "THRESHOLD_RANGE"), ("nbr", "<script>", "VALUE_UNKNOWN"),
    ("contributions", "0", "CONTRIBUTIONS_RANGE"), ("contributions", "1001", "CONTRIBUTIONS_RANGE"),
    ("explain", "maybe", "VALUE_UNKNOWN"), ("unit", "x" * 201, "VALUE_RANGE"), ("gen_branching", "1", "TREE_SHAPE"),
    ("gen_branching", '[2,2,"x"]', "TREE_SHAPE"), ("gen_branching", "0", "TREE_SHAPE"),
    ("gen_branching", "1000000000", "TOO_MANY_NODES"), ("gen_branching", ",".join(["10"] * 13), "TOO_MANY_NODES"),
    ("gen_n", "99", "RECORDS_RANGE"), ("gen_n", "1e3", "RECORDS_RANGE"), ("sample", "../etc/passwd", "VALUE_UNKNOWN"),
    ("lab_trials", "0", "TRIALS_RANGE"), ("lab_trials", "-1", "TRIALS_RANGE"),
    ("lab_trials", "1000000000", "TRIALS_RANGE"), ("lab_trials", "1.5", "TRIALS_RANGE"),
    ("lab_trials", "nan", "TRIALS_RANGE"), ("delta", "0.011", "DELTA_RANGE"), ("delta", "0.999", "DELTA_RANGE"),
    ("seed", "-1", "SEED_RANGE"), ("seed", str(2**128), "SEED_RANGE"), ("seed", "abc", "SEED_RANGE"),
    ("seed", "٣", "SEED_RANGE"), ("eps", ["1", "2"], "LINK_REPEATED"),
    ("lab_mechanisms", ["laplace", "laplace"], "LINK_REPEATED"), ("lab_mechanisms", "<img src=x>", "VALUE_UNKNOWN"),
    ("lab_post", "isotonic", "VALUE_UNKNOWN"), ("lab_metric", "rmse'", "VALUE_UNKNOWN"),
    ("lab_view", "../start", "VALUE_UNKNOWN"), ("lab_allocation", "greedy", "VALUE_UNKNOWN"),
    ("lab_shares", "0.9, 0.2", "BUDGET_SPLIT"), ("lab_shares", "x", "BUDGET_SPLIT"),
    ("lab_target", "-1", "TARGET_RANGE"), ("lab_target", "1e400", "TARGET_RANGE"), ("lab_level", "65", "VALUE_RANGE"),
    ("con_node", "-1", "VALUE_RANGE"), ("td_rho", "0", "RHO_RANGE"), ("td_view", "x", "VALUE_UNKNOWN"),
    ("td_columns", "17", "VALUE_UNKNOWN"), ("td_small", "1,1,a", "TREE_SHAPE"), ("cdf_from", "nan", "RANGE_BOUNDS"),
    ("cdf_trials", "1", "TRIALS_RANGE"), ("cdf_tree", "x", "VALUE_UNKNOWN"), ("cdf_bins", "1", "TREE_SHAPE"),
    ("alpha", "1.5", "ALPHA_RANGE"), ("alpha", "-1", "ALPHA_RANGE"), ("mul_total", "0", "TOTAL_RANGE"),
    ("mul_total", "nan", "TOTAL_RANGE"), ("mul_levels", "1", "LEVELS_RANGE"),
    ("mul_plan", "printed", "VALUE_UNKNOWN"), ("mul_eta", "0", "ETA_RANGE"),
    ("mul_thresholds", "5, x", "THRESHOLD_RANGE"), ("mul_thresholds", "0", "THRESHOLD_RANGE"),
    ("mul_deep_levels", "1000000", "LEVELS_RANGE"), ("mul_step", "-1", "VALUE_RANGE"),
    ("bud_phases", "0", "PHASES_RANGE"), ("bud_phases", "-1", "PHASES_RANGE"),
    ("bud_phases", "1000000", "PHASES_RANGE"), ("bud_shares", "0.5,0.6", "BUDGET_SPLIT"),
    ("bud_targets", "x", "TARGET_RANGE"), ("bud_prior_eps", "-1", "EPS_RANGE"),
    ("bud_confidence", "1", "TARGET_RANGE"), ("bud_strategy", "<b>", "VALUE_UNKNOWN"),
    ("tau", "-3", "THRESHOLD_RANGE"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "code"), BAD)
def test_a_wrong_value_is_refused_with_its_code(key: str, value: str | list[str], code: str) -> None:
    with refuses(code):
        REG[key].parse([value] if isinstance(value, str) else value)


@pytest.mark.parametrize("page", [page.name for page in PAGES])
def test_a_link_of_wrong_values_changes_no_setting_of_a_page(page: str) -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    wrong = {key: value for key, value, _ in BAD}
    for key, value in {**wrong, "known_levels": "2"}.items():
        app.query_params[key] = value
    app.switch_page(f"pages/{page}.py").run()
    assert not app.exception
    assert not app.main.error
    assert f"and {len(wrong) - 5} more" in app.toast[0].value
    assert {key: app.session_state[key] for key in wrong} == {key: REG[key].fresh() for key in wrong}
    assert app.session_state["known_levels"] == 2
