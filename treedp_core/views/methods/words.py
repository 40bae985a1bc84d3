"""What the page Methods says about its numbers."""

from __future__ import annotations

import math
from typing import Final

from treedp_core.studies.methods.comparison import Compared
from treedp_core.studies.methods.entries import Method
from treedp_core.studies.methods.papers import Checked, summary
from treedp_core.studies.methods.selfcheck import WITHIN, SelfCheck
from treedp_core.words import lower_first, percent, plural, setting_text, short, whole

DIGITS: Final = 5
MOST_NUMBERS: Final = 2
"""Numbers of a claim on the first screen."""
EQUAL: Final = 1.005
"""How many times the best still counts as the best."""


PICTURES: Final = {
    "ghazi": "Table 1 as curves: worst-case α-RMSE by number of levels on binary trees, ε = 1, δ = 1e-6, α = 0.5; the "
    "exponent behind each name is measured. Formula. Ghazi et al., Table 1.",
    "boninsegna": "The open question of Section 4: the bound of Theorem 1 and the exact reach of noise that is not "
    "projected, 16 columns of 1 000 categories; and the mean largest error of 40 simulated releases after IntOpt, 11 "
    "columns of 2 categories, made-up records. Related work: noise that is not projected is that of one table a query, "
    "√(kd) in the paper; one table of all cells, e^((d − k)/2) in the paper, with Gaussian noise for all of ρ = d; and "
    "the law √(nd) of MWEM, n = 40 000. Exponents measured from level 3 on. Formula and simulation.",
    "dawson": "The five strategies of Figure 4 on made-up conversions, splits tuned on one period and judged on the "
    "next. Formula. Your own data: Budget split, Error vs ε, tuned on a “Public or historic file”.",
    "rameshwar": "Figure 1, 256 bins, one record replaced, and the 16-ary tree after least squares. Formula. "
    "Rameshwar et al., Figure 1.",
}
"""How the picture of each paper is to be read."""


def claim(one: Checked) -> str:
    """Return a claim, its verdict and its numbers."""
    numbers = "; ".join(
        f"{number.what}: **{short(number.today, DIGITS)}** ({short(number.paper, DIGITS)})"
        for number in one.numbers[:MOST_NUMBERS]
    )
    rest = len(one.numbers) - MOST_NUMBERS
    numbers += f"; {plural(rest, 'more number')} below" if rest > 0 else ""
    verdict = one.claim.verdict.value
    verdict += "" if one.holds else ", which today's numbers do NOT bear out"
    today = f"Today (the paper): {numbers}." if numbers else ""
    said = f"**{one.claim.place}: {verdict}.** {one.claim.says} {today} {one.claim.why}"
    return " ".join(said.split())


def all_numbers(found: tuple[Checked, ...]) -> str:
    """Return how the figure of all numbers is to be read."""
    return (
        f"{summary(found)}. A dot for each number: today's over the paper's; at 1 both agree, and what is 10 000 "
        "times apart, or 0, stands at the edge. Ringed: the claim chosen. Formula; where a claim is an experiment, "
        "simulation."
    )


def answer(one: Method, found: Compared) -> str:
    """Return where an entry is best and where it loses, as stated and as found here."""
    stated = f"**Best:** {_small(one.card.strengths)} **Loses:** {_small(one.card.limitations)}"
    return f"{stated} {_here(one, found)}".strip()


def _small(sentence: str) -> str:
    return sentence if sentence.endswith(".") else f"{sentence}."


def _here(one: Method, found: Compared) -> str:
    """Return what the figure shows: how far the entry is from the best, and where."""
    values = found.lines.get(found.chosen, [])
    known = [(y, x) for x, y in zip(found.x, values, strict=False) if math.isfinite(y)]
    if one.kind == "bounds":
        rest = {label: ys[-1] for label, ys in found.lines.items() if label != found.chosen}
        name, value = min(rest.items(), key=lambda pair: pair[1])
        return f"At {found.over} = {short(found.x[-1])}: {short(values[-1])}; {name}: {short(value)}."
    if not known:
        last = {label: ys[-1] for label, ys in found.lines.items()}
        worst = max(last, key=lambda label: last[label])
        return f"Here at ε = {setting_text(found.x[-1])}: {lower_first(worst)}, {short(last[worst])} times the best."
    (least, at_least), (most, at_most) = min(known), max(known)
    if most <= EQUAL:
        return "Here it is the best of its kind throughout."
    begin = "the best" if least <= EQUAL else f"{short(least)} times the best"
    return (
        f"Here: {begin} at {found.over} = {setting_text(at_least)}, {short(most)} times at "
        f"{found.over} = {setting_text(at_most)}."
    )


def caption(one: Method, found: Compared) -> str:
    """Return how the figure is to be read, and what its entry assumes."""
    how = "simulated releases where there is no closed form" if found.simulated else "formula"
    cut = "What is beyond 10 times leaves it at the top. " * found.is_ratio
    return (
        f"**{one.label}.** {one.help}  \n**Assumes:** {one.card.assumptions}  \n**Source:** {one.card.source}  \n"
        f"The figure: {found.says}, {how}. {cut}{found.about}"
    )


def checked(found: SelfCheck) -> str:
    """Return what the self-check found, and what chance alone would do."""
    off = len(found.rows) - found.n_within
    verdict = f":material/verified: **{found.n_within} of {len(found.rows)} within {short(WITHIN)} standard errors**"
    if off:
        verdict = f":material/error: **{plural(off, 'closed form')} of {len(found.rows)} off its simulation**"
    return (
        f"{verdict}, {whole(found.trials)} releases each, seed {whole(found.seed)}. If all are right, "
        f"{short(found.expected_outside, 2)} of them would be outside on average; the furthest would be as far in "
        f"{percent(found.worst_chance)} of such checks. "
        f"Not checked, as there is no closed form or nothing attains it: {'; '.join(found.without)}."
    )
