"""What is to be known of each way to put noise on a CDF: assumption, formula, source, where it is best and loses."""

from __future__ import annotations

from typing import Final

from treedp_core.registry import MethodCard

TREE: Final = MethodCard(
    assumptions="Levels share the budget; a cumulative count adds the nodes of its cover, from the left or from N and "
    "the right, by both views, or least squares fits all.",
    formula=r"c_j=\sum_{v\in\mathrm{cover}(j)}y_v,\qquad N^2E_2=\frac{4K}{\varepsilon^2}\,h^2\sum_{i=1}^h(n_i-1)"
    r"\ \ (\text{Laplace, equal budgets})",
    source="Rameshwar et al., Theorem IV.1; views: Lemma IV.4; least squares: Dawson et al., Algorithm 2.",
    strengths="Any noise and any number of bins, in linear work; its counts can be shown on a tree.",
    limitations="Gaussian noise, where matrices have smaller errors; the figure says by how much.",
)
ROOT: Final = MethodCard(
    assumptions="Gaussian noise on Mx, where M is the symmetric root of the products G of the wanted counts P, with "
    "columns of one length; where a record is replaced, that of centred cumulative counts, for ranges a triangle.",
    formula=r"G=P^\top P,\qquad M=G^{1/4}D,\qquad \hat c=P\,M^{-1}(Mx+Z)",
    source="Fichtenberger, Henzinger and Upadhyay (2023); normalised columns: Henzinger, Kalinin and Upadhyay (2026); "
    "the symmetric root is derived here.",
    strengths="Many bins: no search, and a few per cent above the least error that is possible.",
    limitations="Bins that are few enough for the optimal matrix, and pure ε.",
)
OPTIMAL: Final = MethodCard(
    assumptions="Gaussian noise on Ax; the counts that are wanted, the rows of W, are known beforehand.",
    formula=r"\min_{X\succeq0}\ \operatorname{tr}(W X^{-1}W^{\top})\quad"
    r"\text{with}\ X=A^{\top}A,\ \ \mathrm{diag}\,X\le1\ \ (\text{one record added or removed})",
    source="The matrix mechanism of Li et al. (2015); the search and its certificate by duality are our own.",
    strengths="Up to 1 024 bins, Gaussian noise: at most half a per cent above the least error.",
    limitations="Counts that it was not made for, more bins, and pure ε.",
)
IDENTITY: Final = MethodCard(
    assumptions="Laplace noise on Ax; the counts that are wanted, the rows of W, are known beforehand.",
    formula=r"A=\begin{pmatrix}I\\ \Theta\end{pmatrix}D,\quad D=\mathrm{diag}(1+1^{\top}\Theta)^{-1},\qquad"
    r"\min_{\Theta\ge0}\ \operatorname{tr}\bigl(W(A^{\top}A)^{-1}W^{\top}\bigr)",
    source="McKenna, Miklau, Hay and Machanavajjhala (2018, HDMM), Sec. 5: p-Identity strategies.",
    strengths="Pure ε: up to 65 536 bins; a tree with a smaller error is released instead.",
    limitations="Beyond 1 024 bins only sums of near bins; nothing says how far from the least error it is.",
)
PARTITION: Final = MethodCard(
    assumptions="Bins in a row are often alike; whole-number noise, half of ε for where buckets begin.",
    formula=r"\min_{\text{buckets }B}\ \sum_B\Bigl(\widetilde{\textstyle\sum_{j\in B}|x_j-\bar x_B|}+c\Bigr),\qquad"
    r"\hat x_j=\tilde x_B\,/\,|B|",
    source="After Li, Hay, Miklau and Wang (2014, DAWA); the intervals, their noise and the proof are our own.",
    strengths="Few records on smooth data, where single bins are wanted.",
    limitations="Many records or spikes: bins of a bucket are then not alike.",
)
