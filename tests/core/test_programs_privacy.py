"""What a handed-over program does and prints depends on no record but through noise: neighbouring and hostile files.

OpenDP is replaced by a library without noise that writes down what it was asked for, so that two runs can be compared;
real runs are in `test_handover`.
"""

from __future__ import annotations

import contextlib
import csv
import io
import math
import runpy
import sys
import types
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from test_handover import COUNTED
from treedp_core import postprocess
from treedp_core.errors import Tolerance
from treedp_core.experiment import Experiment, prepare
from treedp_core.plans import ReleasePlan, opendp_program, records_of
from treedp_core.records import Dataset, count_hierarchy, domain_of_values

MOST = 2**53 - 1


class Quiet(types.ModuleType):
    """OpenDP's names: measurements that add nothing, and lose nothing."""

    def __init__(self) -> None:
        super().__init__("opendp.prelude")
        self.i64, self.m = int, self
        self.asked: list[list[float]] = []

    def __getattr__(self, name: str) -> Any:
        return (lambda *_, **__: self.one) if name.startswith("make") else lambda *_, **__: None

    def one(self, counts: list[float]) -> list[float]:
        self.asked.append(list(counts))
        return list(counts)


Quiet.one.map = lambda moved: 0.0  # type: ignore[attr-defined]


@cache
def _compiled(text: str) -> types.CodeType:
    return compile(text, "release.py", "exec")


class Ran:
    """What a run of a program did: all that can be seen of it but the numbers, and the counts before noise."""

    def __init__(self, text: str, content: bytes, folder: Path) -> None:
        (folder / "records.csv").write_bytes(content)
        (folder / "out.csv").unlink(missing_ok=True)
        quiet, out, err = Quiet(), io.StringIO(), io.StringIO()
        package = types.ModuleType("opendp")
        package.prelude = quiet  # type: ignore[attr-defined]
        self.ended: object = 0
        try:
            with (
                mock.patch.dict(sys.modules, {"opendp": package, "opendp.prelude": quiet}),
                mock.patch.object(sys, "argv", ["release.py", str(folder / "records.csv"), str(folder / "out.csv")]),
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
            ):
                exec(_compiled(text), {"__name__": "__main__"})
        except BaseException as error:
            self.ended = repr(error)
        self.counts = quiet.asked
        self.printed = out.getvalue(), err.getvalue()
        there = (folder / "out.csv").exists()
        with open(folder / "out.csv", encoding="utf-8", newline="") if there else io.StringIO() as file:
            rows = list(csv.reader(file))
            self.rows = [row[: rows[0].index("released")] for row in rows]  # what is behind follows from noise


@cache
def handed_over(name: str, steps: tuple[str, ...], law: str = "discrete_laplace") -> tuple[ReleasePlan, str, bytes]:
    """A plan of counted records, its program, and the file of its records."""
    asked = Experiment(mechanism=law, relation="add_or_remove_one", epsilon=2.0, postprocess=steps)
    plan = ReleasePlan.of(asked, COUNTED[name])
    return plan, opendp_program(plan), records_of(plan, COUNTED[name])


PLANS = [
    ("paths 1 other", ("least_squares", "top_down_water_filling"), "discrete_laplace"),
    ("paths 2 category", ("top_down_intopt",), "discrete_laplace"),
    ("values 3 category", ("least_squares", "real_then_round"), "laplace"),
    ("bins other (2, 5)", ("least_squares", "non_negative"), "discrete_laplace"),
    ("bins clamp None", (), "laplace"),
]
LABELS = ["White", "Black", "M", "F", "(other)", "(blank)", "[0, 0.1)", "[0.9, 1]", "", "White\0", "\ud800", '"', "\r"]
CELLS = st.sampled_from(LABELS) | st.text(max_size=6)
NUMBERS = st.sampled_from(
    ["", "1", "0", "007", "-1", "1.5", "1e3", "1_0", "\xb2", "\u0663", "9" * 15, "9" * 19, "9" * 5000, "x"]
)
LINES = st.one_of(
    st.builds(lambda cells, n: (",".join([*cells, n]) + "\n").encode("utf-8", "surrogatepass"),
              st.lists(CELLS, max_size=4), NUMBERS),
    st.binary(max_size=40).map(lambda line: line.replace(b"\n", b"") + b"\n"),
    st.sampled_from(
        [b"\n", b'White,"M,1\n', b'"White\n', b"White,M," + b"1" * 200_000 + b"\n", b"a" * 200_000 + b"\n"]
    ),
)  # fmt: skip


def differences(first: Ran, second: Ran) -> list[float]:
    """Sum of absolute changes of each measured level."""
    return [sum(abs(a - b) for a, b in zip(one, two, strict=True)) for one, two in
            zip(first.counts, second.counts, strict=True)]  # fmt: skip


def seen(one: Ran) -> tuple[object, object]:
    """All that is not noise, but for the sentence that follows from the released numbers."""
    return one.ended, (one.printed[0], one.rows)


@pytest.mark.parametrize("at", range(len(PLANS)))
@settings(derandomize=True, max_examples=15, deadline=None)
@given(data=st.data())
def test_a_hostile_line_changes_one_count_of_a_level_and_nothing_else(at: int, data: st.DataObject) -> None:
    """Malformed and huge numbers, missing and further cells, bytes that are no text, NUL, quotes that never end."""
    _, text, content = handed_over(*PLANS[at])
    header, *lines = content.splitlines(keepends=True)
    line, place = data.draw(LINES), data.draw(st.integers(0, len(lines)))
    with_it = header + b"".join([*lines[:place], line, *lines[place:]])
    first, second = Ran(text, content, FOLDER), Ran(text, with_it, FOLDER)
    assert first.ended == 0
    assert seen(first) == seen(second)
    for one, two in zip(first.counts, second.counts, strict=True):
        assert sum(a != b for a, b in zip(one, two, strict=True)) <= 1
        assert all(0 <= a <= b <= MOST for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize("n_digits", [19, 5_000, 200_000], ids=["long", "too long for int", "too long for csv"])
@pytest.mark.parametrize("at", range(len(PLANS)))
def test_a_number_of_very_many_digits_does_not_stop_a_program(at: int, n_digits: int) -> None:
    _, text, content = handed_over(*PLANS[at])
    header, line, *_ = content.splitlines(keepends=True)
    huge = line.rpartition(b",")[0] + b"," + b"9" * n_digits + b"\n"
    ran = Ran(text, header + huge, FOLDER)
    assert ran.ended == 0 and max(max(level) for level in ran.counts) == (MOST if n_digits < 200_000 else 0)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(at=st.integers(0, len(PLANS) - 1), cells=st.lists(CELLS, max_size=3), n=st.integers(0, 10**19))
def test_one_record_more_changes_every_level_by_at_most_one(at: int, cells: list[str], n: int) -> None:
    _, text, content = handed_over(*PLANS[at])
    lines = [(",".join([*cells, str(n + more)]) + "\n").encode("utf-8", "surrogatepass") for more in (0, 1)]
    first, second = (Ran(text, content + line, FOLDER) for line in lines)
    assert first.ended == 0 and seen(first) == seen(second)
    assert all(moved <= 1 for moved in differences(first, second))


@settings(derandomize=True, max_examples=20, deadline=None)
@given(at=st.integers(0, len(PLANS) - 1), cut=st.integers(1, 12))
def test_a_file_that_breaks_off_loses_one_line(at: int, cut: int) -> None:
    _, text, content = handed_over(*PLANS[at])
    last = content.splitlines(keepends=True)[-1]
    first, second = Ran(text, content[: -len(last)], FOLDER), Ran(text, content[: -min(cut, len(last))], FOLDER)
    assert first.ended == 0 and seen(first) == seen(second)
    for one, two in zip(first.counts, second.counts, strict=True):
        assert sum(a != b for a, b in zip(one, two, strict=True)) <= 1


@pytest.mark.parametrize(("outside", "large"), [(0, False), (16, False), (400, True)])
def test_the_released_number_of_records_outside_warns_where_it_is_large(outside: int, large: bool) -> None:
    """By what is released: 3 standard deviations (17 records at ε = 1 on two levels) and a twentieth of all."""
    rows = b"town\n" + b"a\n" * 2_000 + b"z\n" * outside
    data = count_hierarchy(rows, ["town"], domain=domain_of_values({"town": ["a", "b"]}))
    plan = ReleasePlan.of(Experiment(relation="add_or_remove_one", mechanism="laplace", epsilon=0.5), data)
    ran = Ran(opendp_program(plan), records_of(plan, data), FOLDER)
    assert ran.ended == 0
    assert ("fit no category" in ran.printed[1]) == large
    assert ran.printed[1].count("\n") == large


# ---- post-processing


def of_program(plan: ReleasePlan, data: Dataset, noisy: np.ndarray[Any, Any], folder: Path) -> list[Any]:
    """What the program makes of noisy counts (n_nodes,), None for nan, in the order of the data's nodes."""
    found = runpy.run_path(_written(plan, folder))
    paths = data.labels.paths_of(np.arange(data.tree.n_nodes))
    measured: list[dict[Any, Any]] = [{} for _ in range(data.tree.n_levels)]
    for leaf in found["LEAVES"]:
        for level in range(len(leaf) + 1):
            measured[level].setdefault(leaf[:level], None)
    for path, value in zip(paths, noisy.tolist(), strict=True):
        measured[len(path)][path] = None if isinstance(value, float) and math.isnan(value) else value
    released = found["finished"](measured)
    return [released[len(path)][path] for path in paths]


def _written(plan: ReleasePlan, folder: Path) -> str:
    (folder / "steps.py").write_text(opendp_program(plan), encoding="utf-8")
    return str(folder / "steps.py")


STEPS = [("non_negative",), ("top_down_water_filling",), ("top_down_intopt",), ("real_then_round",)]
TREES = ["values 0 category", "values 2 other", "paths 0 category", "paths 1 other", "paths 2 category"]


@pytest.mark.parametrize("allocation", ["uniform", "leaves_only"])
@pytest.mark.parametrize("steps", [*STEPS, ("least_squares",), ("least_squares", "top_down_water_filling")])
@pytest.mark.parametrize("name", TREES)
def test_post_processing_is_that_of_the_plan(name: str, steps: tuple[str, ...], allocation: str) -> None:
    """On the same noisy counts the numbers of TreeDP itself; after least squares to the rounding of floats."""
    pytest.importorskip("opendp")
    data = COUNTED[name]
    for relation in ("replace_one", "add_or_remove_one"):
        one = Experiment(relation=relation, allocation=allocation, postprocess=steps, epsilon=0.3)
        try:
            made = prepare(one, data.tree)
            plan = ReleasePlan.of(one, data)
        except ValueError as error:  # leaves that were not measured
            assert steps[-1].startswith(("top_down", "real")) and "leaf" in str(error)
            continue
        step, _ = postprocess.prepare(data.tree, made.noise.variance, steps, Tolerance(), made.noise.laws)
        for seed in range(2):
            noisy = data.counts + made.noise.draw(np.random.default_rng(seed))
            expected = np.asarray(step(noisy), dtype=float).tolist()
            found = of_program(plan, data, np.asarray(noisy), FOLDER)
            for ours, theirs in zip(expected, found, strict=True):
                assert (theirs is None) == math.isnan(ours)
                if theirs is not None:
                    assert theirs == pytest.approx(ours, abs=1e-9 if len(steps) == 1 else 1)


@pytest.fixture(autouse=True, scope="module")
def _folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    global FOLDER
    FOLDER = tmp_path_factory.mktemp("programs")


FOLDER = Path()
