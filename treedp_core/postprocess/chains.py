"""Chains of post-processors in the order they are applied: what the pages offer to compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.registry import Promise, Table
from treedp_core.words import lower_first

RECOMMENDED: Final = "least_squares_top_down_water_filling"
"""Of the chains of whole counts of at least 0 that add up: for cumulative counts never a tenth worse than the best, in
84 comparisons on made-up data; isotonic counts (`treedp_core.postprocess.isotonic`) were not compared."""
WHOLE_FROM_THE_ROOT: Final = Promise.CONSISTENT | Promise.NON_NEGATIVE


@dataclass(frozen=True)
class Chain:
    """A table entry: names in `POSTPROCESSORS`, in order.

    Parameters
    ----------
    basic : bool
        Whether it is offered at first sight.
    """

    name: str
    label: str
    steps: tuple[str, ...]
    basic: bool = False

    @property
    def help(self) -> str:
        """What its step does, where it has but one; of the recommended chain, that it is."""
        if self.name == RECOMMENDED:
            return (
                "Recommended where counts must be whole, at least 0 and add up: of the ways here that do so none "
                "had an error a tenth smaller in cumulative counts, in 84 comparisons. Where counts fall from bin to "
                "bin, the fit of **CDF and ranges** has a smaller error."
            )
        return POSTPROCESSORS[self.steps[0]].help if len(self.steps) == 1 else ""

    @property
    def author(self) -> str:
        """Who answers for the first of its steps that is not TreeDP's own; nobody else for steps that all are."""
        return next(filter(None, map(POSTPROCESSORS.author, self.steps)), "")

    @property
    def promises(self) -> Promise:
        """What the last step promises."""
        return POSTPROCESSORS[self.steps[-1]].promises if self.steps else Promise.UNBIASED

    @property
    def is_top_down(self) -> bool:
        """Whether its counts are at least 0 and add up, so that they can be read from the root down."""
        return WHOLE_FROM_THE_ROOT in self.promises

    @property
    def is_whole(self) -> bool:
        """Whether its counts are whole, so that they are records."""
        return Promise.INTEGER in self.promises

    @property
    def sparse(self) -> str:
        """What does the same from the root down without a tree, if the chain is nothing else; else ""."""
        return POSTPROCESSORS[self.steps[0]].family_rule if len(self.steps) == 1 else ""


BASIC: Final = ("none", "least_squares", "non_negative", RECOMMENDED)


def _of_postprocessors() -> Iterator[Chain]:
    """Every post-processor by itself, and after least squares where that does not repeat it or change its weights."""
    yield Chain("none", "None", (), True)
    for one in POSTPROCESSORS.values():
        yield Chain(one.name, one.label, (one.name,), one.name in BASIC)
    for one in POSTPROCESSORS.values():
        if not one.weighted:
            name = f"least_squares_{one.name}"
            yield Chain(name, f"Least squares → {lower_first(one.label)}", ("least_squares", one.name), name in BASIC)


CHAINS: Final[Table[Chain]] = Table(derived=_of_postprocessors)
"""Chains by name: those that follow from the post-processors, and any that are registered."""
