"""What no formula likes, on every page that takes it: an answer, or one sentence with its code."""

from __future__ import annotations

import re
from typing import Any

import pytest

from oracles_pages import answer, codes, dataset, open_page, pick
from pages.ui.inputs import refusals
from treedp_core.checks import InputError, echo
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")

ONE = dataset(Tree.from_branching_factors((1,)), [5])
PRIME = dataset(Tree.from_branching_factors((13,)), range(13))
MASS = dataset(Tree.from_branching_factors((16,)), [0] * 7 + [1000] + [0] * 8)
DISCRETE: dict[str, Any] = {"cdf_source": "current", "cdf_mechanism": "discrete_gaussian", "delta": "1e-6"}
PURE: dict[str, Any] = {"cdf_source": "current", "cdf_mechanism": "discrete_laplace"}
OWN: dict[str, Any] = DISCRETE | {"cdf_tree": "optimal", "cdf_for": "own"}
SMALLEST, DEEP = {"eps": "0.0001"}, {"td_source": "sparse", "td_sizes": "16^16", "td_records": "1000"}
NONE: dict[str, str] = {}

CASES: dict[str, tuple[str, Any, dict[str, Any], dict[str, str], str]] = {
    "K = 1, CDF": ("cdf", ONE, PURE, NONE, "TREE_SHAPE"),
    "K = 1, Branching": ("branching", None, {}, {"bra_bins": "1"}, "TREE_SHAPE"),
    "K = 1, TopDown": ("topdown", ONE, {"td_source": "current"}, NONE, "ONE_CATEGORY"),
    "K = 2, bound": ("cdf", None, {"cdf_view": "optimal", "cdf_bins": "2"}, NONE, ""),
    "K = 2^64, Branching": ("branching", None, {}, {"bra_bins": "2^64"}, "TREE_SHAPE"),
    **{f"K prime, {tree}": ("cdf", PRIME, DISCRETE | {"cdf_tree": tree}, NONE, "")
       for tree in ("best", "root", "optimal")},
    **{f"K prime, {tree}": ("cdf", PRIME, PURE | {"cdf_tree": tree}, NONE, "") for tree in ("identity", "partition")},
    **{f"all in one bin, {tree}": ("cdf", MASS, PURE | {"cdf_tree": tree}, NONE, "") for tree in ("best", "partition")},
    "rho tiny, square-root matrix": ("cdf", PRIME, DISCRETE | {"cdf_tree": "root"} | SMALLEST, NONE, "NOISE_RANGE"),
    "rho tiny, optimal matrix": ("cdf", PRIME, DISCRETE | {"cdf_tree": "optimal"} | SMALLEST, NONE, ""),
    "epsilon tiny, partition": ("cdf", PRIME, PURE | {"cdf_tree": "partition"} | SMALLEST, NONE, "EPS_RANGE"),
    "epsilon tiny, noisy prior": ("budget", MASS, SMALLEST, NONE, "EPS_RANGE"),
    "epsilon tiny, thresholds": ("multiplicative", MASS, {"mul_source": "current"} | SMALLEST, NONE, "EPS_RANGE"),
    "epsilon tiny, TopDown": ("topdown", MASS, {"td_source": "current"} | SMALLEST, NONE, ""),
    "delta = 0, matrix": ("cdf", PRIME, DISCRETE | {"cdf_tree": "root", "delta": "0"}, NONE, ""),
    "delta = 0, 2^64 leaves": ("topdown", None, DEEP | {"delta": "0"}, NONE, ""),
    "2^64 leaves, pruned": ("topdown", None, DEEP | {"td_rule": "pruned"}, NONE, ""),
    "no ranges": ("cdf", PRIME, OWN, {"cdf_ranges": ""}, "RANGE_BOUNDS"),
    "repeated ranges": ("cdf", PRIME, OWN, {"cdf_ranges": "1-10, 1-10"}, "RANGE_BOUNDS"),
    "bins that are none": ("cdf", PRIME, OWN, {"cdf_ranges": "1-14"}, "RANGE_BOUNDS"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_answered_in_one_sentence(name: str) -> None:
    page, data, link, typed, code = CASES[name]
    app = open_page(page, data, **link)
    if typed:
        app = pick(app, **typed)
    assert not app.exception and codes(app) == [code] * bool(code)
    for said in app.main.error:
        sentence = said.value.splitlines()[0].strip().replace("\u00a0", " ")
        assert sentence.endswith((".", "`")) and ". " not in sentence and len(sentence) < 200, sentence
        assert code != "EPS_RANGE" or "got 1e-4" in sentence, "the number that was set, not a part of it"
        assert code != "NOISE_RANGE" or "ρ = " in sentence, "which budget it is"
        assert "_" not in sentence.replace("\\_", "_").split("`")[0], "no name of the code"
    if not code:
        assert not re.search(r"e-\d\d|nan", answer(app)), "what rounding left is no answer"


def test_a_refusal_in_passing_shows_the_names_of_users_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(refusals.st, "toast", lambda text, **_: said.append(text))
    hostile = InputError("COLUMN_UNKNOWN", f"There is no column {echo('![x](http://192.0.2.1/b.png)')}.")
    refusals.refusal_in_passing(hostile)
    assert "`COLUMN_UNKNOWN`" in said[0] and "![x]" not in "".join(said[0].split("`")[::2])
