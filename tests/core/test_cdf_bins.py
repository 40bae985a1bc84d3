"""Which leaves are bins with edges, of which widths, and which are categories in their order."""

from __future__ import annotations

import csv
import io
import json
import pickle
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.figures.cdf import CdfLines, band_figure
from treedp_core.notebook.code import File, call
from treedp_core.notebook.file.call_json import answers, read, written
from treedp_core.plans import ReleasePlan, recount
from treedp_core.plans.record_file import header, records_of
from treedp_core.records import Dataset, count_bins, count_hierarchy, domain_of_paths, domain_of_values
from treedp_core.records.parquet_file import about, nodes_of, restored
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.bins import bins_of
from treedp_core.studies.cdf.compare import draw, half_widths, release_table

AGES = {"[0, 5)": 7, "[5, 18)": 17, "[18, 65)": 61, "[65, 100)": 22}


def counted(groups: dict[str, int]) -> Dataset:
    """Records that carry these labels, so many of each; the labels are the categories, in this order."""
    rows = [f'"{label}"' for label, often in groups.items() for _ in range(often)]
    return count_hierarchy("\n".join(["age", *rows]).encode(), ["age"], domain=domain_of_values([list(groups)]))


def test_labels_of_unequal_intervals_keep_their_widths() -> None:
    """Seen failing: edges at 0, 25, 50, 75 and 100, and 78 records "from 25 to 75", which are those from 5 to 65."""
    bins = bins_of(counted(AGES))
    assert bins.numeric and bins.edges.tolist() == [0, 5, 18, 65, 100]
    assert bins.unit == "age" and bins.counts.tolist() == [7, 17, 61, 22, 0]
    start, stop = bins.bin_at(5), bins.bin_at(65)
    assert bins.ends(start, stop) == (5, 65) and bins.within(start, stop) == 78


TENS = {f"[{age}, {age + 10})": age for age in range(0, 110, 10)}
NOT_IN_A_ROW = {
    "in the order of text": {label: TENS[label] for label in sorted(TENS)},
    "one is missing": {label: n for label, n in TENS.items() if label != "[40, 50)"},
    "two overlap": {**AGES, "[90, 110)": 3}, "open end": {**AGES, "[100, inf)": 3},
    "a word among them": {**AGES, "unknown": 3}, "whole numbers": {"0-4": 3, "5-17": 2, "18-64": 5},
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_IN_A_ROW)
def test_other_labels_are_categories_in_their_order(name: str) -> None:
    """Seen failing: edges were made up for the first four, from the first and the last label."""
    bins = bins_of(counted(NOT_IN_A_ROW[name]))
    assert not bins.numeric and bins.unit == "category, in its order"
    assert bins.are_apart == (name in ("in the order of text", "one is missing", "two overlap"))
    assert bins.edges.tolist() == list(range(bins.n_within + 1))


def test_intervals_below_several_parents_are_categories() -> None:
    """Sex, then age: edges seemed to run across both sexes."""
    domain = domain_of_values([["F", "M"], list(AGES)])
    data = count_hierarchy(b'sex,age\nF,"[0, 5)"\nM,"[18, 65)"\n', ["sex", "age"], domain=domain)
    assert data.edges is None and not bins_of(data).numeric
    nested = domain_of_paths(b'of age,age\nno,"[0, 5)"\nno,"[5, 18)"\nyes,"[18, 65)"\n', ["of age", "age"])
    below = count_hierarchy(b'of age,age\nno,"[0, 5)"\nyes,"[18, 65)"\n', ["of age", "age"], domain=nested)
    assert bins_of(below).edges.tolist() == [0, 5, 18, 65]


@pytest.mark.parametrize("place", [0, 2, 4])
def test_blank_cells_beside_intervals_are_a_number_of_their_own(place: int) -> None:
    """Seen failing: the leaf "(blank)" made the whole a row of categories, itself one of them."""
    groups = [*AGES.items()]
    data = counted(dict([*groups[:place], ("(blank)", 5), *groups[place:]]))
    bins = bins_of(data)
    assert bins.numeric and bins.edges.tolist() == [0, 5, 18, 65, 100]
    assert (bins.n_within, bins.has_other, bins.is_part) == (4, True, True)
    assert bins.counts.tolist() == [7, 17, 61, 22, 5] and bins.total == data.total == 112


def test_blank_cells_among_categories_are_a_category() -> None:
    bins = bins_of(counted({"red": 3, "blue": 2, "(blank)": 4}))
    assert not bins.numeric and bins.counts.tolist() == [3, 2, 4, 0] and not bins.are_apart
    assert bins_of(counted({"[0, 5)": 3, "[7, 9)": 2, "(blank)": 4})).are_apart


EDGES = st.lists(st.integers(-2000, 2000), min_size=3, max_size=30, unique=True).map(sorted)
LEAVES = ['young,"[0, 5)"', 'young,"[5, 18)"', 'old,"[18, 65)"', "young,(blank)", "(blank),", "old,(blank)"]


@given(
    beside=st.lists(
        st.tuples(st.sampled_from(LEAVES[3:]), st.integers(0, 5)), max_size=3, unique_by=lambda one: one[0]
    ),
    rows=st.lists(st.sampled_from([*LEAVES, "young,", ",", 'old,"[65, 100)"', "odd,odd"]), min_size=1, max_size=30),
)
@settings(max_examples=60)
def test_records_beside_intervals_are_told_apart_wherever_they_stand(
    beside: list[tuple[str, int]], rows: list[str]
) -> None:
    """Blank above or below, listed or not; the plan's file of records has them in one cell, and so has `recount`."""
    listed, inside = LEAVES[:3], LEAVES[:3]
    for one, at in beside:
        listed = [*listed[:at], one, *listed[at:]]
    listed.sort(key=lambda one: one.startswith("old"))  # else the groups, and so the intervals, have another order
    file = "\n".join(["group,age", *rows]).encode()
    domain = domain_of_paths("\n".join(["group,age", *listed]).encode())
    data = count_hierarchy(file, ["group", "age"], domain=domain)
    bins = bins_of(data)
    expected = [rows.count(one) for one in inside]
    assert bins.numeric and bins.edges.tolist() == [0, 5, 18, 65]
    assert bins.counts.tolist() == [*expected, len(rows) - sum(expected)]
    plan = ReleasePlan.of(plan_cdf(CdfSettings(4, (4,))), bins, counted=data)
    assert plan.domain.bins is not None and len(plan.domain.leaves) == plan.domain.bins.n == 4
    text = records_of(plan, data).decode()
    assert sorted(text.splitlines()) == sorted(records_of(plan, recount(plan, file)).decode().splitlines())
    held = {(line["age"] or line["group"]): int(line[header(plan)[-1]]) for line in csv.DictReader(io.StringIO(text))}
    cells = zip(("[0, 5)", "[5, 18)", "[18, 65)", "(other)"), bins.counts.tolist(), strict=True)
    assert held == {label: n for label, n in cells if n}


@given(edges=EDGES, decimals=st.integers(0, 3), factors=st.sampled_from([None, "last"]))
@settings(max_examples=30)
def test_edges_survive_saving_and_pickling(edges: list[int], decimals: int, factors: str | None) -> None:
    """Those of own bins, of equal ones, and of the labels of both, counted as categories."""
    own = [edge / 10**decimals for edge in edges]
    numbers = ("v\n" + "\n".join(map(repr, own))).encode()
    branching = None if factors is None or (len(own) - 1) % 2 else (2, (len(own) - 1) // 2)
    branching = None if branching is None or branching[1] < 2 else branching
    for data in (
        count_bins(numbers, "v", edges=own, branching=branching),
        count_bins(numbers, "v", lower=own[0], upper=own[-1], n_bins=len(own) - 1, branching=branching),
        counted({f"[{a!r}, {b!r})": 1 for a, b in pairwise(own)}),
    ):
        assert data.edges is not None
        told = data.edges.tolist()
        if data.report.recipe.numbers and data.labels.level_names[-1] == "v" and data.edges.size == len(own):
            assert (told[0], told[-1]) == (own[0], own[-1])
        for again in (restored(about(data), nodes_of(data)), pickle.loads(pickle.dumps(data))):
            assert again.fingerprint == data.fingerprint
            assert again.edges is not None and again.edges.tolist() == told
        assert bins_of(data).edges.tolist() == told


def test_own_edges_come_back_with_the_call_that_counted() -> None:
    """As a notebook keeps it: the form offers them again."""
    ran = call(count_bins, File("people.csv"), "age", edges=[0.0, 4.5, 18.0, 65.0], outside="clamp")
    again = read(json.loads(json.dumps(written(ran))))
    assert again.kwargs == ran.kwargs
    assert answers(again) == {"numeric": "age", "edges": [0.0, 4.5, 18.0, 65.0], "outside": "clamp"}


def test_a_plan_states_bounds_of_equal_bins_and_all_edges_of_others() -> None:
    def stated(data: Dataset) -> ReleasePlan:
        bins = bins_of(data)
        return ReleasePlan.of(plan_cdf(CdfSettings(bins.n_bins, (bins.n_bins,))), bins, counted=data)

    ages = b"age\n3\n17\n64\n99\n"
    equal, own = (
        stated(count_bins(ages, "age", **how))
        for how in ({"lower": 0, "upper": 100, "n_bins": 4}, {"edges": [0, 5, 18, 65.5, 100]})
    )
    assert equal.domain.bins is not None and own.domain.bins is not None
    assert equal.domain.bins.edges == (0, 100) and equal.domain.bins.all_edges == (0, 25, 50, 75, 100)
    assert own.domain.bins.edges == own.domain.bins.all_edges == (0, 5, 18, 65.5, 100)
    assert "public: 4 bins from 0 to 100 and one for all else" in equal.to_markdown()
    assert "public: 4 bins with edges at 0, 5, 18, 65.5, 100 and one for all else" in own.to_markdown()
    for one in (equal, own):
        assert ReleasePlan.from_json(one.to_json()) == one


def test_a_plan_of_labels_asks_for_labels() -> None:
    """Seen failing: its program read "[0, 5)" as a number, found none, and put every record into the last bin."""
    data = counted(AGES)
    bins = bins_of(data)
    plan = ReleasePlan.of(plan_cdf(CdfSettings(bins.n_bins, (bins.n_bins,))), bins, counted=data)
    assert plan.domain.bins is not None and not plan.domain.bins.is_numeric
    assert plan.domain.bins.columns == ("age",)
    assert plan.domain.categories == ((*AGES, "(other)"),)


@given(edges=EDGES, cells=st.lists(st.integers(-2100, 2100), min_size=1, max_size=60), data=st.data())
@settings(max_examples=40)
def test_a_range_of_unequal_bins_holds_what_lies_between_its_edges(
    edges: list[int], cells: list[int], data: st.DataObject
) -> None:
    """In tenths, counted by whole numbers; a place that is asked for moves to the nearest edge."""
    counts = count_bins(
        ("v\n" + "\n".join(f"{cell / 10!r}" for cell in cells)).encode(), "v", edges=[e / 10 for e in edges]
    )
    bins = bins_of(counts)
    start = data.draw(st.integers(0, len(edges) - 2))
    stop = data.draw(st.integers(start + 1, len(edges) - 1))
    assert bins.ends(start, stop) == (edges[start] / 10, edges[stop] / 10)
    last = stop == len(edges) - 1
    inside = [cell for cell in cells if edges[start] <= cell < edges[stop] or (last and cell == edges[stop])]
    assert bins.within(start, stop) == len(inside)
    asked = data.draw(st.integers(-3000, 3000))
    nearest = edges[bins.bin_at(asked / 10)]
    assert abs(nearest - asked) == min(abs(edge - asked) for edge in edges)
    assert round(bins.step * 10, 6) == min(b - a for a, b in pairwise(edges)) or bins.are_equal
    assert bins.are_equal == (len({b - a for a, b in pairwise(edges)}) == 1)


WAYS = {
    "tree": CdfSettings(4, (2, 2), "discrete_laplace", 1.0),
    "least squares": CdfSettings(4, (2, 2), "discrete_gaussian", 1.0, 1e-6, least_squares=True),
    "matrix": CdfSettings(4, (), "discrete_gaussian", 1.0, 1e-6, strategy="root"),
    "partition": CdfSettings(8, (), "discrete_laplace", 1.0, strategy="partition"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_release_is_drawn_over_the_true_widths(way: str) -> None:
    """Noise is put on bins whatever their widths; the figure has each cumulative count above its own edge."""
    asked = WAYS[way]
    edges = [0.0, 0.5, 5.0, 18.0, 65.3, 66.0, 80.0, 90.0, 100.0][: asked.n_bins + 1]
    records = "v\n" + "\n".join(str(edge + 0.1) for edge in edges[:-1] for _ in range(40))
    bins = bins_of(count_bins(records.encode(), "v", edges=edges, outside="refuse"))
    mine = draw(plan_cdf(asked), bins.counts, "squared", 3)
    lines = CdfLines(bins.edges, bins.truth, mine.release.cumulative, mine.consistent)
    fig = band_figure(lines, half_widths(mine), x_title="v", chosen=bins.ends(1, 3)).figure()
    assert all(trace.x.tolist() == edges for trace in fig.data if trace.yaxis == "y2")
    assert (fig.layout.shapes[0].x0, fig.layout.shapes[0].x1) == (0.5, 18.0)
    assert release_table(bins, mine)["up to"].tolist() == edges[1:]
