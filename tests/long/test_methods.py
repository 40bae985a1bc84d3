"""What the page Methods is made of: every entry says what it assumes, and closed forms agree with simulations."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from browsing import ROOT
from refusals import refuses
from treedp_core.allocation.shares import PUBLISHED_SPLITS
from treedp_core.errors import METRICS
from treedp_core.errors.metrics import squared
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.registry import NO_CARD, MethodCard
from treedp_core.studies.methods.bounds import BOUNDS
from treedp_core.studies.methods.comparison import compared
from treedp_core.studies.methods.entries import KINDS, METHODS, NOT_STATED, method_table
from treedp_core.studies.methods.letters import GLOSSARY, TOKEN, letters, letters_of_paper
from treedp_core.studies.methods.papers import CLAIMS
from treedp_core.studies.methods.selfcheck import OUTSIDE, WITHIN, Row, SelfCheck, check_table, self_check
from treedp_core.studies.methods.terms import symbols_in
from treedp_core.studies.multiplicative.simple import draw, small_tree
from treedp_core.studies.topdown import made_up
from treedp_core.studies.topdown.marginals import compare_marginals
from treedp_core.studies.topdown.release_spec import Wanted
from treedp_core.testing import check_entry
from treedp_core.watch import Cancelled, Watch

WANTED = Wanted(1.0, 1e-6, ProtectedUnit(NeighbouringRelation.REPLACE_ONE), None, Spread.STACKED, "intopt")


@pytest.fixture(scope="module")
def whole() -> SelfCheck:
    """The check of everything, made once, and by a process that tests it only."""
    return self_check()


@pytest.mark.parametrize("name", [name for name, one in METHODS.items() if not one.author])
def test_every_entry_of_our_own_says_what_it_assumes_and_where_it_comes_from(name: str) -> None:
    said = METHODS[name].card
    assert all(text and text != NOT_STATED for text in vars(said).values())
    assert all(text.endswith(".") for text in (said.assumptions, said.source, said.strengths, said.limitations))
    assert said.formula.count("{") == said.formula.count("}") and "$" not in said.formula
    assert len(said.strengths) <= 110 and len(said.limitations) <= 110, "two lines on the first screen"


LAYOUT = {
    f"\\{one}"
    for line in (
        "Bigl Bigr Rightarrow arg bar big bigl bigr bmod cosh dots frac ge hat iff in lceil le lesssim ln log max min",
        "ne notin prod propto qquad quad rceil sim sqrt succeq sum sup tanh textstyle tfrac tilde top widetilde",
    )
    for one in line.split()
}
"""Commands that write no letter."""
WORDS_IN_IT = (r"\text", r"\begin", r"\end", r"\operatorname{round}")


@pytest.mark.parametrize("name", [name for name, one in METHODS.items() if not one.author])
def test_every_letter_of_a_formula_is_explained(name: str) -> None:
    r"""And so is every command known: "\\qquad" before a letter of the next line would be another, and shown in red."""
    one = METHODS[name]
    for token in TOKEN.findall(one.card.formula):
        if token not in LAYOUT | GLOSSARY and not token.startswith(WORDS_IN_IT):
            assert letters(one.kind, token), (token, one.card.formula)


@pytest.mark.parametrize("name", CLAIMS)
def test_every_letter_of_a_claim_is_explained(name: str) -> None:
    one = CLAIMS[name]
    said = f"{one.says} {one.why}".replace("Theorem A.1", "").replace("Õ", "O").replace("C is a number", "")
    lone = set(re.findall(r"(?<![A-Za-z'])[A-Za-zΩκℓ](?![A-Za-z'₂])", said)) - {"A", "a", *symbols_in(said)}
    assert {line[0] for line in letters_of_paper(one.paper, said)} >= lone, said


def test_every_kind_has_entries_and_nothing_is_listed_twice() -> None:
    assert {one.kind for one in METHODS.values()} == set(KINDS)
    assert len({one.label for one in METHODS.values() if one.kind == "bounds"}) == len(BOUNDS)


def test_nothing_that_releases_counts_is_in_no_list() -> None:
    """Every way that a page compares with others, and every file of mechanisms, belongs to an entry."""
    listed = set(METHODS)
    assert {f"simple.{name}" for name in draw_of_each()} == {name for name in listed if name.startswith("simple.")}
    ways = compare_marginals(made_up((2, 2), 50, 1), WANTED, 1, 1, of="1").ways
    assert set(ways[1:]) == {one.label for one in METHODS.values() if one.kind == "marginals"}
    files = {file.stem for file in (ROOT / "treedp_core" / "mechanisms").glob("*.py")} - {"__init__"}
    assert files == {"calibration", "partition", "stability"}, "a new one needs an entry of METHODS"


def draw_of_each() -> dict[str, object]:
    source = small_tree()
    assert source.tree is not None and source.counts is not None and source.paths.node_edge is not None
    settings, truth = Experiment(delta=1e-6, relation="add_or_remove_one", alpha=0.5), source.counts.astype(float)
    return dict(draw(source, source.paths.node_edge, source.tree.level_of, truth, settings, np.random.default_rng(1)))


def test_an_entry_from_outside_is_listed_at_once_and_what_it_does_not_say_is_said_to_be_missing() -> None:
    own = replace(METRICS["rmse"], name="mine", label="Mine", card=MethodCard(strengths="Here."), source="")
    METRICS.register(own)
    try:
        one = METHODS["metrics.mine"]
        assert one.author == "own code"
        assert (one.card.assumptions, one.card.source, one.card.strengths) == (NOT_STATED, NOT_STATED, "Here.")
        table = method_table("metrics")
        assert table["formula"][-1] == NOT_STATED and table["strengths"][-1] == "Here."
        assert len(compared("metrics.mine").lines) >= 2
    finally:
        METRICS.withdraw("mine")
    assert "metrics.mine" not in METHODS


def test_the_contract_of_an_entry_takes_no_half_sentence_and_no_broken_formula() -> None:
    check_entry(replace(METRICS["rmse"], card=NO_CARD))
    for wrong in (MethodCard(assumptions="Nothing"), MethodCard(formula=r"\frac{1}{2"), MethodCard(formula="$x$")):
        with refuses("ENTRY_WORDS", "states"):
            check_entry(replace(METRICS["rmse"], card=wrong))


@pytest.mark.parametrize("name", list(METHODS))
def test_an_entry_is_compared_with_the_others_of_its_kind(name: str) -> None:
    found = compared(name)
    lengths = {len(values) for values in found.lines.values()}
    assert lengths == {len(found.x)} and len(found.lines) >= 2
    values = np.array(list(found.lines.values()))
    if found.is_ratio:
        assert np.allclose(np.nanmin(values, axis=0), 1.0)
    elif "lower" in found.chosen:
        assert (values >= values[0] * (1 - 1e-9)).all()
    elif found.chosen == "Theorem 1":
        assert (values <= values[0]).all()


@pytest.mark.parametrize("name", list(PUBLISHED_SPLITS))
def test_a_published_split_is_best_and_loses_where_its_figure_says(name: str) -> None:
    """The smallest share is not always the largest error: sums of what is below help a level above."""
    split, found = PUBLISHED_SPLITS[name], compared(f"published.{name}")
    apart = np.array(found.lines[found.chosen])
    assert f"Counts by {split.level_names[int(apart.argmax())]}:" in split.card.limitations
    best = next(i for i, of in enumerate(split.level_names) if f"Counts by {of}," in split.card.strengths)
    assert apart[best] == 1.0


def test_budgets_finer_than_levels_gain_what_their_entries_say() -> None:
    """They never err more; the gain grows with how ragged, or how unlike, the subtrees are."""
    for name, least in (("node", 1.7), ("subtree", 1.06)):
        gain = np.array(compared(f"finer.{name}").lines["Budgets by level"])
        assert (np.diff(gain) > 0).all() and gain[0] > 1.0 and least < gain[-1] < 2.0


# ---- the self-check


def test_every_closed_form_agrees_with_its_simulation(whole: SelfCheck) -> None:
    assert len(whole.rows) >= 20
    assert [(row.entry, row.what, row.apart) for row in whole.rows if not row.holds] == []
    assert whole.n_within == len(whole.rows)
    assert len({row.simulated for row in whole.rows}) == len(whole.rows), "no draw serves twice"
    checked = {row.entry for row in whole.rows}
    assert {METHODS[name].label for name in METHODS if name not in checked} == set(whole.without)
    assert set(check_table(whole)["entry"]) == {METHODS[name].label for name in checked}


NO_FORMULA = {
    "biased, so its error depends on the counts": (
        "postprocessors.non_negative", "postprocessors.shrink", "postprocessors.top_down_intopt",
        "postprocessors.top_down_water_filling", "postprocessors.non_negative_least_squares",
        "postprocessors.real_then_round", "postprocessors.pruned", "fits.squared", "fits.absolute", "fits.hamming",
        "simple.shrunk_gaussian", "simple.shrunk_laplace", "simple.shrunk_optimal", "marginals.mwem", "baselines.ahp",
        "strategies.partition",
    ),
    "its noise is that of an entry that is checked": (
        "simple.gaussian", "simple.laplace", "simple.stability_leaves", "marginals.levels", "marginals.cells",
        "marginals.tables",
    ),
    "an upper or lower bound, not an error": (
        "thresholds.paper", "thresholds.provable", "thresholds.tuned", "bounds.packing", "bounds.packing_delta",
        "bounds.cumulative", "bounds.cumulative_any", "bounds.additive", "bounds.certificate",
        "bounds.smallest_budget",
    ),
}  # fmt: skip
"""Every entry that the self-check leaves out, by the reason."""


def test_an_entry_is_simulated_against_its_formula_or_it_is_known_why_not(whole: SelfCheck) -> None:
    """A new entry of any table fails here until it is in the self-check, or has a reason why it has no formula."""
    checked = {row.entry for row in whole.rows}
    without = {name for name, one in METHODS.items() if name not in checked and not one.author}
    assert without == {name for names in NO_FORMULA.values() for name in names}
    unbiased = {f"postprocessors.{name}" for name, one in POSTPROCESSORS.items() if one.linear}
    assert unbiased <= checked and {f"mechanisms.{name}" for name in MECHANISMS} <= checked


def test_an_entry_that_nobody_checks_is_noticed(whole: SelfCheck) -> None:
    """As if one more split had been published, and nobody had simulated it."""
    fewer = replace(whole, rows=tuple(row for row in whole.rows if row.entry != "published.census_2020_units"))
    with pytest.raises(AssertionError):
        test_an_entry_is_simulated_against_its_formula_or_it_is_known_why_not(fewer)


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_a_formula_a_tenth_off_would_be_caught(whole: SelfCheck, factor: float) -> None:
    unseen = [(row.entry, row.what) for row in whole.rows if replace(row, closed=factor * row.closed).holds]
    assert unseen == []


def test_a_wrong_formula_in_a_table_is_caught() -> None:
    """Not the result is changed but the entry: its closed form is 1.1 times the mean of its losses."""
    right = METRICS["max_absolute_error"]
    wrong = replace(
        METRICS["smoothed_relative_error"], name="wrong",
        expected=lambda law, counts, tolerance: 1.1 * law.mean_absolute / np.maximum(counts, tolerance.threshold),
    )  # fmt: skip
    METRICS.register(wrong)
    try:
        found = self_check(2_000)
    finally:
        METRICS.withdraw("wrong")
    assert [row.entry for row in found.rows if not row.holds] == ["metrics.wrong"]
    assert right.name in METRICS


def test_a_metric_of_squares_is_checked_by_its_variance() -> None:
    metric = replace(METRICS["alpha_rmse"], name="other", loss=squared, expected=None)
    METRICS.register(metric)
    try:
        rows = self_check(50).rows
    finally:
        METRICS.withdraw("other")
    assert "metrics.other" in {row.entry for row in rows}


def test_chance_is_told_for_the_whole_family() -> None:
    assert math.isclose(OUTSIDE, 0.0026998, rel_tol=1e-4)
    rows = tuple(Row("mechanisms.laplace", "x", 1.0, 1.0 + 0.1 * z, 0.1) for z in (-1.0, 0.5, 2.0))
    found = SelfCheck(rows, (), 1, 1)
    assert math.isclose(found.expected_outside, 3 * 0.0026998, rel_tol=1e-4)
    assert math.isclose(found.worst_chance, 1 - (1 - 0.0455003) ** 3, rel_tol=1e-4)
    assert not Row("mechanisms.laplace", "x", 1.0, 1.0 + WITHIN * 0.11, 0.1).holds
    assert Row("mechanisms.laplace", "x", 1.0, 1.0, 0.0).holds and not Row("a", "x", 1.0, 1.1, 0.0).holds


def test_the_self_check_can_be_stopped() -> None:
    with pytest.raises(Cancelled):
        self_check(50, watch=Watch(cancelled=lambda: True))
