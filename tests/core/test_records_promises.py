"""What the boundary promises about privacy: what is public stays public, and what was counted is said."""

from __future__ import annotations

import hashlib
import io
import itertools
import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, draw_once
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.records import (
    Dataset,
    DomainSource,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.domain import Domain
from treedp_core.records.read.numbers.numeric import look_at_numbers

FROM_DATA = domain_taken_from_the_data()
ADD, REPLACE = NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE
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


def test_a_tree_read_off_the_data_says_so() -> None:
    sources = (domain_taken_from_the_data(), domain_of_paths(LEAVES))
    assert [count_hierarchy(RECORDS, COLUMNS, domain=one).domain_source for one in sources] == [
        DomainSource.FROM_DATA,
        DomainSource.PUBLIC,
    ]


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


def test_the_same_bytes_are_refused_even_if_every_leaf_holds_one_record() -> None:
    private = b"sex\nF\nM\n"
    assert code_of(lambda: count_hierarchy(private, ["sex"], domain=domain_of_paths(private))) == "DOMAIN_IS_DATA"


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


@pytest.mark.parametrize("missing", ["category", "other"])
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
    assert (data.report.counted, data.report.other) == (10, 1)
    code, sentence = data.report.notices[0]
    assert code == "UNSEEN" and "counted under (other)" in sentence and "'ancient'" in sentence and "row 11" in sentence
    left_out = count_hierarchy(neighbours("M,"), COLUMNS, domain=VALUES, missing="other")
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
    assert (other.report.counted, other.report.other) == (5, 3)
    clamped = count_bins(cells, "v", lower=0, upper=4, n_bins=2, outside="clamp")
    assert clamped.counts.tolist() == [5, 2, 2, 1] and clamped.report.other == 1
    assert code_of(lambda: count_bins(cells, "v", lower=0, upper=4, n_bins=2, outside="refuse")) == "OUTSIDE_DOMAIN"


@pytest.mark.parametrize("count", [
    lambda: count_bins(b"v\n1\n99\nten\n", "v", lower=0, upper=4, n_bins=2),
    lambda: count_hierarchy(neighbours("M,ancient"), COLUMNS, domain=VALUES),
    lambda: count_hierarchy(neighbours("M,"), COLUMNS, domain=VALUES, missing="other"),
    lambda: places(1),
])  # fmt: skip
def test_one_record_is_no_records(count: Callable[..., Dataset]) -> None:
    """What is said of one record, row or unit is said of one: in notices, and where it is refused."""
    told = [sentence for _, sentence in count().report.notices]
    with pytest.raises(InputError) as refused:
        count_hierarchy(neighbours("M,ancient"), COLUMNS, domain=VALUES, outside="refuse")
    for said in (*told, str(refused.value)):
        assert not re.search(r"\b1 (records|rows|units|labels)\b|\b1 (record|row|unit) (have|are|lie|fit)\b", said), (
            said
        )
    assert told


# ---- the unit of the promise


VISITS = b"who,place\nann,x\nbob,y\nann,y\nann,x\n,x\nbob,x\n,y\nann,y\n"


def first_rows(rows: list[tuple[str, ...]], m: int) -> list[tuple[str, ...]]:
    """The rows that count, one at a time."""
    seen: dict[str, int] = {}
    kept = []
    for row in rows:
        seen[row[0]] = seen.get(row[0], 0) + 1
        if seen[row[0]] <= m:
            kept.append(row)
    return kept


def places(m: int, **settings: object) -> Dataset:
    return count_hierarchy(
        VISITS, ["place"], domain=domain_of_values({"place": ["x", "y"]}), unit="who", contributions=m, **settings
    )  # type: ignore[arg-type]


def test_of_each_unit_the_first_rows_count() -> None:
    rows = [tuple(line.split(",")) for line in VISITS.decode().splitlines()[1:]]
    for m in range(1, 6):
        data, kept = places(m), first_rows(rows, m)
        expected = [len(kept), *(sum(row[1] == place for row in kept) for place in ("x", "y")), 0]
        assert data.counts.tolist() == expected
        assert (data.report.units, data.report.recipe.bound) == (3, m)
        assert data.report.clipped == len(rows) - len(kept)
        assert data.report.counted + data.report.clipped == data.report.rows
        assert ("CLIPPED" in {code for code, _ in data.report.notices}) == (len(kept) < len(rows))


@pytest.mark.parametrize("kind", [pa.string(), pa.int64(), pa.dictionary(pa.int8(), pa.string())], ids=str)
def test_units_are_followed_over_batches_and_kinds(monkeypatch: pytest.MonkeyPatch, kind: pa.DataType) -> None:
    rng = np.random.default_rng(3)
    who, what = rng.integers(0, 40, 900), rng.integers(0, 3, 900)
    table = pa.table({"who": pa.array([str(w) for w in who]).cast(kind), "v": what})
    rows = first_rows([(str(w), int(v)) for w, v in zip(who, what, strict=True)], 7)
    monkeypatch.setattr("treedp_core.records.read.arrow.tables.BATCH_ROWS", 50)
    monkeypatch.setattr("treedp_core.records.read.units._MERGE", 5)
    monkeypatch.setattr("treedp_core.records.read.sources.BLOCK_BYTES", 200)
    file = io.BytesIO()
    pq.write_table(table, file)
    csv = "who,v\n" + "".join(f"{w},{v}\n" for w, v in zip(who, what, strict=True))
    for origin in (table, file.getvalue(), csv.encode()):
        binned = count_bins(origin, "v", lower=0, upper=3, n_bins=3, unit="who", contributions=7)
        assert binned.counts[1:4].tolist() == [sum(v == value for _, v in rows) for value in range(3)]
        assert (binned.report.units, binned.report.clipped) == (40, 900 - len(rows))


def test_no_unit_moves_more_than_its_share() -> None:
    """Removing a unit with many rows changes at most m records on every level."""
    without = VISITS.replace(b"ann,x\n", b"").replace(b"ann,y\n", b"")
    for m in (1, 2, 3):
        removed = count_hierarchy(
            without, ["place"], domain=domain_of_values({"place": ["x", "y"]}), unit="who", contributions=m
        )
        moved = abs(places(m).counts - removed.counts)
        assert moved[0] == moved[1:].sum() == m


@pytest.mark.parametrize("m", [1, 2, 3])
def test_a_unit_replaced_by_one_with_as_many_counted_rows_moves_no_exact_total(m: int) -> None:
    """All units of up to four rows among others, in two orders of the file: wherever a row fits, and however many do.

    A unit with fewer counted rows than the other moves the total, which is why it is said what it is replaced by; with
    m = 1 every unit has as many counted rows as any other.
    """
    domain, others = domain_of_values({"place": ["x", "y"]}), ("b,x", ",y", "b,", "c,z")

    def counts(mine: tuple[str, ...], spread: bool) -> np.ndarray:
        own = [f"a,{place}" for place in mine]
        pairs = itertools.zip_longest(others, own)
        rows = [row for pair in pairs for row in pair if row] if spread else [*own, *others]
        file = ("who,place\n" + "\n".join(rows) + "\n").encode()
        return count_hierarchy(file, ["place"], domain=domain, unit="who", contributions=m, outside="other").counts

    for spread in (False, True):
        units = [mine for k in range(1, 5) for mine in itertools.product(("x", "y", "elsewhere", ""), repeat=k)]
        counted = {mine: counts(mine, spread) for mine in units if len(mine) < 4 or len(set(mine)) == 2}
        without = counts((), spread)
        replaced, added = ProtectedUnit(REPLACE, m), ProtectedUnit(ADD, m)
        assert all(_moves(without, one, added) for one in counted.values())
        for (one, before), (other, after) in itertools.combinations(counted.items(), 2):
            as_many = min(len(one), m) == min(len(other), m)
            assert (before[0] == after[0]) == as_many and (not as_many or _moves(before, after, replaced))
    assert ("as many others" if m > 1 else "replaced by another") in replaced.described


def _moves(before: np.ndarray, after: np.ndarray, unit: ProtectedUnit) -> bool:
    """Whether the root and the leaves move no further than the noise of their level is made for."""
    levels = [abs(after - before)[level] for level in (slice(0, 1), slice(1, None))]
    l1, l2 = unit.l1_sensitivity(2), unit.l2_sensitivity(2)
    return all(d.sum() <= l1[i] and (d**2).sum() <= l2[i] ** 2 for i, d in enumerate(levels))


def hashed_as(monkeypatch: pytest.MonkeyPatch, digest: Callable[[bytes, int], bytes]) -> list[bytes]:
    """Put `digest` in place of the hash of units; return the list of keys that it will be given."""
    keys: list[bytes] = []

    class Planted:
        MAX_KEY_SIZE = 64

        def __init__(self, label: bytes, *, digest_size: int, key: bytes = b"") -> None:
            keys.append(key)
            self.digest = lambda: digest(label, digest_size)

    monkeypatch.setattr("treedp_core.records.read.units.hashlib.blake2b", Planted)
    return keys


def test_units_whose_hashes_agree_in_64_bits_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = places(2)
    hashed_as(monkeypatch, lambda label, size: (bytes(8) + hashlib.sha256(label).digest())[:size])
    assert places(2).fingerprint == honest.fingerprint and places(2).report == honest.report


def test_two_units_of_one_hash_would_break_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """With m = 1 and one hash for all, taking Ann away gives her row to Bob: two counts change where one may."""
    hashed_as(monkeypatch, lambda _, size: bytes(size))
    places_of = domain_of_values({"place": ["x", "y"]})
    both, without = (
        count_hierarchy(file, ["place"], domain=places_of, unit="who").counts
        for file in (b"who,place\nann,x\nbob,y\n", b"who,place\nbob,y\n")
    )
    assert abs(both - without)[1:].sum() == 2


def test_the_key_of_the_hash_is_drawn_for_each_count(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = hashed_as(monkeypatch, lambda label, size: hashlib.sha256(label).digest()[:size])
    for _ in range(3):
        places(1)
    assert len(set(keys)) == 3 and {len(key) for key in keys} == {64}


def test_names_that_look_the_same_are_one_unit() -> None:
    rows = "who,v\n\u00e9,1\ne\u0301,1\n  ,1\n,1\n"
    assert count_bins(rows.encode(), "v", lower=0, upper=2, n_bins=2, unit="who").report.units == 2


def test_a_unit_column_is_refused_where_it_cannot_hold() -> None:
    file = b"who,place,n\nann,x,3\n"
    refusals = {
        "UNIT_AND_WEIGHT": lambda: count_hierarchy(file, ["place"], domain=FROM_DATA, unit="who", weight="n"),
        "UNIT_AS_LEVEL": lambda: count_hierarchy(file, ["who"], domain=FROM_DATA, unit="who"),
        "CONTRIBUTIONS_RANGE": lambda: count_hierarchy(file, ["place"], domain=FROM_DATA, unit="who", contributions=0),
        "COLUMN_UNKNOWN": lambda: count_hierarchy(file, ["place"], domain=FROM_DATA, unit="whom"),
    }
    for code, attempt in refusals.items():
        assert code_of(attempt) == code


def test_too_many_units_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treedp_core.records.read.units.MAX_UNITS", 2)
    assert code_of(lambda: places(1)) == "TOO_MANY_UNITS"


@pytest.mark.parametrize("by", ["levels", "bins"])
def test_the_unit_of_weighted_rows_is_said(by: str) -> None:
    def counted(largest: int) -> Dataset:
        file = f"v,n\n1,5\n2,{largest}\n3,0\n".encode()
        if by == "bins":
            return count_bins(file, "v", lower=0, upper=4, n_bins=2, weight="n")
        return count_hierarchy(file, ["v"], domain=FROM_DATA, weight="n")

    data = counted(100)
    assert data.report.largest == 100
    sentence = dict(data.report.notices)["WEIGHTED"]
    assert "up to 100 records" in sentence and "one record counted, not one row" in sentence
    assert counted(5).report.largest == 5
    plain = count_bins(b"v\n1\n", "v", lower=0, upper=4, n_bins=2)
    assert plain.report.largest == 1 and not plain.report.notices


# ---- a numeric column before it is counted


def test_bounds_are_judged_on_every_row_however_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    cells = [*rng.integers(-50, 8000, 500).tolist(), "", "ten", "inf", "-inf", 0.25]
    monkeypatch.setattr("treedp_core.records.read.arrow.tables.BATCH_ROWS", 60)
    text = [str(cell) for cell in cells]
    for origin in (("v\n" + "".join(f"{cell},\n"[:-2] + "\n" if cell else '""\n' for cell in text)).encode(),
                   as_parquet(v=text)):  # fmt: skip
        look = look_at_numbers(origin, "v")
        numbers = [float(cell) for cell in text if cell not in ("", "ten")]
        for lower, upper in ((0, 100), (-50.0, 7999), (0.25, 0.25), (-1e9, 1e9)):
            got = look.shares(lower, upper)
            assert got.below == sum(x < lower for x in numbers) / len(cells)
            assert got.above == sum(x > upper for x in numbers) / len(cells)
            assert got.blank == 2 / len(cells)
            assert abs(got.below + got.inside + got.above + got.blank - 1) < 1e-12
        edges, rows = look.histogram(0, 100)
        assert rows.sum() == len(numbers) - 2 and edges[0] <= 0 and edges[-1] >= 100


def test_a_look_at_many_rows_stops_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treedp_core.records.read.numbers.numeric.LOOK_ROWS", 100)
    monkeypatch.setattr("treedp_core.records.read.arrow.tables.BATCH_ROWS", 60)
    look = look_at_numbers(as_parquet(v=list(range(1000))), "v")
    assert look.rows == 120 and not look.is_whole


@pytest.mark.parametrize("cells", [["", "x"], ["inf"], ["5"], ["1e300", "-1e300"]])
def test_a_column_with_hardly_any_numbers_still_has_a_histogram(cells: list[str]) -> None:
    look = look_at_numbers(as_parquet(v=cells), "v")
    edges, rows = look.histogram(0, 1)
    assert (np.diff(edges) > 0).all() and rows.size == edges.size - 1


def test_no_way_to_count_leaves_records_out() -> None:
    """Of what fits nowhere the root would tell, as far as the total is public."""
    for data in ("v\n1\n", "v\n1\n9\n"):
        for outside in ("drop", "ignore", ""):
            assert (
                code_of(
                    lambda: count_bins(data.encode(), "v", lower=0, upper=3, n_bins=3, outside=outside)  # noqa: B023
                )
                == "VALUE_UNKNOWN"
            )
    assert code_of(lambda: count_hierarchy(RECORDS, COLUMNS, domain=VALUES, outside="drop")) == "VALUE_UNKNOWN"
    assert code_of(lambda: count_hierarchy(RECORDS, COLUMNS, domain=FROM_DATA, missing="drop")) == "VALUE_UNKNOWN"
    blank = RECORDS + b",old\n"
    assert count_hierarchy(blank, COLUMNS, domain=FROM_DATA, missing="other").total == 4
