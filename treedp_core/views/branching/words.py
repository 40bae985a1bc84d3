"""What the page Branching factor says of its numbers."""

from __future__ import annotations

import math

from treedp_core.studies.branching import BestBranching
from treedp_core.studies.branching.question import NOISES, Question
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape
from treedp_core.views.branching.inputs import BranchingInputs
from treedp_core.words import privacy_text, setting_text, short, whole


def answer(best: BestBranching, n_bins: int, tree: Shape, least: float, binary: float) -> str:
    """Return how many children a node should have, and how far the best tree for K bins is off beside a binary one.

    >>> answer(BestBranching(16.8, 17, 9.9, 30.4), 1024, Shape((10, 11, 10), 1024), 31.21, 63.25)
    '16 or 17 children; for 1\u202f024 bins 10 · 11 · 10 errs by 31.2 records, a binary tree by 63.2.'
    """
    children = "As many children as possible, in few levels"
    if math.isfinite(best.beta):
        low, high = max(2, math.floor(best.beta)), max(2, math.ceil(best.beta))
        children = f"{low} children" if low == high else f"{low} or {high} children"
    factors = tree.branching_factors
    name = "the histogram" if len(factors) == 1 else product_text(factors)
    beside = "" if set(factors) == {2} else f", a binary tree by {short(binary)}"
    return f"{children}; for {whole(n_bins)} bins {name} errs by {short(least)} records{beside}."


def how_to_read(inputs: BranchingInputs, asked: Question) -> str:
    """Return what both halves of the chart show."""
    return (
        f"Left: typical error (RMSE) of a query over K = {whole(asked.n_bins)} bins at {budget(inputs)}, if every node "
        "has β children: the limit of very many bins. Squares: exact error of the best whole tree of each height. "
        f"Shaded: within 5 % of the least variance. {released(asked)}.\n\n"
        "Right: the tree of that β, level by level. For the first two thirds of the bins the pink nodes are added up, "
        "and the orange one is opened on the next level. The more levels, the less budget for each.\n\n"
        "Formula; Lemma IV.3 of Rameshwar et al. for Laplace noise and CDFs without least squares; the rest by our own "
        "derivation."
    )


def released(asked: Question) -> str:
    """Return what is released and asked for."""
    criterion = asked.criterion
    post = "after least squares" if criterion.least_squares else "no post-processing"
    return f"{NOISES[criterion.law]} noise, {criterion.workload.label}, {post}"


def budget(inputs: BranchingInputs) -> str:
    """Return what is spent."""
    epsilon = f"ε = {setting_text(inputs.epsilon)}"
    in_rho = f", δ = {setting_text(inputs.delta)}, hence ρ = {privacy_text(inputs.total)}"
    return epsilon + in_rho * (inputs.noise == "gaussian")


def of_opendp(theirs: Shape) -> str:
    """Return whence OpenDP's recommendation is, and by what it is judged."""
    return (
        "OpenDP: what `choose_branching_factor` recommends, from its published formula (3) in Qardaji, Yang and Li, "
        "“Understanding Hierarchical Methods for Differentially Private Histograms” (2013), computed by our own code: "
        f"the tree {product_text(theirs.branching_factors)} with equal budgets, judged "
        "by the measure chosen above. Its rule minimises the average error of ranges before least squares. Formula."
    )
