"""Exercises: numbers from a seed, the answer from a formula, and the idea behind each wrong answer.

Tests compute every answer from the laws, plans and searches of the core instead, for a thousand seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from treedp_core.noise import Gaussian
from treedp_core.studies.lesson.question import Question, Wrong, counted, number
from treedp_core.watch import generator
from treedp_core.words import setting_text, short

EPSILONS: Final = (0.1, 0.2, 0.25, 0.4, 0.5, 0.8, 1.0, 1.25, 2.0)


class Drawn:
    """Numbers for one exercise, from its name and a seed."""

    def __init__(self, key: str, seed: int) -> None:
        """Begin a stream of its own."""
        self._rng = generator("lesson exercise", key, seed)

    def of(self, *options: float) -> float:
        """Return one of some numbers."""
        return float(options[int(self._rng.integers(len(options)))])


def belief(drawn: Drawn) -> Question:
    """How sure one becomes at most."""
    prior, epsilon = drawn.of(0.05, 0.1, 0.2, 0.3, 0.4), drawn.of(0.5, 0.8, 1.0, 1.5, 2.0)
    odds = prior / (1 - prior) * math.exp(epsilon)
    return number(
        f"An attacker is {short(100 * prior)} % sure that you are in. A release has ε = {setting_text(epsilon)}. How "
        "sure are they at most afterwards, in percent?",
        100 * odds / (1 + odds), unit="%", given={"prior": prior, "epsilon": epsilon},
        right="The odds, not the probability, grow by at most e^ε.",
        wrong=(
            Wrong(100 * prior * math.exp(epsilon), "It is the odds that grow by e^ε, not the belief itself."),
            Wrong(100 * prior, "A release may teach them something; ε bounds how much."),
            Wrong(100 * math.exp(epsilon) / (1 + math.exp(epsilon)), "That is the bound from a belief of 50 %."),
        ),
        hint="Turn the belief into odds, multiply by e^ε, and turn back.",
    )  # fmt: skip


def path(drawn: Drawn) -> Question:
    """How many counts one person changes."""
    children, height = drawn.of(2, 3, 4, 5), drawn.of(2, 3, 4, 5)
    nodes = sum(children**level for level in range(int(height) + 1))
    return number(
        f"Every node of a tree has {counted(children)} children, {counted(height)} levels below the root. One person "
        "joins. How many counts change?",
        height + 1, exact=True, unit="counts", given={"children": children, "height": height},
        right="One count on each level, the root's included.",
        wrong=(
            Wrong(1, "Every count above the leaf changes as well."),
            Wrong(height, "The root counts everybody, so it changes too."),
            Wrong(nodes, "Only the counts on the way from the root to the leaf change."),
        ),
        hint="Walk from the root to the person's leaf.",
    )  # fmt: skip


def deviation(drawn: Drawn) -> Question:
    """Standard deviation of Laplace noise."""
    epsilon = drawn.of(*EPSILONS)
    return number(
        f"One count gets Laplace noise at ε = {setting_text(epsilon)}; a record may come or go. What is the standard "
        "deviation of the noise?",
        math.sqrt(2) / epsilon, unit="records", given={"epsilon": epsilon},
        right="The scale is 1 / ε, and a Laplace law's standard deviation is √2 times its scale.",
        wrong=(
            Wrong(1 / epsilon, "That is the scale; the standard deviation is √2 times it."),
            Wrong(2 / epsilon**2, "That is the variance; take its root."),
            Wrong(math.sqrt(2) * epsilon, "A smaller ε means more noise, so divide by it."),
        ),
        hint="Scale 1 / ε, then times √2.",
    )  # fmt: skip


def margin(drawn: Drawn) -> Question:
    """Half width of the 95 % interval of Laplace noise."""
    epsilon = drawn.of(*EPSILONS)
    sigma = math.sqrt(2) / epsilon
    normal = Gaussian(sigma).margin(0.95)
    return number(
        f"Within how many records is a count at ε = {setting_text(epsilon)}, 19 times in 20? (Laplace noise of scale "
        "1 / ε exceeds t in size with probability e^(−ε t).)",
        math.log(20) / epsilon, unit="records", given={"epsilon": epsilon},
        right="e^(−ε t) = 1/20 gives t = ln 20 / ε.",
        wrong=(
            Wrong(normal, f"{short(normal / sigma)} standard deviations are for normal noise; these tails differ."),
            Wrong(1 / epsilon, "That is the scale: the noise is wider more than once in three times."),
        ),
        hint="Solve e^(−ε t) = 0.05.",
    )  # fmt: skip


def scale(drawn: Drawn) -> Question:
    """Scale of the noise of a histogram when records are replaced."""
    epsilon, m, bins = drawn.of(*EPSILONS), drawn.of(1, 2, 3, 5), drawn.of(10, 20, 40, 80)
    held = "one record" if m == 1 else f"up to {counted(m)} records"
    return number(
        f"A histogram of {counted(bins)} bins, ε = {setting_text(epsilon)}. A person has {held}, and all of them may "
        "be replaced by others. What scale b does each bin's noise need?",
        2 * m / epsilon, unit="records", given={"epsilon": epsilon, "m": m},
        right="Replacing m records takes m from some bins and adds m to others: 2 m / ε, however many bins.",
        wrong=(
            Wrong(m / epsilon, "A replaced record leaves one bin and enters another: two changes."),
            Wrong(2 * bins * m / epsilon, "A record lies in one bin only, so ε is not shared by the bins."),
            *((Wrong(2 / epsilon, "All records of the person may move."),) if m > 1 else ()),
        ),
        hint="How much do all bins together change?",
    )  # fmt: skip


def per_record(drawn: Drawn) -> Question:
    """What one record of several is promised."""
    epsilon, m = drawn.of(0.5, 1.0, 2.0, 3.0), drawn.of(2, 4, 5, 8, 10)
    return number(
        f"Noise protects single records with ε = {setting_text(epsilon)}. Somebody has {counted(m)} records. Which ε "
        "has this person?",
        epsilon * m, given={"epsilon": epsilon, "m": m},
        right="Each record costs ε, and a person's records add up.",
        wrong=(
            Wrong(epsilon, "That is promised for each of the records alone."),
            Wrong(epsilon / m, "More records tell more about a person, not less."),
        ),
        hint="Change the records one after the other.",
    )  # fmt: skip


def long_range(drawn: Drawn) -> Question:
    """Standard deviation of a range of a histogram."""
    bins, sd = drawn.of(4, 9, 16, 25, 36, 49, 64), drawn.of(1.5, 2.0, 2.8, 5.0, 14.0)
    return number(
        f"Each bin's noise has standard deviation {short(sd)}. What has the sum of {counted(bins)} bins?",
        sd * math.sqrt(bins), unit="records", given={"bins": bins, "sd": sd},
        right="Variances add up, so standard deviations grow with the root of the number of bins.",
        wrong=(
            Wrong(sd * bins, "Independent noises partly cancel: variances add up, not standard deviations."),
            Wrong(sd, "More noisy counts mean more noise in the sum."),
            Wrong(sd**2 * bins, "That is the variance; take its root."),
        ),
        hint="Add the variances.",
    )  # fmt: skip


def how_long(drawn: Drawn) -> Question:
    """Longest range within a given error."""
    sd, times = drawn.of(1.0, 2.0, 3.0, 4.0), drawn.of(3, 4, 5, 6, 8, 10)
    return number(
        f"Each bin's noise has standard deviation {short(sd)}. How many bins may a range have, if its own is to be at "
        f"most {short(sd * times)}?",
        times**2, exact=True, unit="bins", given={"sd": sd, "most": sd * times},
        right="n bins have √n times the noise of one.",
        wrong=(Wrong(times, "Noise grows with the root of the number of bins, so square it."),
               Wrong(2 * times, "Noise grows with the root of the number of bins, so square it.")),
        hint="Standard deviation × √n must not exceed the limit.",
    )  # fmt: skip


def cover(drawn: Drawn) -> Question:
    """Counts of a tree that hold the first bins."""
    children = drawn.of(4, 5, 8, 10)
    digits = [drawn.of(1, 2, 3), drawn.of(1, 2, 3)]
    bins = digits[0] * children + digits[1]
    return number(
        f"A tree has {counted(children)} nodes below the root and {counted(children)} bins below each. How many "
        f"counts add up to the first {counted(bins)} bins, if none is taken away?",
        sum(digits), exact=True, unit="counts", given={"children": children, "bins": bins},
        right="Whole nodes first, then single bins: the digits of the number of bins.",
        wrong=(Wrong(bins, "Whole nodes hold many bins in one count."),
               Wrong(2, "One node on each level is not enough here."),),
        hint=f"Write the number of bins with digits to base {counted(children)}.",
    )  # fmt: skip


def shared(drawn: Drawn) -> Question:
    """Noise of a count when levels share the budget."""
    epsilon, levels = drawn.of(*EPSILONS), drawn.of(2, 3, 4, 5, 6)
    return number(
        f"{counted(levels)} levels share ε = {setting_text(epsilon)} equally; one record is replaced. What is the "
        "standard deviation of each count's Laplace noise?",
        math.sqrt(2) * 2 * levels / epsilon, unit="records", given={"epsilon": epsilon, "levels": levels},
        right="Each level has ε / levels, and two counts of it change.",
        wrong=(
            Wrong(math.sqrt(2) * 2 / epsilon, "Every level tells about the same person, so they share ε."),
            Wrong(math.sqrt(2) * levels / epsilon, "A replaced record changes two counts on each level."),
            Wrong(math.sqrt(2) * 2 * math.sqrt(levels) / epsilon, "Roots are for Gaussian noise; here ε adds up."),
        ),
        hint="Scale 2 / (ε / levels), then times √2.",
    )  # fmt: skip


def levels(drawn: Drawn) -> Question:
    """Levels that a number of bins needs."""
    children, height = drawn.of(2, 4, 8, 16), drawn.of(2, 3, 4)
    return number(
        f"Each node has {counted(children)} children. How many levels below the root do {counted(children**height)} "
        "bins need?",
        height, exact=True, unit="levels", given={"children": children, "bins": children**height},
        right="Each level multiplies the bins by the number of children.",
        wrong=(Wrong(children ** (height - 1), "Levels multiply: think of powers."),
               Wrong(height + 1, "The root is not below the root.")),
        hint="How often can the bins be divided by the number of children?",
    )  # fmt: skip


SHAPES: Final = ((64, (2,) * 6, (8, 8)), (256, (2,) * 8, (16, 16)), (1024, (2,) * 10, (32, 32)),
                 (4096, (2,) * 12, (16,) * 3), (729, (3,) * 6, (9,) * 3))  # fmt: skip


def which(drawn: Drawn) -> Question:
    """The tree with the least error."""
    bins, deep, flat = SHAPES[int(drawn.of(*range(len(SHAPES))))]
    trees = [deep, flat, (bins,)]
    turn = int(drawn.of(0, 1, 2))
    trees = trees[turn:] + trees[:turn]
    errors = [len(one) ** 2 * sum(n - 1 for n in one) for one in trees]
    best = errors.index(min(errors))
    names = tuple(_named(one) for one in trees)
    why = {
        1: "Of all bins a cumulative count adds half: too many noisy counts.",
        len(deep): "So many levels share ε too thinly.",
    }
    wrong = tuple(
        Wrong(i, why.get(len(one), "Compare the squared errors.")) for i, one in enumerate(trees) if i != best
    )
    return Question(
        "", f"{counted(bins)} bins, Laplace noise, equal shares of ε, no post-processing. Which tree gives "
        "the best cumulative counts?",
        float(best), 0.0, "Neither many levels nor many children.", wrong,
        "Squared error grows with the cube of the levels, times children − 1.", "", names,
        {"bins": bins, **{f"levels {i}": len(one) for i, one in enumerate(trees)}},
    )  # fmt: skip


def _named(factors: tuple[int, ...]) -> str:
    n, h = factors[0], len(factors)
    return f"{n} children, {h} level{'s' if h > 1 else ''}"


def split(drawn: Drawn) -> Question:
    """The best share of the last of two levels."""
    top, below = drawn.of(2, 3, 4, 9), drawn.of(17, 28, 33, 65, 126)
    roots = [math.cbrt(top - 1), math.cbrt(below - 1)]
    return number(
        f"A tree has {counted(top)} nodes below the root and {counted(below)} bins below each. Which share of ε, in "
        "percent, should the bins get for the best cumulative counts? (Laplace noise, no post-processing.)",
        100 * roots[1] / sum(roots), unit="%", given={"top": top, "below": below},
        right="Shares follow the cube roots of children − 1.",
        wrong=(
            Wrong(50, "Equal shares waste ε on the level that is added up less often."),
            Wrong(100 * (below - 1) / (top + below - 2), "Not in proportion: cube roots of children − 1."),
            Wrong(100 * roots[0] / sum(roots), "The level with more children is added up more often: it gets more."),
        ),
        hint="Cube roots of (children − 1), then shares of their sum.",
    )  # fmt: skip


def dearer(drawn: Drawn) -> Question:
    """What less budget does to the variance."""
    times = drawn.of(2, 3, 4, 5, 10)
    return number(
        f"A level gets {counted(times)} times less ε. By which factor does the variance of its Laplace "
        "noise grow?",
        times**2, exact=True, given={"times": times},
        right="The scale grows by the factor, the variance by its square.",
        wrong=(Wrong(times, "That is the standard deviation; the variance is its square."),
               Wrong(2 * times, "Variance is proportional to 1 / ε².")),
        hint="Variance 2 / ε².",
    )  # fmt: skip


def agreed(drawn: Drawn) -> Question:
    """A parent after least squares."""
    children, total, off = drawn.of(2, 3, 4), drawn.of(40, 60, 80, 120), drawn.of(-15, -9, -6, 6, 9, 15)
    parent = total + off
    best = (children * parent + total) / (children + 1)
    return number(
        f"A noisy count says {counted(parent)}, its {counted(children)} children add up to {counted(total)}. All "
        "counts have the same noise. What does least squares make of the parent?",
        best, unit="records", given={"children": children, "parent": parent, "total": total},
        right="The parent's own count is worth more: the sum has as many noises as children.",
        wrong=(
            Wrong((parent + total) / 2, "A plain mean trusts a sum of several noises as much as one count."),
            Wrong(total, "The parent's own count is the better one of the two."),
            Wrong(parent, "The children say something about the parent, too."),
        ),
        hint="Weigh by one over the variance: 1 against 1 / children.",
    ).within(abs(off) / (children + 1) / 4)  # fmt: skip


def shifted(drawn: Drawn) -> Question:
    """A child after its parent is settled."""
    children, first, gap = drawn.of(2, 3, 4), drawn.of(12, 20, 31), drawn.of(6, 12, 24)
    return number(
        f"After least squares a parent is {counted(gap)} more than its {counted(children)} children added up. All "
        f"children have the same noise. What becomes of a child that said {counted(first)}?",
        first + gap / children, unit="records", given={"children": children, "first": first, "gap": gap},
        right="What is missing is shared equally, as all children are as uncertain.",
        wrong=(
            Wrong(first, "Then the children would not add up."),
            Wrong(first + gap, "The others take their part as well."),
            Wrong(first - gap / children, "The parent has more, so the children grow."),
        ),
        hint="Share the difference equally.",
    ).within(gap / children / 4)  # fmt: skip


EXERCISES: Final[dict[str, tuple[Callable[[Drawn], Question], ...]]] = {
    "gives": (belief, path),
    "noise": (deviation, margin),
    "who": (scale, per_record),
    "ranges": (long_range, how_long),
    "tree": (cover, shared),
    "children": (levels, which),
    "spend": (split, dearer),
    "adds": (agreed, shifted),
}
"""Step -> its exercises, "step.1" and so on; each makes a question from numbers that are drawn for it."""
ON_CARD: Final = (
    "gives.1", "noise.1", "noise.2", "who.1", "ranges.1", "tree.1", "tree.2", "children.2", "spend.1", "adds.1",
)  # fmt: skip
"""The ten questions of the final card."""


def exercises(step: str, seed: int) -> tuple[Question, ...]:
    """Return the exercises of a step, or the final card's, for one seat's seed."""
    if step == "card":
        return tuple(_asked(key, seed + 10_000).named(f"card.{i}") for i, key in enumerate(ON_CARD, 1))
    return tuple(_asked(f"{step}.{i}", seed) for i in range(1, len(EXERCISES[step]) + 1))


def _asked(key: str, seed: int) -> Question:
    step, _, place = key.partition(".")
    return EXERCISES[step][int(place) - 1](Drawn(key, seed)).named(key)
