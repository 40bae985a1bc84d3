"""Code written from calls: it runs, it gives the value of the call, and it fits a page."""

from __future__ import annotations

import ast
import enum
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from treedp_core.experiment import Experiment
from treedp_core.notebook.code import WIDTH, Ran, call, given
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.tree import Tree


@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any = 7


class Colour(enum.Enum):
    RED = "red"


def both(*values: Any, **more: Any) -> tuple[Any, ...]:
    return (*values, *more.values())


def value_of(code: str) -> Any:
    """The value of the last expression, run in an empty namespace."""
    program, space = ast.parse(code), {}
    end = program.body.pop()
    assert isinstance(end, ast.Expr)
    exec(compile(program, "", "exec"), space)
    return eval(compile(ast.Expression(end.value), "", "eval"), space)


VALUES = [
    1, -2.5, 1e-300, 0.1, True, None, "it's \"both\"\n", (), (1,), (1, "a b, c"), [1, [2]], {"a": (1, 2.0)},
    range(3, 9, 2), Fraction(1, 3), float("inf"), np.float64(0.3), np.int64(4), Colour.RED, Pair(1),
    Pair((1, 2), Pair(None, 8)),
    NeighbouringRelation.REPLACE_ONE, ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE, 3), Experiment(epsilon=0.3),
    tuple(f"level {i} of many" for i in range(60)), [i / 7 for i in range(99)], both, Tree.from_branching_factors,
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_code_gives_back_every_value_that_it_can_write(value: Any) -> None:
    code = call(both, value, key=value).snippet()
    assert value_of(code) == (value, value)
    assert max(map(len, code.splitlines())) <= WIDTH + 60


def test_not_a_number_and_arrays_come_back() -> None:
    given_, again = np.array([[1.5, np.inf], [0.1, -0.0]]), np.arange(4, dtype=np.int32)
    first, second, third = value_of(call(both, given_, again, float("nan")).snippet())
    assert first.tolist() == given_.tolist()
    assert second.tolist() == again.tolist()
    assert second.dtype == again.dtype
    assert np.isnan(third)


def test_a_call_in_a_call_is_a_line_of_its_own_and_written_once() -> None:
    tree = call(Tree.from_branching_factors, (2, 3)).named("tree")
    same = call(Tree.from_branching_factors, (2, 3)).named("tree")
    other = call(Tree.from_branching_factors, (4,)).named("tree")
    whole = call(both, tree, same, tree.get("n_nodes"), other.get("n_nodes"))
    code = whole.snippet()
    assert code.count("from_branching_factors(") == 2
    assert "tree = " in code
    assert "tree_2 = " in code
    assert value_of(code)[2:] == whole.value[2:] == (9, 5)


def test_a_variable_never_hides_what_is_imported() -> None:
    inner = call(both, 1).named("both")
    assert value_of(call(both, inner, 2).snippet()) == ((1,), 2)


def test_a_call_runs_once_and_only_when_asked() -> None:
    seen: list[int] = []

    def count() -> int:
        seen.append(1)
        return len(seen)

    ran = call(count)
    assert not seen
    assert (ran.value, ran.value, ran.named("n").value) == (1, 1, 1)
    assert given(5, count).named("five").value == 5


def test_the_files_of_a_person_are_bound_in_a_line_that_says_so() -> None:
    about = given(3, int, "3", about="the file\nof mine").named("data")
    code = call(both, about).snippet()
    assert "# the file of mine\ndata = int('3')" in code
    assert value_of(code) == (3,)


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        call(both, object()).snippet()
    with pytest.raises(TypeError, match="local"):
        call(lambda: 1).snippet()


def test_app_modules_are_found_wherever_the_package_lies() -> None:
    from sample_data.catalogue import count_sample

    code = call(count_sample, "ages").snippet()
    assert "app_path" in code
    assert value_of(code).total > 0
    assert isinstance(Ran(int), Ran)


def test_code_draws_a_figure_in_the_line_before_its_last() -> None:
    rows = call(both, 1, 2).named("shown")
    drawn = call(len, rows).drawn_by(call(sorted, rows))
    code = drawn.snippet()
    assert code.splitlines()[-3:] == ["shown_2 = both(1, 2)", "figure = sorted(shown_2)", "len(shown_2)"]
    assert drawn.value == 2
    assert call(both, (call(int, 3), [call(int, 4)])).value == ((3, [4]),)
