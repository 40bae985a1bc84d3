"""What is to be known of each way to have the marginals of a table: assumption, formula, source, best and worst."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treedp_core.registry import MethodCard, Table, table


@dataclass(frozen=True)
class Way:
    """A table entry: a way to have marginals that is compared with a top-down release."""

    name: str
    label: str
    help: str
    card: MethodCard


WAYS: Final[Table[Way]] = table(
    Way("levels", "Its noise, not projected", "The noisy counts of the first level that has all columns, added up.",
        MethodCard(
            assumptions="The columns have an order; level k of d has noise of its own for ρ/d.",
            formula=r"\operatorname{Var}\hat q_S=\frac d\rho\prod_{j\le\max S,\ j\notin S}|X_j|",
            source="Boninsegna, Algorithm 1 before IntOpt; Section 4 calls it the hierarchical mechanism.",
            strengths="Questions by the first columns, where negative counts do no harm.",
            limitations="Questions by late columns; counts that must be whole, at least 0 and add up.",
        )),
    Way("cells", "One table of all cells", "Noise on every cell of all columns; each question adds cells up.",
        MethodCard(
            assumptions="The whole of ρ is spent on the cells; one record is replaced and N is public.",
            formula=r"\operatorname{Var}\hat q_S=\frac1\rho\prod_{j\notin S}|X_j|",
            source="Boninsegna, Section 1 (related work); the noise is that of Ghazi et al., Lemma 2.6.",
            strengths="Questions by nearly all columns.",
            limitations="Questions by few columns: the noise of many cells adds up.",
        )),
    Way("tables", "One table a question", "Noise on the cells of every question by itself.",
        MethodCard(
            assumptions="The questions are known beforehand, and q of them share ρ.",
            formula=r"\operatorname{Var}\hat q_S=\frac q\rho",
            source="Boninsegna, Section 1 (related work); the noise is that of Ghazi et al., Lemma 2.6.",
            strengths="Few questions.",
            limitations="Many questions; answers to two of them do not agree on what they share.",
        )),
    Way("mwem", "MWEM", "Rounds: the cell that a table has most wrong is found and measured, and the table follows.",
        MethodCard(
            assumptions="The questions are known beforehand, one record is replaced, N is public.",
            formula=r"P(\text{cell }c)\propto e^{\varepsilon\,|q_c-\hat q_c|/2m},\qquad"
            r"\rho=\sum_{\text{rounds}}\Bigl(\frac{\varepsilon^2}8+\frac{\Delta_2^2}{2\sigma^2}\Bigr)",
            source="Hardt, Ligett and McSherry (2012), Figure 1; ρ of a choice: Cesar and Rogers (2021).",
            strengths="Very many questions and a small ρ: only what is most wrong is measured.",
            limitations="Few questions or a large ρ: its rounds share ρ, and many cells are never measured.",
        )),
)  # fmt: skip
