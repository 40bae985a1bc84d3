"""Tables the pages offer: a new mechanism, post-processor, metric or allocation is a line, and every page takes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from browsing import ROOT
from oracles_pages import dataset, open_page, pick, words
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import CHAINS
from treedp_core.tree import Tree

SMALL = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100])


@pytest.fixture(scope="module")
def visits() -> list[dict[str, Any]]:
    """What `contract_invented.py` found on every page, with one invented entry in each table."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "contract_invented.py")],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_page_takes_a_new_line_of_every_table(visits: list[dict[str, Any]]) -> None:
    assert {visit["page"] for visit in visits} == {"lab", "consistency", "budget", "cdf", "start", "topdown"}
    refused = [visit for visit in visits if visit["exceptions"] or visit["errors"]]
    assert not [(one["page"], one["link"], one["exceptions"], one["errors"]) for one in refused]


def test_new_entries_are_told_of_in_their_own_words(visits: list[dict[str, Any]]) -> None:
    lab = [visit for visit in visits if visit["page"] == "lab" and visit["link"].get("lab_metric") == "mean_error"]
    assert lab
    for visit in lab:
        drawn, known = visit["link"]["lab_view"] == "draw", visit["link"]["lab_post"] == ["none"]
        assert ("own derivation" in visit["words"]) is (known and not drawn)
        assert ("a count misses by" in visit["words"]) is not drawn
    told = {visit["link"]["con_post"]: visit["words"] for visit in visits if visit["page"] == "consistency"}
    for post, text in told.items():
        assert ("One more is biased: every count comes out one too large." in text) is ("one_more" in post)
        assert ("what small counts gain" in text) is (post == "own_chain")  # IntOpt's own words


def test_a_new_chain_is_offered_wherever_chains_are(visits: list[dict[str, Any]]) -> None:
    chosen = [visit for visit in visits if visit["link"].get("td_rule") == "own_chain"]
    where = [visit["link"].get("td_view") or visit["link"]["td_more"] for visit in chosen]
    told = {one: "As it is, then IntOpt" in visit["words"] for one, visit in zip(where, chosen, strict=True)}
    assert told == {"release": True, "rules": True, "records": True}


def test_a_new_allocation_splits_the_budget_of_cumulative_counts_and_of_top_down_releases(
    visits: list[dict[str, Any]],
) -> None:
    told = [visit["words"] for visit in visits if "doubling" in visit["link"].values() and visit["page"] != "lab"]
    assert sum("doubling budgets" in text for text in told) == 1
    assert sum("doubling shares" in text for text in told) == 1


def test_new_entries_are_marked_as_they_must_be(visits: list[dict[str, Any]]) -> None:
    for visit in visits:
        if visit["page"] != "lab" or "lab_metric" not in visit["link"]:
            continue
        link = visit["link"]
        private = link["lab_view"] != "draw" and link["lab_metric"] != "cubed" and link["lab_post"] != ["one_more"]
        assert any("NOT PRIVATE" in badge for badge in visit["badges"]) is not private, link


def test_a_post_processor_says_why_it_is_biased_exactly_if_it_is() -> None:
    for one in POSTPROCESSORS.values():
        assert bool(one.why_biased) is not one.linear
    with pytest.raises(ValueError, match="why_biased"):
        type(one)("silent", "Silent", "", one.prepare)


def test_every_bias_has_its_own_sentence_on_the_consistency_page() -> None:
    app = open_page("consistency", SMALL, level="Advanced")
    for name, pipeline in CHAINS.items():
        pick(app, con_post=name)
        biased = [POSTPROCESSORS[step].why_biased for step in pipeline.steps if not POSTPROCESSORS[step].linear]
        for sentence in {one.why_biased for one in POSTPROCESSORS.values() if one.why_biased}:
            assert (sentence in words(app)) is (sentence in biased[-1:]), name
