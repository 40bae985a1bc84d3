"""Error against ε for the five strategies of Dawson et al., Figure 4: on the data in use, or by their design."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Final

from pages.ui import frame, result, store
from pages.ui.page import Told
from pages.ui.setting import in_a_row
from pages.ui.settings import EPSILON, SEED, THRESHOLD
from pages.ui.store import dataset, used
from pages.ui.strip import strip
from pages.ui.text import lit, prose
from pages.ui.unused import NO_DELTA, NO_SLACK, Reasons, said, unused_by
from pages.views.budget import ask, compared, words
from pages.views.budget import settings as s
from pages.views.budget.prior import file_prior
from treedp_core.figures import budget as figures
from treedp_core.figures.reliability import watermark
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.code import Ran, call, given
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.budget import NOT_PRIVATE, Curves, Question, curve_table, curves_of, figure4
from treedp_core.studies.budget.figure4 import PRIOR_EPSILON, TOTALS, unit_of
from treedp_core.studies.budget.tables import ERRORS_LABEL
from treedp_core.tree import Tree
from treedp_core.words import plural, setting_text, short, whole

_PAPER: Final = NO_DELTA | NO_SLACK | {"nbr": "The published experiment replaces a record within its known level."}
_OWN: Final = unused_by(s.METRIC) | ask.IGNORES

WORKING: Final = "Working out the curves"
SAMPLE: Final = "conversions"
EVEN: Final = "Uniform, least squares"
Asked = tuple[int, float, int, int, bool]
"""Height, τ, slices, seed, and whether each partner has a split of its own."""


_TUNED_ON: Final = {
    "draw": "another draw of the made-up records",
    "noisy": "one simulated noisy release",
    "public": "a public file",
    "earlier": "one simulated noisy release of a historic file",
    "true": "the TRUE COUNTS: not to be published",
    "none": "no counts, as errors in records are the same whatever they are",
}


def show() -> Told:
    """Show the controls and the figure; while new curves are worked out the old ones stay, greyed."""
    with in_a_row():
        s.CURVES_OF.draw()
        if _is_published():
            s.HEIGHT.draw()
            s.PARTNERS.draw()
        else:
            ask.draw_prior()
    return _published() if _is_published() else _own()


def _is_published() -> bool:
    return s.CURVES_OF.value == "paper"


def _ignored(key: str) -> str:
    return said(_PAPER if _is_published() else _OWN).get(key, "")


IGNORES: Final[Reasons] = {key: partial(_ignored, key) for key in _PAPER | _OWN}


def _own() -> Told:
    """Curves of the data set in use; what a noisy prior costs is part of each total."""
    question = ask.question()
    asked = replace(question, experiment=replace(question.experiment, epsilon=1.0, postprocess=()))
    prior = file_prior() if question.from_file else None
    tuned_on = None if prior is None else prior.value
    kept = result.in_background(
        "budget_own_curves", (asked, tuned_on), 100, partial(curves_of, asked, dataset(), TOTALS, tuned_on),
        about=compared.about(asked),
    )  # fmt: skip
    of, looked_at = kept.made_for or (asked, tuned_on)
    again = given(
        kept.value or Curves.empty(TOTALS), curves_of, of, used(), TOTALS, prior if looked_at is tuned_on else None
    ).named("curves")
    caption, leaks = _caption_of_own(of, dataset().tree), of.prior == "true"
    _figure(kept, again, words.titled(of, "the tree"), caption, leaks=leaks)
    result.show_state(kept, WORKING)
    ask.notes()
    return Told(compared.about(question), words.badges(question), more=_more_of_own)


def _published() -> Told:
    asked = (int(s.HEIGHT.value), THRESHOLD.value, s.PHASES_P.value, SEED.value, s.PARTNERS.value)
    sample = store.sample(SAMPLE)
    kept = result.in_background(
        "budget_curves", asked, 100, partial(figure4, sample, *asked), about=_about(asked), of=SAMPLE,
        of_data=False,
    )  # fmt: skip
    shown: Asked = kept.made_for or asked
    again = given(kept.value or Curves.empty(TOTALS), figure4, store.used_sample(SAMPLE), *shown).named("curves")
    _figure(kept, again, f"RMSRE of the tree (τ = {short(shown[1])})", _caption(shown))
    result.show_state(kept, WORKING)
    height, *_, seed, _ = shown
    return Told(
        strip(
            lit(sample.name, 40), f"height {height}", relation=NeighbouringRelation.REPLACE_UNKNOWN, fixed=True,
            epsilon=EPSILON.value, seed=seed,
        ),
        words.badges(ask.question()),
        more=partial(_more, shown),
    )  # fmt: skip


def _about(asked: Asked) -> str:
    height, tau, phases, seed, by_partner = asked
    where = "for each partner" if by_partner else "for all partners together"
    return f"height {height}, τ = {short(tau)}, {plural(phases, 'slice')}, tuned {where}, seed {seed}"


def _figure(
    kept: result.Result[Curves], again: Ran[Curves], y_title: str, caption: str, *, leaks: bool = False
) -> None:
    fig = call(
        figures.strategy_curves, again.get("totals"), again.get("labels"), again.get("errors"), y_title=y_title,
        marker_x=EPSILON.value, stale=not kept.is_ready,
    )  # fmt: skip
    told = _takeaway(again.value)
    frame.figure(
        call(watermark, fig.named("unmarked"), NOT_PRIVATE) if leaks else fig,
        key="bud_curves",
        alt=told or "Empty axes: the curves are being worked out.",
        answer=told or ("Working out the curves …" if kept.is_pending else "No answer: see below."),
        caption=caption,
        ran=None if kept.value is None else call(curve_table, again).saying(ERRORS_LABEL),
    )


def _caption_of_own(question: Question, tree: Tree) -> str:
    cost = " What it cost is part of each ε." if question.pays else ""
    return (
        f"{NOT_PRIVATE}: expected errors on the true counts (closed form, {MECHANISMS[question.law].label}"
        f"{words.accounted(question)}). Greedy: "
        f"{plural(question.phases, 'slice')}, one split for all {plural(tree.n_levels, 'level')}, tuned on "
        f"{_TUNED_ON[question.prior]}.{cost} Dashed: before least squares."
    )


def _more_of_own() -> None:
    with in_a_row():
        s.MECHANISM.draw()
        if ask.question().pays:
            s.PRIOR_EPSILON.draw()
    ask.tuning(metric=True)


def _more(asked: Asked) -> None:
    ask.tuning()
    prose(f"**{s.HEIGHTS[str(asked[0])]}**")
    prose(
        f"**Ledger.** Protects {unit_of(asked[0]).described}: the delay is unknown, everything above it is known. Each "
        "ε on the axis is the total of the later half: the larger of the sum over all levels and twice what the delay "
        f"level gets, because a changed delay moves two counts. For the prior ε = {setting_text(PRIOR_EPSILON)} was "
        "spent on the earlier half, that is on other records, and is not charged to the later one."
    )


def _caption(asked: Asked) -> str:
    height, tau, phases, seed, by_partner = asked
    where = "for each partner" if by_partner else "for all partners together"
    return (
        f"{NOT_PRIVATE}: closed form on the counts of the later half (discrete Laplace; Dawson et al., Figure 4: same "
        f"design, other data: synthetic conversions, {whole(store.sample(SAMPLE).total)} in all, each put into the "
        f"earlier or the later half at random, seed {seed}). Greedy: {plural(phases, 'slice')}, tuned {where} on one "
        f"noisy release of the earlier half. Dashed: before least squares. Height {height}, τ = {short(tau)}."
    )


def _takeaway(found: Curves) -> str:
    """Return who is best at the ε next to the reader's; nothing without curves."""
    if not found.labels:
        return ""
    total, errors = found.near(EPSILON.value)
    known = {name: error for name, error in errors.items() if not math.isnan(error)}
    best = min(known, key=known.__getitem__)
    even = errors[EVEN]
    if best == EVEN or not errors[best]:
        return f"At ε = {setting_text(total)} the smallest error is {short(errors[best])} ({best})."
    return (
        f"At ε = {setting_text(total)} the smallest error is {short(errors[best])} ({best}); an equal split with least "
        f"squares has {short(even)}, {short(even / errors[best])} times that."
    )
