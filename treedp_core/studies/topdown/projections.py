"""One noise, several post-processings: what each does to errors, bias, false positives and false negatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treedp_core import checks, postprocess
from treedp_core.checks import InputError
from treedp_core.errors.compare import BiasBySize, Compared, bias_by_size, compare_on_tree
from treedp_core.mechanisms import LevelNoise
from treedp_core.privacy import Provenance
from treedp_core.privacy.spread import capacities_of_tree
from treedp_core.release import Release
from treedp_core.studies.topdown.plan import Plan
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import Cancelled, Watch, generator

MEASURES = ("rmse", "mean_absolute_error", "max_error", "total_variation", "spurious", "lost")
Chain = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ProjectionResult:
    """What a chain of post-processors does, over trials that every chain shares.

    Parameters
    ----------
    chain : tuple of str
        Names of post-processors, in order.
    mean, standard_error : dict of (n_levels,)
        For each of `MEASURES` (attributes of `Compared`), its mean over the trials by level, and the standard error.
    bias : (n_nodes,)
        Mean of released - true of each node, in records.
    bias_by_size : BiasBySize
        Of the leaves' level, over all trials.
    """

    chain: Chain
    mean: dict[str, FloatArray]
    standard_error: dict[str, FloatArray]
    bias: FloatArray
    bias_by_size: BiasBySize


def noise_on_tree(plan: Plan, tree: Tree) -> LevelNoise:
    """Return a plan's noise on all nodes of its tree, survivors or not.

    Raises
    ------
    InputError
        ``PLAN_MISMATCH`` when the plan is for another tree: one whose levels have other nodes or leaves below them.

    >>> from treedp_core.studies.topdown.plan import plan
    >>> noise_on_tree(plan((2, 3), 1.0), Tree.from_branching_factors((2, 3))).level_variance.round(6).tolist()
    [0.0, 2.0, 2.0]
    """
    if capacities_of_tree(tree) != plan.levels:
        about = f"columns with {plan.sizes} categories" if plan.sizes else f"levels with {plan.cells} nodes"
        raise InputError("PLAN_MISMATCH", f"Expected the tree that was planned for, of {about}.")
    return LevelNoise(tree, plan.laws, tuple(law is None for law in plan.laws))


def noisy_tree(
    plan: Plan,
    tree: Tree,
    counts: AnyArray,
    rng: np.random.Generator,
    trials: int | None = None,
    provenance: Provenance = Provenance.SIMULATION,
) -> Release:
    """Return noisy counts of all nodes (..., n_nodes), for the post-processors; as `noise_on_tree`."""
    return noise_on_tree(plan, tree).release(counts, plan.guarantee, rng, trials, provenance)


def compare_projections(
    plan: Plan,
    tree: Tree,
    counts: AnyArray,
    chains: Sequence[Sequence[str]],
    trials: int,
    seed: int,
    watch: Watch | None = None,
) -> list[ProjectionResult]:
    """Return what each chain of post-processors does to the same noisy releases.

    Parameters
    ----------
    plan : Plan
    tree : Tree
        That the plan was made for.
    counts : (n_nodes,)
        True counts.
    chains : sequence of sequences of str
        Names in `POSTPROCESSORS`: ``[("top_down_intopt",), ("least_squares", "top_down_intopt")]``.
    trials, seed : int
    watch : Watch, optional
        Told after every trial; may cancel.

    Raises
    ------
    InputError
        ``PLAN_MISMATCH``, ``TRIALS_RANGE``, ``VALUE_UNKNOWN`` for a name.

    >>> from treedp_core.studies.topdown.plan import plan
    >>> tree = Tree.from_branching_factors((2, 2))
    >>> counts = tree.counts_of_leaves(np.array([9, 0, 4, 1]))
    >>> chains = [("top_down_intopt",), ("least_squares", "top_down_water_filling")]
    >>> [result.chain for result in compare_projections(plan((2, 2), 1.0), tree, counts, chains, 3, 7)]
    [('top_down_intopt',), ('least_squares', 'top_down_water_filling')]
    """
    trials = checks.trials(trials, tree.n_nodes, max(1, len(chains)))
    watch = watch or Watch()
    noise = noise_on_tree(plan, tree)
    steps = [postprocess.prepare(tree, noise.variance, chain)[0] for chain in chains]
    errors = [np.zeros(tree.n_nodes) for _ in chains]
    found: list[list[tuple[Compared, ...]]] = [[] for _ in chains]
    for trial in range(trials):
        if watch.cancelled():
            raise Cancelled
        noisy = counts + noise.draw(generator("projections", checks.seed(seed), trial))
        for i, step in enumerate(steps):
            estimate = step(noisy)
            errors[i] += estimate - counts
            found[i].append(compare_on_tree(tree, counts, estimate))
        watch.step(1)
    pairs = zip(chains, found, errors, strict=True)
    return [_result(tuple(chain), runs, error / trials) for chain, runs, error in pairs]


def _result(chain: Chain, runs: Sequence[tuple[Compared, ...]], bias: FloatArray) -> ProjectionResult:
    mean, error = {}, {}
    for name in MEASURES:
        values = np.array([[getattr(level, name) for level in levels] for levels in runs], dtype=float)
        n = values.shape[0]
        mean[name] = values.mean(axis=0)
        error[name] = values.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(values.shape[1], np.inf)
    return ProjectionResult(chain, mean, error, bias, bias_by_size([levels[-1] for levels in runs]))
