"""The chosen split as the Attribution Reporting API would spend it: whole numbers of 65 536, and what they measure."""

from __future__ import annotations

from functools import partial
from typing import Final

from treedp_core.privacy import Currency, NeighbouringRelation
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.studies.budget import Comparison, Result, Search
from treedp_core.studies.budget.attribution import (
    CONTRIBUTIONS,
    KEY_BITS,
    Reports,
    credit_table,
    key_bits,
    report_table,
    reports,
    room_table,
)
from treedp_core.views.budget import words
from treedp_core.views.budget.inputs import BudgetInputs
from treedp_core.views.budget.splits import chosen, comparison, provenance
from treedp_core.views.finding import Finding, Memo, Tables, forgetful
from treedp_core.words import literal, plural, privacy_text, short, whole

REPEATS: Final = (0.1, 0.3)
ELSEWHERE: Final = (
    "What browsers' Attribution Reporting API would spend is shown where unknown columns are replaced: that is what it "
    "protects of a click."
)


def is_offered(one: Comparison) -> bool:
    """Return whether the API could spend such a split: one of ε, whose errors are squared ones."""
    return one.problems.truth.currency is Currency.EPSILON and one.problems.truth.squares


def api(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return what one conversion adds on each level, its noise, and the error.

    Raises
    ------
    InputError
        ``REPORT_VALUES``; as `reliability_map`.
    """
    one, row, made = _made(inputs, tables, slow, memo)
    if made is None:
        return Finding(answer=ELSEWHERE)
    truth, metric, names = one.problems.truth, one.question.metric, tables.data.labels.level_names
    return Finding(
        columns=partial(report_table, made, truth, names, metric),
        answer=_told(made, row, metric, made.errors(truth).tree, tables),
        alt="What one conversion adds on each level, its noise, and the error",
        caption=f"Noise in conversions. Formula; the error is {NOT_PRIVATE}: it is that of the true counts.",
        label=one.label,
        badges=words.badges(one.question),
        provenance=provenance(one.question, tables),
    )


def room(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return noise and lost conversions of the finest level that is measured, by how many of a click count."""
    one, _, made = _made(inputs, tables, slow, memo)
    measured = max((level for level, value in enumerate(made.values if made else ()) if value), default=None)
    if made is None or measured is None:
        return Finding(answer=ELSEWHERE if made is None else "No level is measured.")
    level = tables.data.labels.level_names[measured]
    return Finding(
        columns=partial(room_table, made, measured, REPEATS),
        alt="Noise and lost conversions by how many of a click count",
        caption=f"Noise of a count of the level “{literal(level, 40)}”, in conversions. Lost: those that find no room "
        "left, where each is followed by another one of its click with that probability. Formula.",
        label=one.label,
        badges=words.badges(one.question),
        provenance=provenance(one.question, tables),
    )


def credit(inputs: BudgetInputs, tables: Tables, *, slow: Search | None = None, memo: Memo = forgetful) -> Finding:
    """Return what conversions of a made-up person are credited to and add, by last touch and the cap of a click."""
    one, _, made = _made(inputs, tables, slow, memo)
    if made is None:
        return Finding(answer=ELSEWHERE)
    table, most = credit_table(made), made.unit.contributions
    n, without = len(table["counts"]), table["credited to the click of day"].count("none before it")
    lost = n - without - table["counts"].count("yes")
    return Finding(
        columns=table.copy,
        answer=f"Of {n} conversions {without} {'has' if without == 1 else 'have'} no click before it; each other one "
        f"is credited to the **last click before it**, and of each click the first **{plural(most, 'conversion')}** "
        f"{'counts' if most == 1 else 'count'}: {plural(lost, 'conversion')} {'is' if lost == 1 else 'are'} lost. No "
        f"click adds more than {whole(max(table['its click has added']))}, and none may add more than "
        f"{whole(made.of_a_click)} of {whole(CONTRIBUTIONS)}.",
        alt="Conversions of a made-up person, the clicks they are credited to, and what they add",
        caption="Days and conversions are made up. The cap is “Records of one unit, at most” in the sidebar: it bounds "
        "what one click adds, whatever its conversions do, and the noise grows with it.",
        label=one.label,
        badges=("formula",),
        provenance=provenance(one.question, tables),
    )


def _made(
    inputs: BudgetInputs, tables: Tables, slow: Search | None, memo: Memo
) -> tuple[Comparison, Result, Reports | None]:
    """The strategies, the chosen one, and its reports: none where they protect another unit."""
    one, row = comparison(inputs, tables, slow=slow, memo=memo), chosen(inputs, tables, slow=slow, memo=memo)
    unit, total, amounts = one.problems.truth.unit, row.ledger.total, row.ledger.amounts
    is_that = unit.relation is NeighbouringRelation.REPLACE_UNKNOWN and is_offered(one)
    return one, row, reports(unit, total, amounts) if is_that else None


def _told(made: Reports, row: Result, metric: str, error: float, tables: Tables) -> str:
    bits = key_bits([len(labels) for labels in tables.data.labels.vocabularies[1:]])
    fits = "fit" if bits <= KEY_BITS else f"do **not** fit its {KEY_BITS}"
    room = plural(made.unit.contributions, "conversion")
    return (
        f"There, all conversions of one click may add {whole(65_536)} together, and every count gets noise of the same "
        f"width: {whole(round(made.law.variance**0.5))} of these units at ε = {privacy_text(made.epsilon)}. Shares of "
        f"the budget become the whole numbers below, rounded down: {whole(made.of_a_click)} for {room} of a click, at "
        f"a cost of ε = {privacy_text(made.charged)}. {metric} of the tree **{short(error)}**, by this page's own "
        f"noise {short(row.errors.tree)}. The unit is a click with what is credited to it, by last touch before "
        f"any noise, not a person. Keys of {plural(bits, 'bit')} {fits}."
    )
