"""The glossary: each word explained once, and the same words wherever it is asked for."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest
from streamlit.testing.v1 import AppTest

from app import all_pages
from browsing import ROOT
from oracles_pages import answer, open_page
from pages.ui.inputs.settings import REG
from pages.ui.page.page import BADGES
from treedp_core.mechanisms import MECHANISMS
from treedp_core.studies.methods.terms import TERMS, explained, found, symbols_in, term_table, text
from treedp_core.studies.ranges import three_ways

PAGES = all_pages()
HELPS = {
    "epsilon": "eps", "delta": "delta", "relation": "nbr", "unit": "unit", "contributions": "contributions",
    "known": "known_levels", "alpha": "alpha", "tau": "tau", "seed": "seed", "rho": "td_rho", "spread": "td_spread",
    "eta": "mul_eta", "bins": "bra_bins", "padding": "bra_padded", "greedy": "bud_phases",
}  # fmt: skip
"""Terms that are settings."""


def test_there_are_at_most_sixty_terms_each_with_a_text_of_its_own() -> None:
    assert 40 <= len(TERMS) <= 60
    assert all(one.text.endswith((".", ":")) and len(one.text) <= 320 for one in TERMS.values())
    assert len({one.text for one in TERMS.values()}) == len(TERMS)
    assert {one.page for one in TERMS.values()} <= {"", *(page.name for page in PAGES)}


@pytest.mark.parametrize(("term", "key"), HELPS.items())
def test_the_tooltip_of_a_setting_says_what_the_glossary_says(term: str, key: str) -> None:
    assert text(term) in (REG[key].help or "")


def test_so_do_badges_and_the_tables_of_the_core() -> None:
    assert [BADGES[TERMS[one].label][2] for one in ("formula", "simulation", "private")] == [
        text(one) for one in ("formula", "simulation", "private")
    ]
    assert all(text(f"entry_{name}") is one.help for name, one in MECHANISMS.items())


def test_no_text_of_the_glossary_is_written_twice() -> None:
    files = [file for file in (*ROOT.glob("pages/**/*.py"), ROOT / "app.py") if file.name != "glossary.py"]
    written = [node.value for file in files for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
               if isinstance(node, ast.Constant) and isinstance(node.value, str)]  # fmt: skip
    own = [one for name, one in TERMS.items() if not name.startswith("entry_")]
    again = [one.name for one in own for words in written if one.text.rstrip(".") in words]
    assert again == []
    assert any("Two to four cells" in words or "Advanced adds the settings" in words for words in written)


def test_symbols_are_found_as_words_only() -> None:
    assert symbols_in("α-RMSE at ε = 0.1, N² E₂ over K=3 bins") == ["ε", "α", "K", "N", "E₂"]
    assert symbols_in("RMSE NOT KN dNd eps ε2") == []
    told = explained("σ and ρ")
    assert [line.partition(",")[0] for line in told.splitlines()] == ["**ε", "**δ", "**ρ", "**σ"] and text(
        "rho"
    ) in told
    assert explained("nothing") == ""


def test_symbols_are_explained_where_they_first_appear_on_a_page() -> None:
    """Those of the first screen by its heading, those below by the caption that has them first, labels by help."""
    app = open_page("branching")
    heading = app.title[0].help
    told = [one.help for one in app.caption if one.help]
    assert text("epsilon") in heading and told, "something below has symbols of its own"
    for symbol in symbols_in(" ".join(app.main.caption[0].value)):
        assert f"**{symbol}," in heading
    lines = [line for help_ in told for line in help_.splitlines()]
    assert len(set(lines)) == len(lines) and not {line.strip() for line in lines} & {
        line.strip() for line in heading.splitlines()
    }
    again = [one.help for one in app.run().caption if one.help]
    assert again == told
    assert text("bins") in next(one for one in app.text_input if one.key == "bra_bins").help


def test_letters_of_formulas_and_papers_cells_of_tables_and_warnings_are_explained() -> None:
    app = open_page("methods", met_one="metrics.rmsre", level="Advanced")
    assert "**n**: the number of nodes; n_ℓ: those of level ℓ" in app.latex[0].help and text("tau") in app.title[0].help
    cells = next(one.help for one in app.caption if one.value.startswith("Written from the tables"))
    assert cells == "", "all symbols of its cells are in the heading"
    app = open_page("methods", met_one="allocations.uniform", level="Advanced")
    cells = next(one.help for one in app.caption if one.value.startswith("Written from the tables"))
    assert cells == f"**γ₂, factorisation norm**: {text('gamma')}"
    papers = open_page("methods", met_view="papers", level="Advanced")
    assert "**d**: the number of levels" in papers.title[0].help
    assert any("R: what noise never exceeds" in one.value for one in papers.caption)

    def script() -> None:
        import streamlit as st

        from pages.ui.inputs.text import alert

        alert(st.warning, "Not with δ = 0.")
        alert(st.warning, "Nor with this δ.")

    warned = AppTest.from_function(script).run()
    assert len(warned.warning) == 2 and [one.value for one in warned.caption] == [
        f"**ε, privacy budget**: {text('epsilon')}  \n**δ, failure probability**: {text('delta')}"
    ]


def test_a_search_finds_every_word_of_it() -> None:
    assert found("") == list(TERMS) and found("no such thing at all") == []
    some, fewer = (set(found(words)) for words in ("least squares", "least squares unbiased"))
    assert {"entry_least_squares"} <= fewer < some
    assert len(term_table("ε")["term"]) == len(found("ε")) > 3
    symbols = [bool(one.symbol) for one in TERMS.values()]
    assert all(before or not after for before, after in pairwise(symbols)), "symbols come first"


def test_the_view_finds_and_explains() -> None:
    app = open_page("methods", met_view="glossary", met_search="odds")
    assert not app.exception and answer(app) == f"**ε, privacy budget.** {text('epsilon')}"
    app.text_input(key="met_search").set_value("`<b>`").run()
    assert not app.exception and answer(app).startswith("No term has") and "``` `<b>` ```" not in answer(app)
    app.text_input(key="met_search").set_value("padding").run()
    assert answer(app).startswith("**Padding.**")


def test_one_idea_has_one_name_on_every_page() -> None:
    """How a budget is divided over the levels is called the budget split, wherever it is asked for."""
    labels = {one.drawn.label for page in all_pages() for one in page.settings}
    assert {"Mechanism", "Post-processing", "Budget split"} <= labels
    assert not labels & {"Level budgets", "Allocation", "Estimator", "Projection"}
    assert [one.label for one in three_ways(64, 1.0, 7).ways][1] == "Cumulative"
