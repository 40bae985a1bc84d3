"""The eight steps: what is said, what is to be predicted, what is kept in mind, and where it goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from treedp_core import checks
from treedp_core.experiment import EPSILON_GRID
from treedp_core.noise import Laplace
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.studies.cdf.error.criterion import total_squared_error
from treedp_core.studies.lesson.question import Question, Wrong, number
from treedp_core.tree.workloads import equal_tree
from treedp_core.words import setting_text, short, whole

BINS: Final = 4096
CHILDREN: Final = (2, 4, 8, 16, 64, BINS)
"""What the sixth step offers: numbers of children by which its bins can be divided again and again."""


ADD: Final = NeighbouringRelation.ADD_OR_REMOVE_ONE
REPLACE: Final = NeighbouringRelation.REPLACE_ONE


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
        Where it goes on.
    opened : mapping
        With which settings: the step's own numbers, so that the page shows what the step teaches.
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
    prior, sure = 50.0, 100.0
    return number(
        f"A neighbour knows everybody else in your town. They are {short(prior)} % sure that you are in the table of "
        "exact counts. How sure are they once they have seen it, in percent?",
        sure, unit="%",
        right="They subtract all others, and what is left is you.",
        wrong=(Wrong(prior, "They can subtract everybody they know; what is left is you."),
               Wrong(0.0, "They learn it either way: the difference is 0 or 1.")),
        hint="They can count the others themselves and subtract them.",
    )  # fmt: skip


def _noise() -> Question:
    epsilon = 0.5
    law = Laplace(1.0 / epsilon)
    return number(
        f"One count gets Laplace noise at ε = {setting_text(epsilon)}. By how much is it typically off (standard "
        "deviation)?",
        math.sqrt(law.variance), unit="records", given={"epsilon": epsilon},
        right=f"The scale, 1 / ε, is {short(law.scale)}; times √2.",
        wrong=(Wrong(law.scale, "That is the scale 1 / ε; the standard deviation is √2 times that."),
               Wrong(epsilon, "A smaller ε means more noise: divide by it."),
               Wrong(math.sqrt(2) * epsilon, "A smaller ε means more noise: divide by it.")),
        hint="The scale is 1 / ε; a Laplace law's standard deviation is √2 times its scale.",
    )  # fmt: skip


def _who() -> Question:
    bins, epsilon = 16, 1.0
    added, replaced = (float(ProtectedUnit(relation).l1_sensitivity(2)[1]) / epsilon for relation in (ADD, REPLACE))
    return number(
        f"A histogram has {bins} bins. A record may be replaced by another, ε = {setting_text(epsilon)}. Which scale "
        "does the noise of each bin need?",
        replaced, given={"epsilon": epsilon, "m": 1, "bins": bins},
        right="One bin loses a record and one gains it, whatever the number of bins.",
        wrong=(Wrong(added, "That is for a record that comes or goes; a replaced one changes two bins."),
               Wrong(bins * added, "Each record lies in one bin only, so the bins need not share ε."),
               Wrong(bins * replaced, "Each record lies in one bin only, so the bins need not share ε.")),
        hint="How much do all bins change together?",
    )  # fmt: skip


def _ranges() -> Question:
    off, bins = 2.8, 100
    root = math.sqrt(bins)
    return number(
        f"The noise of each bin has a standard deviation of {short(off)} records. A range adds {bins} bins. What is "
        "its standard deviation?",
        off * root, unit="records", given={"bins": bins, "sd": off},
        right=f"Noises partly cancel: the root of {bins} is {short(root)}.",
        wrong=(Wrong(off * bins, "Noises partly cancel: variances add up, not standard deviations."),
               Wrong(off, f"A sum of {bins} noisy counts has more noise than one.")),
        hint="Variances add up.",
    )  # fmt: skip


def _tree() -> Question:
    children, first, epsilon = 16, 100, 1.0
    groups, left = divmod(first, children)
    inside, above = groups * children, children - left
    return number(
        f"{children**2} bins lie in {children} groups of {children}, and groups are counted, too. How many counts make "
        f"the first {first} bins?",
        float(groups + left), exact=True, unit="counts",
        given={"children": children, "bins": first, "epsilon": epsilon},
        right=f"{groups} groups hold {inside} bins, and {left} bins are left.",
        wrong=(Wrong(first, f"Whole groups hold {children} bins in one count."),
               Wrong(groups, f"{groups} groups hold only {inside} bins."),
               Wrong(groups + 1, f"{groups + 1} groups hold {inside + children} bins: {above} of them are too many."),
               Wrong(groups + 1 + above, f"You may take {above} bins away from one more group, but adding {left} takes "
                     "fewer counts.")),
        hint="Whole groups first, then single bins.",
    )  # fmt: skip


def children_errors() -> dict[int, float]:
    """Return the squared error of cumulative counts of 4 096 bins with equal children and equal shares, by children."""
    found = {}
    for b in CHILDREN:
        shape = equal_tree(BINS, b)
        found[b] = total_squared_error(shape, [1.0 / shape.height] * shape.height, 1)
    return found


def best_children() -> int:
    """Return the number of children with the least of `children_errors`."""
    return min((error := children_errors()), key=error.__getitem__)


def _children() -> Question:
    best = best_children()
    levels = {b: equal_tree(BINS, b).height for b in CHILDREN}
    why = {
        2: f"{levels[2]} levels share ε: each count is very noisy.",
        4: f"{levels[4]} levels share ε: that is still too many.",
        8: f"Close: {levels[8]} levels cost a little more than {levels[best]}.",
        64: f"{levels[64]} levels, but up to {64 - 1} counts are added on each.",
        BINS: "That is the histogram: half of all bins are added.",
    }
    offered = ", ".join(map(whole, CHILDREN[:-1]))
    return number(
        f"{whole(BINS)} bins. All nodes have the same number of children: {offered} or {whole(BINS)}. With which are "
        "cumulative counts least off?",
        float(best), exact=True, unit="children", given={"bins": BINS},
        right=f"{levels[best]} levels share ε, and few counts are added.",
        wrong=tuple(Wrong(float(b), text) for b, text in why.items()),
        hint="Weigh levels that share ε against counts that are added.",
    )  # fmt: skip


def _spend() -> Question:
    top, below = 4, 64
    roots = [math.cbrt(top - 1), math.cbrt(below - 1)]
    return number(
        f"{top} groups of {below} bins. Which share of ε should the bins get, in percent, so that cumulative "
        "counts are least off?",
        100 * roots[1] / sum(roots), unit="%", given={"top": top, "below": below},
        right="Shares follow the cube roots of children − 1.",
        wrong=(Wrong(50.0, "Bins are added more often than groups, so equal shares waste ε."),
               Wrong(100 * (below - 1) / (below + top - 2), "More, but not in proportion: groups are needed by long "
                     "ranges."),
               Wrong(100 * roots[0] / sum(roots), "The other way round: bins are added more often.")),
        hint=f"More than half: up to {below - 1} bins are added, but at most {top - 1} groups.",
    )  # fmt: skip


def _adds() -> Question:
    total, parts = 30, (12, 12)
    n, added = len(parts), sum(parts)
    best = (n * total + added) / (n + 1)
    return number(
        f"A noisy total says {total}; its two noisy parts say {parts[0]} and {parts[1]}. All have the same noise. What "
        "is the best guess of the total?",
        best, unit="records", given={"children": n, "parent": total, "total": added},
        right=f"The sum of two noises is worth half as much as one: ({n} × {total} + {added}) / {n + 1}.",
        wrong=(Wrong((total + added) / 2, "A plain mean forgets that the sum of the parts carries two noises."),
               Wrong(total, "The parts know something about the total, too."),
               Wrong(added, "The total's own count has less noise than the sum.")),
        hint="Weigh by one over the variance.",
    ).within(0.3)  # fmt: skip


# ---- what a step opens: the same data, budget and measure as in its question


def _of_all(relation: NeighbouringRelation, epsilon: float) -> dict[str, str]:
    return {"nbr": relation.value, "contributions": f"{1}", "eps": setting_text(epsilon)}


def _tree_of(*branching_factors: int) -> dict[str, str]:
    return {"source": "generate", "gen_branching": ",".join(map(str, branching_factors))}


def _nearly_exact() -> dict[str, str]:
    """Counts with next to no noise: no release is exact, and none of more ε is offered."""
    return _of_all(ADD, EPSILON_GRID[-1]) | {"pro_view": "beliefs", "pro_prior": setting_text(1 / 2)}


def _planned(asked: Question, relation: NeighbouringRelation, bins: int) -> dict[str, str]:
    noise = {"plan_view": "plan", "plan_mechanism": "laplace", "plan_post": "none", "plan_allocation": "uniform"}
    return _of_all(relation, asked.given["epsilon"]) | _tree_of(bins) | noise


def _bins_alone() -> dict[str, str]:
    """A table of two bins, as there is none of one; their level has all of ε, so each count has it."""
    return _planned(_noise(), ADD, 2) | {"plan_allocation": "custom", "plan_shares": f"{0},{1}"}


def _histogram() -> dict[str, str]:
    return _planned(_who(), REPLACE, int(_who().given["bins"]))


def _range() -> dict[str, str]:
    asked = _tree().given
    bins = {"ran_bins": f"{int(asked['children']) ** 2}", "ran_from": f"{0}", "ran_to": f"{int(asked['bins'])}"}
    return {"eps": setting_text(asked["epsilon"]), **bins, "ran_least_squares": f"{0}"}


def _bins_divided() -> dict[str, str]:
    asked = {"bra_bins": str(BINS), "bra_noise": "laplace", "bra_workload": "cdf", "bra_post": "none"}
    return _of_all(REPLACE, 1.0) | asked | {"bra_budgets": "uniform"}


def _split_of_two_levels() -> dict[str, str]:
    factors = [int(_spend().given[name]) for name in ("top", "below")]
    tree = {"cdf_source": "current", "cdf_tree": "own", "cdf_factors": ",".join(map(str, factors))}
    noise = {"cdf_view": "release", "cdf_mechanism": "laplace", "cdf_allocation": "optimal", "cdf_post": f"{0}"}
    return _of_all(REPLACE, 1.0) | _tree_of(*factors) | tree | noise


def _total_of_parts() -> dict[str, str]:
    """A total and its parts with the same noise."""
    noise = {"con_mechanism": "laplace", "con_post": "least_squares", "con_allocation": "uniform"}
    return _of_all(ADD, 1.0) | _tree_of(int(_adds().given["children"])) | {"gen_n": f"{100}"} | noise


STEPS: Final[tuple[Step, ...]] = (
    Step(
        "gives", "What does a count give away?", 4, _gives,
        text="A table of exact counts names nobody. Yet whoever knows all others can take them away. What is left?",
        keep="Sums protect nobody: who knows the others subtracts them.",
        page="protects", opened=_nearly_exact(), aim="Exact sums are not anonymous.",
    ),
    Step(
        "noise", "What do noise and ε do?", 5, _noise,
        text="Now every count gets random noise. ε says how much: odds about you change at most by a factor e^ε. "
        "The less they may change, the more noise it takes.",
        keep="Halve ε, and the noise doubles.",
        page="plan", opened=_bins_alone(), aim="The scale of noise is sensitivity over ε; a draw is not a law.",
    ),
    Step(
        "who", "Who is protected?", 5, _who,
        text="A promise is about somebody: a record that comes or goes, or one that is replaced by another. "
        "Laplace noise keeps it if its scale is what they can change in all, divided by ε.",
        keep="Noise follows what one unit can change, not how many counts there are.",
        page="plan", opened=_histogram(), aim="Neighbouring relation and sensitivity; a record is not a person.",
    ),
    Step(
        "ranges", "What happens when counts are added?", 5, _ranges,
        text="How many are between 20 and 65? A histogram adds one noisy bin after the other. "
        "Every bin brings its own noise along.",
        keep="Noise of a sum grows with the root of how many counts it adds.",
        page="ranges", opened=_range(), aim="Variances add up.",
    ),
    Step(
        "tree", "Why put a tree on it?", 6, _tree,
        text="Count groups of bins as well. A long range is then a few whole groups and some single bins, "
        "added or taken away. The price: a person is counted on each level, so the levels share ε.",
        keep="A tree buys few counts a range with more noise in each.",
        page="ranges", opened=_range(), aim="Node covers; the budget is shared by levels.",
    ),
    Step(
        "children", "How many children should a node have?", 6, _children,
        text="How many are at most x? That is a cumulative count. Few children make many levels, and each gets little "
        "of ε. Many children make few levels, but much is added on each.",
        keep=f"About {best_children()} children are best for plain Laplace noise, and the best is flat.",
        page="branching", opened=_bins_divided(), aim="A trade-off with a flat optimum.",
    ),
    Step(
        "spend", "How should ε be spent?", 6, _spend,
        text="Levels need not get equal shares of ε. A level whose counts are added often deserves more. "
        "How much more?",
        keep="Give more of ε to what is added more often, but less than in proportion.",
        page="cdf", opened=_split_of_two_levels(), aim="Theorem IV.2 of Rameshwar et al.: cube roots.",
    ),
    Step(
        "adds", "Can it be made to add up?", 5, _adds,
        text="Noisy parts do not add up to their noisy total. Repairing that costs no privacy, as no record is looked "
        "at again. And two measurements of one thing are better than one.",
        keep="Post-processing is free, and weighing both (least squares) makes every count better.",
        page="consistency", opened=_total_of_parts(), aim="Post-processing; weights by one over the variance.",
    ),
)  # fmt: skip
CARD: Final = "card"
"""The name of the final card, after the steps."""
MINUTES_OF_CARD: Final = 3


def step_named(name: str) -> Step:
    """Return a step by its name.

    Raises
    ------
    InputError
        ``LESSON_KEY``: the card is no step.

    >>> step_named("card")
    Traceback (most recent call last):
    treedp_core.checks.InputError: Expected step to be one of adds, children, gives, noise, ranges, spend, tree, who, \
got 'card'.
    """
    known = {one.name: one for one in STEPS}
    return known[checks.one_of("step", name, known, "LESSON_KEY")]


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
