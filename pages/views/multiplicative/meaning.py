"""When to use it, on the page Multiplicative error: what the question means, and from which count on it is answered."""

from __future__ import annotations

from typing import Final

import streamlit as st

from pages.ui import frame
from pages.ui.page import Told
from pages.ui.snippets import call
from pages.ui.store import remember
from pages.views.multiplicative.growth import IGNORES as IGNORES
from pages.views.multiplicative.growth import about, asked
from pages.views.multiplicative.settings import ETA
from treedp_core.studies.multiplicative import accuracy_table
from treedp_core.words import plural, short, whole

WORDS: Final = (
    "**Multiplicative error forgives what is small beside the count.** With α = 0.1 a count of 10 000 may be off by "
    "1 000 for free; only what goes beyond that is an error, in records. Ask this question when people read ratios: "
    "shares, rates, rankings, the heaviest branches of a deep tree.\n\n"
    "- **It is the right question** for trees with very many levels (URLs, n-grams, IP prefixes, medical codes, "
    "quadtrees) and for counts that span powers of ten. There noise on every level must grow with the number of "
    "levels, √d at best; thresholds with δ > 0 grow like its logarithm.\n"
    "- **It is the wrong question** when counts are added or subtracted afterwards: values come from a short list, "
    "children do not add up to their parent, and differences of two large counts lose everything.\n"
    "- **It changes nothing** for counts below about error ÷ α: there α forgives less than the noise. And with few "
    "levels noise and shrinkage, max(0, (1 − α) y), is simpler and better: the ranking says from how many on it "
    "is not."
)


def show() -> Told:
    """Say what multiplicative error is good for, and from which count on it promises something."""
    st.markdown(WORDS)
    st.header("From which count on is the promise kept?", anchor=False)
    chosen, d = asked("thresholds and Gaussian noise", ETA)
    told = Told(about(chosen, d), "formula, simulation")
    if d is None:
        return told
    eta = ETA.value
    ran = remember(("mul accuracy", chosen, d, eta), lambda: call(accuracy_table, chosen, d, eta))
    frame.table(
        ran,
        key="mul_accuracy",
        alt="Thresholds from which on counts are accurate, by mechanism",
        caption=f"Every count of τ or more is within a factor 1 ± {short(chosen.alpha)} with probability "
        f"{short(1 - eta)}, smaller ones within α τ records ((α, η)-accurate with threshold τ in Ghazi et al.), on "
        f"{plural(d, 'level')}, {whole(round(chosen.max_total))} records at most. Lemma 3.2 is Markov's inequality: "
        "plans do better than it says.",
        formats={"τ (records)": short},
        width="content",
    )
    return told
