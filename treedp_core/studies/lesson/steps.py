"""The eight steps: what is said, what is to be predicted, what is kept in mind, and where it goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from treedp_core.studies.lesson.question import Question, Wrong, number


@dataclass(frozen=True)
class Step:
    """One step of the lesson.

    Parameters
    ----------
    name : str
        In its address.
    title : str
        Its question, as a heading.
    minutes : int
    asked : callable
        Makes the question that is to be answered before anything is shown.
    text : str
        At most 80 words (Markdown).
    keep : str
        One sentence to keep.
    page : str
        Where it goes on, and with which settings.
    opened : mapping
    aim : str
        What the teacher wants.
    """

    name: str
    title: str
    minutes: int
    asked: Callable[[], Question]
    text: str
    keep: str
    page: str
    opened: Mapping[str, str]
    aim: str

    @cached_property
    def predict(self) -> Question:
        """What is to be answered before anything is shown, named like the step."""
        return self.asked().named(self.name)


def _gives() -> Question:
    return number(
        "A neighbour knows everybody else in your town. He is 50 % sure that you are in the table of exact "
        "counts. How sure is he once he has seen it, in percent?",
        100.0, unit="%",
        right="He subtracts all others, and what is left is you.",
        wrong=(Wrong(50.0, "He can subtract everybody he knows; what is left is you."),
               Wrong(0.0, "He learns it either way: the difference is 0 or 1.")),
        hint="He can count the others himself and subtract them.",
    )  # fmt: skip


def _noise() -> Question:
    return number(
        "One count gets Laplace noise at ε = 0.5. By how much is it typically off (standard deviation)?",
        math.sqrt(2) / 0.5, unit="records", given={"epsilon": 0.5},
        right="Scale 1 / ε = 2, times √2.",
        wrong=(Wrong(2.0, "That is the scale 1 / ε; the standard deviation is √2 times that."),
               Wrong(0.5, "A smaller ε means more noise: divide by it."),
               Wrong(math.sqrt(2) * 0.5, "A smaller ε means more noise: divide by it.")),
        hint="The scale is 1 / ε; a Laplace law's standard deviation is √2 times its scale.",
    )  # fmt: skip


def _who() -> Question:
    return number(
        "A histogram has 16 bins. A record may be replaced by another, ε = 1. Which scale does the noise of "
        "each bin need?",
        2.0, given={"epsilon": 1.0, "m": 1},
        right="One bin loses a record and one gains it, whatever the number of bins.",
        wrong=(Wrong(1.0, "That is for a record that comes or goes; a replaced one changes two bins."),
               Wrong(16.0, "Each record lies in one bin only, so the bins need not share ε."),
               Wrong(32.0, "Each record lies in one bin only, so the bins need not share ε.")),
        hint="How much do all bins change together?",
    )  # fmt: skip


def _ranges() -> Question:
    return number(
        "Each bin is off by 2.8 records (standard deviation). A range adds 100 bins. By how much is it off?",
        28.0, unit="records", given={"bins": 100, "sd": 2.8},
        right="Noises partly cancel: the root of 100 is 10.",
        wrong=(Wrong(280.0, "Noises partly cancel: variances add up, not standard deviations."),
               Wrong(2.8, "A sum of 100 noisy counts has more noise than one.")),
        hint="Variances add up.",
    )  # fmt: skip


def _tree() -> Question:
    return number(
        "256 bins lie in 16 groups of 16, and groups are counted, too. How many counts add up to the first 200 "
        "bins?",
        20.0, exact=True, unit="counts", given={"children": 16, "bins": 200},
        right="12 groups hold 192 bins, and 8 bins are left.",
        wrong=(Wrong(200.0, "Whole groups hold 16 bins in one count."),
               Wrong(12.0, "12 groups hold only 192 bins."),
               Wrong(13.0, "Part of a group cannot be taken from the group's count.")),
        hint="Whole groups first, then single bins.",
    )  # fmt: skip


def _children() -> Question:
    return number(
        "4 096 bins. All nodes have the same number of children: 2, 4, 8, 16, 64 or 4 096. With which are "
        "cumulative counts least off?",
        16.0, exact=True, unit="children", given={"bins": 4096},
        right="Three levels share ε, and few counts are added.",
        wrong=(Wrong(2.0, "Twelve levels share ε: each count is very noisy."),
               Wrong(4.0, "Six levels share ε: that is still too many."),
               Wrong(8.0, "Close: four levels cost a little more than three."),
               Wrong(64.0, "Two levels, but up to 63 counts are added on each."),
               Wrong(4096.0, "That is the histogram: half of all bins are added.")),
        hint="Weigh levels that share ε against counts that are added.",
    )  # fmt: skip


def _spend() -> Question:
    roots = [math.cbrt(3), math.cbrt(63)]
    return number(
        "4 groups of 64 bins. Which share of ε should the bins get, in percent, so that cumulative "
        "counts are least off?",
        100 * roots[1] / sum(roots), unit="%", given={"top": 4, "below": 64},
        right="Shares follow the cube roots of children − 1.",
        wrong=(Wrong(50.0, "Bins are added more often than groups, so equal shares waste ε."),
               Wrong(100 * 63 / 66, "More, but not in proportion: groups are needed by long ranges."),
               Wrong(100 * roots[0] / sum(roots), "The other way round: bins are added more often.")),
        hint="More than half: up to 63 bins are added, but at most 3 groups.",
    )  # fmt: skip


def _adds() -> Question:
    return number(
        "A noisy total says 30; its two noisy parts say 12 and 12. All have the same noise. What is the best "
        "guess of the total?",
        28.0, unit="records", given={"children": 2, "parent": 30, "total": 24},
        right="The sum of two noises is worth half as much as one: (2 × 30 + 24) / 3.",
        wrong=(Wrong(27.0, "A plain mean forgets that the sum of the parts carries two noises."),
               Wrong(30.0, "The parts know something about the total, too."),
               Wrong(24.0, "The total's own count has less noise than the sum.")),
        hint="Weigh by one over the variance.",
    ).within(0.3)  # fmt: skip


STEPS: Final[tuple[Step, ...]] = (
    Step(
        "gives", "What does a count give away?", 4, _gives,
        text="A table of exact counts names nobody. Yet whoever knows all others can take them away. What is left?",
        keep="Sums protect nobody: who knows the others subtracts them.",
        page="protects", opened={}, aim="Exact sums are not anonymous.",
    ),
    Step(
        "noise", "What do noise and ε do?", 5, _noise,
        text="Now every count gets random noise. ε says how much: odds about you change at most e^ε-fold. "
        "The less they may change, the more noise it takes.",
        keep="Half of ε is twice the noise.",
        page="lab", opened={}, aim="The scale of noise is sensitivity over ε; a draw is not a law.",
    ),
    Step(
        "who", "Who is protected?", 5, _who,
        text="A promise is about somebody: a record that comes or goes, or one that is replaced by another. "
        "Laplace noise keeps it if its scale is what they can change in all, divided by ε.",
        keep="Noise follows what one unit can change, not how many counts there are.",
        page="data", opened={}, aim="Neighbouring relation and sensitivity; a record is not a person.",
    ),
    Step(
        "ranges", "What happens when counts are added?", 5, _ranges,
        text="How many are between 20 and 65? A histogram adds one noisy bin after the other. "
        "Every bin brings its own noise along.",
        keep="Noise of a sum grows with the root of how many counts it adds.",
        page="ranges", opened={}, aim="Variances add up.",
    ),
    Step(
        "tree", "Why put a tree on it?", 6, _tree,
        text="Count groups of bins as well. A long range is then a few whole groups and some single bins. "
        "The price: a person is counted on each level, so the levels share ε.",
        keep="A tree buys few counts a range with more noise in each.",
        page="ranges", opened={}, aim="Node covers; the budget is shared by levels.",
    ),
    Step(
        "children", "How many children should a node have?", 6, _children,
        text="How many are at most x? That is a cumulative count. Few children make many levels, and each gets little "
        "of ε. Many children make few levels, but much is added on each.",
        keep="About 16 children are best for plain Laplace noise, and the best is flat.",
        page="branching", opened={"bra_bins": "4096"}, aim="A trade-off with a flat optimum.",
    ),
    Step(
        "spend", "How should ε be spent?", 6, _spend,
        text="Levels need not get equal shares of ε. A level whose counts are added often deserves more. "
        "How much more?",
        keep="Give more of ε to what is added more often, but less than in proportion.",
        page="budget", opened={"bud_view": "custom"}, aim="Theorem IV.2 of Rameshwar et al.: cube roots.",
    ),
    Step(
        "adds", "Can it be made to add up?", 5, _adds,
        text="Noisy parts do not add up to their noisy total. Repairing that costs no privacy, as no record is looked "
        "at again. And two measurements of one thing are better than one.",
        keep="Post-processing is free, and weighing both (least squares) makes every count better.",
        page="consistency", opened={}, aim="Post-processing; weights by one over the variance.",
    ),
)  # fmt: skip
CARD: Final = "card"
"""The name of the final card, after the steps."""
MINUTES_OF_CARD: Final = 3


def step_named(name: str) -> Step:
    """Return a step by its name."""
    return next(one for one in STEPS if one.name == name)


def question_table(name: str) -> dict[str, list[str]]:
    """Return what a step asks, and no more.

    >>> question_table("noise")["unit"]
    ['records']
    """
    asked = step_named(name).predict
    return {"step": [name], "question": [asked.text], "unit": [asked.unit]}


def minutes_left(name: str) -> int:
    """Return the minutes from the beginning of a step to the end of the lesson.

    >>> minutes_left("gives"), minutes_left("card")
    (45, 3)
    """
    names = [one.name for one in STEPS]
    rest = STEPS[names.index(name) :] if name in names else ()
    return sum(one.minutes for one in rest) + MINUTES_OF_CARD
