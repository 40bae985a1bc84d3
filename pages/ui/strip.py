"""The strip below a page's title: one line with what the figures were made from, taken from what made them."""

from __future__ import annotations

from pages.ui.text import lit
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


def of_data(data: Dataset) -> tuple[str, ...]:
    """Return what a data set is, for a strip."""
    return lit(data.name, 40), plural(data.tree.n_levels, "level"), plural(data.tree.n_leaves, "leaf", "leaves")
