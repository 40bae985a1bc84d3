"""What the page Release plan says of a plan."""

from __future__ import annotations

from treedp_core.checks import InputError
from treedp_core.plans import ReleasePlan
from treedp_core.plans.gain import gaussian_from, less_noise
from treedp_core.plans.words import promise, steps
from treedp_core.privacy import Accounting, Currency
from treedp_core.words import literal, lower_first, margin, percent, plain, plural, privacy_text, setting_text, short


def answer(plan: ReleasePlan, *, holds: bool) -> str:
    """Return the promise, the widest margin, and how much is open, in two sentences; no promise that is not kept."""
    if not holds:
        return (
            f"**This plan does not hold**: its noise does not keep {plain(promise(plan))}. What is wrong stands below."
        )
    widest = max((one for one in plan.levels[::-1] if one.margin), key=lambda one: one.margin or 0.0, default=None)
    noise = "No level needs noise."
    if plan.matrix is not None:
        noise = f"A cumulative count is off by **{short(plan.levels[1].error or 0.0)}** records (root mean square)."
    elif widest is not None:
        most = f"**{margin(widest.margin or 0.0)}** records"
        noise = f"In 19 of 20 draws, noise moves a count of {literal(widest.name, 24)} by at most {most}."
    open_points = plural(len(plan.open_points), "point")
    return (
        f"**{plain(promise(plan))}** for {plan.unit.describe(plan.spread)}. {noise} **{open_points}** "
        f"{'is' if len(plan.open_points) == 1 else 'are'} open."
    )


def checked(plan: ReleasePlan) -> tuple[bool, str]:
    """Return whether a plan holds, and that in words."""
    found = plan.verify()
    if found:
        return False, plain(" ".join(found))
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
    levels = gaussian_from(plan.unit, plan.epsilon, delta)
    noisy = plural(sum(one.scale is not None for one in plan.levels), "noisy level")
    least = f"from {plural(levels, 'level')} on" if levels is not None else "on none of up to 64 levels"
    return (
        f"At equal shares of ε = {privacy_text(plan.epsilon)} and δ = {setting_text(delta)}, Gaussian noise is "
        f"narrower than Laplace noise, both in whole numbers, {least}; this plan has {noisy}. Numerical accounting."
    )


def caption() -> str:
    """Return what the figure of a plan shows."""
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
