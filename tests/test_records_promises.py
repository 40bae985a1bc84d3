"""What the boundary promises about privacy: what is public stays public, and what was counted is said."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, draw_once
from treedp_core.records import (
    Dataset,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.domain import Domain

RECORDS = b"sex,age\nF,young\nF,young\nM,old\n"
LEAVES = b"sex,age\nF,young\nF,old\nM,young\nM,old\n"
COLUMNS = ["sex", "age"]


def as_parquet(**columns: list[object]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def code_of(attempt: object) -> str:
    with pytest.raises(InputError) as caught:
        attempt()  # type: ignore[operator]
    return caught.value.code


# ---- the private file is no public list


@pytest.mark.parametrize(
    "listed",
    [
        RECORDS,
        b"age,sex\nold,M\nyoung,F\nyoung,F\n",
        as_parquet(sex=["M", "F", "F"], age=["old", "young", "young"]),
    ],
    ids=["same bytes", "rows and columns in another order", "another format"],
)
def test_the_private_file_is_refused_as_its_own_domain(listed: bytes) -> None:
    assert code_of(lambda: count_hierarchy(RECORDS, COLUMNS, domain=domain_of_paths(listed, COLUMNS))) == (
        "DOMAIN_IS_DATA"
    )


def test_grouped_private_counts_are_refused_as_their_own_domain() -> None:
    private, stored_anew = b"sex,n\nF,5\nM,7\n", as_parquet(n=[7, 5], sex=["M", "F"])
    for listed in (private, stored_anew):
        domain = domain_of_paths(listed, ["sex"], weight="n")
        assert code_of(lambda domain=domain: count_hierarchy(private, ["sex"], domain=domain, weight="n")) == (
            "DOMAIN_IS_DATA"
        )
    last_year = domain_of_paths(b"sex,n\nF,5\nM,8\n", ["sex"], weight="n")
    assert count_hierarchy(private, ["sex"], domain=last_year, weight="n").total == 12


def test_a_list_of_leaves_is_a_domain_even_if_every_leaf_holds_one_record() -> None:
    shuffled = b"sex,age\nM,old\nF,young\nF,old\nM,young\n"
    assert count_hierarchy(shuffled, COLUMNS, domain=domain_of_paths(LEAVES, COLUMNS)).total == 4


def test_public_records_may_be_their_own_domain() -> None:
    domain = domain_of_paths(RECORDS, COLUMNS, records_are_public=True)
    assert count_hierarchy(RECORDS, COLUMNS, domain=domain).total == 3


def counted(records: bytes) -> Dataset:
    return count_hierarchy(records, COLUMNS, domain=domain_taken_from_the_data())


def test_data_sets_are_the_same_by_bytes_or_by_counts_on_equal_names() -> None:
    data = counted(RECORDS)
    assert data.source_digest == counted(RECORDS).source_digest != ""
    assert data.is_same_as(count_hierarchy(RECORDS, ["sex"], domain=domain_taken_from_the_data()))  # the same bytes
    other_order = count_hierarchy(
        b"age,sex\nold,M\nyoung,F\nyoung,F\n",
        COLUMNS,
        domain=domain_of_paths(b"sex,age\nM,old\nF,young\n"),
        outside="refuse",
    )
    assert other_order.fingerprint != data.fingerprint and data.is_same_as(other_order)
    on_a_list = count_hierarchy(RECORDS + b"\n", COLUMNS, domain=domain_of_paths(LEAVES))
    assert on_a_list.other_leaf is not None and data.is_same_as(on_a_list)
    assert not data.is_same_as(counted(RECORDS + b"M,old\n"))
    assert not data.is_same_as(counted(b"sex,age\nF,young\nM,old\nM,old\n"))


# ---- a public total is the number of records


VALUES = domain_of_values({"sex": ["F", "M"], "age": ["young", "old"]})
SOME_PATHS = domain_of_paths(b"sex,age\nF,young\nF,old\nM,\n")
WITH_OTHER = domain_of_paths(b"sex,age\nF,young\nM,old\n(other),\n")
INNER_OTHER = domain_of_values({"sex": ["F", "(other)"], "age": ["young", "old"]})
LAST = ("M,old", "M,ancient", "X,old", ",", "M,", ",old", "(other),zz", "((other)),")


def neighbours(last: str) -> bytes:
    return ("sex,age\n" + "F,young\n" * 5 + "M,old\n" * 4 + last + "\n").encode()


@pytest.mark.parametrize("missing", ["category", "drop"])
@pytest.mark.parametrize(
    "domain", [VALUES, SOME_PATHS, WITH_OTHER, INNER_OTHER], ids=["values", "paths", "other", "in"]
)
def test_replacing_a_record_moves_neither_the_tree_nor_an_exact_total(domain: Domain, missing: str) -> None:
    first, *others = (count_hierarchy(neighbours(last), COLUMNS, domain=domain, missing=missing) for last in LAST)
    for data in others:
        assert data.tree.parent.tolist() == first.tree.parent.tolist()
        assert [data.labels.path(node) for node in range(data.tree.n_nodes)] == [
            first.labels.path(node) for node in range(first.tree.n_nodes)
        ]
        roots = {
            float(draw_once(Experiment(relation="replace_one"), one.tree, one.counts)[0].estimate[0])
            for one in (first, data)
        }
        assert roots == {10.0}
        moved = abs(data.counts - first.counts)
        assert max(moved[data.tree.level(level)].sum() for level in range(data.tree.n_levels)) <= 2


def test_records_that_fit_nowhere_stand_in_one_public_leaf_and_are_reported() -> None:
    data = count_hierarchy(neighbours("M,ancient"), COLUMNS, domain=VALUES)
    assert [data.labels.label(node) for node in range(1, 4)] == ["F", "M", "(other)"]
    assert data.counts.tolist() == [10, 5, 4, 1, 5, 0, 0, 4] and data.tree.is_leaf[3]
    assert (data.report.counted, data.report.other, data.report.unseen) == (10, 1, 0)
    code, sentence = data.report.notices[0]
    assert code == "UNSEEN" and "counted under (other)" in sentence and "'ancient'" in sentence and "row 11" in sentence
    left_out = count_hierarchy(neighbours("M,"), COLUMNS, domain=VALUES, missing="drop")
    assert left_out.report.other == 1 and left_out.report.notices[0][0] == "MISSING"


def test_a_domain_that_lists_other_everywhere_keeps_its_tree() -> None:
    everywhere = domain_of_values({"sex": ["F", "(other)"], "age": ["young", "(other)"]})
    data = count_hierarchy(neighbours("X,"), COLUMNS, domain=everywhere)
    assert data.tree.branching_factors == (2, 2) and data.counts.tolist() == [10, 5, 5, 5, 0, 0, 5]


def test_records_that_fit_nowhere_can_be_refused() -> None:
    refused = code_of(lambda: count_hierarchy(neighbours("M,ancient"), COLUMNS, domain=VALUES, outside="refuse"))
    assert refused == "OUTSIDE_DOMAIN"
    assert count_hierarchy(neighbours("M,old"), COLUMNS, domain=VALUES, outside="refuse").tree.n_leaves == 4
    assert code_of(lambda: count_hierarchy(neighbours("M,old"), COLUMNS, domain=VALUES, outside="x")) == "VALUE_UNKNOWN"


@pytest.mark.parametrize("outside", ["other", "clamp"])
@pytest.mark.parametrize("branching", [None, (2, 2)])
def test_replacing_a_number_does_not_move_an_exact_total(outside: str, branching: tuple[int, ...] | None) -> None:
    roots, shapes = set(), set()
    for last in ("3", "-1", "99", "", "ten", "inf"):
        data = count_bins(
            f"v\n1\n2\n{last}\n".encode(), "v", lower=0, upper=4, n_bins=4, branching=branching, outside=outside
        )
        noisy, _ = draw_once(Experiment(relation="replace_one"), data.tree, data.counts)
        roots.add(float(noisy.estimate[0]))
        shapes.add((*data.tree.parent.tolist(), *(data.labels.label(leaf) for leaf in data.tree.leaves)))
    assert roots == {3.0} and len(shapes) == 1


def test_numbers_outside_are_other_or_in_the_end_bins() -> None:
    cells = b"v\n1\n2\n-1\n99\nten\n"
    other = count_bins(cells, "v", lower=0, upper=4, n_bins=2)
    assert other.counts.tolist() == [5, 1, 1, 3] and other.labels.label(3) == "(other)"
    assert (other.report.counted, other.report.other, other.report.dropped_missing) == (5, 3, 0)
    clamped = count_bins(cells, "v", lower=0, upper=4, n_bins=2, outside="clamp")
    assert clamped.counts.tolist() == [5, 2, 2, 1] and clamped.report.other == 1
    assert code_of(lambda: count_bins(cells, "v", lower=0, upper=4, n_bins=2, outside="refuse")) == "OUTSIDE_DOMAIN"
