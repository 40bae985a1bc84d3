"""Why a plan cannot be handed over, and which control of which page would change that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from treedp_core.plans import programs
from treedp_core.plans.statement import Categories, NoiseLaw, PlannedLevel, Stated
from treedp_core.plans.verify import problems
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.privacy import Currency, NeighbouringRelation, Spread
from treedp_core.words import whole

MOST_NODES: Final = 1_000_000
"""Nodes of a level that a program measures."""


@dataclass(frozen=True)
class Reason:
    """Why a plan cannot be handed over, and where what is in the way was chosen.

    Parameters
    ----------
    sentence : str
    page : str
        Name of the page that has the control.
    control : str
        What the control is called there.
    """

    sentence: str
    page: str
    control: str


def refusals(plan: Stated) -> tuple[Reason, ...]:
    """Return why no program can express a plan; nothing where one can."""
    return (*_about_noise(plan), *_about_steps(plan), *_about_domain(plan))


def _about_noise(plan: Stated) -> Iterator[Reason]:
    if wrong := problems(plan):
        told = f"It does not hold, so that what it promises would not be kept. {wrong[0]}"
        yield Reason(told, "plan", "Plan these settings instead")
    if plan.matrix is not None:
        yield Reason(
            "These programs measure counts of a tree's nodes; this plan's noise is on weighted sums of all bins, by "
            "a matrix that it does not hold: plan a tree, or release it with TreeDP's core.", "cdf", "Tree",
        )  # fmt: skip
    if plan.tuned is not None and not plan.tuned.is_private:
        told = "The budget or its split was tuned on the true counts, so that it is not private: choose another."
        yield Reason(told, "plan", "Budget split")
    if plan.true_error is not None:
        told = "The plan states errors on the true counts: make it without them."
        yield Reason(told, "plan", "Error on the true counts (NOT PRIVATE)")


def _about_steps(plan: Stated) -> Iterator[Reason]:
    names = [POSTPROCESSORS[one].label if one in POSTPROCESSORS else one for one in plan.postprocess]
    for name, told in zip(plan.postprocess, names, strict=True):
        if name not in programs.STEPS:
            yield Reason(f"The step “{told}” is not in these programs: choose another.", "plan", "Post-processing")
        elif name == "least_squares" and plan.postprocess[0] != name:
            yield Reason("Least squares weighs measurements, so it must come first.", "plan", "Post-processing")
    descends = any(programs.DESCENT in programs.STEPS.get(one, ()) for one in plan.postprocess)
    if descends and any(one.amount == 0 for one in _with_leaves(plan)):
        yield Reason("Its post-processing needs a noisy count of every leaf: give each such level a share.", "plan",
                     "Budget split")  # fmt: skip


def _with_leaves(plan: Stated) -> Iterator[PlannedLevel]:
    """The levels that have a leaf: nodes below it do not make up for it."""
    depths = {len(path) for path in plan.domain.paths()} | {len(plan.levels) - 1}
    return (one for i, one in enumerate(plan.levels) if i in depths)


def _about_domain(plan: Stated) -> Iterator[Reason]:
    domain = plan.domain
    if plan.weighted and not plan.recipe.weight:
        yield Reason(
            "A row can stand for several records, by a column that the plan does not name: count the file again, and "
            "make the plan from that.", "data", "Counts",
        )  # fmt: skip
    if domain.source is Categories.FROM_DATA:
        told = "A domain taken from the data is not public: list the categories from another source."
        yield Reason(told, "data", "Which categories exist")
    elif domain.bins is not None and not domain.bins.is_numeric and not (domain.categories or domain.leaves):
        told = "The plan does not list which leaf each bin is: they are many, or it was made without the data."
        yield Reason(told, "data", "Levels from the top")
    elif not domain.is_listed:
        yield Reason(
            f"A tree of {whole(plan.levels[0].leaves)} leaves is too large to be listed.", "data", "Levels from the top"
        )
    most = max(one.nodes for one in plan.levels)
    if most > MOST_NODES:
        yield Reason(f"A level of {whole(most)} nodes cannot be measured node by node.", "data", "Levels from the top")


def refusals_of_tumult(plan: Stated) -> tuple[Reason, ...]:
    """Return why no program for Tumult Analytics can express a plan; nothing where one can."""
    return (*refusals(plan), *_about_tumult(plan))


def _about_tumult(plan: Stated) -> Iterator[Reason]:
    if plan.law in (NoiseLaw.LAPLACE, NoiseLaw.GAUSSIAN):
        told = f"Tumult Analytics adds whole-number noise to counts, not {plan.law.label} noise."
        yield Reason(told, "plan", "Mechanism")
    if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        told = "Tumult Analytics has no relation in which some columns of a record are known."
        yield Reason(told, "plan", "Neighbouring relation")
    if plan.unit.total_is_public and plan.currency is Currency.RHO:
        told = "Tumult Analytics takes a replaced record for two rows, and so needs √2 times the plan's noise."
        yield Reason(told, "plan", "Mechanism")
    if plan.spread is Spread.DISTINCT:
        told = "Tumult Analytics has no promise that the rows of a unit lie on distinct leaves."
        yield Reason(told, "topdown", "They lie")
