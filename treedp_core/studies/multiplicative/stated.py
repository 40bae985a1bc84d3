"""What is to be known of each plan of thresholds: assumption, formula, source, where it is best and where it loses."""

from __future__ import annotations

from typing import Final

from treedp_core.registry import Stated

_ASSUMES: Final = "(ε, δ), one record added or removed, a binary tree; an error of α times the count is forgiven."

PAPER: Final = Stated(
    assumes=_ASSUMES,
    formula=r"\tau_i=\alpha\tau r^{i-1}/(1+\beta),\quad M_i=\alpha\tau r^i,\quad"
    r"\varepsilon_i=\varepsilon\,i\,q^{i-1}\big/\sum_j j\,q^{j-1},\qquad r=\tfrac1q=1+\tfrac{2\alpha}3",
    source="Ghazi et al., Theorem 4.1 and Algorithms 1, 2 and 4, budgets and rounds corrected.",
    best="It shows that the error can grow with log d alone.",
    loses="Every tree that one can have: its constants pay off after millions of millions of levels.",
)
PROVABLE: Final = Stated(
    assumes=_ASSUMES,
    formula=r"\text{α-RMSE}^2\ \le\ E^2+\sum_i3\,\eta_i\,\bigl((1-\alpha)\,U_i\bigr)^2",
    source="Ghazi et al., Theorem A.1 (its proof of privacy); thresholds and the bound are our own.",
    best="Very deep trees, where the error must be a theorem.",
    loses="Fewer levels, where shrunk Gaussian noise errs less; errors that forgive nothing.",
)
TUNED: Final = Stated(
    assumes=_ASSUMES,
    formula=r"v_i=(1+\alpha)L_i+E,\qquad U_i=\frac{2E+(1+\alpha)L_i}{1-\alpha},\qquad"
    r"\text{α-RMSE}\ \lesssim\ E",
    source="Ghazi et al., Theorem A.1 (its proof of privacy); thresholds are our own, and E is simulated.",
    best="Thousands of levels and more: its error hardly grows with them.",
    loses="Fewer levels, where shrunk Gaussian noise errs less; errors that forgive nothing.",
)
