"""What is to be known of each post-processor: assumption, formula, source, where it is best and where it loses."""

from __future__ import annotations

from typing import Final

from treedp_core.registry import Stated

_FROM_THE_ROOT: Final = "Parents are right: each family is fitted to the parent's released count, from the root down."

LEAST_SQUARES: Final = Stated(
    assumes="Errors of the counts are independent, without bias, and their variances are known.",
    formula=r"\hat x=\arg\min_{x\ \text{adds up}}\ \sum_v\frac{(y_v-x_v)^2}{\sigma_v^2}",
    source="Dawson et al., Algorithm 2 (best linear unbiased: Gauss and Markov).",
    best="Always, among estimates that are linear and without bias: no count gets worse.",
    loses="Counts far below the noise: rules that refuse negative counts know more there.",
)
NON_NEGATIVE: Final = Stated(
    assumes="True counts are at least 0.",
    formula=r"\hat x_v=\max(0,\,y_v)",
    source="Dawson et al., Sec. 7 (named as future work).",
    best="Single counts near 0 at a small ε.",
    loses="Sums: small counts come out too large, and children no longer add up.",
)
SHRINK: Final = Stated(
    assumes="An error of α times the count is forgiven.",
    formula=r"\hat x_v=\max\bigl(0,\,(1-\alpha)\,y_v\bigr),\qquad"
    r"\sup_w\text{α-RMSE}=(1-\alpha)\,\sigma/\sqrt2\quad(\alpha\ge0.3)",
    source="Our own; the error is that of Ghazi et al., Definition 1.4.",
    best="The α-RMSE of trees with up to about a thousand levels.",
    loses="Every error that forgives nothing: each count comes out too small.",
)
INTOPT: Final = Stated(
    assumes=_FROM_THE_ROOT,
    formula=r"\hat x=\arg\min_{x\in\mathbb Z_{\ge0}^n,\ \sum_i x_i=c}\ \max_i|x_i-y_i|",
    source="Boninsegna, problem P(x, c) and IntOpt; bounded by his Theorem 1.",
    best="Sparse tables: small counts are cut to 0, so that fewer places come out that never were.",
    loses="Dense tables: of all closest fits it need not be the closest in squares.",
)
WATER_FILLING: Final = Stated(
    assumes=_FROM_THE_ROOT,
    formula=r"\hat x_i=\max(0,\,y_i+\lambda)\ \text{rounded},\qquad\textstyle\sum_i\hat x_i=c",
    source="Our own; it solves P(x, c) of Boninsegna for every convex distance at once.",
    best="Dense tables: closest in absolute, squared and largest distance at once.",
    loses="Sparse tables: noise above 0 is kept at more places that have no record.",
)
NON_NEGATIVE_LEAST_SQUARES: Final = Stated(
    assumes="Errors are independent with known variances, and true counts are at least 0.",
    formula=r"\hat x=\arg\min_{x\ge0\ \text{adds up}}\ \sum_v\frac{(y_v-x_v)^2}{\sigma_v^2}",
    source="Dawson et al., Sec. 7 (named as future work); solved exactly on the tree.",
    best="Counts at least 0 that add up, when no count has to be whole.",
    loses="Sums on sparse data where no total is measured: its bias adds up, and they err more than before.",
)
REAL_THEN_ROUND: Final = Stated(
    assumes=_FROM_THE_ROOT,
    formula=r"\hat x=\operatorname{round}\Bigl(\arg\min_{x\ge0,\ \sum_i x_i=c}\ \sum_i(x_i-y_i)^2\Bigr)",
    source="Abowd et al. (2022), the two steps of the 2020 Census TopDown, in their simplest form.",
    best="Comparing with the Census: whole counts that add up.",
    loses="Sparse tables, as water filling does.",
)
PRUNED: Final = Stated(
    assumes="Errors of the counts are independent with known laws; most places are empty, in whole branches.",
    formula=r"v\ \text{visited}\iff y_u>F_u^{-1}\bigl(1-\tfrac{0.8}{n_u}\bigr)\ "
    r"\text{for all}\ u\ \text{above}",
    source="Our own (least squares: Dawson et al., Algorithm 2); never visited nodes need no noise.",
    best="Deep sparse trees: 1/100 of the empty nodes that least squares and water filling fill.",
    loses="Counts below the noise become 0: error up to 1.2 times on binary trees, 1.4 in wide Laplace families.",
)
