"""The strip below a page's title: one line with what the figures were made from, taken from what made them."""

from __future__ import annotations

from pages.ui.text import lit
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Accounting, NeighbouringRelation
from treedp_core.records import Dataset
from treedp_core.words import plural, setting_text


def strip(
    *about: str,
    relation: NeighbouringRelation | None = None,
    fixed: bool = False,
    epsilon: float = 0.0,
    rho: float = 0.0,
    delta: float = 0.0,
    numerical: bool = False,
    seed: int | None = None,
) -> str:
    """Return one line (Markdown) that names what was used, and nothing else.

    Parameters
    ----------
    about : str
        What the figures are about (Markdown; user text only through `lit`).
    relation : NeighbouringRelation, optional
        Who is protected; `fixed` where it is not the sidebar's to say.
    epsilon, rho, delta : float
        What was spent; 0 for what was not.
    numerical : bool
        Whether that is so by numerical accounting.
    seed : int, optional
        Of the noise, where some was drawn.

    >>> strip("997 bins", relation=NeighbouringRelation.REPLACE_ONE, epsilon=0.1, seed=7)
    '997 bins · replace one · ε = 0.1 · seed 7'
    """
    who = "" if relation is None else relation.label.lower() + (", whatever the sidebar says" if fixed else "")
    spent = [f"{name} = {setting_text(of)}" for name, of in (("ε", epsilon), ("ρ", rho), ("δ", delta)) if of]
    way = f" {Accounting.NUMERICAL.told}" if numerical else ""
    parts = (*about, who, ", ".join(spent) + way, "" if seed is None else f"seed {seed}")
    return " · ".join(part for part in parts if part)


def is_composed(one: Experiment) -> bool:
    """Whether an experiment's noise is accounted for numerically."""
    return MECHANISMS[one.mechanism].is_composed(one.accounting)


def of_data(data: Dataset) -> tuple[str, ...]:
    """Return what a data set is, for a strip."""
    return lit(data.name, 40), plural(data.tree.n_levels, "level"), plural(data.tree.n_leaves, "leaf", "leaves")


def of_experiment(one: Experiment, *about: str, seeded: bool) -> str:
    """Return the strip of an experiment: a δ where its mechanism spends one, the seed where noise was drawn."""
    return strip(
        *about,
        relation=NeighbouringRelation(one.relation),
        epsilon=one.epsilon,
        delta=one.delta if MECHANISMS[one.mechanism].needs_delta else 0.0,
        numerical=is_composed(one),
        seed=one.seed if seeded else None,
    )
