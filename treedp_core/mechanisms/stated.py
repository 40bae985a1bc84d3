"""What is to be known of each mechanism: assumption, formula, source, where it is best and where it loses."""

from __future__ import annotations

from typing import Final

from treedp_core.registry import Stated

LAPLACE: Final = Stated(
    assumes="One unit moves the counts of level ℓ by at most Δ₁ in all, and the levels share ε.",
    formula=r"p(z)=\frac{\varepsilon_\ell}{2\Delta_1}\,e^{-\varepsilon_\ell|z|/\Delta_1},\qquad"
    r"\operatorname{Var}Z=2\,(\Delta_1/\varepsilon_\ell)^2",
    source="Rameshwar et al., Theorem IV.1; Ghazi et al., Lemma 2.5.",
    best="Pure ε on a tree of few levels.",
    loses="Many levels: its error grows with their number, Gaussian noise's with the root of it.",
)
DISCRETE_LAPLACE: Final = Stated(
    assumes="Counts are whole; one unit moves those of level ℓ by at most Δ₁ in all, and the levels share ε.",
    formula=r"P(Z=k)=\tanh\tfrac a2\;e^{-a|k|},\qquad a=\varepsilon_\ell/\Delta_1,\qquad"
    r"\operatorname{Var}Z=\frac1{\cosh a-1}",
    source="Dawson et al., Definition 5 and Lemma 6; a is the inverse scale.",
    best="Pure ε, and a large one: whole counts are then often exact.",
    loses="Many levels at a small ε, like Laplace noise.",
)
GAUSSIAN: Final = Stated(
    assumes="One unit moves the counts of level ℓ by at most Δ₂ in Euclidean length; a δ above 0 is acceptable.",
    formula=r"Z\sim\mathcal N(0,\sigma_\ell^2),\qquad\sigma_\ell^2=\frac{\Delta_2^2}{2\rho_\ell},\qquad"
    r"\sum_\ell\rho_\ell=\rho(\varepsilon,\delta)",
    source="Ghazi et al., Lemma 2.6 and Corollary 2.7, with the exact σ of Balle and Wang (2018), Theorem 8.",
    best="Many levels, or units with many records: variances of levels add up, not their deviations.",
    loses="A large ε or few levels: it pays for its δ.",
)
DISCRETE_GAUSSIAN: Final = Stated(
    assumes="Counts are whole; one unit moves those of level ℓ by at most Δ₂; a δ above 0 is acceptable.",
    formula=r"P(Z=k)\propto e^{-k^2/2\sigma_\ell^2},\qquad\sigma_\ell^2=\frac{\Delta_2^2}{2\rho_\ell}",
    source="Canonne, Kamath and Steinke (2020), Theorem 4; Boninsegna, Algorithm 1.",
    best="Many levels where counts must stay whole and be drawn exactly.",
    loses="A large ε or few levels; its conversion to ε is a little looser than the continuous law's.",
)
