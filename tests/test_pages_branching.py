"""The Branching factor page: numbers of paper and formula, every refusal as one sentence, nothing lost."""

from __future__ import annotations

import math
from functools import wraps
from itertools import product
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from browsing import eventually
from oracles_pages import Later, answer, figure, metric_values, open_page, press, read, table, words
from pages.ui import jobs
from pages.views.branching.settings import PRESETS
from treedp_core.studies.branching import RankedShape, equal_budgets
from treedp_core.studies.branching.curve import curve
from treedp_core.studies.branching.question import NOISES, POSTS, WORKLOADS, Question, ranked, rmse
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Shape


def button(app: AppTest, key: str) -> Any:
    return next(one for one in app.button if one.key == key)


def cells(app: AppTest) -> dict[tuple[str, ...], str]:
    keys = [one.key for one in app.button if str(one.key).startswith("bra_cell_")]
    return {key: button(app, key).label for key in keys}


def covers(factors: tuple[int, ...], n_bins: int) -> list[int]:
    """Nodes in the cover of each prefix shorter than K: its digits in the mixed radix, one by one."""
    sizes = []
    for j in range(n_bins):
        digits, rest = 0, j
        for n in reversed(factors):
            digits, rest = digits + rest % n, rest // n
        sizes.append(digits)
    return sizes


# --- the number of bins ----------------------------------------------------------------------------------------------


def test_a_bad_number_of_bins_keeps_the_last_good_one() -> None:
    app = open_page("branching", bra_bins="997")
    box = next(one for one in app.text_input if one.key == "bra_bins")
    box.set_value("1")
    app.run()
    assert [error.value.splitlines()[-1] for error in app.error] == [":small[`TREE_SHAPE`]"]
    assert "K = 997" in words(app)
    assert not app.exception


def test_presets_set_only_the_bins() -> None:
    app = open_page("branching", bra_noise="gaussian", eps="0.5")
    shown_for = {"3^6": "729", "2^11": "2\u202f048", "997": "997", "2^20": "1\u202f048\u202f576"}
    for preset in PRESETS:
        [(_, text)] = preset.sets
        shown = shown_for[text]
        button(app, f"branching_preset_{preset.name}").click()
        app.run()
        assert f"Trees for K = {shown}" in words(app)
        assert not app.exception
        assert not app.error
    assert app.session_state["bra_noise"] == "gaussian"
    assert app.session_state["eps"] == 0.5


def test_the_bins_of_the_data_are_offered() -> None:
    app = open_page("branching", sample="small_town")
    assert button(app, "bra_of_data").label.startswith("64:")
    button(app, "bra_of_data").click()
    app.run()
    assert "for 64 bins" in answer(app) and not app.error


@pytest.mark.parametrize(
    ("post", "said"),
    [
        ("none", "16 or 17 children; for 1\u202f024 bins 10 · 11 · 10 errs by 31.2 records, a binary tree by 63.2."),
        ("least_squares", "errs by 17.9 records, a binary tree by 29.2."),
    ],
)
def test_the_answer_at_a_thousand_bins(post: str, said: str) -> None:
    assert answer(open_page("branching", bra_post=post, level="Basic")).endswith(said)


@pytest.mark.parametrize(
    ("shape", "plain", "fitted"),
    [
        ((1024,), 64.0, 37.0),
        ((2,) * 10, 63.2, 29.2),
        ((4,) * 5, 38.7, 20.8),
        ((32, 32), 31.5, 18.2),
        ((10, 11, 10), 31.2, 18.1),
    ],
)
def test_errors_of_known_trees_in_records(shape: tuple[int, ...], plain: float, fitted: float) -> None:
    """Published numbers for K = 1024, CDF, Laplace, ε = 1."""
    for least_squares, known in ((False, plain), (True, fitted)):
        criterion = Criterion(least_squares=least_squares)
        one = RankedShape(Shape(shape, 1024), *equal_budgets(Shape(shape, 1024), criterion))
        assert rmse(criterion, one, 1.0) == pytest.approx(known, abs=0.06)


def test_the_curve_is_in_records_at_your_epsilon() -> None:
    """A binary tree is on the curve: root of the mean variance 63.2 at ε = 1, twice that at one half."""
    for epsilon in (1.0, 0.5):
        found = curve(Question(1024, Criterion()), epsilon)
        assert found["RMSE (records)"][0] == pytest.approx(63.25 / epsilon, rel=1e-3)
        f = dict(zip(found["beta"], found["f"], strict=True))
        assert f[2.0] == pytest.approx(3.0, abs=0.005) and f[64.0] == pytest.approx(0.88, abs=0.005)


def test_what_is_rarely_asked_stands_under_more() -> None:
    basic, advanced = open_page("branching", level="Basic"), open_page("branching")
    assert not basic.metric and not basic.dataframe and advanced.metric
    assert len([*basic.main.text_input, *basic.main.selectbox]) == 3


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_cards_for_the_plain_laplace_cdf() -> None:
    """beta* solves ln b = 3 (b - 1) / b; within 5 %: f(b) <= 1.05 f(beta*); both found here by bisection."""

    def bisect(low: float, high: float, rises: Any) -> float:
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (low, middle) if rises(middle) else (middle, high)
        return low

    def f(b: float) -> float:
        return (b - 1) / math.log(b) ** 3

    beta = bisect(2, 100, lambda b: math.log(b) > 3 * (b - 1) / b)
    high = bisect(beta, 100, lambda b: f(b) > 1.05 * f(beta))
    low = bisect(2, beta, lambda b: f(b) < 1.05 * f(beta))
    cards = metric_values(open_page("branching", bra_bins="2^20"))
    assert cards["Best β, very many bins"] == f"{beta:.4g}"
    assert cards["Within 5 % of the least"] == f"{low:.3g} to {high:.3g}"
    assert cards["Best tree for your K"] == "16⁵"


def test_the_grid_of_optima_is_computed() -> None:
    """Whole minimisers of the six formulas by trying every b up to 200."""
    app = open_page("branching")
    shown = cells(app)
    for noise, workload, post in product(NOISES, WORKLOADS, POSTS):
        power = {"laplace": 3, "gaussian": 2}[noise] - (workload == "nodes")

        def f(b: int, power: int = power, nodes: bool = workload == "nodes", after: bool = post != "none") -> float:
            plain = 1.0 if nodes else b - 1.0
            return plain * ((b - 1) / b if after else 1.0) / math.log(b) ** power

        best = min(range(2, 201), key=f)
        assert shown[f"bra_cell_{noise}_{workload}_{post}"] == ("∞" if best == 200 else str(best))


def test_a_cell_opens_its_curve() -> None:
    app = open_page("branching")
    button(app, "bra_cell_gaussian_ranges_least_squares").click()
    app.run()
    assert app.session_state["bra_noise"] == "gaussian"
    assert app.session_state["bra_workload"] == "ranges"
    assert app.session_state["bra_post"] == "least_squares"
    assert metric_values(app)["Best β, very many bins"] == "2"
    assert "Gaussian noise, All ranges, after least squares" in words(app)


def test_ranking_for_a_prime_has_padded_trees_and_the_histogram() -> None:
    """RMSE of a prefix: noise of variance 8 h^2 / epsilon^2 on each of the nodes of its cover."""
    ranking = table(open_page("branching", bra_bins="997", eps="0.5"), "padding")
    first = ranking.iloc[0]
    assert (first["tree"], first["padding"]) == ("10³", 3)
    variance = 8 * 9 / 0.25 * sum(covers((10, 10, 10), 997)) / 997
    assert read(first["RMSE (records)"]) == pytest.approx(math.sqrt(variance), rel=1e-3)
    flat = ranking[ranking["tree"] == "997"].iloc[0]
    assert flat["why here"] == "best without padding"
    assert flat["÷ best"] == pytest.approx(math.sqrt(8 / 0.25 * 996 / 2 / variance), rel=1e-9)


def test_without_padding_a_prime_has_only_the_histogram() -> None:
    app = open_page("branching", bra_bins="997", bra_padded="0")
    assert metric_values(app)["Best tree for your K"] == "997"
    assert "only tree without padding is the histogram" in words(app)


def test_opendp_stands_beside_ours() -> None:
    """Its score for n = 10 000, minimised here over every b."""

    def score(b: int) -> float:
        h = math.log(10_000) / math.log(b)
        return (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3

    app = open_page("branching", bra_bins="10000")
    theirs = min(range(2, 10_001), key=score)
    assert metric_values(app)["OpenDP's rule for your K"] == str(theirs)
    assert "choose_branching_factor" in words(app)
    assert "OpenDP's rule" in table(app, "why here")["why here"].tolist()


def test_error_against_height() -> None:
    """g = h^2 sum (n - 1) for 2^20 by hand: 16^5 has 25 * 75, 32^4 has 16 * 124, 1024^2 has 4 * 2046."""
    curve = figure(open_page("branching", bra_bins="2^20"), "bra_heights")["data"][0]
    heights, ratios = curve["x"], curve["y"]
    assert heights == list(range(1, 21))
    assert ratios[4] == 1.0
    assert ratios[3] == pytest.approx(math.sqrt(16 * 124 / (25 * 75)))
    assert ratios[1] == pytest.approx(math.sqrt(4 * 2046 / (25 * 75)))


def test_nodes_have_no_optimum_and_say_so() -> None:
    app = open_page("branching", bra_workload="nodes")
    assert metric_values(app)["Best β, very many bins"] == "∞"
    assert not app.exception


# --- optimal budgets -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("own_jobs")
def test_optimal_budgets_after_least_squares_come_from_the_background() -> None:
    link = {"bra_bins": "256", "bra_noise": "gaussian", "bra_post": "least_squares", "delta": "1e-06"}
    equal = table(open_page("branching", **link), "padding")
    best = table(open_page("branching", bra_budgets="optimal", **link), "padding")
    assert best.iloc[0]["tree"] == "2⁸"
    assert best.iloc[0]["shares"] != "equal"
    assert read(best.iloc[0]["RMSE (records)"]) < read(equal.iloc[0]["RMSE (records)"])


@pytest.mark.usefixtures("own_jobs")
def test_heights_are_compared_with_equal_budgets_where_optimal_ones_are_slow() -> None:
    link = {"bra_bins": "256", "bra_noise": "gaussian", "bra_post": "least_squares"}
    equal, best = (
        figure(open_page("branching", bra_budgets=budgets, **link), "bra_heights")["data"][0]["y"]
        for budgets in ("equal", "optimal")  # a link of old
    )
    assert equal == best


def test_equal_budgets_are_shown_while_optimal_ones_are_sought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("branching", bra_bins="2^20", bra_post="least_squares", bra_budgets="optimal")
    assert any("Searching the best budgets" in bar.proto.text for bar in app.get("progress"))
    assert set(table(app, "padding")["shares"]) == {"equal"}
    button(app, "bra_cancel").click()
    app.run()
    assert not app.exception


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one", "replace_unknown"])
def test_the_first_tree_found_is_the_best_of_the_table(relation: str) -> None:
    rows = table(open_page("branching", nbr=relation, bra_bins="2^20"), "padding")
    assert rows["why here"][0] == "found"
    assert rows["÷ best"][0] == 1.0


def test_a_relation_without_optimal_budgets_is_refused_in_one_sentence() -> None:
    app = open_page("branching", nbr="replace_unknown", bra_budgets="optimal")
    assert [error.value.splitlines()[-1] for error in app.error] == [":small[`RELATION`]"]
    assert set(table(app, "padding")["shares"]) == {"equal"}


def test_what_was_found_for_ten_to_the_fifteen_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    searches = []

    @wraps(ranked)
    def counted(asked: Question) -> list[RankedShape]:
        searches.append(asked)
        return ranked(asked)

    monkeypatch.setattr("pages.views.branching.answer.ranked", counted)
    app = open_page("branching", bra_bins="10^15", bra_post="least_squares")
    assert len(searches) == 1
    app.run()
    assert len(searches) == 1


@pytest.mark.usefixtures("own_jobs")
def test_a_matrix_that_another_page_sought_is_not_sought_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor by another session: it depends on no data."""
    monkeypatch.setattr("pages.views.branching.matrices.AT_ONCE", 8)
    monkeypatch.setattr("pages.views.cdf.draw.AT_ONCE", 8)
    link = {"nbr": "add_or_remove_one", "bra_bins": "128", "bra_post": "least_squares"}
    app = open_page("branching", **link)
    press(app, "bra_matrices_run")
    eventually(lambda: "matrices after least squares" in words(app.run()))
    searches = []
    monkeypatch.setattr(jobs, "start", lambda *asked, **how: searches.append(asked))
    other = open_page("branching", **link)
    assert "matrices after least squares" in words(other) and not searches
    cdf = open_page("cdf", nbr="add_or_remove_one", cdf_tree="identity")
    assert "128 bins" in words(cdf) and "p-identity matrix" in answer(cdf) + words(cdf) and not searches
    assert not cdf.get("progress")
