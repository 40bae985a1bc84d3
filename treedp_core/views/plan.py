"""The release plan: what would be promised, what each level costs, and a program that publishes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import EPSILON_HIGH, InputError
from treedp_core.errors import METRICS
from treedp_core.figures.plans import plan_levels, spending
from treedp_core.mechanisms import RELEASES, THRESHOLDS
from treedp_core.mechanisms.thresholds.public_bound import RULES, ThresholdPlan, plan_thresholds
from treedp_core.mechanisms.thresholds.schedule import MAX_TOTAL
from treedp_core.notebook.study import tells_epsilon
from treedp_core.plans import LIBRARIES, ReleasePlan
from treedp_core.plans.thresholds.words import accuracy
from treedp_core.plans.together import gaussian_from, less_noise
from treedp_core.plans.words import level_table, noun, promise, protected, steps
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy import Accounting, Currency, ProtectedUnit
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.views import split
from treedp_core.views.entries import Entry
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, UserText, forgetful
from treedp_core.views.inputs import of
from treedp_core.views.parameters import choice, number, tuned_on, whole
from treedp_core.views.parameters import words as text
from treedp_core.views.split import SplitInputs, accounting
from treedp_core.words import literal, lower_first, margin, percent, plain, plural, privacy_text, setting_text, short
from treedp_core.words import whole as in_full

# ---- the plan of a release: what each level costs and how far off its counts are, and who publishes it


# ---- what the page Release plan says of a plan


def answer(plan: ReleasePlan, *, holds: bool) -> str:
    """Return the promise, the widest margin, and how much is open, in two sentences; no promise that is not kept."""
    if not holds:
        return (
            f"**This plan does not hold**: its noise does not keep {plain(promise(plan))}. What is wrong stands below."
        )
    widest = max((one for one in plan.levels[::-1] if one.margin), key=lambda one: one.margin or 0.0, default=None)
    noise = "No level needs noise."
    if plan.matrix is not None:
        noise = f"The RMSE of a cumulative count is **{short(plan.levels[1].error or 0.0)}** records."
    elif plan.thresholds is not None:
        noise = accuracy(plan.thresholds, noun(plan))
    elif widest is not None:
        most = f"**{margin(widest.margin or 0.0)}** {noun(plan)}"
        what = "sum" if plan.is_of_sums else "count"
        noise = f"In 19 of 20 draws, noise moves a {what} of {literal(widest.name, 24)} by at most {most}."
    open_points = plural(len(plan.open_points), "point")
    return (
        f"**{plain(promise(plan))}** for {protected(plan)}. {noise} **{open_points}** "
        f"{'is' if len(plan.open_points) == 1 else 'are'} open."
    )


def checked(plan: ReleasePlan) -> tuple[bool, str]:
    """Return whether a plan holds, and that in words."""
    found = plan.verify()
    if found:
        return False, plain(" ".join(found))
    if plan.thresholds is not None:
        return True, (
            "Checked: what all rounds lose, composed again from their noise on another grid, and what one unit has, "
            "keep the promise."
        )
    return True, (
        f"Checked: worked out again from the scales, in exact arithmetic, {_paid(plan)} {plan.symbol} = "
        f"{privacy_text(plan.charged)}{'' if plan.matrix is not None else ' together'}, and {_kept(plan)}."
    )


def _paid(plan: ReleasePlan) -> str:
    if plan.matrix is not None:
        return "and from the columns that the plan states, the sums cost"
    return "the levels and tuning cost" if plan.tuned is not None and plan.tuned.spent else "the levels cost"


def _kept(plan: ReleasePlan) -> str:
    if plan.accounting is not Accounting.NUMERICAL:
        return "keep the promise"
    return "their losses, composed again on another grid, keep the promise"


def gain(plan: ReleasePlan) -> str:
    """Return what numerical accounting saves, or would; nothing where there is one accounting only."""
    saved = less_noise(plan)
    if saved <= 0:
        return ""
    done = plan.accounting is Accounting.NUMERICAL
    told = (
        f"noise −{percent(saved)}" if done else f"would be noise −{percent(saved)} at this promise (More, Accounting)"
    )
    return f"**Numerical accounting: {told}.**" if done else f"Numerical accounting {told}."


def narrower(plan: ReleasePlan, delta: float) -> str:
    """Return from how many levels on Gaussian noise is the narrower one for a plan's ε."""
    if not plan.epsilon:
        return "Nothing here can change, so no noise is needed and no budget is spent."
    if plan.thresholds is not None:
        return "No part of ε is spent on the total, whose bound is public; none is that of a level."
    levels = gaussian_from(plan.unit, plan.epsilon, delta)
    noisy = plural(sum(one.scale is not None for one in plan.levels), "noisy level")
    least = f"from {plural(levels, 'level')} on" if levels is not None else "on none of up to 64 levels"
    return (
        f"At equal shares of ε = {privacy_text(plan.epsilon)} and δ = {setting_text(delta)}, Gaussian noise is "
        f"narrower than Laplace noise, both in whole numbers, {least}; this plan has {noisy}. Numerical accounting."
    )


def caption(plan: ReleasePlan) -> str:
    """Return what the figure of a plan shows."""
    if plan.thresholds is not None:
        return (
            "Left: what each round costs one unit; the sum may be above ε, which all rounds together reach with a "
            "probability that is part of δ. Right: the threshold of each round, and the count that it gives what "
            "passes; what never passes gets the last one. Formula; it depends on no record."
        )
    return (
        "Left: what each level costs. Right: what the noise of a single count exceeds in one of twenty, and the "
        "expected error of a level's counts after post-processing, where that is known before the counts are. Formula; "
        "it depends on no record. Costs and margins are rounded up."
    )


def handed_over(plan: ReleasePlan, label: str, refused: InputError | None) -> str:
    """Return what a program of a library does with a plan, or why there is none."""
    if refused is not None:
        return f"**{label} cannot express this plan.** {plain(str(refused))}"
    measured = plural(sum(one.scale is not None for one in plan.levels), "level")
    sign = "ε" if plan.currency is Currency.EPSILON else "ρ"
    worked_out = f"stops before it draws anything if {label} finds a loss above {sign} = {privacy_text(plan.charged)}"
    after = f", does {lower_first(steps(plan))}" if plan.postprocess else ""
    return f"The program measures {measured} one by one{after}, publishes every node, and {worked_out}."


NONE: Final = "none"


@dataclass(frozen=True, kw_only=True)
class PlanInputs(SplitInputs):
    """What a plan states, where none was brought from elsewhere.

    Parameters
    ----------
    mechanism, postprocess : str
        Thresholds take no post-processing, and the budget is split by their rule.
    public_bound : int
        Records of the whole tree at most, for thresholds; 0 for none given.
    rule : str
        How their rounds are chosen.
    allocation, shares, tuned_on, accounting : str
        See `SplitInputs`.
    true_error : str
        Of which metric errors on the true counts are stated (NOT PRIVATE); "none" for none.
    library : str
        For which library a program is written.
    unit : str
        What one unit is, in a word or two.
    epsilon_tuned : float
        The ε that was sought on the true counts; 0 for none.
    """

    mechanism: str = of(choice("plan_mechanism", "discrete_laplace", RELEASES, label="Mechanism"))
    public_bound: int = of(whole("plan_bound", 0, 1, int(MAX_TOTAL), code="TOTAL_RANGE", label="Public bound"))
    rule: str = of(choice("plan_rule", "tuned", RULES, label="Rounds"))
    postprocess: str = of(choice("plan_post", "least_squares", CHAINS, label="Post-processing"))
    allocation: str = of(choice("plan_allocation", "uniform", ALLOCATIONS, label="Budget split"))
    shares: str = of(text("plan_shares", "", shares_from_text))
    tuned_on: str = of(tuned_on("plan_tuned"))
    accounting: str = of(accounting("plan_accounting"))
    true_error: str = of(choice("plan_true", NONE, (NONE, *METRICS), label="Error on the true counts (NOT PRIVATE)"))
    library: str = of(choice("plan_library", LIBRARIES[0].name, {one.name: one for one in LIBRARIES}, label="Library"))
    unit: str = of(text("unit", ""))
    epsilon_tuned: float = of(number("eps_tuned", 0.0, partial(checks.number, "eps_tuned", low=0, high=EPSILON_HIGH)))


def release_plan(inputs: PlanInputs, tables: Tables, *, memo: Memo = forgetful) -> ReleasePlan:
    """Return the plan of these inputs, or the one that was brought from elsewhere.

    Raises
    ------
    InputError
        What making the release ready, and what the shares were tuned on, refuse; ``PRIOR_OTHER``, see `split.of_plan`;
        a law that no plan states.
    """
    if tables.plan is not None:
        return tables.plan
    return memo(("plan", tables.fingerprints, inputs), partial(_made, inputs, tables))


def _made(inputs: PlanInputs, tables: Tables) -> ReleasePlan:
    sought = tells_epsilon({"eps": inputs.epsilon, "eps_tuned": inputs.epsilon_tuned})
    if inputs.mechanism == THRESHOLDS.name:
        origin = split.of_plan(None, is_sought=sought)
        return _verified(ReleasePlan.of(_thresholds(inputs, tables), tables.data, whom=inputs.unit, tuned=origin))
    data, reads = tables.data, inputs.true_error != NONE
    more: dict[str, Any] = {"metric": inputs.true_error} if reads else {}
    one = inputs.split(
        data, inputs.mechanism, mechanism=inputs.mechanism, postprocess=CHAINS[inputs.postprocess].steps, **more
    )
    origin = split.of_plan(inputs.origin, is_sought=sought)
    return _verified(ReleasePlan.of(one, data, whom=inputs.unit, reads_counts=reads, tuned=origin))


def _verified(made: ReleasePlan) -> ReleasePlan:
    """The plan, already worked out again: that is kept with it."""
    made.verify()
    return made


def _thresholds(inputs: PlanInputs, tables: Tables) -> ThresholdPlan:
    data = tables.data
    one = inputs.experiment(data, delta=inputs.delta_for((THRESHOLDS.name,), data.total))
    return plan_thresholds(
        data.tree, one.unit, _bound(inputs, one.unit, int(data.total)),
        alpha=one.alpha, epsilon=one.epsilon, delta=one.delta, rule=inputs.rule,
    )  # fmt: skip


def _bound(inputs: PlanInputs, unit: ProtectedUnit, total: int) -> int:
    """The public bound on the total; where the total is public itself, that is the least that is one."""
    if not unit.total_is_public:
        return inputs.public_bound
    if 0 < inputs.public_bound < total:
        raise InputError(
            "PLAN_TOTAL",
            f"Where records are replaced their number, {in_full(total)}, is public, and there are more than "
            f"{in_full(inputs.public_bound)}: give at least that many, or 0 for just that many.",
        )
    return inputs.public_bound or total


def levels(inputs: PlanInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what each level costs and how far off its counts may be, with the promise in words.

    Raises
    ------
    InputError
        As `release_plan`.
    """
    plan = release_plan(inputs, tables, memo=memo)
    holds, _ = checked(plan)
    return Finding(
        figure=plan_levels(plan), columns=partial(level_table, plan), answer=answer(plan, holds=holds),
        caption=caption(plan), alt=_alt(plan),
        label=plan.label, badges=_badges(plan), provenance=_provenance(plan),
    )  # fmt: skip


def _alt(plan: ReleasePlan) -> str:
    if plan.thresholds is not None:
        return "Cost of each round, its threshold and the count that it gives."
    return "Cost of each level, and the margin and the expected error of its counts."


def spent(inputs: PlanInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what a program for another library spends level by level, or why there is none; as `levels` it refuses."""
    plan = release_plan(inputs, tables, memo=memo)
    label = next(one.label for one in LIBRARIES if one.name == inputs.library)
    refused, _ = program_of(inputs, tables, memo=memo)
    return Finding(
        figure=spending(plan), columns=partial(level_table, plan),
        answer=handed_over(plan, label, refused),
        caption=_added_up(plan),
        alt=f"The cost of each {'level' if plan.thresholds is None else 'round'}, added up to what is promised.",
        label=plan.label, badges=_badges(plan), provenance=_provenance(plan),
    )  # fmt: skip


def _added_up(plan: ReleasePlan) -> str:
    if plan.thresholds is not None:
        return (
            "What one unit can lose in each round, worked out from its noise and added up. The sum may be above what "
            "is promised: that all rounds together lose more has a probability that is part of δ. Formula."
        )
    return (
        "What one unit can lose on each level, worked out from its scale, added up to what the plan promises; "
        "of the ways a unit can change, the one that costs most. Formula."
    )


def program_of(inputs: PlanInputs, tables: Tables, *, memo: Memo = forgetful) -> tuple[InputError | None, str]:
    """Return the program of a library for the plan, or why there is none; it refuses as `release_plan`."""
    plan = release_plan(inputs, tables, memo=memo)
    write = next(one for one in LIBRARIES if one.name == inputs.library).write

    def written() -> tuple[InputError | None, str]:
        try:
            return None, write(plan)
        except InputError as error:
            return error, ""

    return memo(("plan.program", tables.fingerprints, inputs), written)


def _badges(plan: ReleasePlan) -> tuple[str, ...]:
    return ("formula", NOT_PRIVATE) if plan.label else ("formula",)


def _provenance(plan: ReleasePlan) -> Provenance:
    leaves = plan.levels[0].leaves
    shape = (plural(len(plan.levels), "level"), plural(leaves, "leaf", "leaves"))
    if plan.matrix is not None:
        shape = (UserText(plan.matrix.way), plural(leaves, "bin"))
    return Provenance(
        about=(UserText(plan.title), *shape), relation=plan.unit.relation, epsilon=float(privacy_text(plan.epsilon)),
        delta=plan.delta,
    )  # fmt: skip


ENTRIES = (
    Entry(page="plan", view="plan", part="plan_levels", label="Plan", inputs=PlanInputs, find=levels),
    Entry(page="plan", view="handover", part="plan_spending", label="Hand over",
          question="Who publishes this, and how?", inputs=PlanInputs, find=spent),
)  # fmt: skip
