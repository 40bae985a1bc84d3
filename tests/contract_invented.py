"""A program: add one invented entry to each table, as a new line of the source would, then open every page with it.

Entries must be there before a page is imported, as other tables are made from these; hence a process of its own.
Prints one JSON object for each page that was opened.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import numpy as np

from oracles_pages import Inline, WorkersHere, open_page, press, words
from treedp_core.allocation import ALLOCATIONS, Allocation
from treedp_core.errors import METRICS, Metric, Summary
from treedp_core.errors.metrics import absolute, expected_absolute
from treedp_core.mechanisms import MECHANISMS, of_levels
from treedp_core.mechanisms.calibration import LevelLaw
from treedp_core.noise import Laplace
from treedp_core.postprocess import POSTPROCESSORS, Postprocessor
from treedp_core.postprocess.chains import CHAINS, Chain
from treedp_core.privacy import Currency
from treedp_core.registry import Promise


def invent() -> None:
    """Register one law and mechanism, a biased and a linear post-processor, a chain, two metrics and an allocation."""
    # Laplace noise of twice the scale: a law of its own, whose variance is 8 / amount^2 at a sensitivity of 1.
    wide = LevelLaw("wide", Currency.EPSILON, lambda spent, l1, l2: Laplace(2 * l1 / spent), _wide)
    MECHANISMS.register(of_levels(wide, "Wide Laplace", "Twice the noise.", "violet"))
    POSTPROCESSORS.register(
        Postprocessor(
            "one_more",
            "One more",
            "Every estimate plus 1.",
            lambda tree, variance, tolerance: (_plus_one, None),
            why_biased="One more is biased: every count comes out one too large.",
            mark="y-up",
        )
    )
    POSTPROCESSORS.register(
        Postprocessor(
            "as_it_is", "As it is", "Nothing is changed.", lambda tree, variance, tolerance: (_same, variance),
            Promise.UNBIASED, linear=True, mark="open",
        )
    )  # fmt: skip
    CHAINS.register(Chain("own_chain", "As it is, then IntOpt", ("as_it_is", "top_down_intopt")))
    line = (Summary.MEAN_OVER_NODES, "records", "own derivation", "a count misses by {value} records")
    METRICS.register(
        Metric("mean_error", "Mean error", "Mean absolute error.", absolute, expected_absolute, False, *line)
    )
    METRICS.register(
        Metric("cubed", "Cubed error", "No closed form.", _cubed, _cubed_expected, False, *line, ("threshold",))
    )
    ALLOCATIONS.register(Allocation("doubling", "Doubling", "Each level gets twice the last one's share.", _doubling))


def _wide(x: Any) -> Any:
    return np.square(x) / 8.0, x / 4.0


def _plus_one(estimate: Any) -> Any:
    return estimate + 1


def _same(estimate: Any) -> Any:
    return estimate


def _cubed(errors: Any, counts: Any, tolerance: Any) -> Any:
    return np.abs(errors) ** 3


def _cubed_expected(law: Any, counts: Any, tolerance: Any) -> Any:
    return 6.0 * law.mean_absolute**3 * np.ones(counts.shape)  # of a Laplace law, where E |Z|^3 = 6 b^3


def _doubling(tree: Any, unit: Any, currency: Any, custom: Any) -> Any:
    return 2.0 ** np.arange(tree.n_levels)


LAB_VIEWS = (("epsilon", "lab_run"), ("level", "lab_run"), ("n_levels", "lab_run"), ("draw", ""))
LAB_METRICS = ("rmse", "mean_error", "cubed")
LAB_POSTS = (["none"], ["one_more"], ["as_it_is", "least_squares_as_it_is"])
# Every pair of a view, a metric and a choice of pipelines: a Latin square.
VISITS: list[tuple[str, dict[str, Any], str]] = [
    *(
        (
            "lab",
            {"lab_view": view, "lab_metric": metric, "lab_mechanisms": ["laplace", "wide"],
             "lab_post": LAB_POSTS[(i + j) % 3]},
            run,
        )
        for i, (view, run) in enumerate(LAB_VIEWS) for j, metric in enumerate(LAB_METRICS)
    ),
    *(("lab", {"lab_allocation": "doubling", "lab_view": view}, "") for view, _ in LAB_VIEWS),
    *(("consistency", {"con_post": post, "con_mechanism": "wide", "con_allocation": "doubling"}, "")
      for post in ("none", "least_squares", "one_more", "as_it_is", "least_squares_one_more", "own_chain")),
    ("lab", {"lab_mechanisms": ["wide"], "lab_post": ["none", "own_chain"]}, "lab_run"),
    *(("topdown", {"td_rule": "own_chain", "td_view": view}, "") for view in ("release", "rules")),
    ("topdown", {"td_rule": "own_chain", "td_more": "records"}, ""),
    *(("budget", {"bud_mechanism": "wide", "bud_view": view}, "")
      for view in ("strategies", "custom", "targets", "map", "curves")),
    *(("cdf", {"cdf_mechanism": "wide", "cdf_view": view}, "") for view in ("release", "error", "optimal")),
    ("cdf", {"cdf_allocation": "doubling"}, ""),
    ("topdown", {"td_allocation": "doubling"}, ""),
    ("start", {}, ""),
]  # fmt: skip


def visit(page: str, link: dict[str, Any], run: str) -> dict[str, Any]:
    """Open a page; press a button if one is named; say what came of it."""
    from pages.ui.jobs import jobs

    mine = jobs.Jobs()
    jobs.jobs, jobs.pool, jobs.WORKERS = (lambda: mine), Inline, WorkersHere()  # type: ignore[assignment, misc]
    app = open_page(page, source="generate", gen_branching="3,4", level="Advanced", lab_trials="100", **link)
    if run:
        press(app, run)
    return {
        "page": page,
        "link": link,
        "run": run,
        "exceptions": [one.message for one in app.exception],
        "errors": [one.value for one in app.main.error],
        "badges": [part.value for part in app.main.get("markdown") if "-badge[" in str(part.value)],
        "words": words(app),
    }


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    invent()
    for one in VISITS:
        print(json.dumps(visit(*one)), flush=True)
