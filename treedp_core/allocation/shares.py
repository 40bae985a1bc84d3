"""One number for each level in one short text, so that a link can carry it: shares, locks and targets."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.privacy import Currency, exact_shares
from treedp_core.registry import MethodCard, Table, table
from treedp_core.tree.text import pieces
from treedp_core.words import bare

# Splits of the budget over levels that somebody published, to compare with; they are data, not a method. The 2020
# Census of the United States measured its redistricting file on levels from the nation to the block with discrete
# Gaussian noise; the shares of rho are the final production settings (Abowd et al., Harvard Data Science Review,
# 2022, and the redistricting production code that the Census Bureau released).


@dataclass(frozen=True)
class PublishedSplit:
    """A table entry: the published share of each level, root first; `weakest` is the level that errs most by it."""

    name: str
    label: str
    help: str
    currency: Currency
    level_names: tuple[str, ...]
    exact: tuple[Fraction, ...]
    weakest: str

    @property
    def card(self) -> MethodCard:
        """What is to be known of it, from its shares."""
        whole = math.lcm(*(share.denominator for share in self.exact))
        parts = r",\ ".join(str(share * whole) for share in self.exact)
        largest = self.level_names[self.exact.index(max(self.exact))]
        return MethodCard(
            assumptions=f"Gaussian noise on {', '.join(self.level_names)}; the levels share ρ.",
            formula=rf"\rho_\ell/\rho=\tfrac1{{{whole}}}\,({parts})",
            source="Abowd et al. (2022), final production settings of the redistricting file of the 2020 US Census.",
            strengths=f"Counts by {largest}, which has the largest share.",
            limitations=f"Counts by {self.weakest}: their error is the farthest above that of other splits.",
        )

    @property
    def shares(self) -> tuple[float, ...]:
        """The shares for the allocation "custom", rounded down in the fifteenth place so that they never exceed 1."""
        return tuple(float(Fraction(share * 10**15 // 1, 10**15)) for share in self.exact)


def _census(name: str, label: str, levels: tuple[str, ...], weakest: str, parts: tuple[int, ...]) -> PublishedSplit:
    about = f"Published shares of rho, redistricting file of the 2020 US Census: {', '.join(levels)}."
    return PublishedSplit(
        name, label, about, Currency.RHO, levels, tuple(Fraction(part, sum(parts)) for part in parts), weakest
    )


_NATION: Final = ("nation", "state", "county", "tract", "block group", "block")
_PUERTO_RICO: Final = ("Puerto Rico", *_NATION[2:])

PUBLISHED_SPLITS: Final[Table[PublishedSplit]] = table(
    _census("census_2020_persons", "Census 2020, persons", _NATION, "block", (104, 1440, 447, 687, 1256, 165)),
    _census("census_2020_units", "Census 2020, housing units", _NATION, "nation", (20, 20, 350, 1456, 1759, 495)),
    _census(
        "census_2020_persons_pr",
        "Census 2020, persons in Puerto Rico",
        _PUERTO_RICO,
        "block",
        (689, 695, 772, 1778, 165),
    ),
)


def published_for(n_levels: int) -> list[PublishedSplit]:
    """Return the published splits that fit a tree with that many levels.

    >>> [split.name for split in published_for(5)]
    ['census_2020_persons_pr']
    """
    return [split for split in PUBLISHED_SPLITS.values() if len(split.exact) == n_levels]


UNITS: Final = 1000
"""Shares are moved in steps of a tenth of a percent, so that they sum to exactly 1."""
MAX_TEXT: Final = 200
"""Characters that a setting of shares takes."""
DIGITS: Final = 5
FEWEST_DECIMALS, MOST_DECIMALS = 3, 12


def values_of_text(text: str) -> tuple[float, ...]:
    """Return the numbers >= 0 of a text such as "0, 10, 2.5".

    Raises
    ------
    InputError
        ``TARGET_RANGE``.

    >>> values_of_text("0, 10; 2.5")
    (0.0, 10.0, 2.5)
    """
    values = []
    for piece in pieces(text):
        try:
            value = float(piece)
        except ValueError:
            raise InputError("TARGET_RANGE", f"Expected numbers such as 0, 10, 5, got {echo(piece)}.") from None
        values.append(checks.number("a number", value, low=0, high=1e12, code="TARGET_RANGE"))
    return tuple(values)


def shares_of_text(text: str) -> tuple[Fraction, ...]:
    """Return custom shares, exactly.

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when a piece is no decimal number >= 0 or they sum to more than 1.

    >>> [str(share) for share in shares_of_text("0.2 0.8")]
    ['1/5', '4/5']
    """
    return tuple(exact_shares(pieces(text)))


def shares_from_text(text: str) -> tuple[float, ...]:
    """Return custom shares from text such as "0.2, 0.3, 0.5".

    Raises
    ------
    InputError
        ``BUDGET_SPLIT`` when an entry is no decimal number >= 0 or they sum to more than 1.

    >>> shares_from_text("0.2, 0.3 0.5")
    (0.2, 0.3, 0.5)
    """
    return tuple(float(share) for share in exact_shares(pieces(text)))


def text_of(values: Sequence[float]) -> str:
    """Return numbers as such a text.

    >>> text_of([0, 0.25, 10.0])
    '0, 0.25, 10'
    """
    return ", ".join(map(bare, values))


def fitted(values: Sequence[float], n_levels: int) -> list[float]:
    """Return one number for each level: what is missing is 0, what is too much is left out.

    >>> fitted((1.0,), 3)
    [1.0, 0.0, 0.0]
    """
    return [*values[:n_levels], *([0.0] * (n_levels - len(values)))]


def in_units(shares: Sequence[float | Fraction]) -> list[int]:
    """Return shares as thousandths; the largest remainders are rounded up, so that the sum is the sum rounded down.

    >>> in_units([Fraction(1, 3)] * 3), in_units([0.25, 0.25]), in_units([0, 0])
    ([334, 333, 333], [250, 250], [500, 500])
    """
    exact = [Fraction(share) for share in shares]
    return _divided(int(UNITS * min(Fraction(1), sum(exact) + Fraction(1, UNITS**3))) or UNITS, exact)


def rebalanced(units: Sequence[int], level: int, wanted: int, locked: Collection[int]) -> list[int]:
    """Return thousandths after one level was set: the others that are not locked share the rest as they did.

    Parameters
    ----------
    units : sequence of int
        Before; their sum, which may be less than 1000, does not change.
    level : int
        Which level was set.
    wanted : int
        To what; it gets less when locked levels leave less, and more when no other level may take the rest.
    locked : collection of int
        Levels that keep what they have.

    >>> rebalanced([500, 300, 200], 0, 600, locked=())
    [600, 240, 160]
    >>> rebalanced([500, 300, 200], 0, 900, locked=[2])
    [800, 0, 200]
    >>> rebalanced([500, 300, 200], 0, 100, locked=[1, 2])
    [500, 300, 200]
    """
    kept = [i for i in range(len(units)) if i in locked and i != level]
    free = [i for i in range(len(units)) if i not in kept and i != level]
    room = sum(units) - sum(units[i] for i in kept)
    new = list(units)
    new[level] = min(max(wanted, 0), room) if free else room
    if free:
        parts = _divided(room - new[level], [units[i] for i in free])
        for i, part in zip(free, parts, strict=True):
            new[i] = part
    return new


def _divided(whole: int, weights: Sequence[float | Fraction]) -> list[int]:
    """A whole number divided in proportion to weights, by largest remainders; equally where all are 0."""
    exact = [Fraction(weight) for weight in weights]
    if not any(exact):
        exact = [Fraction(1)] * len(exact)
    wanted = [whole * weight / sum(exact) for weight in exact]
    parts = [int(want) for want in wanted]
    by_remainder = sorted(range(len(parts)), key=lambda i: (parts[i] - wanted[i], i))
    for i in by_remainder[: whole - sum(parts)]:
        parts[i] += 1
    return parts


def handed_over(
    amounts: Sequence[float], charged: float, total: float, prior: float = 0.0, *, in_full: bool = False
) -> str:
    """Return a split as shares of the total for the allocation "custom", never more than was charged.

    The smallest share has five digits, as far as the text has room for them.

    Parameters
    ----------
    amounts : sequence of float
        What each level spends; public levels 0.
    charged : float
        What they cost together.
    total : float
        What there was; the rest stays unspent.
    prior : float
        What of it a prior took: the shares leave at least that.
    in_full : bool
        Whether every level gets all of its amount, rounded up, where the total has the room: then more than charged.

    >>> handed_over([0.0, 0.125, 0.375], 0.5, 1.0, 0.5)
    '0, 0.125, 0.375'
    >>> handed_over([2, 1, 6e-9], 3.0, 3.0)
    '0.666666665333, 0.333333332667, 0.000000002'
    >>> handed_over([2, 1], 3.0, 4.0, in_full=True)
    '0.500001, 0.250001'
    """
    whole = sum(map(Fraction, amounts)) or Fraction(1)
    smallest = (
        min((Fraction(amount) for amount in amounts if amount), default=whole) / whole * Fraction(charged / total)
    )
    zeros = -math.floor(math.log10(max(smallest, Fraction(1, 10**MOST_DECIMALS))))
    digits = min(max(DIGITS + 1, DIGITS - 1 + zeros), MOST_DECIMALS)
    while len(text := _text_of(_parts(amounts, charged, total, prior, digits, in_full), digits)) > MAX_TEXT:
        if digits == FEWEST_DECIMALS:
            break
        digits -= 1
    return text


def _text_of(parts: Sequence[int], digits: int) -> str:
    exact = (Decimal(part).scaleb(-digits) for part in parts)
    return ", ".join(f"{part:f}".rstrip("0").rstrip(".") if part % 1 else f"{part:.0f}" for part in exact)


def _parts(
    amounts: Sequence[float], charged: float, total: float, prior: float, digits: int, in_full: bool
) -> list[int]:
    """Shares in units of the last decimal; a hundredth of one more where they are full, for those who take floats."""
    scale, given = 10**digits, Fraction(charged) / Fraction(total)
    room = int((1 - Fraction(prior) / Fraction(total)) * scale)
    if in_full:
        each = given * scale / sum(map(Fraction, amounts))
        full = [math.ceil(amount * each + Fraction(1, 100)) if amount else 0 for amount in map(Fraction, amounts)]
        if sum(full) <= room:
            return full
    # rounded down, but for a hair, so that 0.5 - 1e-17 stays 0.5
    return _divided(min(int(given * scale + Fraction(1, 1000)), room), amounts)
