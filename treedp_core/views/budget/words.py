"""What the views of the page Budget split say about their numbers; labels of the data never appear here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from treedp_core.allocation.shares import PUBLISHED_SPLITS
from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Accounting, Currency, NeighbouringRelation
from treedp_core.privacy.prior_provenance import CHOOSE, NOT_PRIVATE, PriorKind
from treedp_core.studies.budget import (
    Answer,
    Ask,
    Inverse,
    Optimum,
    Prior,
    Problem,
    Problems,
    Question,
    Result,
    Target,
    best_simple,
)
from treedp_core.studies.budget.question import NONE
from treedp_core.tree import Tree
from treedp_core.words import (
    budget_text,
    percent,
    percent_above,
    plain,
    plural,
    privacy_text,
    setting_text,
    short,
    upper_first,
    with_noun,
)  # fmt: skip

CONFIRMED: Final = ("formula", "simulation", NOT_PRIVATE)
"""Badges of what is also simulated: targets are, before and after a split is found."""
NOT_TUNED: Final = "Errors in records are the same whatever the counts: nothing is tuned on them, nothing charged."
NOT_SIMULATED: Final = "What simulated releases reach of these targets is not known yet."
TIE: Final = 1e-3
"""Errors this close, relative to each other, count as equal in a sentence."""


def badges(question: Question) -> tuple[str, ...]:
    """Return the badges of the page: errors are formulas on the true counts; a noisy prior is one simulated release."""
    return CONFIRMED if question.pays else ("formula", NOT_PRIVATE)


def notes(problems: Problems) -> tuple[str, ...]:
    """Return what must be known of what splits are tuned on, besides why it is refused."""
    if problems.question.prior == NONE:
        return (NOT_TUNED,)
    if problems.tuned is None and problems.refusal is None:
        return ("Until there is a prior for these data, only strategies that look at no counts are shown.",)
    return ()


def verdict(results: Sequence[Result]) -> str:
    """Return the sentence that sets greedy beside the best of the simple strategies, whichever is better."""
    greedy = next((row for row in results if row.name == "greedy"), None)
    simple = best_simple(results)
    if greedy is None or simple is None:
        return ""
    mine, other = greedy.errors.tree, simple.errors.tree
    pair = f"greedy {short(mine)}, best of the simple strategies {short(other)} ({simple.label})"
    if mine == other or abs(mine / other - 1) < TIE:
        return f"Greedy is no better than the best of the simple strategies here: {pair}, which looks at no counts."
    if mine < other:
        return f"Greedy wins here: {pair}, {percent(1 - mine / other)} less error."
    why = ""
    if greedy.ledger.prior is not None and greedy.ledger.prior.spent:
        why = " What its prior costs is missing on the levels; the simple strategies spend everything there."
    much = f"{percent(mine / other - 1)} more error" if math.isfinite(mine) else "an unbounded error"
    return f"**Greedy loses here:** {pair}, {much}, although that one looks at no counts.{why}"


def best(results: Sequence[Result], question: Question) -> str:
    """Return which strategy errs least, and by how much an equal split errs more."""
    finite = [row for row in results if math.isfinite(row.errors.tree)]
    least = min(finite, key=lambda row: row.errors.tree, default=None)
    equal = next((row for row in finite if row.name == "uniform"), None)
    if least is None:
        return "No strategy determines every count."
    told = f"**{least.label}** has the smallest error: {question.metric} {short(least.errors.tree)}"
    if equal is None or least is equal or not least.errors.tree:
        return f"{told}."
    more = short(equal.errors.tree / least.errors.tree)
    return f"{told}; an equal split has {short(equal.errors.tree)}, {more} times as much."


def mine(row: Result, others: Sequence[Result], question: Question) -> str:
    """Return how one's own split compares with the best of the others."""
    told = f"Your own split: {question.metric} **{short(row.errors.tree)}**"
    finite = [one for one in others if math.isfinite(one.errors.tree)]
    least = min(finite, key=lambda one: one.errors.tree, default=None)
    if least is None or not math.isfinite(row.errors.tree) or not least.errors.tree:
        return f"{told}."
    times = short(row.errors.tree / least.errors.tree)
    return f"{told}, {times} times that of the best here ({least.label}, {short(least.errors.tree)})."


def unknown(row: Result, truth: Problem, names: Sequence[str]) -> str:
    """Return why a split's error is not finite, and what to do: levels that nothing tells; `names` ready to show."""
    if math.isfinite(row.errors.tree):
        return ""
    lost = [level for level, error in enumerate(row.errors.level.tolist()) if not math.isfinite(error)]
    repaired = replace(truth, least_squares=True).summary(row.amounts).level
    still = [level for level in lost if not math.isfinite(repaired[level])]
    has, them = ("has", "it") if len(lost) == 1 else ("have", "them")
    told = f" **∞**: {_listed(lost, names)} {has} no budget, so that nothing tells {them}."
    share = f"give {_listed(still[-1:], names)} a share" if still else ""
    if truth.least_squares or lost == still[-1:]:
        return f"{told} {upper_first(share)}: the counts above are then sums of its own."
    repair = "Switch on **Least squares** under *More*, which works a level out from those below"
    return f"{told} {repair}{f', and {share}' if share else ''}."


def _listed(levels: Sequence[int], names: Sequence[str]) -> str:
    return _and([names[level] for level in levels])


def _and(every: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(every[:-1]), *every[-1:])))


def compared(row: Result, simple: Result | None) -> str:
    """Return how a strategy stands to the best simple one, for its card."""
    if simple is None or row is simple:
        return row.label
    if not simple.errors.tree:  # one leaf below a public total is public, too
        return row.label if row.errors.tree else "no error, as the best simple"
    return f"{short(row.errors.tree / simple.errors.tree)}× best simple"


def per_node_line(row: Result, error: float, question: Question) -> str:
    """Return what per-node budgets would gain."""
    change = f"from {short(row.errors.tree)} to {short(error)}" if error < row.errors.tree else "not at all"
    return (
        "Per-node budgets: the price is the largest sum along a path from the root to a leaf, so leaves that end early "
        f"may also spend what deeper levels do. That lowers the tree's {question.metric} {change}, at the same "
        "price (formula)."
    )


def optimum_line(best: Optimum, question: Question) -> str:
    """Return what is known of the tuned split: a proof that it is best, or an honest word that there is none."""
    start = f"The tuned split was found from “{best.found_from.replace('_', ' ')}”"
    if best.gap is None:
        return f"{start}: the best of many local searches, without a proof for this metric."
    every = "no split of the same ρ" if question.within else "no split"
    less = "0.01 %" if best.certified else percent_above(best.gap)
    return f"{start}. Proved: {every} has an error on the prior smaller by more than {less}."


def prior_line(prior: Prior | None, question: Question) -> str:
    """Return what the greedy and the tuned split look at, and what that cost."""
    if prior is None:
        return ""
    if prior.kind is PriorKind.NOISY:
        cost = f"ε = {privacy_text(question.epsilon_of_prior)}"
        earlier = "earlier " if question.prior == "earlier" else ""
        if question.currency is Currency.RHO:
            cost += f" (ρ = {privacy_text(prior.spent)})"
        return (
            f"The greedy and the tuned split look at a noisy prior: one simulated release of all {earlier}counts "
            f"(equal split, least squares, seed {question.experiment.seed}) that costs {cost}, charged to the total."
        )
    return prior.label


def accounted(question: Question, paid: float = 0.0) -> str:
    """Return how noise with two ways of accounting becomes ε, after a blank; nothing where there is one way."""
    if not MECHANISMS[question.law].two_accountings:
        return ""
    return f" {(Accounting.NUMERICAL if question.within and not paid else Accounting.FORMULA).told}"


def ledger_line(row: Result, question: Question) -> str:
    """Return the ledger sentence of a split, and for ρ the promise it stands for."""
    told = row.ledger.sentence()
    if question.currency is Currency.RHO:
        told += (
            f" ρ = {budget_text(row.ledger.total)} is (ε = {setting_text(question.experiment.epsilon)}, "
            f"δ = {setting_text(question.experiment.delta)})-differential privacy{accounted(question, row.spent)}."
        )
    elif float(row.ledger.charged) < row.ledger.total * (1 - 1e-9):
        told += " The rest is not spent."
    return plain(told)


def composed_line(found: float | None, question: Question) -> str:
    """Return what numerical accounting says of a split's noise; nothing where it says no less."""
    one = question.experiment
    if found is None or found >= one.epsilon:
        return ""
    return (
        f"By numerical accounting this noise is already (ε = {privacy_text(found)}, δ = {setting_text(one.delta)})-"
        "differential privacy; a release plan of this page can have less noise by it."
    )


def titled(question: Question, of: str) -> str:
    """Return the metric with its unit and τ, as on an axis."""
    entry = METRICS[question.experiment.metric]
    tau = f" (τ = {short(question.experiment.threshold)})" if "threshold" in entry.uses else ""
    return f"{entry.label} of {of}{tau}" + (f" ({entry.unit})" if entry.unit else "")


def caption(question: Question, tree: Tree, results: Sequence[Result]) -> str:
    """Return the caption of the comparison."""
    source = f"{question.metric} from noise variances"
    if question.experiment.metric == "rmsre":
        source = f"Dawson et al., Definition 7, τ = {short(question.experiment.threshold)}"
    published = [row.label for row in results if row.name in PUBLISHED_SPLITS]
    rho = question.currency is Currency.EPSILON
    chosen = f" {CHOOSE}" if METRICS[question.experiment.metric].reads_counts else ""
    note = (
        f" {', '.join(published)}: published shares of ρ"
        + (", used here as shares of ε" if rho else "")
        + " (Abowd et al., 2022)."
        if published
        else ""
    )
    if question.experiment.relation == NeighbouringRelation.REPLACE_UNKNOWN.value:
        note += " Unknown levels are charged twice, so that shares need not fill 100 %."
    return (
        f"NOT PRIVATE: expected errors on the true counts (closed form: {source}; "
        f"{'after least squares, Algorithm 2' if question.least_squares else 'before post-processing'}). All "
        f"strategies cost the same total of ε = {setting_text(question.experiment.epsilon)}{accounted(question)}; "
        f"{plural(tree.n_leaves, 'leaf', 'leaves')}, {plural(tree.n_levels, 'level')}. ∞: a count is not "
        f"determined.{note}{chosen}"
    )


def target(one: Target, level: str) -> str:
    """Return a target in a few words; `level` is the name of its level, ready for the screen."""
    if one.ask is Ask.RMSE:
        return f"{level}{f' ≥ {short(one.among)}' if one.among else ''}: RMSE ≤ {short(one.value)}"
    large = f" ≥ {short(one.among)}" if one.among else ""
    within = with_noun(short(one.value), "record") if one.in_records else f"{short(100 * one.value)} %"
    if one.ask is Ask.RMSRE:
        return f"{level}{large}: RMSRE ≤ {within}"
    if one.ask is Ask.SHARE:
        return f"{percent(one.part)} of {level}{large} within {within} at once"
    return f"{'every' if one.ask is Ask.EVERY_NODE else 'a random'} {level}{large} within {within}"


def smallest(of: Question, prior: Prior | None, targets: Sequence[Target], found: Answer, names: Sequence[str]) -> str:
    """Return the smallest budget in a sentence: what is wanted, what it costs, who gets it, and what equal parts need.

    Whatever was sized by a prior includes its price. `names` are those of the levels, ready for the screen.
    """
    paid = prior.spent if prior is not None else 0.0
    every = [target(one, names[one.level]) for one in targets]
    wanted = _and(every)
    single = [one for one in targets if one.on_counts]
    sure = f", {'each ' if len(single) > 1 else ''}with probability {short(single[0].confidence)}" if single else ""
    parts = [_part(of, amount, found.found.total, names[level]) for level, amount in enumerate(found.found.amounts)]
    parts += [f"{privacy_text(of.epsilon_of_prior)} for the prior"] if paid else []
    here, equally, unread = found.composed
    total = privacy_text(of.epsilon(found.found.total + paid, here))
    equal = f"an equal split needs {_needs(of, found.equal + paid, equally)}"
    if paid:
        saves = found.unread > found.found.total + paid
        costs = "" if saves else ": here the prior costs more than it saves"
        equal += (
            f", the prior included, and {_needs(of, found.unread, unread)} without one, for counts of any size{costs}"
        )
    of_what = f"{of.symbol} " if of.within else ""
    proved = f" ({of_what}proved within {percent_above(found.found.gap)})" if found.found.total else ""
    who = _and(list(filter(None, parts))) or "nobody"
    return f"{upper_first(wanted)}{sure}: **ε = {total}**{proved}, of which {who}; {equal}."


def _needs(of: Question, amount: float, composed: float) -> str:
    return privacy_text(of.epsilon(amount, composed)) if math.isfinite(amount) else "more than is offered here"


def _part(of: Question, amount: float, total: float, name: str) -> str:
    if not amount:
        return ""
    return f"{privacy_text(amount) if of.currency is Currency.EPSILON else percent(amount / total)} on {name}"


def seen(answer: Answer) -> tuple[str, str]:
    """Return what simulated releases reached of the target that binds, ± 95 %, and in how many of them."""
    if not answer.is_simulated:
        return "…", "not known yet"
    found = answer.seen
    if found is None:
        return "–", ""
    asked = found.target.ask
    what = {Ask.EVERY_NODE: "worst count", Ask.AVERAGE_NODE: "mean count", Ask.SHARE: "one release"}.get(
        asked, asked.name
    )
    shown, _, margin = found.text.partition(" ")
    return shown, f"{margin}, {what}, {plural(found.trials, 'run')}"


def binding(found: Inverse, names: Sequence[str]) -> tuple[str, str]:
    """Return which levels decide, and what they are called."""
    return ", ".join(map(str, found.binding)) or "–", ", ".join(names[level][:24] for level in found.binding)


def lower_bound(found: Inverse, question: Question) -> tuple[str, str]:
    """Return below what no budget meets the targets, and how far that is from what was found."""
    return budget_text(found.lower_bound), f"{question.symbol}, levels: gap {percent_above(found.gap)}"


def skipped(of: Question, found: Inverse, names: Sequence[str]) -> str:
    """Return what leaving levels unmeasured saves, or what it would cost; `names` are ready for the screen."""
    told = []
    for level, other in enumerate(found.otherwise):
        if not found.total * (1.0 + TIE) < other < math.inf:
            continue
        change = percent(1.0 - found.total / other) if not found.amounts[level] else percent(other / found.total - 1.0)
        if not found.amounts[level]:
            told.append(f"not measuring {names[level]} saves {change} (with it {privacy_text(other)})")
        else:
            told.append(f"without {names[level]} {change} more ({privacy_text(other)})")
    return f"In {of.symbol}, by the best splits found: {'; '.join(told)}." if told else ""


_AS_IT_CAME_OUT: Final = (
    "Other noise on the prior gives another budget, so this one is promised as what came out, not as a bound fixed "
    "beforehand. "
)


def answered(found: Inverse, question: Question, targets: Sequence[Target]) -> str:
    """Return the caption of the smallest budget: by what it is judged, and what is proved of it."""
    return (
        f"Judged {'by its noise alone' if question.prior == NONE else 'on the prior'}, "
        f"with {MECHANISMS[question.law].label} noise"
        + (", after least squares. " if question.least_squares else ", before least squares. ")
        + ("" if found.exact else "Probabilities after least squares are partly simulated. ")
        + _certainty(found, question)
        + (f" ε{accounted(question)}." if accounted(question) else "")
        + f" Counts below τ = {short(targets[0].at_least)} are judged as τ. "
        + (_AS_IT_CAME_OUT if question.pays else "")
        + "What the table has of the true counts is NOT PRIVATE."
    )


def _certainty(found: Inverse, question: Question) -> str:
    at = f" a {question.symbol}" if question.within else ""
    if not found.total:
        return "Nothing need be spent."
    if found.is_proved:
        return f"Proved: no split needs{at or ' an ε'} smaller by more than {percent_above(found.gap)}."
    less = percent_above(found.gap)
    return f"Proved: no split needs{at or ' an ε'} smaller by more than {less}; this is the best of several searches."
