"""Grids of experiments, and what a sweep found as a tidy frame."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from oracles_pages import dataset
from treedp_core import Experiment, Tree, grid, run, sweep
from treedp_core.checks import InputError
from treedp_core.studies.sweep.frames import to_frame

TREE = Tree.from_branching_factors((2, 3))
COUNTS = TREE.counts_of_leaves(np.array([5, 0, 9, 1, 2, 30]))


def test_a_grid_is_every_combination_of_its_lists() -> None:
    base = Experiment(trials=20)
    cells = grid(
        base, mechanism=["laplace", "discrete_laplace"], postprocess=[(), ("least_squares",)],
        epsilon=np.array([0.5, 1.0]), seed=range(3), shares=(0.5, 0.5, 0.0), allocation="custom",
    )  # fmt: skip
    asked = itertools.product(("laplace", "discrete_laplace"), ((), ("least_squares",)), (0.5, 1.0), range(3))
    assert [(one.mechanism, one.postprocess, one.epsilon, one.seed) for one in cells] == list(asked)
    assert all((one.trials, one.shares, one.allocation) == (20, (0.5, 0.5, 0.0), "custom") for one in cells)
    assert grid() == [Experiment()]
    assert grid(epsilon=[]) == []
    with pytest.raises(InputError, match="epsilom") as caught:
        grid(epsilom=[1])
    assert caught.value.code == "VALUE_UNKNOWN"


def test_a_frame_has_the_numbers_of_the_outcomes_and_only_what_differs() -> None:
    cells = grid(Experiment(trials=30), metric=["rmse", "rmsre"], epsilon=[1.0, 3.0])
    found = sweep(cells, TREE, COUNTS)
    frame = to_frame(found)
    assert frame.columns.tolist() == ["metric", "epsilon", "formula", "simulation", "standard error"]
    for row, cell in zip(frame.to_dict("records"), cells, strict=True):
        alone = run(cell, TREE, COUNTS)
        assert alone.formula is not None and alone.simulation is not None
        assert (row["formula"], row["simulation"]) == (alone.formula.tree, alone.simulation.tree)
        assert row["standard error"] == alone.simulation.tree_se > 0
    levels = to_frame(found, by="level", level_names=("all", "half", "leaf"))
    assert len(levels) == 12
    half = levels[(levels.level == "half") & (levels.metric == "rmse") & (levels.epsilon == 1.0)].iloc[0]
    assert found[0].formula is not None and half.formula == found[0].formula.level[1]


def test_what_was_not_found_is_missing() -> None:
    cells = grid(postprocess=[("non_negative",)], epsilon=[1.0, 2.0])
    (first, _) = to_frame(sweep(cells, TREE, COUNTS, simulated=False)).to_dict("records")
    assert math.isnan(first["formula"]) and math.isnan(first["simulation"])
    assert to_frame([]).columns.tolist() == ["formula", "simulation", "standard error"]
    assert isinstance(to_frame([], by="level"), pd.DataFrame)
    with pytest.raises(InputError) as caught:
        to_frame([], by="leaf")  # type: ignore[arg-type]
    assert caught.value.code == "VALUE_UNKNOWN"


def test_what_is_printed_is_short_and_quotes_no_count() -> None:
    data = dataset(TREE, [5311] * 6, name="table")
    assert repr(data) == "<Dataset 'table' on <Tree of 3 levels, 9 nodes, 6 leaves>, exact counts: NOT PRIVATE>"
