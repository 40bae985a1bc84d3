"""Branching factor: numbers of paper and formula, found by functions of inputs and a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from oracles_pages import RAGGED
from pages.views.branching import BINS, PRESETS
from refusals import refuses
from treedp_core.figures.base.draft import Draft
from treedp_core.studies.branching import RankedShape, equal_budgets, tables
from treedp_core.studies.branching.question import BETAS, NOISES, POSTS, WORKLOADS, Question, curve, ranked, rmse
from treedp_core.studies.branching.theorems import Check
from treedp_core.studies.cdf.error import Criterion
from treedp_core.tree.workloads import Shape
from treedp_core.views import VIEWS, Finding, Tables, branching
from treedp_core.views.branching import BranchingInputs
from treedp_core.views.finding import Memo
from treedp_core.watch import Watch

NONE = Tables()


def asked(**inputs: Any) -> BranchingInputs:
    """Inputs that say by themselves all that is asked of a small table."""
    return BranchingInputs(**inputs).apart(RAGGED)


def cards(**inputs: Any) -> dict[str, str]:
    table = branching.optimum(asked(**inputs), NONE).table
    return dict(zip(table["number"], table["value"], strict=True))


def kept_under_keys() -> Memo:
    kept = dict[Hashable, Any]()

    def memo(key: Hashable, compute: Callable[[], Any]) -> Any:
        return kept[key] if key in kept else kept.setdefault(key, compute())

    return memo


def first_row(finding: Finding) -> dict[str, Any]:
    return {name: values[0] for name, values in finding.table.items()}


def covers(factors: tuple[int, ...], n_bins: int) -> list[int]:
    """Nodes in the cover of each prefix shorter than K: its digits in the mixed radix, one by one."""
    sizes = []
    for j in range(n_bins):
        digits, rest = 0, j
        for n in reversed(factors):
            digits, rest = digits + rest % n, rest // n
        sizes.append(digits)
    return sizes


def checked(bins: str) -> dict[str, list[str]]:
    table = branching.statements(BranchingInputs(bins=bins), NONE).table
    return {name: list(map(str, values)) for name, values in table.items()}


@pytest.mark.parametrize("bins", ["2^20", "3^6", "2^11", "997", "10^15"])
def test_every_statement_of_the_paper_holds(bins: str) -> None:
    assert set(checked(bins)["checked"]) == {"holds"}
    assert "Corollary V.2" in checked(bins)["source"]


def test_a_statement_that_fails_is_shown_as_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "lemma_v1", lambda factors: Check("wrong", False, {"g": 1}))
    assert checked("64")["checked"][0] == "does NOT hold"


def test_what_is_asked_is_of_no_table_once_it_says_what_it_took_of_one() -> None:
    """K are the leaves, δ is the one that fits, and as many records are protected as were counted."""
    inputs = BranchingInputs(bins=" ", noise="gaussian")
    alone = inputs.apart(RAGGED)
    assert (alone.bins, alone.delta) == (str(RAGGED.tree.n_leaves), inputs.usable_delta(RAGGED.total))
    assert alone.apart(RAGGED) == alone and BranchingInputs().apart(RAGGED) == BranchingInputs()
    assert not VIEWS["branching"].is_of_table(inputs) and not VIEWS["branching.checks"].is_of_table(inputs)
    assert branching.best_tree(inputs, Tables(RAGGED)).answer == branching.best_tree(alone, NONE).answer
    assert (alone.question().n_bins, alone.question().criterion.law) == (RAGGED.tree.n_leaves, "gaussian")


@pytest.mark.parametrize("bins", ["1", "2^64", "many"])
def test_no_number_of_bins_is_refused(bins: str) -> None:
    with refuses("TREE_SHAPE"):
        BranchingInputs(bins=bins).question()


def test_presets_set_only_the_bins() -> None:
    assert all([one.setting for one in preset.sets] == [BINS] for preset in PRESETS)
    shown = [branching.ranking(asked(bins=preset.sets[0].value, noise="gaussian"), NONE) for preset in PRESETS]
    assert [one.provenance.about for one in shown] == [
        ("K = 1\u202f048\u202f576",), ("K = 729",), ("K = 2\u202f048",), ("K = 997",),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("shape", "plain", "fitted"),
    [
        ((1024,), 64.0, 37.0), ((2,) * 10, 63.2, 29.2), ((4,) * 5, 38.7, 20.8), ((32, 32), 31.5, 18.2),
        ((10, 11, 10), 31.2, 18.1),
    ],
)  # fmt: skip
def test_errors_of_known_trees_in_records(shape: tuple[int, ...], plain: float, fitted: float) -> None:
    """Published numbers for K = 1024, CDF, Laplace, ε = 1."""
    for least_squares, known in ((False, plain), (True, fitted)):
        criterion = Criterion(least_squares=least_squares)
        one = RankedShape(Shape(shape, 1024), *equal_budgets(Shape(shape, 1024), criterion))
        assert rmse(criterion, one, 1.0) == pytest.approx(known, abs=0.06)


def test_the_curve_is_in_records_at_your_epsilon() -> None:
    """A binary tree is on the curve: root of the mean variance 63.2 at ε = 1, twice that at one half."""
    for epsilon in (1.0, 0.5):
        found = branching.best_tree(BranchingInputs(epsilon=epsilon), NONE).table
        assert found == curve(Question(1024, Criterion()), epsilon)
        assert found["RMSE (records)"][0] == pytest.approx(63.25 / epsilon, rel=1e-3)
        f = dict(zip(found["beta"], found["f"], strict=True))
        assert f[2.0] == pytest.approx(3.0, abs=0.005) and f[64.0] == pytest.approx(0.88, abs=0.005)


def test_the_grid_of_optima_is_computed() -> None:
    """Whole minimisers of the six formulas by trying every b up to 200."""
    optima = branching.optima().table
    shown = dict(zip(optima["cell"], optima["best whole β"], strict=True))
    assert len(shown) == 12
    for noise, post, workload in product(NOISES, POSTS, WORKLOADS):
        power = {"laplace": 3, "gaussian": 2}[noise] - (workload == "nodes")

        def f(b: int, power: int = power, nodes: bool = workload == "nodes", after: bool = post != "none") -> float:
            plain = 1.0 if nodes else b - 1.0
            return plain * ((b - 1) / b if after else 1.0) / math.log(b) ** power

        best = min(range(2, 201), key=f)
        assert shown[noise, post, workload] == ("∞" if best == 200 else str(best))


def test_ranking_for_a_prime_has_padded_trees_and_the_histogram() -> None:
    """RMSE of a prefix: noise of variance 8 h^2 / epsilon^2 on each of the nodes of its cover."""
    ranking = branching.ranking(asked(bins="997", epsilon=0.5), NONE)
    first, flat = first_row(ranking), list(ranking.table["tree"]).index("997")
    assert (first["tree"], first["padding"]) == ("10³", 3)
    variance = 8 * 9 / 0.25 * sum(covers((10, 10, 10), 997)) / 997
    assert first["RMSE (records)"] == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert ranking.table["why here"][flat] == "best without padding"
    assert ranking.table["÷ best"][flat] == pytest.approx(math.sqrt(8 / 0.25 * 996 / 2 / variance), rel=1e-9)


def test_without_padding_a_prime_has_only_the_histogram() -> None:
    assert cards(bins="997", padded=False)["Best tree for your K"] == "997"
    assert "only tree without padding is the histogram" in branching.ranking(asked(bins="997"), NONE).answer


def test_opendp_stands_beside_ours() -> None:
    """Its score for n = 10 000, minimised here over every b."""

    def score(b: int) -> float:
        h = math.log(10_000) / math.log(b)
        return (b - 1) * h**3 - 2 * (b + 1) * h**2 / 3

    theirs = min(range(2, 10_001), key=score)
    assert cards(bins="10000")["OpenDP's rule for your K"] == str(theirs)
    assert "OpenDP's rule" in branching.ranking(asked(bins="10000"), NONE).table["why here"]


def errors_by_height(**inputs: Any) -> tuple[list[int], list[float]]:
    figure = branching.heights(asked(**inputs), NONE).figure
    assert isinstance(figure, Draft)
    return figure.data[0]["x"].tolist(), figure.data[0]["y"].tolist()


def test_error_against_height() -> None:
    """g = h^2 sum (n - 1) for 2^20 by hand: 16^5 has 25 * 75, 32^4 has 16 * 124, 1024^2 has 4 * 2046."""
    heights, ratios = errors_by_height(bins="2^20")
    assert heights == list(range(1, 21))
    assert ratios[4] == 1.0
    assert ratios[3] == pytest.approx(math.sqrt(16 * 124 / (25 * 75)))
    assert ratios[1] == pytest.approx(math.sqrt(4 * 2046 / (25 * 75)))


def test_nodes_have_no_optimum_and_say_so() -> None:
    assert cards(workload="nodes")["Best β, very many bins"] == "∞"
    assert branching.best_tree(asked(workload="nodes"), NONE).answer.startswith("As many children as possible")


def test_equal_budgets_are_shown_until_the_best_are_found() -> None:
    link = {"bins": "256", "noise": "gaussian", "postprocess": "least_squares", "delta": 1e-6}
    entry, inputs = VIEWS["branching.ranking"], asked(budgets="optimal", **link)
    assert entry.slow is not None
    work = entry.slow(inputs, NONE)
    assert work is not None and entry.slow(asked(**link), NONE) is None
    meanwhile, best = entry.found(inputs, NONE), entry.found(inputs, NONE, work.on(NONE)(Watch()))
    equal = entry.found(asked(**link), NONE)
    assert meanwhile.table == equal.table and set(meanwhile.table["shares"]) == {"equal"}
    assert "so far" in meanwhile.caption and "so far" not in best.caption + equal.caption
    assert first_row(best)["tree"] == "2⁸" and first_row(best)["shares"] != "equal"
    assert first_row(best)["RMSE (records)"] < first_row(equal)["RMSE (records)"]
    assert errors_by_height(budgets="optimal", **link) == errors_by_height(**link)


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one", "replace_unknown"])
def test_the_first_tree_found_is_the_best_of_the_table(relation: str) -> None:
    first = first_row(branching.ranking(asked(relation=relation, bins="2^20"), NONE))
    assert (first["why here"], first["÷ best"]) == ("found", 1.0)


def test_a_relation_without_optimal_budgets_is_refused() -> None:
    with refuses("RELATION"):
        branching.best_tree(asked(relation="replace_unknown", budgets="optimal"), NONE)


def test_what_was_found_for_ten_to_the_fifteen_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    searches, memo = [], kept_under_keys()

    def counted(question: Question) -> list[RankedShape]:
        searches.append(question)
        return ranked(question)

    monkeypatch.setattr("treedp_core.studies.branching.question.ranked", counted)
    for epsilon in (1.0, 0.5):
        for view in (branching.best_tree, branching.ranking, branching.heights):
            view(asked(bins="10^15", postprocess="least_squares", epsilon=epsilon), NONE, memo=memo)
    assert len(searches) == 1


def figure_of(**inputs: Any) -> Draft:
    figure = branching.best_tree(asked(**inputs), NONE).figure
    assert isinstance(figure, Draft)
    return figure


def trace(figure: Draft, name: str) -> dict[str, Any]:
    return next(one for one in figure.data if one["name"] == name)


@pytest.mark.parametrize("noise", NOISES)
def test_your_beta_is_marked_on_the_curve_and_the_best_one_at_first(noise: str) -> None:
    """The RMSE at a whole β, from the curve's own formula: as far from the curve as its straight pieces are."""
    best = asked(noise=noise, delta=1e-6).best_beta
    first, chosen = (figure_of(noise=noise, delta=1e-6, **more) for more in ({}, {"beta": best}))
    assert first.to_json() == chosen.to_json()
    for beta in (2, best, 25, 64):
        figure = figure_of(noise=noise, delta=1e-6, beta=beta)
        line, yours = trace(figure, "RMSE of a query"), trace(figure, "your β")
        assert yours["x"] == [beta, beta] and yours["y"][1] == 0
        assert yours["y"][0] == pytest.approx(np.interp(beta, line["x"], line["y"]), rel=1e-3)


def test_of_your_beta_the_answer_says_how_far_it_is_from_the_least() -> None:
    """Lemma IV.3: (b - 1) / ln³ b is (4 / ln³ 5) / (16 / ln³ 17) = 1.3639 times that of 17 for 5."""
    assert "β =" not in branching.best_tree(asked(), NONE).answer
    said = branching.best_tree(asked(beta=5), NONE).answer
    assert said.startswith("16 or 17 children; β = 5: 16.8 % above the least. For 1\u202f024 bins the RMSE is 31.2")
    assert math.sqrt((4 / math.log(5) ** 3) / (16 / math.log(17) ** 3)) == pytest.approx(1.168, abs=5e-4)


@pytest.mark.parametrize("beta", [-1, 1, 65, True])
def test_no_beta_beyond_the_figure(beta: int) -> None:
    with refuses("VALUE_RANGE"):
        BranchingInputs(beta=beta)


@pytest.mark.parametrize("n_bins", [2, 3, 64, 997, 1024, 2**20, 10**15])
def test_the_tree_of_a_beta_adds_up_the_digits_of_where_the_range_ends(n_bins: int) -> None:
    """Together the nodes that are added up cover the first two thirds of the bins, for every β."""
    end = max(1, 2 * n_bins // 3)
    inputs, memo = asked(bins=str(n_bins)), kept_under_keys()
    for beta in range(BETAS[0], BETAS[1] + 1):
        figure = branching.best_tree(replace(inputs, beta=beta), NONE, memo=memo).figure
        assert isinstance(figure, Draft)
        parts = [trace(figure, name)["y"] for name in ("added up", "opened on the next level", "not looked at")]
        levels = sorted({at for part in parts for at in part})
        assert beta ** len(levels) >= n_bins > (beta ** (len(levels) - 1) if len(levels) > 1 else 1)
        widths = [beta ** (len(levels) - 1 - level) for level in range(len(levels))]
        assert sum(widths[levels.index(at)] for at in parts[0]) == end
        assert [parts[1].count(at) for at in levels] == [int(end % width != 0) for width in widths]
        assert all(sum(part.count(at) for part in parts) == beta for at in levels[1:])


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_moved_beta_changes_marks_and_words_and_neither_axes_nor_what_there_is(workload: str) -> None:
    """What a browser draws between two figures are differences of few parts."""
    first, *others = (figure_of(workload=workload, beta=beta) for beta in (2, 17, 64))
    for other in others:
        assert [one["name"] for one in other.data] == [one["name"] for one in first.data]
        line, squares, *rest = other.data
        assert line == first.data[0] and rest != first.data[2:]
        assert squares | {"text": None} == first.data[1] | {"text": None}  # a tree beside your β has no name
        changed = {name for name, one in other.layout.items() if one != first.layout[name]}
        assert changed == {"annotations"} and len(other.layout["annotations"]) == len(first.layout["annotations"])


def test_matrices_of_many_bins_wait_for_their_search_and_none_stand_beside_nodes() -> None:
    inputs = asked(bins="66", noise="gaussian", postprocess="least_squares", relation="add_or_remove_one")
    entry = VIEWS["branching.matrices"]
    assert entry.slow is not None and entry.slow(asked(bins="64"), NONE) is None
    work = entry.slow(inputs, NONE)
    assert work is not None and entry.found(inputs, NONE).is_empty
    found = entry.found(inputs, NONE, work.on(NONE)(Watch()))
    way, ratio = (values[-1] for values in found.table.values())
    assert way == "Optimal matrix" and 1 - 1e-9 <= ratio <= 1.005
    assert not branching.beside_matrices(asked(workload="nodes"), NONE).answer
