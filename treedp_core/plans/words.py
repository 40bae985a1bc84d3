"""A plan in words: the accounting statement, what is still open, and a table of its levels. Costs are rounded up."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from treedp_core.errors import METRICS
from treedp_core.mechanisms import RELEASES
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace, Law
from treedp_core.plans.statement import TABLE, Bounded, Categories, NoiseLaw, PlannedLevel, Statement, SumsOfBins
from treedp_core.plans.thresholds import words as rounds
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.postprocess.chains import WHOLE_FROM_THE_ROOT
from treedp_core.privacy import Currency, NeighbouringRelation, Precision
from treedp_core.privacy.accounting import Accounting
from treedp_core.privacy.prior_provenance import NOT_PRIVATE, PriorKind, of_truth
from treedp_core.records.derive.derivation import derived_of
from treedp_core.records.edges import edge_text
from treedp_core.records.export.columns import SOURCE
from treedp_core.records.read.layout import options
from treedp_core.records.recipe import MARKS, Recipe
from treedp_core.registry import CLAIM, Promise
from treedp_core.studies.topdown.certificate import reach_of_all
from treedp_core.words import (
    budget_text,
    lower_first,
    margin,
    percent_set,
    plural,
    privacy_text,
    rounded_up,
    setting_text,
    short,
    whole,
)

Table = dict[str, list[str]]
_WORDS: Final = re.compile(r"\w++([ .-]\w++)*+")
TYPED: Final = ("Data", SOURCE, "Rows", "One unit", "Matrix", "Post-processing")
"""What of the summary somebody may have typed, into the app or into a file."""
SURE: Final = 0.95
"""With which a release certifies its errors, as its margins."""
MOST_CERTIFIED: Final = 10**12
"""Nodes of a level up to which all of its noise is stated to stay below something."""
DISCRETE: Final[dict[NoiseLaw, Callable[[float], Law]]] = {
    NoiseLaw.DISCRETE_LAPLACE: lambda scale: DiscreteLaplace(1.0 / scale),
    NoiseLaw.DISCRETE_GAUSSIAN: DiscreteGaussian,
}
MOST_EDGES: Final = 20
"""Edges of unequal bins that a sentence lists."""


def sentence(plan: Statement) -> str:
    """Return the accounting statement, ready for a methods section: ε, δ, ρ and scales are rounded up."""
    parts = [_released(plan), _protected(plan), _noise(plan), *_exact(plan), _cost(plan), *_after(plan)]
    return " ".join(parts)


def promise(plan: Statement) -> str:
    """Return the promise alone, such as "(ε = 1)-differential privacy", and how it was found where there are ways."""
    return _pair(plan) + (f" {plan.accounting.told}" if plan.accounting is not None else "")


def _pair(plan: Statement) -> str:
    pair = f"ε = {privacy_text(plan.epsilon)}" + (f", δ = {setting_text(plan.delta)}" if plan.delta else "")
    ideal = " in exact arithmetic" if plan.law.precision is Precision.IDEAL else ""
    return f"({pair})-differential privacy{ideal}"


def label(plan: Statement) -> str:
    """Return NOT PRIVATE and why, which every copy must begin with, where the plan tells of true counts; or nothing."""
    why = []
    if plan.tuned is not None and not plan.tuned.is_private:
        why.append("the budget or its split was tuned on the true counts")
    if plan.true_error is not None:
        why.append("errors on the true counts are stated")
    return f"{NOT_PRIVATE}: {' and '.join(why)}." if why else ""


def _released(plan: Statement) -> str:
    if plan.matrix is not None:
        others = plan.domain.bins is not None and plan.domain.bins.has_other
        bins = plural(plan.levels[0].leaves - others, "bin")
        beside = " and the number of all other records" if others else ""
        return (
            f"Cumulative counts of {bins}{beside} will be released by weighted sums of all bins: {matrix(plan.matrix)}."
        )
    names = ", ".join(named(one.name) for one in plan.levels[1:]) or named(plan.levels[0].name)
    leaves = plural(plan.levels[0].leaves, "leaf", "leaves")
    joined = "of" if plan.released == TABLE else "on"
    levels = plural(len(plan.levels), "level")
    released = plan.released.capitalize()
    if plan.is_of_sums:
        released = f"Sums of {named(plan.recipe.value)}, in steps of {edge_text(plan.recipe.grid)},"
    how = "" if plan.thresholds is None else f" {rounds.released(plan.thresholds, noun(plan))}"
    return f"{released} {joined} a tree of {levels} ({names}) and {leaves} will be released.{how}"


def named(name: str) -> str:
    """User text within a sentence: in quotation marks unless it is words."""
    return name if _WORDS.fullmatch(name) else f"“{name.strip()}”"


def _protected(plan: Statement) -> str:
    whom = f" One unit is one {plan.whom}." if plan.whom else ""
    who = (
        f" Counting left out what a unit had beyond {plural(plan.recipe.bound, 'record')}."
        if plan.bounded is Bounded.COUNTED
        else ""
    )
    return f"The release protects {protected(plan)}.{whom}{who}"


def protected(plan: Statement) -> str:
    """Return who is protected, in words that fit after "protects"."""
    if not plan.is_of_sums:
        return plan.unit.describe(plan.spread)
    one, known = f"one record and its value, clipped to at most {clip(plan)}", plan.unit.known_levels
    if plan.unit.relation is NeighbouringRelation.ADD_OR_REMOVE_ONE:
        return f"{one}: added or removed (the sum of all values is protected too)"
    if known == 1:
        return f"{one}: replaced by another, added or removed (the sum of all values is protected too)"
    return f"{one}: its value and its columns below level {known - 1}, and whether it is there"


def clip(plan: Statement) -> str:
    """Return what a value adds at most, in its own unit."""
    return edge_text(float(plan.recipe.clip * Fraction(repr(plan.recipe.grid))))


def noun(plan: Statement) -> str:
    """Return what noise is counted in."""
    return f"steps of {edge_text(plan.recipe.grid)}" if plan.is_of_sums else "records"


def _one(plan: Statement) -> str:
    return "step" if plan.is_of_sums else "record"


def _noise(plan: Statement) -> str:
    if plan.thresholds is not None:
        return rounds.noise(plan.thresholds, noun(plan))
    noisy = [(i, one) for i, one in enumerate(plan.levels) if one.scale is not None]
    if not noisy:
        return "No level needs noise."
    parameter = "standard deviation σ" if plan.currency is Currency.RHO else "scale b"
    scales = [privacy_text(one.scale or 0.0) for _, one in noisy]
    if plan.matrix is not None:
        return f"Every sum gets independent {plan.law.label} noise with {parameter} = {scales[0]} {noun(plan)}."
    which = (
        f"{parameter} = {scales[0]} {noun(plan)} on every measured level"
        if len(set(scales)) == 1
        else f"{parameter} = " + ", ".join(f"{text} (level {i})" for (i, _), text in zip(noisy, scales, strict=True))
    )
    return (
        f"Every measured {'sum' if plan.is_of_sums else 'count'} gets independent {plan.law.label} noise with {which}."
    )


def _exact(plan: Statement) -> list[str]:
    told = []
    if plan.matrix is not None:
        return ["The number of records is published exactly."] if plan.levels[0].is_public else []
    public = [i for i, one in enumerate(plan.levels) if one.is_public]
    skipped = [i for i, one in enumerate(plan.levels) if one.amount == 0 and plan.thresholds is None]
    if public:
        told.append(f"{_levels(public)} is published exactly, as no unit can change it." if len(public) == 1
                    else f"{_levels(public)} are published exactly, as no unit can change them.")  # fmt: skip
    if skipped:
        told.append(f"{_levels(skipped)} {'is' if len(skipped) == 1 else 'are'} not measured.")
    return told


def _levels(which: list[int]) -> str:
    return f"{'Level' if len(which) == 1 else 'Levels'} {', '.join(map(str, which))}"


def _cost(plan: Statement) -> str:
    if plan.thresholds is not None:
        told = "" if plan.tuned is None else f" Its budget was tuned on {plan.tuned.kind.value}."
        return f"{rounds.cost(plan.thresholds, plan.epsilon, plan.delta, _one(plan))}{told}"
    costs = [one.amount for one in plan.levels if one.amount]
    terms = " + ".join(map(privacy_text, costs)) if len(set(costs)) > 1 else _equal(costs)
    paid = 0.0 if plan.tuned is None else plan.tuned.spent
    terms += rounded_up([*costs, paid], plan.charged)
    tuning = f" and the tuning ({privacy_text(paid)})" if paid else ""
    both = ""
    if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN and plan.matrix is None:
        both = " (an unknown column's change moves two counts on every unknown level, which is charged)"
        if plan.is_of_sums:
            both = " (a value that leaves its node moves two sums on every level below, which is charged)"
    composed = f"By composition over the levels ({terms}){tuning} the" if plan.matrix is None else "The"
    tuned = ""
    if plan.tuned is not None:
        what = "split" if plan.tuned.is_private else "budget or its split"
        tuned = f" The {what} was tuned on {plan.tuned.kind.value}"
        tuned += f", released for {plan.symbol} = {privacy_text(paid)}, which is charged too." if paid else "."
    total = f"{plan.symbol} = {privacy_text(plan.charged)}"
    if plan.currency is Currency.EPSILON:
        return f"{composed} release costs {total}{both}: {_pair(plan)}.{tuned}"
    way = {
        None: "by the exact conversion for Gaussian noise (Balle and Wang, 2018)",
        Accounting.FORMULA: f"by {_FORMULA}",
        Accounting.NUMERICAL: f"by numerical accounting, {_NUMERICAL},",
    }[_way(plan)]
    return f"{composed} release costs {total} of zero-concentrated privacy{both}; {way} that is {_pair(plan)}.{tuned}"


_FORMULA: Final = "the conversion of Canonne, Kamath and Steinke (2020)"
_NUMERICAL: Final = "which composes the losses of all noise (Canonne et al., 2020; Doroshenko et al., 2022)"


def _way(plan: Statement) -> Accounting | None:
    """How the cost becomes the promise; None by the exact formula of normal noise."""
    if plan.law is NoiseLaw.GAUSSIAN and (plan.tuned is None or not plan.tuned.spent):
        return None
    return plan.accounting or Accounting.FORMULA


def conversion(plan: Statement) -> str:
    """Return how the total becomes the promise, in words."""
    if plan.thresholds is not None:
        return rounds.conversion(plan.thresholds, _one(plan))
    if plan.currency is Currency.EPSILON:
        return "none: ε adds up over the levels"
    which = {
        None: "exact for Gaussian noise (Balle and Wang, 2018)",
        Accounting.FORMULA: "zCDP formula: Canonne, Kamath and Steinke (2020)",
        Accounting.NUMERICAL: f"numerical accounting, {_NUMERICAL}",
    }[_way(plan)]
    return f"ρ to (ε, δ) at δ = {setting_text(plan.delta)}, {which}"


def _equal(costs: list[float]) -> str:
    return f"{len(costs)} × {privacy_text(costs[0])}" if costs else "none"


def _after(plan: Statement) -> list[str]:
    if not plan.postprocess:
        return []
    return [f"Afterwards {steps(plan)} is applied, which reads no records and costs nothing."]


def steps(plan: Statement) -> str:
    """Return the post-processing in words."""
    return ", then ".join(
        lower_first(POSTPROCESSORS[name].label) if name in POSTPROCESSORS else name for name in plan.postprocess
    ) or "none"  # fmt: skip


def bound(plan: Statement) -> str:
    """Return who sees to it that no unit has too many records, in words."""
    most, counted = plural(plan.unit.contributions, "record"), plan.recipe.bound
    if plan.is_of_sums:
        return f"a value adds at most {clip(plan)}, {plural(plan.recipe.clip, 'step')}: the count clips it"
    if plan.bounded is Bounded.COUNTED:
        beyond = "any more" if counted == plan.unit.contributions else f"what it had beyond {whole(counted)}"
        return f"at most {most} a unit: the count left out {beyond}"
    if counted:
        return f"at most {most} a unit: claimed, but the count kept up to {whole(counted)}"
    return f"at most {most} a unit: claimed, enforced by nobody"


def edges(ends: tuple[float, ...]) -> str:
    """Return where bins lie, in words: between two bounds, or at all edges that there are.

    >>> edges((0.0, 14.0)), edges((0.0, 5.0, 18.0, 65.5))
    (' from 0 to 14', ' with edges at 0, 5, 18, 65.5')
    >>> edges(tuple(map(float, range(30))))
    " of unequal widths from 0 to 29, at edges that the plan's JSON lists"
    """
    told = [edge_text(end) for end in ends]
    if len(ends) == 2:
        return f" from {told[0]} to {told[1]}"
    if len(ends) > MOST_EDGES:
        return f" of unequal widths from {told[0]} to {told[-1]}, at edges that the plan's JSON lists"
    return f" with edges at {', '.join(told)}"


def domain(plan: Statement) -> str:
    """Return where the categories come from, in words."""
    one = plan.domain
    if one.source is Categories.FROM_DATA:
        return "categories taken from the data"
    if one.bins is not None:
        where = edges(one.bins.edges) if one.bins.edges else ""
        others = " and one for all else" if one.bins.has_other else ""
        if one.bins.columns:
            where = ", leaves in a row that the plan's JSON lists"
        return f"public: {plural(one.bins.n - one.bins.has_other, 'bin')}{where}{others}"
    listed = "listed in the plan's JSON" if one.is_listed else "too long to be listed"
    return f"public, {listed}" + (f", SHA-256 {one.digest[:16]}…" if one.digest else "")


def law(plan: Statement) -> str:
    """Return what the mechanism is called."""
    return RELEASES[plan.law.value].label


# ---- what is open


def open_points(plan: Statement) -> tuple[str, ...]:
    """Return what somebody must still see to before anything is published, a sentence each."""
    return tuple(point for point in (*_about_counts(plan), *_about_data(plan), *_about_noise(plan)) if point)


def _about_counts(plan: Statement) -> list[str]:
    tuned = plan.tuned
    points = ["Errors on the true counts are stated: take them out before anybody else reads this plan."]
    told = points if plan.true_error is not None else []
    if tuned is not None and tuned.kind is PriorKind.TRUE_COUNTS:
        told.append("The budget or its split was tuned on the true counts, which no budget pays for: choose another.")
    if tuned is not None and tuned.kind is PriorKind.PUBLIC:
        told.append("The split was tuned on counts called public: make sure that they are, and are no part of these.")
    if tuned is not None and tuned.kind is PriorKind.NOISY:
        told.append(
            f"If the budget, too, was sought on the noisy counts, {plan.symbol} holds as what came out, not as a bound "
            "fixed beforehand: other noise would have given another."
        )
    return told


def from_data(plan: Statement) -> list[str]:
    """Return the levels that are made by a rule whose option the counts chose."""
    return [level for level, text in plan.recipe.derived if derived_of(text).of.public_as]


def _about_data(plan: Statement) -> list[str]:
    most = plural(plan.unit.contributions, "record")
    known = plan.unit.known_levels - 1
    return [
        "The categories were taken from the data, so which ones exist is revealed without noise: list them from "
        "another source." if plan.domain.source is Categories.FROM_DATA else "",
        *(f"The counts chose which labels “{level}” keeps: name the list from another source, or say that it is public."
          for level in from_data(plan)),
        f"The file was read by {plan.read_by}, {CLAIM}: check its counts by another way." if plan.read_by else "",
        f"Nothing enforces that a unit has at most {most}: bound the records of each before counting."
        if plan.bounded is Bounded.CLAIMED and not plan.recipe.bound and not plan.is_of_sums else "",
        "Each row is a record of its own: whoever has several rows adds several values."
        if plan.is_of_sums else "",
        "The clip and the grid are public: a clip that was chosen by looking at the values is no private choice."
        if plan.is_of_sums else "",
        f"The count kept up to {plural(plan.recipe.bound, 'row')} of a unit, but the promise is to {most}: count again "
        f"with at most {most} a unit."
        if plan.bounded is Bounded.CLAIMED and plan.recipe.bound else "",
        "Rows that are left out are taken to be nobody’s: “replace one” protects a record among those that are counted."
        if plan.recipe.left_out else "",
        "" if plan.whom else "What one unit is has not been said: a person, a household, a device?",
        "A row can stand for several records, but what is protected is records, not rows." if plan.weighted else "",
        "The total number of records is published exactly: make sure that it is no secret."
        if plan.unit.total_is_public else "",
        f"What {'level 1 tells' if known == 1 else f'levels 1 to {known} tell'} counts as public about every unit: "
        "make sure that it is."
        if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN and known else "",
    ]  # fmt: skip


def _about_noise(plan: Statement) -> list[str]:
    delta = setting_text(plan.delta)
    continuous = plan.law.precision is Precision.IDEAL
    return [
        f"δ = {delta} is not below 1 / records: a record may be published as it is."
        if plan.delta_fits is False else "",
        f"Make sure that δ = {delta} is far below 1 / records; how many there are is protected here."
        if plan.delta and plan.delta_fits is None else "",
        "Continuous noise keeps its promise in exact arithmetic only: choose its discrete law, or a library that draws "
        "it safely." if continuous else "",
        "" if plan.thresholds is None else rounds.open_point(plan.thresholds, noun(plan)),
        "The plan holds the SHA-256 of its matrix only: keep the matrix with it, as a search may end at another one on "
        "another computer." if plan.matrix is not None else "",
        "Releases of the same records add up: note this one in the ledger of all releases.",
        "This app simulates: draw the noise of the real release once, from a secure source (see Hand over).",
    ]  # fmt: skip


# ---- tables


def summary(plan: Statement) -> list[tuple[str, str]]:
    """Return what holds for the whole plan, as pairs of a name and words; user text among them."""
    rows = [
        ("Data", plan.title),
        *([(SOURCE, plan.credit)] if plan.credit else []),
        ("Rows", counted(plan)),
        ("One unit", plan.whom or "not said"),
        ("Protected", protected(plan)),
        ("Bound on records", bound(plan)),
        ("Domain", domain(plan)),
        ("Tree", f"{plural(len(plan.levels), 'level')}, {plural(plan.levels[0].leaves, 'leaf', 'leaves')}")
        if plan.matrix is None
        else ("Matrix", matrix(plan.matrix)),
        ("Mechanism", mechanism(plan)),
        ("Post-processing", steps(plan)),
        *([] if plan.thresholds is None else [("Error", rounds.accuracy(plan.thresholds, noun(plan)))]),
        *([("Certificate", certificate(plan))] if reaches_of_all(plan) else []),
        ("Tuned on", tuned(plan)),
        ("Cost", f"{plan.symbol} = {of_total(plan)}"),
        ("Conversion", conversion(plan)),
        ("Promise", promise(plan)),
    ]
    return rows


def mechanism(plan: Statement) -> str:
    """Return what makes the release private, in words."""
    if plan.thresholds is not None:
        return f"{law(plan)}, {plural(len(plan.thresholds.rounds), 'round')}: {rounds.THEOREM}"
    which = "sum" if plan.matrix is not None or plan.is_of_sums else "count of a level"
    return f"{law(plan)} noise, independent on every {which}"


def heading(plan: Statement) -> str:
    """Return what the rows of `level_table` are."""
    return "Levels" if plan.thresholds is None else "Rounds"


def reaches_of_all(plan: Statement) -> list[float]:
    """Return what no noise of each level is above, all at once with probability 95 %; 0 of a level without noise.

    Nothing where a release does not certify its errors: without a top-down step, of sums, or by noise not whole.
    """
    promises = [POSTPROCESSORS[one].promises for one in plan.postprocess if one in POSTPROCESSORS]
    certifies = any(WHOLE_FROM_THE_ROOT | Promise.INTEGER in one for one in promises) and not plan.is_of_sums
    if not certifies or plan.law not in DISCRETE or max(one.nodes for one in plan.levels) > MOST_CERTIFIED:
        return []
    share = SURE ** (1.0 / max(1, sum(one.scale is not None for one in plan.levels)))
    return [reach_of_all(None if one.scale is None else DISCRETE[plan.law](one.scale), one.nodes, share)
            for one in plan.levels]  # fmt: skip


def certificate(plan: Statement) -> str:
    """Return what a release will say of its own errors, in words."""
    named = [f"{margin(reach)} on level {i}" for i, reach in enumerate(reaches_of_all(plan)) if reach]
    return (
        f"with probability {percent_set(SURE)}, all at once, no noise is above {', '.join(named) or '0'}; the error of "
        "a released count is at most that and what it was moved by, which is public: the programs of Hand over write "
        "it beside each count"
    )


def counted(plan: Statement) -> str:
    """Return how rows become records, in words."""
    recipe = plan.recipe
    told = ["each is one record"]
    if plan.weighted:
        said = f"as many records as “{recipe.weight}” says"
        told = [f"each is {said}" if recipe.weight else "each may be several records"]
    if plan.is_of_sums:
        grid = edge_text(recipe.grid)
        told = [f"each adds its “{recipe.value}”, rounded to multiples of {grid} and clipped to at most {clip(plan)}"]
    return "; ".join([*told, *of_rows(recipe)])


def of_rows(recipe: Recipe) -> list[str]:
    """Return what a recipe does to rows and their cells, in words, one by one."""
    told = list[str]()
    if recipe.bound:
        told.append(f"of those with the same “{recipe.unit}” the first {whole(recipe.bound)} count")
    for column, labels in recipe.left_out:
        named = ", ".join(f"“{label}”" for label in labels)
        told.append(f"those with {named} in “{column}” are no records, and are left out")
    told += [derived_of(text).told(level) for level, text in recipe.derived]
    told += [f"numbers in “{column}” have a {MARKS[marks]}" for column, marks in recipe.marks]
    told += options.told(recipe)
    told += ["blank cells fit no category"] if recipe.blanks_out else []
    return told + (["numbers beyond the bounds are cut to them"] if recipe.cut else [])


def matrix(one: SumsOfBins) -> str:
    """Return a matrix in words."""
    return (
        f"{one.way[:1].lower()}{one.way[1:]}, {plural(one.rows, 'row')} of whole multiples of 2^-{one.bits}, "
        f"SHA-256 {one.digest[:16]}…"
    )


def of_total(plan: Statement) -> str:
    """Return the cost rounded up, and the total as it was set, or rounded down where it was worked out."""
    cost = privacy_text(plan.charged)
    total = setting_text(plan.total) if plan.currency is Currency.EPSILON else budget_text(plan.total)
    return f"{cost} of {total}" if float(cost) <= float(total) else f"{cost}, the whole budget"


def tuned(plan: Statement) -> str:
    """Return what the split was tuned on and what that cost, in words."""
    if plan.tuned is None:
        return "nothing: it looks at no counts"
    spent = f", for {plan.symbol} = {privacy_text(plan.tuned.spent)}" if plan.tuned.spent else ""
    return f"{plan.tuned.kind.value}{spent}"


def level_table(plan: Statement) -> Table:
    """Return the levels as columns of words, for people; a column of errors on the true counts says so.

    Of thresholds the rounds.
    """
    if plan.thresholds is not None:
        return rounds.table(plan.thresholds, noun(plan), _one(plan))
    levels = plan.levels
    scale = "σ" if plan.currency is Currency.RHO else "scale b"
    sensitivity = "L2 sensitivity" if plan.currency is Currency.RHO else "L1 sensitivity"
    columns: Table = {
        "level": [f"{i}: {one.name}" for i, one in enumerate(levels)],
        "nodes": [whole(one.nodes) for one in levels],
        sensitivity: [_sensitivity(plan, one) for one in levels],
        plan.symbol: ["public" if one.amount is None else privacy_text(one.amount) for one in levels],
        "law": ["exact" if one.is_public else plan.law.label if one.scale else "not measured" for one in levels],
        f"{scale} ({noun(plan)})": ["–" if one.scale is None else privacy_text(one.scale) for one in levels],
        "95 % margin of the noise": ["–" if one.margin is None else margin(one.margin) for one in levels],
        "expected RMSE after post-processing": [_error(one.error) for one in levels],
    }
    if plan.true_error is not None:
        told = plan.true_error
        columns[of_truth(METRICS[told.metric].label)] = [_error(one) for one in told.by_level]
    return columns


def _sensitivity(plan: Statement, level: PlannedLevel) -> str:
    value = level.sensitivity_l2 if plan.currency is Currency.RHO else level.sensitivity_l1
    square = Fraction(value) ** 2
    nearest = round(square)
    is_root = value % 1 != 0 and 0 <= square - nearest < Fraction(1, 10**9)
    return f"√{nearest}" if is_root else privacy_text(value)


def _error(error: float | None) -> str:
    return "–" if error is None else short(error)
