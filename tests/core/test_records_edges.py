"""Edges of bins: exactly the decimals that are shown, however bins were made; every value lies where its label says.

Expected bins are found by whole numbers, decimals and fractions; nothing of the reader is used.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.checks import InputError
from treedp_core.records import Dataset, count_bins, count_hierarchy, domain_taken_from_the_data
from treedp_core.records.edges import (
    MOST_OWN,
    bin_edges,
    bin_finder,
    edge_text,
    edges_as_text,
    edges_from_text,
    edges_of_labels,
    interval_labels,
    own_edges,
)
from treedp_core.records.read.numbers.numeric import look_at_numbers

LABEL = re.compile(r"\[(\S+), (\S+)[)\]]")


def written(units: int, decimals: int) -> str:
    """A whole number of units of the last decimal, as a person writes it."""
    sign, digits = "-" * (units < 0), str(abs(units)).zfill(decimals + 1)
    return f"{sign}{digits[:-decimals]}.{digits[-decimals:]}" if decimals else f"{sign}{digits}"


def by_label(data: Dataset, cells: list[str]) -> list[int]:
    """How many cells lie in each interval that a label shows, in exact decimals; what lies elsewhere at the end."""
    labels = [one for one in data.labels.of_level(data.tree.height).tolist() if one != "(other)"]
    shown = [LABEL.fullmatch(one) for one in labels]
    ends = [(Decimal(one[1]), Decimal(one[2])) for one in shown if one is not None]
    assert len(ends) == len(labels)
    inside = [0] * len(ends)
    for cell, often in Counter(cells).items():
        value = Decimal(cell)
        at = [i for i, (low, high) in enumerate(ends) if low <= value < high or (value == high == ends[-1][1])]
        for i in at:
            inside[i] += often
    return [*inside, len(cells) - sum(inside)]


GRIDS = {
    "pH": (0, 140, 1, 140), "prices": (0, 2000, 2, 2000), "longitude": (-1800, 1800, 1, 3600),
    "latitude": (-90000, 90000, 3, 360), "micrograms": (1, 4097, 6, 512),
    "large": (10**14 - 600, 10**14 + 600, 6, 300),
}  # fmt: skip


@pytest.mark.parametrize("name", GRIDS)
def test_every_value_of_a_grid_lies_in_its_bin(name: str) -> None:
    """Seen failing: of pH 0 to 14 by 0.1, 19 of 140 values lay one bin beside; of prices 275 of 2 000."""
    low, high, decimals, n = GRIDS[name]
    every = range(low, high + 1)
    cells = [written(one, decimals) for one in every]
    data = count_bins(("v\n" + "\n".join(cells)).encode(), "v", lower=float(cells[0]), upper=float(cells[-1]), n_bins=n)
    expected = Counter(min((one - low) * n // (high - low), n - 1) for one in every)
    assert data.counts[data.tree.level(1)].tolist() == [*(expected[i] for i in range(n)), 0]


@given(
    low=st.integers(-(10**9), 10**9),
    width=st.integers(1, 10**6),
    decimals=st.integers(0, 6),
    n=st.integers(2, 400),
)
@settings(max_examples=80)
def test_edges_of_equal_bins_are_the_exact_decimals(low: int, width: int, decimals: int, n: int) -> None:
    """Bounds and widths of up to six decimals; also what their labels show."""
    shown = [written(low + i * width, decimals) for i in range(n + 1)]
    edges = bin_edges(float(shown[0]), float(shown[-1]), n)
    assert edges.tolist() == [float(one) for one in shown]
    assert [Decimal(edge_text(one)) for one in edges] == [Decimal(one) for one in shown]
    between = [float(written(10 * (low + i * width) + 5 * width, decimals + 1)) for i in range(n)]
    assert bin_finder(edges)(np.array(between)).tolist() == list(range(n))


FLOATS = st.floats(-1e12, 1e12) | st.floats(-1, 1) | st.floats(allow_nan=False, allow_infinity=False)


@given(ends=st.lists(FLOATS, min_size=2, max_size=2, unique=True), n=st.integers(2, 300))
@settings(max_examples=120)
def test_any_bounds_have_edges_that_their_labels_show(ends: list[float], n: int) -> None:
    """Within a thousandth of a bin from equal ones; bins too narrow for that are next to what a float can tell."""
    low, high = sorted(ends)
    try:
        edges = bin_edges(low, high, n)
    except InputError as refused:
        assert refused.code == "BOUNDS" or (high - low) / n < 4 * math.ulp(max(abs(low), abs(high)))
        return
    assert (edges[0], edges[-1]) == (low, high) and (np.diff(edges) > 0).all()
    shown = [LABEL.fullmatch(label) for label in interval_labels(edges)]
    ends_shown = [(float(one[1]), float(one[2])) for one in shown if one is not None]
    assert ends_shown == list(pairwise(edges.tolist()))
    first, last = Fraction(repr(low)), Fraction(repr(high))
    ulp = Fraction(math.ulp(max(abs(low), abs(high))))
    for i, edge in enumerate(edges.tolist()):
        assert abs(Fraction(edge) - (first + (last - first) * i / n)) <= max((last - first) / n / 1000, ulp)


@given(edges=st.lists(FLOATS, min_size=3, max_size=40, unique=True), values=st.lists(FLOATS, max_size=30))
@settings(max_examples=120)
def test_the_bin_of_a_value_is_that_of_its_decimal(edges: list[float], values: list[float]) -> None:
    """Bins of any widths, values on edges and next to them among them."""
    edges.sort()
    if not math.isfinite(edges[-1] - edges[0]):
        edges = [edge / 4 for edge in edges]
    if len(set(edges)) < len(edges):
        return
    beside = [math.nextafter(edge, side) for edge in edges for side in (-math.inf, math.inf)]
    inside = [one for one in (*values, *edges, *beside) if edges[0] <= one <= edges[-1]]
    expected = [min(sum(edge <= one for edge in edges), len(edges) - 1) - 1 for one in inside]
    assert bin_finder(np.array(edges))(np.array(inside)).tolist() == expected


@given(low=st.integers(-5000, 5000), width=st.integers(10, 5000), decimals=st.integers(0, 3))
@settings(max_examples=20)
def test_a_look_at_a_column_puts_values_on_the_bounds_inside(low: int, width: int, decimals: int) -> None:
    """Seen failing: of a column of 0.7 all were said to lie below a lower bound of 0.7."""
    ends = written(low, decimals), written(low + width, decimals)
    beside = written(low - width, decimals), written(low + 2 * width, decimals)
    content = ("v\n" + "\n".join([*ends, *beside])).encode()
    shares = look_at_numbers(content, "v").shares(float(ends[0]), float(ends[1]))
    assert (shares.below, shares.inside, shares.above) == (0.25, 0.5, 0.25)


def test_own_edges_are_counted_as_their_labels_say() -> None:
    cells = [written(one, 1) for one in range(-10, 1010, 3)]
    source = ("v\n" + "\n".join(cells)).encode()
    data = count_bins(source, "v", edges=[0, 0.5, 18, 65.3, 100])
    assert data.labels.of_level(1).tolist() == ["[0, 0.5)", "[0.5, 18)", "[18, 65.3)", "[65.3, 100]", "(other)"]
    assert data.counts[1:].tolist() == by_label(data, cells)
    tree = count_bins(source, "v", edges=[0, 0.5, 18, 65.3, 100], branching=[2, 2])
    assert tree.labels.of_level(1).tolist() == ["[0, 18)", "[18, 100]", "(other)"]
    assert tree.counts[tree.tree.level(2)].tolist() == by_label(data, cells)[:-1]


def test_numbers_of_short_floats_lie_where_they_are_shown() -> None:
    """A table may hold 32-bit floats: 0.7 among them is shown as 0.7, and is 0.69999998807."""
    cells = [written(one, 1) for one in range(140)]
    for kind in (pa.float32(), pa.float16()):
        column = pa.array(np.array([*cells, "nan"], dtype=kind.to_pandas_dtype()), kind, from_pandas=True)
        assert column.null_count == 1
        data = count_bins(pa.table({"v": column}), "v", lower=0, upper=14, n_bins=140)
        assert data.counts[data.tree.level(1)].tolist() == [1] * 141


@pytest.mark.parametrize(
    "asked",
    [
        {"edges": [0, 1]}, {"edges": [0, 2, 1]}, {"edges": [0, 1, 1]}, {"edges": [0, 1, math.inf]}, {"edges": []},
        {"edges": [0, 1, math.nan]}, {"edges": [0, True, 2]}, {"edges": ["0", "1", "2"]},
        {"edges": range(MOST_OWN + 1)}, {"edges": [0, 1, 2], "n_bins": 2}, {"edges": [0, 1, 2], "lower": 0}, {},
        {"lower": 0, "upper": 1}, {"lower": 1, "upper": 1, "n_bins": 2}, {"edges": [-1.7e308, 0, 1.7e308]},
    ],
)  # fmt: skip
def test_edges_that_are_none_are_refused(asked: dict[str, object]) -> None:
    with pytest.raises(InputError) as refused:
        count_bins(b"v\n1\n", "v", **asked)  # type: ignore[arg-type]
    assert refused.value.code in ("BOUNDS", "TREE_SHAPE")


# ---- typed


TWO_WAYS = ["0,5 1 2", "0;5,5;7", "0,5,18", "0 1.000.000 2", "0; 1.000; 5.000", "-1.500 0 2"]


@pytest.mark.parametrize("text", [*TWO_WAYS, "0 5 x", "0 inf", "nan 1 2", "1"])
def test_typed_edges_that_could_be_two_things_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        edges_from_text(text)


@given(edges=st.lists(st.decimals(-10**6, 10**6, places=2), min_size=3, max_size=30, unique=True),
       between=st.sampled_from(["; ", ";", " ", ", ", "\n", "\t"]))  # fmt: skip
def test_typed_edges_are_read_as_they_stand(edges: list[Decimal], between: str) -> None:
    told = sorted(edges)
    assert edges_from_text(between.join(map(str, told))) == tuple(map(float, told))
    assert edges_from_text(edges_as_text(map(float, told))) == tuple(own_edges(told).tolist())
    thousandths = [float(one) / 10 for one in told]
    assert edges_from_text(edges_as_text(thousandths)) == tuple(thousandths)


# ---- labels


EDGES = st.lists(st.integers(-500, 500), min_size=3, max_size=12, unique=True).map(sorted)


def labels(edges: list[int], style: str = "[)") -> list[str]:
    return [f"{style[0]}{a / 2:g}, {b / 2:g}{style[1]}" for a, b in pairwise(edges)]


@given(edges=EDGES, style=st.sampled_from(["[)", "(]"]))
def test_labels_that_meet_end_to_end_are_bins_of_their_own_widths(edges: list[int], style: str) -> None:
    found = edges_of_labels(labels(edges, style))
    assert found is not None and found.tolist() == [edge / 2 for edge in edges]


@given(edges=EDGES, data=st.data())
def test_labels_that_do_not_are_none(edges: list[int], data: st.DataObject) -> None:
    """A gap, an overlap, text order, a label twice, a word between, another closed end."""
    told = labels(edges)
    at = data.draw(st.integers(0, len(told) - 2))
    low, high = edges[at] / 2, edges[at + 1] / 2
    broken = {
        "twice": [*told, *told],
        "again": [*told[: at + 1], *told[at:]],
        "order": [*told[:at], told[at + 1], told[at], *told[at + 2 :]],
        "overlap": [*told[:at], f"[{low:g}, {high + 0.25:g})", *told[at + 1 :]],
        "gap": [*told[:at], f"[{low:g}, {low + (high - low) / 2:g})", *told[at + 1 :]],
        "empty": [*told[: at + 1], f"[{high:g}, {high:g})", *told[at + 1 :]],
        "word": [*told[: at + 1], "unknown", *told[at + 1 :]],
        "closed": [*told[:at], f"[{low:g}, {high:g}]", *told[at + 1 :]],
        "open": [f"({one[1:-1]})" for one in told],
        "both": [f"[{one[1:-1]}]" for one in told],
        "without": [one[1:-1] for one in told],
        "endless": [*told, f"[{edges[-1] / 2:g}, inf)"],
        "comma": [one.replace(", ", "; ") for one in told],
    }
    if len(told) > 2 and at:
        broken["missing"] = [*told[:at], *told[at + 1 :]]
    for name, one in broken.items():
        assert edges_of_labels(one) is None, name


@given(edges=EDGES, style=st.sampled_from(["[)", "(]"]), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_intervals_that_records_hold_in_any_order_are_bins(edges: list[int], style: str, seed: int) -> None:
    """Their text order, in which "[18, 65)" stands before "[5, 18)", is nobody's."""
    told = labels(edges, style)
    cells = [label for n, label in enumerate(told, start=1) for _ in range(n)]
    rows = "".join(f'"{label}"\n' for label in np.random.default_rng(seed).permutation(cells))
    data = count_hierarchy(f"v\n{rows}".encode(), ["v"], domain=domain_taken_from_the_data())
    assert data.edges is not None and data.edges.tolist() == [edge / 2 for edge in edges]
    assert data.counts[data.interval_leaves].tolist() == list(range(1, len(told) + 1))
