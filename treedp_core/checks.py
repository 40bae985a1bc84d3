"""Argument checks that name their argument, and the limits every part of TreeDP shares.

A refusal is an `InputError`: a stable `code` for programs and tests, and one sentence for people that says
what was wrong, where, and what would be accepted.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Final

from treedp_core.words import exact, whole

MAX_NODES: Final = 4_000_000
MAX_CELL_DRAWS: Final = 2_000_000_000
MAX_TRIALS: Final = 100_000
MAX_LEVEL_COLUMNS: Final = 16
MAX_COLUMNS: Final = 512
MAX_COLUMN_NAME: Final = 128
MAX_LABEL: Final = 256
MAX_COUNT: Final = 2**53 - 1
MAX_ECHO: Final = 40
_READABLE: Final = 10**21
"""Larger limits are said by their number of digits."""
EPSILON_LOW: Final = 1e-4
EPSILON_HIGH: Final = 100.0
THRESHOLD_LOW: Final = 1e-6  # of a relative error; squares of what is divided by less overflow
THRESHOLD_HIGH: Final = 1e6
DELTA_LOW: Final = 1e-100  # far below any use, far above where probabilities in floats become 0
DELTA_HIGH: Final = 1e-2  # beyond it a promise may fail for one record in a hundred
DELTA_USUAL: Final = 1e-6
MAX_SEED: Final = 2**31 - 1


class InputError(ValueError):
    """A refused input: `code` is stable, `str(error)` is one sentence for the person who gave it.

    >>> InputError("EPS_RANGE", "Expected epsilon > 0, got -1.").code
    'EPS_RANGE'
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str]]:
        return type(self), (self.code, str(self))


def echo(value: object) -> str:
    """Show a refused value in a message: one line, at most 40 characters.

    >>> echo("a" * 50)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'"
    """
    text = value if isinstance(value, str) else str(value)[: 10 * MAX_ECHO]
    if len(text) > MAX_ECHO - 1:
        text = text[: MAX_ECHO - 2] + "…"
    return repr(text) if isinstance(value, str) else text


def number(
    name: str,
    value: object,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    code: str = "VALUE_RANGE",
) -> float:
    """Return `value` as a finite float inside the range, or refuse it by name.

    Raises
    ------
    InputError
        With `code`, when `value` is not a number (a bool or text is not), not finite, or outside the range.

    >>> number("alpha", 0.5, low=0, high=1)
    0.5
    >>> number("epsilon", -1, low=0, open_low=True)
    Traceback (most recent call last):
    treedp_core.checks.InputError: Expected epsilon > 0, got -1.
    """
    inside = False
    if not isinstance(value, (bool, str, bytes, complex)):
        try:
            x = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            x = math.nan
        inside = math.isfinite(x) and low <= x <= high
        inside = inside and not (open_low and x == low) and not (open_high and x == high)
    if not inside:
        raise InputError(code, f"Expected {name}{_range(low, high, open_low, open_high)}, got {echo(value)}.")
    return x


def integer(name: str, value: object, *, low: int, high: int, code: str = "VALUE_RANGE") -> int:
    """Return `value` as an int in [low, high], or refuse it by name; 3.0 is taken as 3, 1.5 and True are refused.

    >>> integer("trials", 1.5, low=1, high=100)
    Traceback (most recent call last):
    treedp_core.checks.InputError: Expected trials to be a whole number from 1 to 100, got 1.5.
    """
    try:
        is_whole = not isinstance(value, (bool, str, bytes)) and int(value) == value  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole or not low <= int(value) <= high:  # type: ignore[call-overload]
        most = whole(high) if high < _READABLE else f"a number of {len(str(high))} digits"
        raise InputError(code, f"Expected {name} to be a whole number from {whole(low)} to {most}, got {echo(value)}.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def one_of(name: str, value: object, allowed: Collection[str], code: str = "VALUE_UNKNOWN") -> str:
    """Return `value` if it is one of the allowed names, else refuse it and list them.

    >>> one_of("metric", "rmse", ["rmse"])
    'rmse'
    """
    if not isinstance(value, str) or value not in allowed:
        raise InputError(code, f"Expected {name} to be one of {', '.join(sorted(allowed))}, got {echo(value)}.")
    return value


def epsilon(value: object) -> float:
    """Check a total privacy budget epsilon (the shared range; pure number).

    >>> epsilon(1)
    1.0
    """
    return number("epsilon", value, low=EPSILON_LOW, high=EPSILON_HIGH, code="EPS_RANGE")


def delta(value: object, *, required: bool = False) -> float:
    """Check the delta of a promise: 0, or in [1e-100, 0.01]; a mechanism with Gaussian noise needs delta > 0.

    >>> delta(0)
    0.0
    >>> delta(0.5)
    Traceback (most recent call last):
    treedp_core.checks.InputError: Expected delta >= 0 and <= 0.01, got 0.5.
    """
    return _positive_or_allowed(number("delta", value, low=0, high=DELTA_HIGH, code="DELTA_RANGE"), required)


def delta_of_conversion(value: object) -> float:
    """Check a delta that a conversion is asked at, in [1e-100, 1): mathematics, and no promise.

    >>> delta_of_conversion(0.5)
    0.5
    """
    return _positive_or_allowed(number("delta", value, low=0, high=1, open_high=True, code="DELTA_RANGE"), True)


def _positive_or_allowed(d: float, required: bool) -> float:
    if d > 0:
        number("delta", d, low=DELTA_LOW, code="DELTA_RANGE")
    if required and d == 0:
        raise InputError("DELTA_REQUIRED", "Gaussian noise needs delta > 0; choose delta, for example 1e-6.")
    return d


def nodes(requested: int, what: str = "This tree") -> int:
    """Admit a tree by its number of nodes, before anything is allocated.

    >>> nodes(10**13)
    Traceback (most recent call last):
    treedp_core.checks.InputError: This tree needs 10 000 000 000 000 nodes; at most 4 000 000 are allowed: use fewer
    levels, a smaller branching factor or fewer categories.
    """
    if requested > MAX_NODES:
        raise InputError(
            "TOO_MANY_NODES",
            f"{what} needs {whole(requested)} nodes; at most {whole(MAX_NODES)} are allowed: "
            "use fewer levels, a smaller branching factor or fewer categories.",
        )
    return requested


def trials(requested: object, n_nodes: int, n_cells: int = 1) -> int:
    """Admit a simulation by the noise draws it needs (trials x nodes x cells), before anything is drawn.

    >>> trials(400, 1000)
    400
    >>> trials(400, 10**6, 10)
    Traceback (most recent call last):
    treedp_core.checks.InputError: Expected trials to be a whole number from 1 to 200, got 400 (the limit is
    2 000 000 000 draws; this run draws 10 000 000 a trial).
    """
    cap = max(1, min(MAX_TRIALS, MAX_CELL_DRAWS // max(1, n_nodes * n_cells)))
    try:
        return integer("trials", requested, low=1, high=cap, code="TRIALS_RANGE")
    except InputError as error:
        raise InputError(
            "TRIALS_RANGE",
            f"{str(error).removesuffix('.')} (the limit is {whole(MAX_CELL_DRAWS)} draws; "
            f"this run draws {whole(n_nodes * n_cells)} a trial).",
        ) from None


def seed(value: object) -> int:
    """Check a random seed.

    >>> seed(7)
    7
    """
    return integer("seed", value, low=0, high=MAX_SEED, code="SEED_RANGE")


def _range(low: float, high: float, open_low: bool, open_high: bool) -> str:
    if low == -math.inf and high == math.inf:
        return " to be a finite number"
    lower = f"{'>' if open_low else '>='} {exact(low)}" if low > -math.inf else ""
    upper = f"{'<' if open_high else '<='} {exact(high)}" if high < math.inf else ""
    return " " + " and ".join(part for part in (lower, upper) if part)
