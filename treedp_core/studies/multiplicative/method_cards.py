"""What is to be known of thresholds and of simpler rules: assumption, formula, source, where each is best and loses."""

from __future__ import annotations

from typing import Final

from treedp_core.registry import MethodCard

_ASSUMES: Final = "(ε, δ), one record added or removed, a binary tree; an error of α times the count is forgiven."
_PROOF: Final = "Ghazi et al., Theorem A.1 (its proof of privacy, rounds composed by their losses);"

PAPER: Final = MethodCard(
    assumptions=_ASSUMES,
    formula=r"\tau_i=\alpha\tau r^{i-1}/(1+\beta),\quad M_i=\alpha\tau r^i,\quad"
    r"\varepsilon_i=\varepsilon\,i\,q^{i-1}\big/\sum_j j\,q^{j-1},\qquad r=\tfrac1q=1+\tfrac{2\alpha}3",
    source="Ghazi et al., Theorem 4.1 and Algorithms 1, 2 and 4, budgets and rounds corrected.",
    strengths="It shows that the error can grow with log d alone.",
    limitations="Every tree that one can have: its constants pay off after millions of millions of levels.",
)
PROVABLE: Final = MethodCard(
    assumptions=_ASSUMES,
    formula=r"\text{α-RMSE}^2\ \le\ E^2+\sum_i3\,\eta_i\,\bigl((1-\alpha)\,U_i\bigr)^2",
    source=f"{_PROOF} thresholds and the bound are our own.",
    strengths="Very deep trees, where the error must be a theorem, as Release plan can state it.",
    limitations="Fewer levels, where shrunk Gaussian noise has a smaller error; errors that forgive nothing.",
)
TUNED: Final = MethodCard(
    assumptions=_ASSUMES,
    formula=r"v_i=(1+\alpha)L_i+E,\qquad U_i=\frac{2E+(1+\alpha)L_i}{1-\alpha},\qquad"
    r"\text{α-RMSE}\ \lesssim\ E",
    source=f"{_PROOF} thresholds are our own, and E is simulated.",
    strengths="Thousands of levels and more: its error hardly grows with them. Release plan states its rounds.",
    limitations="Fewer levels, where shrunk Gaussian noise has a smaller error; errors that forgive nothing.",
)

_EQUAL: Final = "Every count of a tree of d levels is measured, the levels share the budget equally."
_OURS: Final = "the shrinkage and its exact worst case are our own."

GAUSSIAN: Final = MethodCard(
    assumptions=f"{_EQUAL} A δ above 0 is acceptable.",
    formula=r"\tilde w_v=w_v+Z_v,\qquad Z_v\sim\mathcal N\bigl(0,\ d\,\Delta_2^2/2\rho\bigr)",
    source="Ghazi et al., Corollary 2.7, with the exact σ of Balle and Wang (2018), Theorem 8.",
    strengths="Few levels, and counts that must be right on average.",
    limitations="Many levels: its error grows as √d; empty nodes get as much noise as others.",
)
SHRUNK_GAUSSIAN: Final = MethodCard(
    assumptions=f"{_EQUAL} Errors up to α times the count are forgiven.",
    formula=r"\tilde w_v=\max\bigl(0,(1-\alpha)(w_v+Z_v)\bigr),\qquad Z_v\sim\mathcal N(0,\sigma^2)",
    source=f"Ghazi et al., Definition 1.4 and Corollary 2.7; {_OURS}",
    strengths="Errors that forgive a part of the count, up to hundreds of levels.",
    limitations="α = 0, and sums of its counts: they are biased.",
)
LAPLACE: Final = MethodCard(
    assumptions=f"{_EQUAL} Pure ε.",
    formula=r"\tilde w_v=w_v+Z_v,\qquad p(z)=\frac{\varepsilon}{2d\Delta_1}\,e^{-\varepsilon|z|/d\Delta_1}",
    source="Ghazi et al., Lemma 2.5 and Corollary 2.7.",
    strengths="A handful of levels, or where no δ is acceptable.",
    limitations="Many levels: its error grows as d.",
)
SHRUNK_LAPLACE: Final = MethodCard(
    assumptions=f"{_EQUAL} Pure ε; errors up to α times the count are forgiven.",
    formula=r"\tilde w_v=\max\bigl(0,(1-\alpha)(w_v+Z_v)\bigr),\qquad p(z)\propto e^{-\varepsilon|z|/d\Delta_1}",
    source=f"Ghazi et al., Lemma 2.5 and Theorem 5.1; {_OURS}",
    strengths="Without δ: nothing is better by more than a constant factor.",
    limitations="α = 0, and sums of its counts: they are biased.",
)
SHRUNK_OPTIMAL: Final = MethodCard(
    assumptions="The tree can be laid out, a δ above 0 is acceptable, errors up to α times the count are forgiven.",
    formula=r"\tilde w_v=\max\bigl(0,(1-\alpha)\,\hat w_v\bigr),\qquad"
    r"\operatorname{Var}\hat w_v\le\gamma_2^2/2\rho",
    source=f"Ghazi et al., Theorems 5.2 and A.3; γ₂ and its shares, {_OURS}",
    strengths="Full trees of up to thousands of levels.",
    limitations="Deeper trees, where thresholds have smaller errors, and trees too large to lay out.",
)
STABILITY: Final = MethodCard(
    assumptions="A δ above 0; counts are whole. Which nodes there could be need not be public.",
    formula=r"\tilde w_v=(w_v+Z_v)\,1[\,w_v>0,\ w_v+Z_v\ge t\,],\qquad P(Z\ge t-m)\le\frac{\delta}{d\,m}",
    source="After Korolova, Kenthapadi, Mishra and Ntoulas (2009); whole noise by level and its proof are our own.",
    strengths="Domains that are not public, and trees that are mostly empty: what is empty stays 0.",
    limitations="Small counts: those below the threshold t are released as 0.",
)
STABILITY_LEAVES: Final = MethodCard(
    assumptions="A δ above 0; counts are whole. Only leaves are measured, every other count is their sum.",
    formula=r"\tilde w_v=\sum_{u\ \text{leaf below}\ v}(w_u+Z_u)\,1[\,w_u>0,\ w_u+Z_u\ge t\,],\qquad "
    r"P(Z\ge t-m)\le\frac\delta m",
    source="After Korolova, Kenthapadi, Mishra and Ntoulas (2009); whole noise and its proof are our own.",
    strengths="Deep trees with few, large leaves: levels share nothing.",
    limitations="Many small leaves: they are lost together, without a bound.",
)
