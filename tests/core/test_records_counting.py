"""Counting against dictionaries: all ways of counting give what a Counter gives; every record is accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from oracles_records import BLANK, Path, as_csv, leaf_counts, node_counts
from refusals import refuses
from treedp_core.checks import InputError
from treedp_core.records import (
    Dataset,
    DomainSource,
    count_bins,
    count_hierarchy,
    count_table,
    domain_of_leaves,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.count import counting, table_counts
from treedp_core.records.dataset import counts_table, leaves_table
from treedp_core.records.edges import bin_edges, bin_finder
from treedp_core.records.export.tables import csv_bytes
from treedp_core.records.read import sources
from treedp_core.records.read.text import in_reading_order
from treedp_core.tree import Tree

FROM_DATA = domain_taken_from_the_data()
CELLS = st.sampled_from(["", "x", "y", "z", "10", "9"])
ROWS = st.integers(1, 4).flatmap(lambda h: st.lists(st.tuples(*[CELLS] * h), min_size=1, max_size=60))


def names(rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"c{j}" for j in range(len(rows[0]))]


def as_dictionary(data: Dataset) -> dict[Path, int]:
    return {data.labels.path(node): int(data.counts[node]) for node in range(data.tree.n_nodes)}


# ---- a hierarchy of columns


@given(rows=ROWS, block=st.integers(64, 300))
def test_streaming_in_tiny_blocks_counts_like_a_dictionary(rows: list[tuple[str, ...]], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "BLOCK_BYTES", block)
        data = count_hierarchy(as_csv(names(rows), rows), names(rows), domain=FROM_DATA)
    assert as_dictionary(data) == node_counts(leaf_counts(rows))
    assert data.report.rows == data.report.counted == len(rows)
    under_blank = sum(n for path, n in leaf_counts(rows).items() if BLANK in path)
    assert data.report.blank_labels == under_blank


@given(rows=ROWS)
def test_exactly_the_records_with_a_missing_value_may_be_counted_elsewhere(rows: list[tuple[str, ...]]) -> None:
    data = count_hierarchy(as_csv(names(rows), rows), names(rows), domain=FROM_DATA, missing="other")
    paths = Counter(tuple(cell for cell in row if cell) for row in rows if _no_gap(row))
    leaves = {p: n for p, n in paths.items() if not any(q[: len(p)] == p != q for q in paths)}
    elsewhere = len(rows) - sum(leaves.values())
    if any(leaves):
        assert as_dictionary(data) == {**node_counts(Counter(leaves)), (): len(rows), ("(other)",): elsewhere}
    else:  # a single node takes everything
        assert as_dictionary(data) == {(): len(rows)}
    assert (data.report.counted, data.report.other) == (len(rows), elsewhere)


def _no_gap(row: Sequence[str]) -> bool:
    filled = [bool(cell) for cell in row]
    return filled == sorted(filled, reverse=True)


@given(rows=ROWS, weights=st.data())
def test_a_weight_column_is_that_many_rows(rows: list[tuple[str, ...]], weights: st.DataObject) -> None:
    amounts = weights.draw(st.lists(st.integers(1, 5), min_size=len(rows), max_size=len(rows)))
    header = names(rows)
    repeated = [row for row, n in zip(rows, amounts, strict=True) for _ in range(n)]
    weighted = [(*row, n) for row, n in zip(rows, amounts, strict=True)]
    aggregated = count_hierarchy(as_csv([*header, "n"], weighted), header, domain=FROM_DATA, weight="n")
    plain = count_hierarchy(as_csv(header, repeated), header, domain=FROM_DATA)
    assert aggregated.fingerprint == plain.fingerprint
    assert aggregated.report.counted == sum(amounts) and aggregated.report.rows == len(rows)


@given(
    rows=ROWS,
    dense=st.sampled_from([1, 7, 1 << 23]),
    word=st.sampled_from([1, 20, 1 << 62]),
    block=st.sampled_from([3, 1 << 21]),
)
def test_dense_sorted_and_many_word_counting_agree(
    rows: list[tuple[str, ...]], dense: int, word: int, block: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MAX_DENSE_CELLS", dense)
        patch.setattr(counting, "_WORD", word)
        patch.setattr(counting, "BLOCK_RECORDS", block)
        patch.setattr(sources, "BLOCK_BYTES", 64)
        data = count_hierarchy(as_csv(names(rows), rows), names(rows), domain=FROM_DATA)
    assert as_dictionary(data) == node_counts(leaf_counts(rows))


@given(rows=ROWS, weights=st.data())
def test_weighted_sorting_agrees(rows: list[tuple[str, ...]], weights: st.DataObject) -> None:
    amounts = weights.draw(st.lists(st.integers(0, 2**48), min_size=len(rows), max_size=len(rows)))
    table = as_csv([*names(rows), "n"], [(*row, n) for row, n in zip(rows, amounts, strict=True)])
    dense = count_hierarchy(table, names(rows), domain=FROM_DATA, weight="n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "MAX_DENSE_CELLS", 1)
        patch.setattr(counting, "BLOCK_RECORDS", 4)
        patch.setattr(sources, "BLOCK_BYTES", 64)
        by_sorting = count_hierarchy(table, names(rows), domain=FROM_DATA, weight="n")
    assert dense.fingerprint == by_sorting.fingerprint
    assert dense.total == sum(amounts)


def test_rows_of_weight_zero_keep_their_leaf() -> None:  # D18
    data = count_hierarchy(b"a,n\nx,0\ny,0\n", ["a"], domain=FROM_DATA, weight="n")
    assert as_dictionary(data) == {(): 0, ("x",): 0, ("y",): 0}


def test_a_single_record_is_a_tree_of_one_path() -> None:  # D19
    data = count_hierarchy(b"a,b\nx,1\n", ["a", "b"], domain=FROM_DATA)
    assert as_dictionary(data) == {(): 1, ("x",): 1, ("x", "1"): 1}


def test_records_without_any_value_end_at_the_root() -> None:
    data = count_hierarchy(b"a,b\n,\n,\n", ["a", "b"], domain=FROM_DATA)
    assert as_dictionary(data) == {(): 2}
    assert data.labels.label(0) == "all" and data.labels.path(0) == ()


def test_a_path_that_is_leaf_and_parent_gets_a_blank_child() -> None:  # C24
    data = count_hierarchy(b"a,b\nx,y\nx,\nz,\n", ["a", "b"], domain=FROM_DATA)
    assert as_dictionary(data) == {(): 3, ("x",): 2, ("z",): 1, ("x", "y"): 1, ("x", BLANK): 1}
    assert [code for code, _ in data.report.notices] == ["RAGGED_TREE"]
    assert "'x'" in data.report.notices[0][1]


def test_siblings_are_in_reading_order() -> None:
    data = count_hierarchy(b"a,b\n10,b\n9,\n9,a\n10,a\n10,B\n", ["a", "b"], domain=FROM_DATA)
    assert data.labels.of_level(1).tolist() == ["9", "10"]
    assert data.labels.of_level(2).tolist() == ["a", BLANK, "B", "a", "b"]
    assert data.labels.level_names == ("all", "a", "b")


def test_numbers_in_labels_are_in_order_also_where_some_labels_have_none() -> None:
    ages = ["<5", "5-9", "10-14", "15-19", "100+", "unknown", "(rest)", "(outside)", BLANK]
    wards = ["Ward", "Ward 1", "Ward 2", "Ward 10", "Ward 10a"]
    for ordered in (ages, wards):
        for seed in range(20):
            some = np.random.default_rng(seed).permutation(ordered).tolist()
            assert in_reading_order(some) == ordered, "seen failing: 5-9 stood behind 15-19"


def test_more_cells_than_an_integer_can_number_are_counted() -> None:
    rng = np.random.default_rng(3)
    rows = [tuple(f"v{v}" for v in row) for row in rng.integers(0, 3000, (5000, 7))]
    assert 3000**6 > 2**63
    data = count_hierarchy(as_csv(names(rows), rows), names(rows), domain=FROM_DATA)
    assert as_dictionary(data) == node_counts(leaf_counts(rows))


def test_paths_that_64_bits_cannot_number_stay_apart() -> None:
    """Numbered in base 7500, the path of all first values is 0, and that of the digits of 2^64 would be 0 too."""
    assert 2**64 < 7500**5
    values = [f"v{i}" for i in range(7500)]
    digits = [values[2**64 // 7500**place % 7500] for place in reversed(range(5))]
    rows = [*((v,) * 5 for v in values), tuple(digits)]
    data = count_hierarchy(as_csv(names(rows), rows), names(rows), domain=FROM_DATA)
    assert as_dictionary(data) == node_counts(leaf_counts(rows))


# ---- public domains


@given(rows=ROWS, listed=st.lists(st.sampled_from(["x", "y", "z", "10", BLANK, "(other)"]), min_size=1, unique=True))
def test_a_listed_domain_sends_every_cell_where_the_list_says(rows: list[tuple[str, ...]], listed: list[str]) -> None:
    header = names(rows)
    public = domain_of_values([listed] * len(header))
    data = count_hierarchy(as_csv(header, rows), header, domain=public)
    other = "(other)" if "(other)" in listed else None
    target = {cell: cell if cell in listed else other for cell in ("x", "y", "z", "10", "9")}
    target[""] = BLANK if BLANK in listed else other
    leaves = Counter(tuple(target[cell] for cell in row) for row in rows)
    inside = {path: n for path, n in leaves.items() if None not in path}
    assert data.tree.n_leaves == len(listed) ** len(header) + (other is None)
    found = {p: n for p, n in as_dictionary(data).items() if n and len(p) == len(header)}
    elsewhere = len(rows) - sum(inside.values())
    if other is None and len(header) == 1:
        assert found.pop(("(other)",), 0) == elsewhere
    assert found == inside
    assert (data.report.counted, data.report.other) == (len(rows), elsewhere)
    assert data.domain_source is DomainSource.PUBLIC


@given(rows=ROWS)
def test_listing_the_paths_of_the_data_gives_the_tree_of_the_data(rows: list[tuple[str, ...]]) -> None:
    header = names(rows)
    leaves = leaf_counts(rows)
    listed = [path + ("",) * (len(header) - len(path)) for path in leaves if path]
    if not listed:
        return
    public = domain_of_paths(as_csv(header, listed), records_are_public=True)
    data = count_hierarchy(as_csv(header, rows), header, domain=public, outside="refuse")
    assert as_dictionary(data) == node_counts(leaves)
    assert data.domain_source is DomainSource.PUBLIC


def test_a_domain_file_decides_path_by_path() -> None:
    public = domain_of_paths(b"a,b\nx,1\nx,2\ny,\nz,(other)\nz,1\n(other),\n")
    below_x = [("x", "1"), ("x", "3"), ("x", "")]
    below_z = [("z", "1"), ("z", "7"), ("z", "")]
    rows = [*below_x, *below_z, ("y", ""), ("y", "1"), ("q", "1"), ("", "")]
    data = count_hierarchy(as_csv("ab", rows), ["a", "b"], domain=public)
    assert as_dictionary(data) == {
        (): 10,
        ("x",): 1,
        ("y",): 1,
        ("z",): 3,
        ("(other)",): 5,  # (q, 1) and the blank record, and the three below
        ("x", "1"): 1,
        ("x", "2"): 0,
        ("z", "1"): 1,
        ("z", "(other)"): 2,
    }
    assert data.report.other == 3  # (x, 3), (y, 1) and (x, no value) have no leaf
    elsewhere = count_hierarchy(as_csv("ab", rows), ["a", "b"], domain=public, missing="other")
    assert (elsewhere.total, elsewhere.report.other) == (10, 5)
    unseen, missing = (sentence for _, sentence in elsewhere.report.notices)
    assert unseen.startswith("2 records") and missing.startswith("3 records")  # below x, below z and at the root


def test_an_unseen_category_is_counted_reported_and_located() -> None:
    public = domain_of_values({"a": ["x"]})
    data = count_hierarchy(b"a\nx\nfoo\nx\nfoo\n", ["a"], domain=public)
    assert data.counts.tolist() == [4, 2, 2] and data.report.other == 2
    code, sentence = data.report.notices[0]
    assert code == "UNSEEN" and "'foo'" in sentence and "row 3" in sentence


def test_weights_of_records_without_a_place_are_accounted_for() -> None:
    public = domain_of_values({"a": ["x"]})
    records = b"a,n\nx,5\nfoo,7\n,11\n"
    data = count_hierarchy(records, ["a"], domain=public, weight="n", missing="other")
    assert data.counts.tolist() == [23, 5, 18] and data.report.other == 18
    unseen, missing = (sentence for code, sentence in data.report.notices if code != "WEIGHTED")
    assert unseen.startswith("7 records") and missing.startswith("11 records")


# ---- ready codes


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4), n=st.integers(0, 200), seed=st.integers(0, 2**31))
@settings(max_examples=50)
def test_ready_codes_are_counted_on_every_level(sizes: list[int], n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = [np.int8, np.int32, np.uint16, np.int64]
    codes = [rng.integers(0, size, n).astype(kind) for size, kind in zip(sizes, kinds, strict=False)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_counts, "CACHE_RECORDS", 7)
        patch.setattr(table_counts, "NARROW_RECORDS", 20)
        counts = count_table(codes, sizes)
    expected = Counter(tuple(int(c[i]) for c in codes) for i in range(n))
    leaves = [expected[index] for index in np.ndindex(*sizes)]
    tree = Tree.from_branching_factors(sizes)
    assert counts.tolist() == tree.counts_of_leaves(np.array(leaves)).tolist()


def test_a_leaf_of_more_records_than_16_bits_hold_is_counted_whole() -> None:
    """At the beginning, where records are counted in 16 bits; and where they never have many in one leaf."""
    rng = np.random.default_rng(5)
    spread = rng.integers(0, 300, 400_000), rng.integers(0, 300, 400_000)
    for many in (0, 100_000, 200_000):
        codes = [np.concatenate([np.full(many, 7), part, np.full(many, 7)]).astype(np.int16) for part in spread]
        expected = np.bincount(codes[0].astype(np.int64) * 300 + codes[1], minlength=90_000)
        assert min(table_counts.FEW_LEAVES) <= 90_000
        np.testing.assert_array_equal(count_table(codes, (300, 300))[-90_000:], expected)


# ---- bins of a number


@given(
    values=st.lists(st.floats(-2, 3) | st.sampled_from([0.0, 1.0, 0.25, 1e308, -1e308]), max_size=50),
    n_bins=st.sampled_from([2, 3, 4, 7, 10]),
)
def test_bins_hold_what_their_edges_say(values: list[float], n_bins: int) -> None:
    edges = bin_edges(0, 1, n_bins)
    rows = [(repr(v),) for v in [*values, 0.5]]
    data = count_bins(as_csv(["v"], rows), "v", lower=0, upper=1, n_bins=n_bins)
    inside = [v for v in [*values, 0.5] if 0 <= v <= 1]
    expected = [
        sum(edges[i] <= v < edges[i + 1] or (i == n_bins - 1 and v == edges[-1]) for v in inside) for i in range(n_bins)
    ]
    outside = len(rows) - len(inside)
    assert data.counts.tolist() == [len(rows), *expected, outside]
    assert (data.report.outside_range, data.report.counted) == (outside, len(rows))


def test_a_value_on_an_edge_belongs_to_the_bin_above_and_the_last_bin_is_closed() -> None:
    for n_bins in (3, 7, 10, 1000, 99_991):
        edges = bin_edges(-0.3, 0.7, n_bins)
        assert bin_finder(edges)(edges).tolist() == [*range(n_bins), n_bins - 1]
        below = np.nextafter(edges[1:], -1)
        assert bin_finder(edges)(below).tolist() == list(range(n_bins))


def test_numbers_outside_and_cells_that_are_none_are_reported() -> None:
    cells = ["1", "2.5", "-1", "11", "inf", "-inf", "NaN", "", "ten", "1e308", " 4 ", "+5", "0x1", "1_0", "1e1"]
    data = count_bins(as_csv(["v"], [(c,) for c in cells]), "v", lower=0, upper=10, n_bins=2)
    assert data.counts.tolist() == [15, 3, 2, 10]  # 1, 2.5 and 4 below 5; 5 and 1e1 above
    assert data.report.outside_range == 5 and data.report.other == 10
    assert {code for code, _ in data.report.notices} == {"NOT_A_NUMBER", "OUTSIDE_RANGE"}
    clamped = count_bins(as_csv(["v"], [(c,) for c in cells]), "v", lower=0, upper=10, n_bins=2, outside="clamp")
    assert clamped.counts.tolist() == [15, 5, 5, 5] and clamped.report.outside_range == 5


def test_bins_carry_a_tree_of_intervals() -> None:
    records = b"v,n\n0,2\n3,1\n3.5,4\n"
    shape = {"lower": 0.0, "upper": 4.0, "n_bins": 4, "branching": (2, 2)}
    data = count_bins(records, "v", **shape, weight="n", outside="refuse")
    assert data.counts.tolist() == [7, 2, 5, 2, 0, 0, 5]
    assert data.labels.of_level(1).tolist() == ["[0, 2)", "[2, 4]"]
    assert data.labels.of_level(2).tolist() == ["[0, 1)", "[1, 2)", "[2, 3)", "[3, 4]"]
    assert data.labels.path(5) == ("[2, 4]", "[2, 3)")
    assert data.domain_source is DomainSource.PUBLIC


def test_counts_cannot_be_changed() -> None:
    data = count_hierarchy(b"a\nx\n", ["a"], domain=FROM_DATA)
    with pytest.raises(ValueError, match="read-only"):
        data.counts[0] = 5


@given(ROWS, st.randoms(use_true_random=False))
def test_the_lists_of_a_domain_go_by_their_names_and_not_by_their_order(
    rows: list[tuple[str, ...]], random: Random
) -> None:
    columns = names(rows)
    lists = {name: sorted({row[j] for row in rows if row[j]} | {f"only {name}"}) for j, name in enumerate(columns)}
    shuffled = list(lists)
    random.shuffle(shuffled)
    origin = as_csv(columns, rows)
    by_place = count_hierarchy(origin, columns, domain=domain_of_values(list(lists.values())))
    by_name = count_hierarchy(origin, columns, domain=domain_of_values({name: lists[name] for name in shuffled}))
    assert by_name.fingerprint == by_place.fingerprint and by_name.report == by_place.report


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ({"b": ["x"], "c": ["y"]}, "for 'c'; the columns of the tree are 'a', 'b'"),
        ({"a": ["x"]}, "no values for 'b'"),
        ({"a": ["x"], "b": ["y"], "B": ["y"]}, "for 'B'"),
    ],
)
def test_lists_that_are_of_other_columns_are_refused_by_name(lists: dict[str, list[str]], said: str) -> None:
    with refuses("DOMAIN_COLUMNS") as refused:
        count_hierarchy(b"a,b\nx,y\n", ["a", "b"], domain=domain_of_values(lists))
    assert said in str(refused.value)


def test_paths_in_another_order_of_the_same_columns_are_refused_and_other_names_go_by_their_place() -> None:
    listed = b"b,a\ny,x\n"
    with refuses("DOMAIN_COLUMNS") as refused:
        count_hierarchy(b"a,b\nx,y\n", ["a", "b"], domain=domain_of_paths(listed))
    assert "'b', 'a'" in str(refused.value)
    for domain in (domain_of_paths(listed, ["a", "b"]), domain_of_paths(b"State,City\nx,y\n")):
        assert count_hierarchy(b"a,b\nx,y\nx,z\n", ["a", "b"], domain=domain).counts.tolist() == [2, 1, 1, 1]


@pytest.mark.parametrize(("listed", "found"), [("Ohio ", "Ohio"), ("Ohio", " Ohio"), ("New York", "New  York")])
def test_a_label_that_is_listed_with_other_spaces_is_said(listed: str, found: str) -> None:
    data = count_hierarchy(f"a\n{found}\n".encode(), ["a"], domain=domain_of_values({"a": [listed]}))
    sentence = dict(data.report.notices)["LISTED_WITH_SPACES"]
    assert repr(listed) in sentence and repr(found) in sentence and "row 2" in sentence and data.report.other == 1


def test_all_counts_are_one_table() -> None:
    """Four rows, counted by hand; a path of a node is its cells, and the header says what they are."""
    data = count_hierarchy(b"a,b\nx,1\nx,2\ny,3\nx,1\n", ["a", "b"], domain=domain_taken_from_the_data())
    *named, count = counts_table(data)
    assert named == ["level", "level 0: all", "level 1: a", "level 2: b"] and "NOT PRIVATE" in count
    rows = zip(*(list(column) for column in counts_table(data).values()), strict=True)
    assert list(rows) == [
        (0, "all", "", "", 4),
        (1, "all", "x", "", 3),
        (1, "all", "y", "", 1),
        (2, "all", "x", "1", 2),
        (2, "all", "x", "2", 1),
        (2, "all", "y", "3", 1),
    ]


@pytest.mark.parametrize("missing", ["category", "other"])
def test_leaves_that_are_said_to_be_public_make_the_same_tree_again_with_a_place_for_all_else(missing: str) -> None:
    rng = np.random.default_rng(5)
    rows = [(rng.choice(list("abc")), rng.choice(list("xy")), rng.choice(["1", "2", ""])) for _ in range(40)]
    csv = ("u,v,w\n" + "".join(f"{u},{v if u != 'c' else ''},{w if u == 'a' else ''}\n" for u, v, w in rows)).encode()
    found = count_hierarchy(csv, ["u", "v", "w"], domain=domain_taken_from_the_data(), missing=missing)
    leaves = {name: column.tolist() for name, column in leaves_table(found).items()}
    said = domain_of_leaves(leaves)
    again = count_hierarchy(csv, ["u", "v", "w"], domain=said, missing=missing)
    assert again.domain_source is DomainSource.PUBLIC and again.other_leaf is not None
    by_path = dict(zip(again.labels.paths(range(again.tree.n_nodes)), again.counts.tolist(), strict=True))
    assert by_path.pop("(other)") == (found.counts[found.other_leaf] if found.other_leaf is not None else 0)
    known = dict(zip(found.labels.paths(range(found.tree.n_nodes)), found.counts.tolist(), strict=True))
    known.pop("(other)", None)
    assert by_path == known
    elsewhere = count_hierarchy(csv + b"d,x,1\n", ["u", "v", "w"], domain=said, missing=missing)
    assert elsewhere.tree.n_nodes == again.tree.n_nodes
    assert elsewhere.counts[elsewhere.other_leaf] == again.counts[again.other_leaf] + 1


def test_a_file_of_leaves_given_back_as_a_domain_has_the_labels_that_a_spreadsheet_would_run() -> None:
    csv = b"change,kind\n-5 to 0,=x\n-5 to 0,@y\n+5,=x\n'tis,plain\n"
    found = count_hierarchy(csv, ["change", "kind"], domain=domain_taken_from_the_data())
    file = csv_bytes(leaves_table(found))
    assert b"'-5 to 0" in file and b"'@y" in file
    again = count_hierarchy(csv, ["change", "kind"], domain=domain_of_paths(file))
    assert as_dictionary(again) == as_dictionary(found) | {("(other)",): 0}


@pytest.mark.parametrize(
    ("leaves", "code"),
    [
        ({}, "NO_LEVELS"), ({"a": []}, "DOMAIN_EMPTY"), ({"a": ["x"], "b": []}, "DOMAIN_EMPTY"),
        ({"a": [str(n) for n in range(2001)]}, "TOO_MANY_NODES"), ({"a": ["x", "x"], "b": ["", "y"]}, "RAGGED_TREE"),
        ({"a": [""], "b": ["y"]}, "EMPTY_LABEL"), ({"a": ["x\x00"]}, "CONTROL_CHAR"),
    ],
)  # fmt: skip
def test_leaves_that_make_no_tree_are_refused(leaves: dict[str, list[str]], code: str) -> None:
    with pytest.raises(InputError) as caught:
        domain_of_leaves(leaves)
    assert caught.value.code == code
