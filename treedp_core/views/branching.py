"""Branching factor: how many children a node should have; of no table once K, δ and the unit are said."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any, Final

from treedp_core.allocation.shares import shares_from_text
from treedp_core.figures.branching import error_by_height, error_over_beta
from treedp_core.figures.cdf import ratio_bars
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.records import Dataset
from treedp_core.studies.branching import BestBranching, RankedShape, advice, best_branching
from treedp_core.studies.branching import question as study
from treedp_core.studies.branching.factors import bound_on_trees, number_of_trees
from treedp_core.studies.branching.question import BETAS, NOISES, Question, beside_curve, curve, whole_curve
from treedp_core.studies.branching.tables import (
    height_table,
    is_bounded,
    ranking_table,
    search_of,
    statement_table,
    trees_and_matrices,
    wanted,
)
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.studies.cdf.matrices.plan import Sought
from treedp_core.studies.cdf.release import STRATEGIES
from treedp_core.tree.text import product_text
from treedp_core.tree.workloads import Shape, Workload
from treedp_core.views.entries import Entry, Work, search_of_matrix
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, forgetful
from treedp_core.views.inputs import ReleaseInputs, of
from treedp_core.views.parameters import choice, flag, words
from treedp_core.views.parameters import whole as whole_number
from treedp_core.words import above_least, percent, plural, privacy_text, setting_text, short, whole

# What the page Branching factor asks, and the ranked trees that answer it.


@dataclass(frozen=True, kw_only=True)
class BranchingInputs(ReleaseInputs):
    """For how many bins, and by what measure, the best tree is wanted.

    Parameters
    ----------
    bins : str
        K in digits or as a power; nothing for the leaves of the table in use.
    noise, workload, postprocess, budgets : str
    padded : bool
        Whether a tree may have more leaves than bins.
    beta : int
        Children per node that the figure marks; 0 for the best.
    given : str
        Shares of the budget by level below the root, for which factors are wanted; nothing for equal ones.
    """

    bins: str = of(words("bra_bins", "1024", lambda text: study.bins_from_text(text) if text.strip() else None))
    noise: str = of(choice("bra_noise", "laplace", study.NOISES, label="Noise"))
    workload: str = of(choice("bra_workload", "cdf", study.WORKLOADS, label="Queries"))
    postprocess: str = of(choice("bra_post", "none", study.POSTS, label="Post-processing"))
    budgets: str = of(choice("bra_budgets", "uniform", study.BUDGETS, label="Budget split"))
    padded: bool = of(flag("bra_padded", True))
    beta: int = of(
        whole_number("bra_beta", 0, *BETAS, grid=tuple(range(BETAS[0], BETAS[1] + 1)), label="Children β")
    )  # fmt: skip
    given: str = of(words("bra_given", "", shares_from_text))

    def apart(self, data: Dataset) -> BranchingInputs:
        """Return the inputs that say by themselves how many bins there are, δ, and how many records a unit has."""
        delta = self.usable_delta(data.total) if self.noise == "gaussian" else self.delta
        bins = self.bins.strip() or str(bins_of(data))
        return replace(self, bins=bins, delta=delta, contributions=self.protected(data))

    @property
    def total(self) -> float:
        """Your budget in the measure's currency: ε, or the ρ that ε and δ allow."""
        return study.spent(self.question().criterion, self.epsilon, self.delta)

    def question(self) -> Question:
        """Return what is asked.

        Raises
        ------
        InputError
            ``TREE_SHAPE`` for what is no number of bins.
        """
        return Question(study.bins_from_text(self.bins), self.criterion, self.padded, self.budgets == "optimal")

    @property
    def criterion(self) -> Criterion:
        """By what measure the best tree is wanted."""
        unit = ProtectedUnit(NeighbouringRelation(self.relation), self.contributions, self.known_levels)
        return Criterion(self.noise, Workload(self.workload), self.postprocess == "least_squares", unit)

    @property
    def best_beta(self) -> int:
        """The best whole branching factor of those that the figure shows; one of them where more are better.

        >>> BranchingInputs().best_beta, BranchingInputs(workload="nodes").best_beta
        (17, 16)
        """
        return best_branching(self.criterion).whole or 16


def bins_of(data: Dataset) -> int:
    """Return how many leaves a table has, but for the one of records without a place."""
    return data.tree.n_leaves - (data.other_leaf is not None)


Shapes = list[RankedShape] | None
"""Trees with their best budgets, where these take long: without them budgets are equal."""


@dataclass(frozen=True)
class Trees:
    """The best trees for K.

    Parameters
    ----------
    inputs : BranchingInputs
        Which say by themselves all that is asked.
    asked : Question
        What the trees are ranked by: equal budgets while the best ones are sought.
    shapes : list of RankedShape
        The best first.
    heights : list of HeightBest
        The best tree of each height, with equal budgets where the best ones take long.
    """

    inputs: BranchingInputs
    asked: Question
    shapes: list[RankedShape]
    heights: list[study.HeightBest]

    def finding(self, **found: Any) -> Finding:
        """Return a finding of them."""
        return finding(self.inputs, self.asked, **found)


def trees(inputs: BranchingInputs, tables: Tables, slow: Shapes, memo: Memo) -> Trees:
    """Return the best trees for K."""
    alone = inputs.apart(tables.data)
    asked = alone.question()
    quick = asked.with_equal_budgets if asked.is_slow else asked
    shapes = memo(("branching.ranked", quick), lambda: study.ranked(quick))
    heights = memo(("branching.heights", quick), lambda: study.by_height(quick, shapes))
    if slow is None:
        return Trees(alone, quick, shapes, heights)
    return Trees(alone, asked, memo(("branching.ranked", asked), lambda: slow), heights)


def finding(inputs: BranchingInputs, asked: Question, **found: Any) -> Finding:
    """Return a finding of what is asked: formulas at your budget."""
    criterion = asked.criterion
    delta = inputs.delta if criterion.currency is Currency.RHO else 0.0
    about = (f"K = {whole(asked.n_bins)}",)
    used = Provenance(about=about, relation=criterion.unit.relation, epsilon=inputs.epsilon, delta=delta)
    return Finding(badges=("formula",), provenance=used, **found)


# ---- how many children a node should have: the error over β, the best trees for K, and what stands beside them


# ---- what the page Branching factor says of its numbers


def answer(best: BestBranching, n_bins: int, tree: Shape, least: float, binary: float, yours: str = "") -> str:
    """Return how many children a node should have, and how far the best tree for K bins is off beside a binary one.

    What is said of a β of `yours` stands in the latter's place.

    >>> tree = BestBranching(16.8, 17, 9.9, 30.4), 1024, Shape((10, 11, 10), 1024), 31.21, 63.25
    >>> answer(*tree)
    '16 or 17 children; for 1\u202f024 bins the RMSE is 31.2 records with 10 · 11 · 10, 63.2 with a binary tree.'
    >>> answer(*tree, "β = 5: 16.8 % above the least")
    '16 or 17 children; β = 5: 16.8 % above the least. For 1\u202f024 bins the RMSE is 31.2 records with 10 · 11 · 10.'
    """
    children = "As many children as possible, in few levels"
    if math.isfinite(best.beta):
        low, high = max(2, math.floor(best.beta)), max(2, math.ceil(best.beta))
        children = f"{low} children" if low == high else f"{low} or {high} children"
    factors = tree.branching_factors
    name = "the histogram" if len(factors) == 1 else product_text(factors)
    beside = "" if yours or set(factors) == {2} else f", {short(binary)} with a binary tree"
    of_k = f"or {whole(n_bins)} bins the RMSE is {short(least)} records with {name}{beside}."
    return f"{children}; {yours}. F{of_k}" if yours else f"{children}; f{of_k}"


def how_to_read(inputs: BranchingInputs, asked: Question) -> str:
    """Return what both halves of the chart show."""
    return (
        f"Left: typical error (RMSE) of a query over K = {whole(asked.n_bins)} bins at {budget(inputs)}, if every node "
        "has β children: the limit of very many bins. Squares: exact error of the best whole tree of each height. "
        f"Shaded: within 5 % of the least variance. {released(asked)}.\n\n"
        "Right: the tree of your β, the dot, level by level. For the first two thirds of the bins the pink nodes are "
        "added up, and the orange one is opened on the next level. The more levels, the less budget for each.\n\n"
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


IN_FULL: Final = 10**7
"""Trees up to which their number is written in full."""
AT_ONCE: Final = 64
"""Bins up to which a matrix is sought while one waits."""
NO_BEST: Final = "Falls without end: the leaves alone."


def best_tree(inputs: BranchingInputs, tables: Tables, *, slow: Shapes = None, memo: Memo = forgetful) -> Finding:
    """Return the error over β with the tree of yours, and the best whole tree for K beside a binary one.

    Parameters
    ----------
    slow : list of RankedShape, optional
        See `Shapes`.

    Raises
    ------
    InputError
        ``TREE_SHAPE`` for what is no number of bins; ``RELATION`` where no budgets are best.
    """
    found = trees(inputs, tables, slow, memo)
    asked, total = found.asked, found.inputs.total
    best = best_branching(asked.criterion)

    def every_beta() -> tuple[dict[str, list[float]], list[float], float, float]:
        least = study.rmse(asked.criterion, found.shapes[0], total)
        return curve(asked, total), whole_curve(asked, total), least, study.binary_rmse(asked, total)

    columns, whole_betas, least, binary = memo(("branching.every_beta", asked, total), every_beta)
    beside, beta = beside_curve(asked, found.heights, total), inputs.beta or inputs.best_beta
    yours = f"β = {beta}: {above_least(whole_betas[beta - BETAS[0]], min(whole_betas))}"
    said = answer(best, asked.n_bins, found.shapes[0].shape, least, binary, yours * (beta != inputs.best_beta))
    return found.finding(
        figure=error_over_beta(columns, best, beside, whole_betas, n_bins=asked.n_bins, beta=beta),
        columns=lambda: columns, answer=said, alt=said, caption=how_to_read(found.inputs, asked),
        how="Drag β above the figure.",
        learnt="" if asked.padded else "Without padding a prime K leaves nothing but the histogram.",
    )  # fmt: skip


def optimum(inputs: BranchingInputs, tables: Tables, *, slow: Shapes = None, memo: Memo = forgetful) -> Finding:
    """Return the best β in the limit, the best whole tree for K, and OpenDP's recommendation beside it."""
    found = trees(inputs, tables, slow, memo)
    best, tree = best_branching(found.asked.criterion), found.shapes[0].shape
    opendp = memo(("branching.opendp", found.asked), lambda: study.recommended(found.asked, found.shapes[0]))
    known, padding = math.isfinite(best.beta), tree.padding
    rows = (
        ("Best β, very many bins", short(best.beta), f"whole: {best.whole}" if known else "few levels",
         "Where f(β) is least; the best branching factor of a tree over ever more bins."),
        ("Within 5 % of the least", _band(best) if known else "–", "computed",
         "Branching factors whose f(β) is at most 5 % above the least."),
        ("Best tree for your K", product_text(tree.branching_factors),
         f"{whole(padding)} empty leaves ({percent(padding / tree.n_bins)})" if padding else "no padding",
         "Whole branching factors, from the root down, with the least expected error."),
        ("OpenDP's rule for your K", str(opendp.factor), f"{short(opendp.times_best)}× the best RMSE",
         "The branching factor that OpenDP recommends for this many bins."),
    )  # fmt: skip
    columns = dict(zip(("number", "value", "beside", "about"), zip(*rows, strict=True), strict=True))
    return found.finding(columns=lambda: columns, caption=of_opendp(opendp.shape))


def optima() -> Finding:
    """Return the best branching factor for every noise, post-processing and workload, for very many bins."""
    cells = list(product(study.NOISES, study.POSTS, study.WORKLOADS))
    best = [best_branching(Criterion(noise, Workload(load), post != "none")) for noise, post, load in cells]
    labels = [str(one.whole or "∞") for one in best]
    said = [f"β* = {short(one.beta)}; within 5 % from {_band(one)}." if one.whole else NO_BEST for one in best]
    columns: dict[str, list[Any]] = {"cell": cells, "best whole β": labels, "about": said}
    return Finding(
        columns=lambda: columns,
        caption="For very many bins, equal branching factors and budgets; every cell is computed. ∞: the error falls "
        "without end, so measure the leaves alone. Press a cell to see its curve and its trees. Formula.",
    )


def ranking(inputs: BranchingInputs, tables: Tables, *, slow: Shapes = None, memo: Memo = forgetful) -> Finding:
    """Return the best trees for K, what padding they need, and what each costs against the best."""
    found = trees(inputs, tables, slow, memo)
    asked, so_far = found.asked, " so far" * (found.asked != found.inputs.question())
    budgets = "the best budgets of each tree" if asked.optimal_budgets else f"equal budgets{so_far}"
    return found.finding(
        columns=partial(ranking_table, asked, found.shapes, found.inputs.total),
        answer=advice(asked.n_bins).replace("*", "\\*"), alt="The best trees with their padding and error",
        caption=f"RMSE of a query at {budget(found.inputs)}, {budgets}. {released(asked)}. Padding: leaves "
        "beyond K, which hold no records and cost little. Exact formulas "
        "(Theorem IV.1 of Rameshwar et al. with digit sums for padded trees; least squares in O(height)); the list is "
        "the best that a search found, beside well-known trees with equal budgets.",
    )  # fmt: skip


def heights(inputs: BranchingInputs, tables: Tables, *, slow: Shapes = None, memo: Memo = forgetful) -> Finding:
    """Return the error of the best tree of each height, over the least."""
    found = trees(inputs, tables, slow, memo)
    best, columns = min(found.heights, key=lambda one: one.value), height_table(found.heights)
    note = " Equal budgets: optimal ones after least squares are in the table." * found.inputs.question().is_slow
    return found.finding(
        figure=error_by_height(columns), columns=lambda: columns,
        alt=f"The best tree has {plural(best.height, 'level')} below the root: "
        f"{product_text(best.shape.branching_factors)}; the histogram (height 1) has "
        f"{short(list(columns.values())[2][0])} times its error.",
        caption=f"K = {whole(found.asked.n_bins)}, {released(found.asked)}. Each mark is the best tree found "
        f"with that many levels. Height 1 is the histogram.{note} Formula.",
    )  # fmt: skip


def beside_matrices(
    inputs: BranchingInputs, tables: Tables, *, slow: Sought | None = None, memo: Memo = forgetful
) -> Finding:
    """Return how far trees and matrices are from the least possible; nothing where none are compared.

    Parameters
    ----------
    slow : matrix, optional
        What `matrices.plan.seek` found, without which nothing is known of more than 64 bins.
    """
    alone = inputs.apart(tables.data)
    asked = alone.question()
    if not _has_matrices(asked):
        return Finding()
    if slow is None and asked.n_bins > AT_ONCE:
        return Finding(answer=f"{STRATEGIES[search_of(asked)].label} of {whole(asked.n_bins)} bins: not sought yet.")
    columns = trees_and_matrices(asked, memo(("branching.ranked", asked), lambda: study.ranked(asked)), slow)
    labels, ratios = columns.values()
    what = "the least possible (certified)" if is_bounded(asked) else "the least of them"
    return finding(
        alone, asked, figure=ratio_bars(labels, ratios, x_title=f"mean variance ÷ {what}"), columns=lambda: columns,
        alt=f"Smallest error: {labels[-1]}; {labels[0]}: {short(ratios[0] / ratios[-1])} times its mean variance.",
        caption=f"K = {whole(asked.n_bins)}, {released(asked)}; matrices after least squares, at the same "
        "budget. “CDF and ranges” releases with them. Formula and numerical search.",
    )  # fmt: skip


def statements(inputs: BranchingInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what the paper states about K, checked by exact search."""
    n_bins = inputs.apart(tables.data).question().n_bins
    columns = memo(("branching.statements", n_bins), lambda: statement_table(n_bins))
    return Finding(
        columns=lambda: columns, alt="Statements of the paper and whether they hold for this K",
        answer=_how_many(n_bins),
        caption="Rameshwar et al., Sec. V: equal budgets, no padding, Laplace noise, one record replaced; "
        "g = height² × Σ (nᵢ − 1), and N² E₂ = 4 K g / ε². Each is compared with the least g over all factorisations "
        "(exact search). Statements that say nothing of this K are left out.",
        badges=("formula",), provenance=Provenance(about=(f"K = {whole(n_bins)}",)),
    )  # fmt: skip


def _how_many(n_bins: int) -> str:
    """Return how many level-uniform trees there are without padding, beside the bound of the paper."""
    found, most = number_of_trees(n_bins), bound_on_trees(n_bins)
    text = whole(found) if found < IN_FULL else short(found)
    trees = f"{text} level-uniform tree{'' if found == 1 else 's'}"
    return (
        f"{whole(n_bins)} bins have {trees} without padding: the ways to write K as a product of branching factors in "
        f"order (the paper’s bound Ω(K)^Ω(K): {whole(most) if most < IN_FULL else short(most)})."
    )


def _band(best: BestBranching) -> str:
    return f"{short(best.low)} to {short(best.high)}"


def _has_matrices(asked: Question) -> bool:
    return asked.criterion.workload is not Workload.NODES and asked.n_bins <= MAX_BOUND_BINS


def _best_budgets(inputs: BranchingInputs, tables: Tables) -> Work | None:
    """The search of the best budgets of every tree, where no rule gives them."""
    asked = inputs.question()
    return Work(study.ranked, asked, (), lambda: 100, name="shapes", is_exact=True) if asked.is_slow else None


def _matrix(inputs: BranchingInputs, tables: Tables) -> Work | None:
    """The search of the matrix of many bins, which other views and sessions ask for as well."""
    asked = inputs.question()
    if not _has_matrices(asked) or asked.n_bins <= AT_ONCE:
        return None
    return search_of_matrix(search_of(asked), wanted(asked), asked.criterion.unit.by_pairs)


_entry = partial(Entry, page="branching", inputs=BranchingInputs, apart=BranchingInputs.apart)
_of_trees = partial(_entry, slow=_best_budgets, start="auto")
ENTRIES = (
    _of_trees(part="bra_live", find=best_tree),
    _of_trees(part="bra_ranking", section="ranking", find=ranking),
    _of_trees(part="bra_heights", section="heights", find=heights),
    _entry(part="bra_matrices", section="matrices", find=beside_matrices, slow=_matrix),
    _entry(part="bra_checks", section="checks", find=statements),
)


__all__ = [
    "ENTRIES", "BranchingInputs", "beside_matrices", "best_tree", "bins_of", "heights", "optima", "optimum",
    "ranking", "statements",
]  # fmt: skip
