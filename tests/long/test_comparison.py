"""Cells side by side: what differs, whether they promise the same, ratios with their errors, and shared axes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pytest

from sample_data.catalogue import count_sample
from test_notebook import cell
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, run
from treedp_core.figures.base.cell_figures import LETTER, TITLED, overlaid
from treedp_core.notebook.cell import DataNote
from treedp_core.notebook.code import call
from treedp_core.notebook.comparison.compare import checked, differing, other_promises, ratios
from treedp_core.notebook.comparison.pairs import WHOLE, Side, matched, most_trials, on_common_noise, paired, spread_of
from treedp_core.notebook.comparison.sides import CdfSide, ThresholdSide, TopDownSide
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.records import count_hierarchy, domain_of_values
from treedp_core.studies.cdf import CdfSettings
from treedp_core.studies.multiplicative.simple import tree_in_use
from treedp_core.studies.topdown import Wanted, draw, made_up, tree_as_it_is
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.tree import Tree
from treedp_core.views.cells.rerun import Sources, sides_of
from treedp_core.watch import generator

TREE = Tree.from_branching_factors((3, 4))
COUNTS = TREE.counts_of_leaves(np.arange(12) * 3)
OWN_SPLIT = "0.2, 0.3, 0.5"


def tabled(number: int, **columns: Any) -> Any:
    return cell(number, columns={name: tuple(values) for name, values in columns.items()})


def test_what_differs_is_named_with_defaults_where_a_cell_says_nothing() -> None:
    a = cell(1, settings={"eps": ("2",), "lab_post": ("none", "shrink"), "own_count": ("5",)})
    b = cell(2, settings={"level": ("Advanced",)})
    names = {"eps": "Privacy budget", "lab_post": "Post-processing"}
    assert differing([a, b], {"eps": "1", "lab_post": "none"}, names) == {
        "what": ["ε", "Post-processing", "own_count"], "A": ["2", "none, shrink", "5"], "B": ["1", "none", ""],
    }  # fmt: skip


def test_what_differs_of_the_data_is_said_and_not_only_that_it_does() -> None:
    a = DataNote(name="a.csv", fingerprint="1" * 64, levels=("region", "city"), weight="people")
    b = replace(a, fingerprint="2" * 64, levels=("age",), bounds=(0, 120), domain="taken from the data", weight="")
    assert differing([cell(1, data=a), cell(2, data=b)], {}, {}) == {
        "what": [f"{one} of the data" for one in ("levels", "categories", "bounds", "weight", "fingerprint")],
        "A": ["region, city", "public", "", "people", "1" * 16],
        "B": ["age", "taken from the data", "0 to 120", "", "2" * 16],
    }


def test_other_promises_are_said() -> None:
    a, b = cell(1, settings={"eps": ("2",)}), cell(2, settings={"nbr": ("add_or_remove_one",)})
    assert other_promises([a, b], {"eps": "1", "nbr": "replace_one"}) == (
        "ε is 2 in A and 1 in B; neighbouring relation is replace one in A and add or remove one in B."
    )
    assert other_promises([a, a], {}) == ""


def test_ratios_join_rows_by_their_words_and_place() -> None:
    a = tabled(1, level=["all", "N", "S"], rmse=[0.0, 2.0, 4.0])
    b = tabled(2, level=["S", "N", "all"], rmse=[1.0, 4.0, 1.0])
    assert ratios([a, b]) == {"level": ["all", "N", "S"], "rmse, B ÷ A": [None, 2.0, 0.25]}
    c = tabled(3, series=["x", "x"], epsilon=[0.5, 1.0], formula=[4.0, 2.0])
    d = tabled(4, series=["x", "y"], epsilon=[1.0, 1.0], formula=[3.0, 9.0])
    assert ratios([c, d]) == {"series": ["x"], "epsilon": [1.0], "formula, B ÷ A": [1.5]}


def test_what_no_cell_has_a_value_of_is_no_row_and_no_column_of_ratios() -> None:
    """As where one cell was pinned before its simulation ran, and the other after."""
    a = tabled(1, series=["x"], epsilon=[0.5], formula=[4.0], simulation=[None], **{"standard error": [None]})
    b = tabled(2, series=["x"], epsilon=[0.5], formula=[2.0], simulation=[2.1], **{"standard error": [0.1]})
    for one, other, times in ((a, b, 0.5), (b, a, 2.0), (a, a, 1.0)):
        assert ratios([one, other]) == {"series": ["x"], "epsilon": [0.5], "formula, B ÷ A": [times]}


def test_independent_simulations_have_the_error_of_their_ratio() -> None:
    a = tabled(1, level=["N"], simulation=[2.0], **{"standard error": [0.2]})
    b = tabled(2, level=["N"], simulation=[4.0], **{"standard error": [0.3]})
    found = ratios([a, b])
    assert found["simulation, B ÷ A"] == [2.0]
    assert found["standard error of B ÷ A"][0] == pytest.approx(2 * math.sqrt(0.1**2 + 0.075**2))


def test_what_has_nothing_in_common_is_refused() -> None:
    a = tabled(1, level=["N"], rmse=[1.0])
    for other in (cell(2), tabled(2, level=["S"], rmse=[1.0]), tabled(2, level=["N"], other=[1.0])):
        with pytest.raises(InputError) as refused:
            ratios([a, other])
        assert refused.value.code == "COMPARE_TABLES"
    for cells in ([a], [a] * 5):
        with pytest.raises(InputError) as refused:
            checked(cells)
        assert refused.value.code == "COMPARE_CELLS"


def side(experiment: Experiment, tree: Tree = TREE, levels: tuple[str, ...] = ("all", "N", "S")) -> Side:
    counts = COUNTS if tree is TREE else tree.counts_of_leaves(np.arange(tree.n_leaves) * 3)
    return Side("x", experiment, tree, counts, levels)


def test_common_draws_give_the_exact_ratio_where_only_epsilon_differs() -> None:
    a, b = Experiment(mechanism="laplace", epsilon=0.5), Experiment(mechanism="laplace", epsilon=2.0, seed=8)
    found = paired(side(a), side(b), trials=20)
    assert found.ratio[1:] == pytest.approx([0.25] * 3)
    assert found.standard_error[1:] == pytest.approx([0] * 3, abs=1e-12)


def test_the_error_of_a_ratio_on_common_draws_is_that_of_many_such_ratios() -> None:
    """300 ratios of 60 trials: their spread is the standard error that each of them states, within a tenth."""
    a, b = Experiment(mechanism="laplace"), Experiment(mechanism="laplace", postprocess=("least_squares",))
    found = [paired(side(_seeded(a, seed)), side(_seeded(b, seed)), trials=60) for seed in range(300)]
    spread = np.std([one.ratio for one in found], axis=0)[1:]
    stated = np.mean([one.standard_error for one in found], axis=0)[1:]
    assert stated == pytest.approx(spread, rel=0.12)
    exact = [run(one, TREE, COUNTS, simulated=False).formula for one in (a, b)]
    assert exact[0] is not None and exact[1] is not None
    truth = [*exact[1].level[1:] / exact[0].level[1:], exact[1].tree / exact[0].tree]
    mean = np.mean([one.ratio for one in found], axis=0)[1:]
    assert mean == pytest.approx(truth, abs=5 * float(spread.max()) / math.sqrt(300) + 0.005)


def test_trees_of_other_shapes_are_compared_by_the_names_of_their_levels() -> None:
    """Three measured levels share a budget of one where two do: each errs 3/2 as much, wherever its name stands."""
    one = Experiment(mechanism="laplace")
    deeper = Tree.from_branching_factors((3, 4, 2))
    found = paired(side(one), side(one, deeper, ("all", "S", "N", "new")), trials=3000)
    assert found.levels == ("all", "N", "S", WHOLE)
    off = (found.ratio[1:3] - 1.5) / found.standard_error[1:3]
    assert abs(off).max() < 4 and found.standard_error[1:3].max() < 0.05
    bins = CdfSide("release", CdfSettings(8, (2, 2, 2), "laplace", 1.0), np.arange(8), "squared", 7)
    with pytest.raises(InputError, match="no error of one name"):
        paired(side(one), bins, trials=2)


def test_tables_without_a_level_in_common_are_compared_as_a_whole() -> None:
    """As formulas say it: a record of one table errs as its tree does, whatever its levels are called."""
    one, deeper = Experiment(mechanism="laplace"), Tree.from_branching_factors((3, 4, 2))
    found = on_common_noise([("B", side(one), side(one, deeper, ("all", "state", "county", "zip")))], trials=3000)
    assert found["level"] == ["all", WHOLE]
    exact = [run(one, tree, tree.counts_of_leaves(np.ones(tree.n_leaves)), simulated=False).formula
             for tree in (TREE, deeper)]  # fmt: skip
    assert exact[0] is not None and exact[1] is not None
    ratio, error = found["ratio"][1], found["standard error"][1]
    assert isinstance(ratio, float) and isinstance(error, float)
    assert abs(ratio - exact[1].tree / exact[0].tree) < 4 * error < 0.1
    assert spread_of(found).startswith(f"{ratio:.2f}")


def test_series_of_one_name_are_compared_and_the_first_ones_where_none_is() -> None:
    a, b, c = (Side(name, Experiment(), TREE, COUNTS, ()) for name in "abc")
    assert matched([(a, b), (b, c), (c,)]) == [("B", b, b), ("C", a, c)]
    found = on_common_noise([("B", side(Experiment()), side(Experiment(epsilon=2.0)))], trials=5)
    assert found["cells"] == ["B ÷ A"] * 4 and found["level"] == ["all", "N", "S", WHOLE]
    assert math.isnan(found["ratio"][0])  # type: ignore[arg-type]  # the public total is exact in both
    assert most_trials([("B", a, b)]) == 400


def test_cumulative_counts_are_compared_on_the_same_noise() -> None:
    """Four times the budget is a quarter of the noise; what is made consistent errs less, and not in proportion."""
    bins = np.array([5, 0, 12, 3, 0, 0, 9, 1])
    sides = [CdfSide("release", CdfSettings(8, (2, 2, 2), "laplace", epsilon), bins, "squared", seed)
             for epsilon, seed in ((0.5, 7), (2.0, 8))]  # fmt: skip
    found = paired(sides[0], sides[1], trials=30)
    assert found.levels == ("cumulative counts", "cumulative counts made consistent")
    assert (found.ratio[0], found.standard_error[0]) == (pytest.approx(0.25), pytest.approx(0, abs=1e-12))
    assert 0.1 < found.ratio[1] < 0.6 and found.standard_error[1] > 0
    private = replace(sides[0], settings=replace(sides[0].settings, relation="add_or_remove_one"))
    assert private.levels == found.levels and private.reads_counts, "they end at the released total"


def test_topdown_releases_are_compared_on_the_same_noise() -> None:
    """Counts so large that nothing is cut at 0: a sixteenth of ρ is four times the noise, and of the error."""
    region = domain_of_values({"region": ["N", "S"], "age": ["a", "b"]})
    rows = b"region,age,n\nN,a,900000\nN,b,800000\nS,a,700000\nS,b,600000\n"
    subject = tree_as_it_is(count_hierarchy(rows, ["region", "age"], domain=region, weight="n", name="t"))
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    sides = [TopDownSide("x", subject, Wanted(rho, 1e-6, unit, None, Spread.STACKED, "ls_water_filling"), seed)
             for rho, seed in ((1e-4, 7), (1e-4 / 16, 8))]  # fmt: skip
    found = paired(*sides, trials=60)
    assert found.levels == ("all", "region", "age", WHOLE) and math.isnan(found.ratio[0])
    assert found.ratio[1:] == pytest.approx([4] * 3, rel=0.25)
    same = paired(sides[0], replace(sides[0], seed=9), trials=5)
    assert same.ratio[1:].tolist() == [1.0] * 3 and same.standard_error[1:].tolist() == [0.0] * 3


@pytest.mark.parametrize("rule", RULES)
def test_what_is_compared_of_topdown_is_what_it_releases(rule: str) -> None:
    subject = made_up((6, 8), 40, 1)
    side = TopDownSide("x", subject, Wanted(0.5, 1e-6, ProtectedUnit(NeighbouringRelation.REPLACE_ONE), None,
                                            Spread.STACKED, rule), 7)  # fmt: skip
    squares = side.ready()
    for seed in range(10):
        released = draw(subject, side.wanted, seed).levels
        assert squares(generator("release of TopDown", seed))[:-1].tolist() == [one.rmse**2 for one in released]


def test_runs_of_thresholds_are_compared_on_the_same_noise() -> None:
    """A rule that errs more than α forgives nearly always errs in proportion to its noise; so does Laplace here."""
    wanted = Experiment(epsilon=0.05, delta=1e-6, alpha=0.01, metric="rmse")
    source = tree_in_use("t", TREE, COUNTS)
    sides = [ThresholdSide("run", source, "paper", replace(wanted, epsilon=epsilon), False) for epsilon in (0.05, 0.2)]
    assert sides[0].levels[:2] == ("Thresholds", "Gaussian") and "Shrunk least squares" in sides[0].levels
    found = paired(sides[0], sides[1], trials=4)
    assert found.ratio[found.levels.index("Laplace")] == pytest.approx(0.25, rel=0.05)
    same = paired(sides[0], replace(sides[0], settings=replace(wanted, seed=99)), trials=2)
    assert same.ratio[1:].tolist() == [1.0] * (len(same.levels) - 1)
    assert most_trials([("B", sides[0], sides[1])]) == 100


FIRST: Final = {
    "cdf": {"view": "release", "part": "cdf_release"},
    "lab": {"view": "epsilon", "part": "lab_figure"},
    "consistency": {"part": "con_figure"},
    "multiplicative": {"view": "run", "part": "mul_tree"},
    "topdown": {"view": "release", "part": "td_rows"},
    "budget": {"view": "custom", "part": "bud_custom"},
}


"""The first view of a page, and its figure."""


def test_a_cell_of_every_page_that_releases_is_drawn_again_as_its_page_would() -> None:
    """From the settings of the cell, whatever the session's are; formulas have nothing that is drawn."""
    asked = {
        "cdf": ({"eps": ("2",), "cdf_tree": ("binary",), "cdf_mechanism": ("laplace",)}, "settings.epsilon"),
        "topdown": ({"td_rho": ("0.25",), "td_columns": ("1", "2")}, "wanted.rho"),
        "multiplicative": ({"eps": ("3",), "mul_source": ("current",)}, "settings.epsilon"),
        "lab": ({"eps": ("4",), "lab_mechanisms": ("laplace",)}, "experiment.epsilon"),
        "consistency": (
            {
                "eps": ("5",),
                "con_allocation": ("custom",),
                "con_shares": (OWN_SPLIT,),
                "con_accounting": ("formula",),
            },
            "experiment.epsilon",
        ),
        "budget": ({"eps": ("6",), "bud_view": ("custom",), "bud_shares": (OWN_SPLIT,)}, "experiment.epsilon"),
    }
    sources = Sources(sample=partial(call, count_sample))
    cells = [
        cell(at, page=page, settings=given, **FIRST.get(page, {}))
        for at, (page, (given, _)) in enumerate(asked.items())
    ]
    found = [sides_of([one, one], sources)[0][0] for one in cells]
    formulas = [cell(1, page="branching"), cell(2, page="branching")]
    said = [attrgetter(name)(one) for one, (_, name) in zip(found, asked.values(), strict=True)]
    assert said == [2.0, 0.25, 3.0, 4.0, 5.0, 6.0] and sides_of(formulas, sources) == []
    assert found[0].settings.branching_factors == (2,) * 7
    assert found[1].levels == ("all", *found[1].subject.columns, WHOLE)
    assert len(found[1].subject.columns) == 2 and found[2].source.counts is not None
    assert [one.experiment.shares for one in found[3:]] == [(), (0.2, 0.3, 0.5), (0.2, 0.3, 0.5)]
    assert [one.experiment.accounting for one in found[3:]] == ["numerical", "formula", "numerical"]
    assert [one.experiment.allocation for one in found[3:]] == ["uniform", "custom", "custom"]


def _seeded(one: Experiment, seed: int) -> Experiment:
    return Experiment(mechanism=one.mechanism, postprocess=one.postprocess, seed=seed)


def drawn(kind: str = "scatter", y: float = 1, **layout: Any) -> dict[str, Any]:
    return {"data": [{"type": kind, "y": [y, 2], "name": "x"}], "layout": {"xaxis": {"title": {"text": "ε"}}, **layout}}


def test_a_line_that_all_figures_have_is_drawn_once_and_one_across_has_its_letter() -> None:
    mine, all_of_us = ({"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper"} for x in (1, 5))
    others = [{**mine, "x0": x, "x1": x} for x in (2, 3)]
    figures = [drawn(y=1, shapes=[shape, all_of_us]) for shape in (mine, *others)]
    figures[2]["data"].append({"type": "scatter", "y": [7, 7], "name": "more"})
    fig = overlaid(figures, "ABCD")
    assert fig is not None
    assert [(line.name, line.line.dash, line.opacity) for line in fig.data] == [
        ("A = B = C · x", None, 1.0),
        ("C · more", "dot", 1.0),
    ]
    assert [(one.x0, one.label.text, one.line.dash) for one in fig.layout.shapes] == [
        (5, None, None), (1, "A", "dash"), (2, "B", "solid"), (3, "C", "dot"),
    ]  # fmt: skip
    bars = overlaid([drawn("bar"), drawn("bar")], "AB")
    assert bars is not None and [one.name for one in bars.data] == ["A · x", "B · x"], "side by side, not on each other"


def test_figures_with_the_same_axes_share_them_the_first_one_dashed() -> None:
    fig = overlaid([drawn(), drawn(y=3)], "AB")
    assert fig is not None
    assert [(line.name, line.line.dash) for line in fig.data] == [("A · x", "dash"), ("B · x", "solid")]
    assert overlaid([drawn(), drawn(xaxis={"title": {"text": "level"}})], "AB") is None
    assert overlaid([drawn(), drawn("heatmap")], "AB") is None
    down = overlaid([drawn(yaxis={"range": [3, -1]}), drawn(yaxis={"range": [3, -1]})], "AB")
    assert down is not None and down.layout.yaxis.autorange == "reversed" and fig.layout.yaxis.autorange is True
    title = {"xref": "x2 domain", "yref": "paper", "text": "title", "y": 1, "yanchor": "bottom"}
    notes = [title, {"xref": "paper", "yref": "y2", "text": "line"}]
    named = overlaid([drawn(annotations=notes), drawn(annotations=notes)], "AB")
    assert named is not None and [one.text for one in named.layout.annotations] == ["title"]
    assert named.layout.legend.y == TITLED and fig.layout.legend.y is None
    line = {"type": "line", "y0": 0, "y1": 1}
    lettered = overlaid(
        [drawn(annotations=notes, shapes=[{**line, "x0": at, "x1": at}]) for at in (0.5, 1)], "AB"
    )  # fmt: skip
    assert lettered is not None and not named.layout.annotations[0].yshift
    assert lettered.layout.annotations[0].yshift == LETTER, "the title stands above the letters of the lines"
    bars = overlaid([drawn("bar"), drawn("bar")], "AB")
    assert bars is not None and [one.marker.pattern.shape for one in bars.data] == ["/", ""]
    assert bars.layout.barmode == "group"


def test_what_differs_in_its_numbers_only_is_one_series_with_one_colour() -> None:
    """Seen failing: "yours (13 · 10) ± 50" of A and "yours (7 · 20) ± 42" of B had two colours, and A's a third one."""

    def lines(*names: str) -> dict[str, Any]:
        data = [{"type": "scatter", "y": [at, 2], "name": name} for at, name in enumerate(names)]
        return {"data": data, "layout": {}}

    fig = overlaid([lines("yours (13 · 10) ± 50", "binary ± 87"), lines("yours (7 · 20) ± 42", "binary ± 54")], "AB")
    assert fig is not None
    mine, binary, yours, other = (one.line.color for one in fig.data)
    assert mine == yours != binary == other
    fig = overlaid([lines("Laplace (k = 2)", "Laplace (k = 3)")] * 2, "AB")
    assert fig is not None and len({one.line.color for one in fig.data}) == 2, "numbers tell them apart in each"


def test_shares_that_are_stacked_stay_so_in_their_order_and_no_bar_leaves_its_axis() -> None:
    told = {"barmode": "stack", "yaxis": {"autorange": "reversed"}}
    wide, narrow = (
        {**told, "xaxis": {"title": {"text": text}, "range": [0, high]}} for text, high in (("ε<br>cut", 8), ("ε", 2))
    )
    fig = overlaid([drawn("bar", **wide), drawn("bar", **narrow)], "AB")
    assert fig is not None
    assert (fig.layout.barmode, fig.layout.yaxis.autorange) == ("stack", "reversed")
    assert [one.offsetgroup for one in fig.data] == ["A", "B"]
    assert (tuple(fig.layout.xaxis.range), fig.layout.xaxis.title.text) == ((0, 8), "ε<br>cut")
