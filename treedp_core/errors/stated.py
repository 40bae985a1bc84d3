"""What is to be known of each metric: assumption, formula, where it is the right one and where it misleads."""

from __future__ import annotations

from typing import Final

from treedp_core.registry import Stated

RMSE: Final = Stated(
    assumes="A record too many is as bad for a large count as for a small one.",
    formula=r"\sqrt{\tfrac1n\sum_v\mathbb E\,(\hat x_v-x_v)^2}",
    best="Sums and differences of counts: variances add up.",
    loses="Small counts: 10 records are nothing for a city and everything for a village.",
)
RMSRE: Final = Stated(
    assumes="Counts below τ are taken as τ, and each level counts as much.",
    formula=r"\sqrt{\frac1{h+1}\sum_\ell\frac1{n_\ell}\sum_{v\in\ell}"
    r"\mathbb E\Bigl(\frac{\hat x_v-x_v}{\max(x_v,\tau)}\Bigr)^{2}}",
    best="Percentages, rates and conversions.",
    loses="A τ chosen late: it decides which level matters.",
)
ALPHA_RMSE: Final = Stated(
    assumes="An error of α times the count does no harm.",
    formula=r"\max_v\sqrt{\mathbb E\,\max\bigl(|\hat x_v-x_v|-\alpha x_v,\,0\bigr)^2}",
    best="Very deep trees: some mechanisms then grow only with the logarithm of the levels.",
    loses="Counts that are added up afterwards: what is forgiven adds up, too.",
)
LARGEST: Final = Stated(
    assumes="One wrong count spoils the table.",
    formula=r"\mathbb E\,\max_v|\hat x_v-x_v|",
    best="Promises about all counts at once, such as a band.",
    loses="Comparing trees of different sizes: more counts have a larger worst one.",
)
SMOOTHED: Final = Stated(
    assumes="Counts below τ are taken as τ, and each count weighs the same.",
    formula=r"\frac1n\sum_v\frac{\mathbb E\,|\hat x_v-x_v|}{\max(x_v,\tau)}",
    best="A typical percentage that single bad counts do not dominate.",
    loses="Rare large errors: absolute errors hide them.",
)
