"""What is to be known of each allocation: assumption, formula, source, where it is best and where it loses."""

from __future__ import annotations

from typing import Final

from treedp_core.registry import Stated

UNIFORM: Final = Stated(
    assumes="Nothing: it looks neither at the tree nor at the data.",
    formula=r"\varepsilon_\ell=\varepsilon/(h+1)\quad\text{or}\quad\rho_\ell=\rho/(h+1)",
    source="Ghazi et al., Corollary 2.7; Rameshwar et al., Fig. 1; Boninsegna, Algorithm 1.",
    best="When every level matters as much, before least squares.",
    loses="After least squares: the middle levels are then worth less than the ends.",
)
LEAVES_ONLY: Final = Stated(
    assumes="Upper counts are wanted only as sums of leaves.",
    formula=r"\varepsilon_h=\varepsilon,\qquad\hat x_v=\sum_{\text{leaves below }v}y",
    source="Dawson et al., Figure 4 (one of its strategies).",
    best="Single leaves, and errors that are relative to small counts.",
    loses="Large sums: their variance is that of all leaves below.",
)
MINIMAX: Final = Stated(
    assumes="Gaussian noise, then least squares, on a tree whose nodes of a level have equally many children.",
    formula=r"\rho_\ell\propto\frac{n_\ell}{n_\ell+1}-\frac1{n_{\ell+1}+1},\qquad"
    r"\sigma_v^2=\frac{\gamma_2^2}{2\rho},\quad\gamma_2^2=1+\sum_\ell\frac{n_\ell-1}{n_\ell+1}",
    source="Ghazi et al., Theorems 5.2 and A.3; the exact norm and these shares are our own.",
    best="The largest error of a node: no unbiased Gaussian mechanism has a smaller one.",
    loses="Errors that weigh small counts more than large ones.",
)
CUBE_ROOT: Final = Stated(
    assumes="Ranges and cumulative counts are asked for, and no least squares follows.",
    formula=r"\varepsilon_\ell\propto S_\ell^{1/3}\quad(\rho_\ell\propto S_\ell^{1/2}),\qquad "
    r"S_\ell=\tfrac K2\,(n_\ell-1)",
    source="Rameshwar et al., Theorem IV.2 (i), with the exact uses of a padded tree.",
    best="Cumulative counts on a tree whose levels have different numbers of children.",
    loses="After least squares, where it gains at most a few per cent over equal shares.",
)
CUSTOM: Final = Stated(
    assumes="You know which levels matter; shares tuned on true counts are themselves private.",
    formula=r"\rho_\ell=w_\ell\,\rho\quad\text{or}\quad\varepsilon_\ell=w_\ell\,\varepsilon,\qquad\sum_\ell w_\ell\le1",
    source="Dawson et al., Algorithm 3, finds such shares slice by slice.",
    best="Shares from the page Budget split, tuned on an earlier year.",
    loses="When the year they were tuned on was unlike this one.",
)
