"""Splits of the budget over levels that somebody published, to compare with; they are data, not a method.

The 2020 Census of the United States measured its redistricting file on levels from the nation to the block with
discrete Gaussian noise; the shares of rho are the final production settings (Abowd et al., Harvard Data Science Review,
2022, and the redistricting production code that the Census Bureau released).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from treedp_core.privacy import Currency
from treedp_core.registry import MethodCard, Table, table


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
