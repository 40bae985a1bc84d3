"""Post-processing, `Release -> Release`: it never sees the true counts, so it costs no privacy budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from treedp_core.checks import InputError, echo
from treedp_core.errors import Tolerance
from treedp_core.noise import Law
from treedp_core.postprocess import least_squares, pruning, top_down, tree_nnls
from treedp_core.privacy.promise import Release
from treedp_core.registry import NO_CARD, MethodCard, Promise, Table, lookup, table
from treedp_core.tree import AnyArray, FloatArray, Tree

# ---- shrink estimates towards zero for the alpha-RMSE: multiplicative slack makes a deliberate under-estimate free


def shrink(
    tree: Tree, variance: FloatArray | None, tolerance: Tolerance
) -> tuple[Callable[[AnyArray], AnyArray], FloatArray | None]:
    """Return max(0, (1 - alpha) estimate) for every node, with alpha of the tolerance; no exact variance is known.

    (1 - alpha) w is the smallest estimate of a count w that costs nothing, so that errors shrink by 1 - alpha and those
    upwards are forgiven up to 2 alpha w more. Children no longer add up. Nodes that were not measured (nan) stay so,
    and so do exact ones (variance 0, a public total): they have no error to lower. The function
    takes and returns (..., n_nodes), in records.
    """
    variances = np.ones(tree.n_nodes) if variance is None else variance
    return partial(shrunk, tolerance.alpha, variances), None


def shrunk(alpha: float, variance: FloatArray, estimate: AnyArray) -> FloatArray:
    """Return max(0, (1 - alpha) estimate), (..., n), for estimates whose variances are (n,); exact ones stay.

    >>> shrunk(0.5, np.array([1.0, 1.0, 0.0]), np.array([-2.0, 10.0, 10.0])).tolist()
    [0.0, 5.0, 10.0]
    """
    kept = np.where(variance == 0, 1.0, 1.0 - alpha)
    return np.asarray(np.maximum(kept * estimate, 0.0))


# ---- clamp negative estimates to zero: plausible to a reader, but biased


def non_negative(tree: Tree, variance: FloatArray | None) -> tuple[Callable[[AnyArray], AnyArray], FloatArray | None]:
    """Return max(0, estimate) for every node; no exact variance is known, because the bias depends on the true count.

    Nodes that were not measured (nan) stay so. The function takes and returns (..., n_nodes), in records.
    """
    return clamp, None


def clamp(estimate: AnyArray) -> AnyArray:
    """Return the estimates (..., n_nodes) with negative values set to 0.

    >>> clamp(np.array([-1.5, 2.0])).tolist()
    [0.0, 2.0]
    """
    return np.maximum(estimate, 0)


# ---- what is to be known of each post-processor: assumption, formula, source, where it is best and where it loses


_FROM_THE_ROOT: Final = "Parents are right: each family is fitted to the parent's released count, from the root down."

LEAST_SQUARES: Final = MethodCard(
    assumptions="Errors of the counts are independent, without bias, and their variances are known.",
    formula=r"\hat x=\arg\min_{x\ \text{adds up}}\ \sum_v\frac{(y_v-x_v)^2}{\sigma_v^2}",
    source="Dawson et al., Algorithm 2 (best linear unbiased: Gauss and Markov).",
    strengths="Always, among estimates that are linear and without bias: no count gets worse.",
    limitations="Counts far below the noise: rules that refuse negative counts know more there.",
)
NON_NEGATIVE: Final = MethodCard(
    assumptions="True counts are at least 0.",
    formula=r"\hat x_v=\max(0,\,y_v)",
    source="Dawson et al., Sec. 7 (named as future work).",
    strengths="Single counts near 0 at a small ε.",
    limitations="Sums: small counts come out too large, and children no longer add up.",
)
SHRINK: Final = MethodCard(
    assumptions="An error of α times the count is forgiven.",
    formula=r"\hat x_v=\max\bigl(0,\,(1-\alpha)\,y_v\bigr),\qquad"
    r"\sup_w\text{α-RMSE}=(1-\alpha)\,\sigma/\sqrt2\quad(\alpha\ge0.3)",
    source="Our own; the error is that of Ghazi et al., Definition 1.4.",
    strengths="The α-RMSE of trees with up to about a thousand levels.",
    limitations="Every error that forgives nothing: each count comes out too small.",
)
INTOPT: Final = MethodCard(
    assumptions=_FROM_THE_ROOT,
    formula=r"\hat x=\arg\min_{x\in\mathbb Z_{\ge0}^n,\ \sum_i x_i=c}\ \max_i|x_i-y_i|",
    source="Boninsegna, problem P(x, c) and IntOpt; bounded by Theorem 1.",
    strengths="Sparse tables: small counts are cut to 0, so that fewer places come out that never were.",
    limitations="Dense tables: of all closest fits it need not be the closest in squares.",
)
WATER_FILLING: Final = MethodCard(
    assumptions=_FROM_THE_ROOT,
    formula=r"\hat x_i=\max(0,\,y_i+\lambda)\ \text{rounded},\qquad\textstyle\sum_i\hat x_i=c",
    source="Our own; it solves P(x, c) of Boninsegna for every convex distance at once.",
    strengths="Dense tables: closest in absolute, squared and largest distance at once.",
    limitations="Sparse tables: noise above 0 is kept at more places that have no record.",
)
NON_NEGATIVE_LEAST_SQUARES: Final = MethodCard(
    assumptions="Errors are independent with known variances, and true counts are at least 0.",
    formula=r"\hat x=\arg\min_{x\ge0\ \text{adds up}}\ \sum_v\frac{(y_v-x_v)^2}{\sigma_v^2}",
    source="Dawson et al., Sec. 7 (named as future work); solved exactly on the tree.",
    strengths="Counts at least 0 that add up, when no count has to be whole.",
    limitations="Sums on sparse data where no total is measured: its bias adds up, and their error grows.",
)
REAL_THEN_ROUND: Final = MethodCard(
    assumptions=_FROM_THE_ROOT,
    formula=r"\hat x=\operatorname{round}\Bigl(\arg\min_{x\ge0,\ \sum_i x_i=c}\ \sum_i(x_i-y_i)^2\Bigr)",
    source="Abowd et al. (2022), the two steps of the 2020 Census TopDown, in their simplest form.",
    strengths="Comparing with the Census: whole counts that add up.",
    limitations="Sparse tables, as water filling does.",
)
PRUNED: Final = MethodCard(
    assumptions="Errors of the counts are independent with known laws; most places are empty, in whole branches.",
    formula=r"v\ \text{visited}\iff y_u>F_u^{-1}\bigl(1-\tfrac{0.8}{n_u}\bigr)\ "
    r"\text{for all}\ u\ \text{above}",
    source="Our own (least squares: Dawson et al., Algorithm 2); never visited nodes need no noise.",
    strengths="Deep sparse trees: 1/100 of the empty nodes that least squares and water filling fill.",
    limitations="Counts below the noise become 0: error up to 1.2 times on binary trees, 1.4 in wide Laplace families.",
)


Step = tuple[Callable[[AnyArray], AnyArray], FloatArray | None]


@dataclass(frozen=True)
class Postprocessor:
    """A table entry: `prepare` does once, for a tree and its variances, what every trial shares.

    ``prepare(tree, variance, tolerance)`` returns the function that maps estimates (..., n_nodes) to estimates, and the
    variance of its results (None where there is no exact one). Where the laws of the levels' noise are known,
    ``prepare_laws(tree, variance, laws)`` does it instead, if there is one.

    Parameters
    ----------
    linear : bool
        Whether the error of its results does not depend on the true counts.
    why_biased : str
        For one that is not linear: a sentence on which counts come out too large or too small.
    mark : str
        How figures tell it apart: a marker of plotly, "open" for one that opens the mechanism's own marker, or "dot".
    weighted : bool
        Whether it weighs measurements by their variances, so that nothing may come before it.
    uses : tuple of str
        Fields of `Tolerance` its results depend on.
    family_rule : str
        What does the same from the root down without a tree, if anything does: a rule of `families.RULES` that it
        applies to every family, or "pruned".
    card : MethodCard
        What else is to be known of it.
    """

    name: str
    label: str
    help: str
    prepare: Callable[[Tree, FloatArray | None, Tolerance], Step]
    promises: Promise = Promise.NOTHING
    linear: bool = False
    why_biased: str = ""
    mark: str = "bowtie"
    weighted: bool = False
    uses: tuple[str, ...] = ()
    family_rule: str = ""
    prepare_laws: Callable[[Tree, FloatArray | None, Sequence[Law | None]], Step] | None = None
    card: MethodCard = NO_CARD

    def __post_init__(self) -> None:
        if self.linear == bool(self.why_biased):
            raise ValueError(f"Expected why_biased for {self.name} exactly if it is not linear.")


def _for_any_tolerance(step: Callable[[Tree, FloatArray | None], Step]) -> Callable[..., Step]:
    return lambda tree, variance, tolerance: step(tree, variance)


_OF_FAMILIES: Final = (
    "Counts that may not be negative are biased: what small counts gain when noise below 0 is cut off, the large "
    "counts of the same family lose."
)
_WHOLE: Final = Promise.CONSISTENT | Promise.NON_NEGATIVE | Promise.INTEGER

POSTPROCESSORS: Final[Table[Postprocessor]] = table(
    Postprocessor(
        "least_squares",
        "Least squares",
        "The best linear unbiased estimates of all nodes together (Dawson et al., Algorithm 2): children add up.",
        _for_any_tolerance(least_squares.prepare),
        Promise.CONSISTENT | Promise.UNBIASED,
        linear=True,
        mark="open",
        weighted=True,
        card=LEAST_SQUARES,
    ),
    Postprocessor(
        "non_negative",
        "Non-negative",
        "Negative counts become 0. Biased: small counts come out too large, and children no longer add up.",
        _for_any_tolerance(non_negative),
        Promise.NON_NEGATIVE,
        why_biased="Setting negatives to 0 is biased: noise below 0 is cut off, noise above 0 stays.",
        mark="dot",
        card=NON_NEGATIVE,
    ),
    Postprocessor(
        "shrink",
        "Shrink for α-RMSE",
        "Estimates times 1 - α, and at least 0: an error of α times the count is forgiven, so a smaller estimate has a "
        "smaller α-RMSE. Apply last: biased, and children no longer add up.",
        shrink,
        Promise.NON_NEGATIVE,
        why_biased="Shrinking is biased: every count comes out too small, in proportion to its size.",
        mark="triangle-down",
        uses=("alpha",),
        card=SHRINK,
    ),
    Postprocessor(
        "top_down_intopt",
        "Top-down, IntOpt",
        "From the root down every family becomes whole counts of at least 0 that add up (Boninsegna, IntOpt): the "
        "largest change is as small as can be, and small counts are cut to 0 first. Biased.",
        _for_any_tolerance(top_down.intopt),
        _WHOLE,
        why_biased=_OF_FAMILIES,
        mark="triangle-up",
        family_rule="intopt",
        card=INTOPT,
    ),
    Postprocessor(
        "top_down_water_filling",
        "Top-down, water filling",
        "From the root down every family becomes the whole counts of at least 0 that add up and are closest in "
        "absolute, squared and largest distance at once. Biased.",
        _for_any_tolerance(top_down.water_filling),
        _WHOLE,
        why_biased=_OF_FAMILIES,
        mark="star",
        family_rule="water_filling",
        card=WATER_FILLING,
    ),
    Postprocessor(
        "non_negative_least_squares",
        "Non-negative least squares",
        "The counts of at least 0 that add up and are closest to all measurements together, exactly. Biased: on sparse "
        "data where no total is measured, small gains of many empty nodes add up in sums.",
        _for_any_tolerance(tree_nnls.prepare),
        Promise.CONSISTENT | Promise.NON_NEGATIVE,
        why_biased=_OF_FAMILIES,
        mark="hexagon",
        weighted=True,
        card=NON_NEGATIVE_LEAST_SQUARES,
    ),
    Postprocessor(
        "real_then_round",
        "Real, then round",
        "The two steps of the Census TopDown in their simplest form: from the root down the closest real counts of at "
        "least 0 that add up, then every count to the whole number below or above it. Biased.",
        _for_any_tolerance(top_down.real_then_round),
        _WHOLE,
        why_biased=_OF_FAMILIES,
        mark="pentagon",
        card=REAL_THEN_ROUND,
    ),
    Postprocessor(
        "pruned",
        "Pruned, least squares",
        "Only children of nodes whose noisy count stands out are looked at; least squares on those, and what does not "
        "stand out of its error is 0. Hardly any empty node is filled; families need not add up. Biased.",
        _for_any_tolerance(pruning.prepare),
        Promise.NON_NEGATIVE,
        why_biased="Pruning is biased: small counts become 0, and what is left was chosen because it came out large.",
        mark="hourglass",
        weighted=True,
        family_rule="pruned",
        prepare_laws=pruning.prepare,
        card=PRUNED,
    ),
)


def prepare(
    tree: Tree,
    variance: FloatArray | None,
    names: Iterable[str],
    tolerance: Tolerance | None = None,
    laws: Sequence[Law | None] = (),
) -> Step:
    """Return several post-processors, applied in order, as one step; `tolerance` says what an error is forgiven.

    The variance is that of the estimate, (n_nodes,), in records squared; None where it is not known. The laws are those
    of the noise of its levels, if they are known.

    Raises
    ------
    InputError
        ``VALUE_UNKNOWN`` for a name outside `POSTPROCESSORS`, ``VALUE_RANGE`` for a name that comes twice: after least
        squares errors are no longer independent, so that a second pass would state too small a variance.
    """
    functions, names, tolerance = [], list(names), tolerance or Tolerance()
    for name in names:
        if names.count(name) > 1:
            raise InputError("VALUE_RANGE", f"Expected each post-processor at most once, got {echo(name)} twice.")
        entry = lookup(POSTPROCESSORS, name, "post-processor")
        if laws and entry.prepare_laws:
            function, variance = entry.prepare_laws(tree, variance, laws)
        else:
            function, variance = entry.prepare(tree, variance, tolerance)
        functions.append(function)
        laws = ()

    def chain(estimate: AnyArray) -> AnyArray:
        for function in functions:
            estimate = function(estimate)
        return estimate

    return chain, variance


def apply(tree: Tree, release: Release, *names: str, tolerance: Tolerance | None = None) -> Release:
    """Return a mechanism's release after the named post-processors, in order; the guarantee rides along.

    Raises
    ------
    InputError
        As `prepare`.
    """
    function, variance = prepare(tree, release.variance, names, tolerance, release.laws)
    return replace(release, estimate=function(release.estimate), variance=variance, laws=())
