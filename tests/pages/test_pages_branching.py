"""The page Branching factor: what it asks, what is refused, and what is not sought again."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from browsing import eventually
from oracles_pages import Later, answer, figure, metric_values, open_page, press, table, words
from pages.ui.jobs import jobs


def button(app: AppTest, key: str) -> Any:
    return next(one for one in app.button if one.key == key)


def test_a_bad_number_of_bins_keeps_the_last_good_one() -> None:
    app = open_page("branching", bra_bins="997")
    box = next(one for one in app.text_input if one.key == "bra_bins")
    box.set_value("1")
    app.run()
    assert [error.value.splitlines()[-1] for error in app.error] == [":small[`TREE_SHAPE`]"]
    assert "K = 997" in words(app)
    assert not app.exception


def test_the_bins_of_the_data_are_offered() -> None:
    app = open_page("branching", sample="small_town")
    assert button(app, "bra_of_data").label.startswith("64:")
    button(app, "bra_of_data").click()
    app.run()
    assert "for 64 bins" in answer(app) and not app.error


def test_what_is_rarely_asked_stands_under_more() -> None:
    basic, advanced = open_page("branching", level="Basic"), open_page("branching")
    assert not basic.metric and not basic.dataframe and advanced.metric
    assert len([*basic.main.text_input, *basic.main.selectbox]) == 3


def test_the_slider_of_beta_stands_at_the_best_one_until_it_is_moved() -> None:
    """And a β of one's own stays where it is."""
    app = open_page("branching")
    slider = app.select_slider(key="bra_beta")
    assert slider.options == [str(beta) for beta in range(2, 65)]
    assert app.session_state["bra_beta"] == 0 and "β = 17: " in figure_words(app)
    app = press(app, "bra_cell_gaussian_cdf_none")
    assert app.session_state["bra_beta"] == 0 and "β = 5: " in figure_words(app)
    app.select_slider(key="bra_beta").set_value(25).run()
    assert "β = 25: " in figure_words(app) and "β = 25: " in answer(app)
    app = press(app, "bra_cell_laplace_cdf_none")
    assert app.session_state["bra_beta"] == 25 and "β = 25: " in figure_words(app)
    app.select_slider(key="bra_beta").set_value(0).run()
    assert "β = 17: " in figure_words(app) and not app.exception


def figure_words(app: AppTest) -> str:
    return " ".join(one["text"] for one in figure(app, "bra_live")["layout"]["annotations"])


def test_a_cell_opens_its_curve() -> None:
    app = open_page("branching")
    button(app, "bra_cell_gaussian_ranges_least_squares").click()
    app.run()
    assert app.session_state["bra_noise"] == "gaussian"
    assert app.session_state["bra_workload"] == "ranges"
    assert app.session_state["bra_post"] == "least_squares"
    assert metric_values(app)["Best β, very many bins"] == "2"
    assert "Gaussian noise, All ranges, after least squares" in words(app)


def test_equal_budgets_are_shown_while_optimal_ones_are_sought(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page("branching", bra_bins="2^20", bra_post="least_squares", bra_budgets="optimal")
    assert any("Searching the best budgets" in bar.proto.text for bar in app.get("progress"))
    assert set(table(app, "padding")["shares"]) == {"equal"}
    button(app, "branching_cancel").click()
    app.run()
    assert not app.exception


@pytest.mark.usefixtures("own_jobs")
def test_a_matrix_that_another_page_sought_is_not_sought_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor by another session: it depends on no data."""
    monkeypatch.setattr("treedp_core.views.branching.AT_ONCE", 8)
    monkeypatch.setattr("treedp_core.views.cdf.release.AT_ONCE", 8)
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
