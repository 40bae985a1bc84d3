"""Grids of experiments, and what a sweep found as a tidy frame."""

from __future__ import annotations

import html
import io
import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from refusals import refuses
from treedp_core import Experiment, Tree, draw_once, figures, grid, run, sweep
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
    with refuses("VALUE_UNKNOWN", "epsilom"):
        grid(epsilom=[1])


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
    with refuses("VALUE_UNKNOWN"):
        to_frame([], by="leaf")  # type: ignore[arg-type]


def test_counts_that_are_none_of_the_tree_are_refused_and_lists_are_taken() -> None:
    """By formula alone no metric of noise would have noticed."""
    leaves, broken = COUNTS[TREE.leaves], COUNTS.astype(float)
    broken[1] = np.nan
    wrong = [(leaves, "COUNTS_SHAPE"), (COUNTS[:-1], "COUNTS_SHAPE"), (np.stack([COUNTS] * 2), "COUNTS_SHAPE"),
             (5, "COUNTS_SHAPE"), (broken, "COUNT_RANGE"), (["a"] * TREE.n_nodes, "COUNT_RANGE")]  # fmt: skip
    for counts, code in wrong:
        for use in (sweep, lambda cells, tree, counts: draw_once(cells[0], tree, counts)):
            with refuses(code):
                use([Experiment(trials=3)], TREE, counts)  # type: ignore[arg-type, operator]
    with pytest.raises(InputError, match="counts_of_leaves"):
        run(Experiment(), TREE, leaves)
    cells = [Experiment(trials=3, postprocess=("non_negative",))]
    assert repr(sweep(cells, TREE, COUNTS.tolist())) == repr(sweep(cells, TREE, COUNTS))  # type: ignore[arg-type]
    for values in (leaves[:-1], np.int64(5), COUNTS):
        with refuses("COUNTS_SHAPE", "6 leaves"):
            TREE.counts_of_leaves(values)  # type: ignore[arg-type]


def test_what_is_no_name_at_all_and_names_of_other_levels_are_refused() -> None:
    with pytest.raises(InputError, match="Unknown mechanism"):
        run(Experiment(mechanism=["laplace"]), TREE, COUNTS)  # type: ignore[arg-type]
    found = sweep(grid(mechanism=["laplace", "discrete_laplace"]), TREE, COUNTS, simulated=False)
    for names in (("all", "half"), ("all", "half", "leaf", "more")):
        for use in (lambda names: to_frame(found, by="level", level_names=names),
                    lambda names: figures.of(found, level_names=names)):  # fmt: skip
            with refuses("FRAME_LEVELS"):
                use(names)


# ---- by node, as a figure, and as notebooks show things


def test_rows_by_node_have_whole_paths_and_the_errors_of_their_definition() -> None:
    """Discrete Laplace noise of parameter t = ε / (2 · 2) has variance 2 e^-t / (1 - e^-t)^2 on two noisy levels."""
    from treedp_core.records import count_hierarchy, domain_of_values

    domain = domain_of_values({"sex": ["F", "M"], "age": ["old", "young"]})
    data = count_hierarchy(b"sex,age\nF,old\nM,young\nM,young\n", ["sex", "age"], domain=domain, name="people")
    cells = grid(Experiment(trials=400), epsilon=[1.0, 2.0])
    found = sweep(cells, data.tree, data.counts, by_node=True)
    frame = to_frame(found, by="node", labels=data.labels)
    assert frame.columns.tolist() == [
        "epsilon", "node", "level", "path", "formula", "simulation", "standard error"
    ]  # fmt: skip
    assert frame["path"].tolist()[:8] == [
        "all", "F", "M", "(other)", "F › old", "F › young", "M › old", "M › young"
    ]  # fmt: skip
    assert frame["level"].tolist()[8:] == ["all", "sex", "sex", "sex", "age", "age", "age", "age"]
    for epsilon in (1.0, 2.0):
        q = math.exp(-epsilon / 4)
        rows = frame[(frame.epsilon == epsilon) & (frame.level != "all")]
        np.testing.assert_allclose(rows.formula, math.sqrt(2 * q / (1 - q) ** 2), rtol=1e-9)
        assert (abs(rows.simulation - rows.formula) < 6 * rows["standard error"]).all()
        assert (rows["standard error"] > 0).all()
    plain = sweep(cells, data.tree, data.counts)
    assert plain[0].simulation is not None and found[0].simulation is not None
    assert plain[0].simulation.level.tolist() == found[0].simulation.level.tolist()
    assert "path" not in to_frame(found, by="node").columns


@pytest.mark.parametrize("metric", ["alpha_rmse", "max_absolute_error", "rmsre"])
def test_nodes_of_every_metric_are_those_of_trees_of_one_node(metric: str) -> None:
    """The mean, or the largest, of the nodes' values is the level's."""
    (found,) = sweep([Experiment(metric=metric, trials=500, threshold=1.0)], TREE, COUNTS, by_node=True)
    assert found.formula is not None and found.formula.node is not None and found.formula.node.shape == (TREE.n_nodes,)
    leaves = found.formula.node[TREE.level(2)]
    if metric == "rmsre":
        assert math.sqrt(np.mean(leaves**2)) == pytest.approx(found.formula.level[2])
    elif metric == "alpha_rmse":
        assert leaves.max() == pytest.approx(found.formula.level[2])
    else:
        assert (leaves < found.formula.level[2]).all()
    assert found.simulation is not None and found.simulation.node is not None
    assert (abs(found.simulation.node - found.formula.node) <= 6 * found.simulation.node_se).all()


def test_frames_by_node_are_refused_where_there_are_no_nodes() -> None:
    found = sweep([Experiment(trials=3)], TREE, COUNTS, by_node=True)
    other = sweep([Experiment(trials=3)], TREE.top(2), COUNTS[:3], by_node=True)
    for wrong in (sweep([Experiment(trials=3)], TREE, COUNTS), [*found, *other]):
        with refuses("FRAME_NODES"):
            to_frame(wrong, by="node")


def test_the_figure_of_outcomes_shows_their_numbers() -> None:
    cells = grid(Experiment(trials=20), mechanism=["laplace", "discrete_laplace"], epsilon=[2.0, 0.5])
    found = sweep(cells, TREE, COUNTS)
    fig = figures.of(found)
    lines = {trace.name: trace for trace in fig.data if trace.mode == "lines" and trace.xaxis in (None, "x")}
    assert set(lines) == {"Laplace", "Discrete Laplace"} and list(lines["Laplace"].x) == [0.5, 2.0]
    want = [one.formula.tree for one in (found[1], found[0]) if one.formula is not None]
    np.testing.assert_allclose(list(lines["Laplace"].y), want)
    markers = [trace for trace in fig.data if trace.mode == "markers" and trace.xaxis in (None, "x")]
    assert found[1].simulation is not None and markers[0].y[0] == pytest.approx(found[1].simulation.tree)
    levels = figures.of([found[0], found[2]], level_names=("all", "half", "leaf"))
    assert "half" in str(levels.to_dict()["layout"]) + str([trace.x for trace in levels.data])


def test_lines_that_differ_only_in_a_setting_have_names_and_colours_of_their_own() -> None:
    cells = grid(allocation=["uniform", "minimax", "leaves_only"], postprocess=[("least_squares",)], epsilon=[1.0, 2.0])
    fig = figures.of(sweep(cells, TREE, COUNTS, simulated=False))
    lines = [trace for trace in fig.data if trace.mode == "lines" and trace.xaxis in (None, "x")]
    assert [trace.name for trace in lines] == [
        f"Discrete Laplace, least squares, the split “{name}”" for name in ("uniform", "minimax", "leaves only")
    ]
    assert len({trace.line.color for trace in lines}) == 3


def test_a_figure_of_two_metrics_or_of_nothing_is_refused() -> None:
    for cells, code in ((grid(metric=["rmse", "rmsre"]), "FIGURE_METRICS"), ([], "FIGURE_EMPTY")):
        with refuses(code):
            figures.of(sweep(cells, TREE, COUNTS, simulated=False))


def test_everything_has_a_short_name_and_a_table_in_a_notebook_that_runs_no_code_of_a_column() -> None:
    from treedp_core.plans import ReleasePlan
    from treedp_core.records import count_hierarchy, domain_of_values

    hostile = "<script>alert(1)</script>\u202e"
    domain = domain_of_values({"<img src=x onerror=y>": ["F", "M"]})
    text = b"<img src=x onerror=y>\nF\nM\nM\n"
    data = count_hierarchy(text, ["<img src=x onerror=y>"], domain=domain, name=hostile)
    experiment = Experiment(trials=5)
    outcome, release = run(experiment, data.tree, data.counts), draw_once(experiment, data.tree, data.counts)[0]
    things = [
        data.tree, data, release, outcome, outcome.guarantee, ReleasePlan.of(experiment, data, whom="<b>person</b>")
    ]  # fmt: skip
    for thing in things:
        assert len(repr(thing)) < 700 and "\n" not in repr(thing), thing
        shown = thing._repr_html_()
        assert shown.startswith('<p style="max-width:60em">') and shown.endswith("</table>"), "a caption is too narrow"
        left = re.sub(r'</?(table|p|tr|th|td)( style="[a-z:0-9-]*")?>', "", shown)
        assert "<" not in left and ">" not in left and "\u202e" not in shown
    assert "Simulation of a release" in release._repr_html_() and "Simulation" in repr(release)
    assert "NOT PRIVATE" in data._repr_html_() and not re.search(r">\s*3\s*<", data._repr_html_())
    assert "RMSE (records)" in repr(outcome) and "by formula" in repr(outcome) and "simulated" in repr(outcome)
    assert "NOT PRIVATE" not in repr(outcome)
    names = [f"one of several columns, number {i}" for i in range(12)]
    deep = domain_of_values({name: ["x", "y"] if i == 0 else ["x"] for i, name in enumerate(names)})
    rows = io.BytesIO("\n".join([",".join(f'"{name}"' for name in names), ",".join("x" * 12)]).encode())
    plan = ReleasePlan.of(experiment, count_hierarchy(rows, names, domain=deep))
    assert html.escape(plan.sentence()) in plan._repr_html_()
    assert "NOT PRIVATE" in repr(run(replace(experiment, metric="rmsre"), data.tree, data.counts))
