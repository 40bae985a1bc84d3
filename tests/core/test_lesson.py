"""The lesson: every answer key against the core for 250 seeds, what is said to wrong answers, and its words."""

from __future__ import annotations

import ast
import html
import json
import math
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from browsing import ROOT
from treedp_core import lesson
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, Pipeline, prepare
from treedp_core.noise import DiscreteLaplace, Laplace
from treedp_core.postprocess import least_squares
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.accounting import risk_of_levels
from treedp_core.studies.branching import best_branching, best_shape
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.error import Criterion
from treedp_core.studies.cdf.error.criterion import total_squared_error
from treedp_core.studies.cdf.release import CdfPlan
from treedp_core.studies.lesson import (
    CARD,
    DRAGS,
    EXERCISES,
    STEPS,
    Question,
    Step,
    answers,
    drag_for_browser,
    entry_checked,
    exercises,
    hand_out,
    mark,
    minutes_left,
    number_of,
    reveal_table,
    revealed,
    score,
    step_named,
    steps_done,
    teacher_sheet,
    with_answer,
)  # fmt: skip
from treedp_core.studies.lesson.exercises import Drawn, margin
from treedp_core.studies.ranges import Way, three_ways
from treedp_core.tree import Tree
from treedp_core.tree.workloads import Shape, Workload

SEEDS = range(250)
REPLACE, ADD = (
    ProtectedUnit(one) for one in (NeighbouringRelation.REPLACE_ONE, NeighbouringRelation.ADD_OR_REMOVE_ONE)
)


@cache
def posterior(prior: float, epsilon: float) -> float:
    return 100 * risk_of_levels([DiscreteLaplace(epsilon)], ADD).posterior(prior)


@cache
def level_deviation(epsilon: float, levels: int) -> float:
    made = prepare(Experiment("laplace", epsilon=epsilon), Tree.from_branching_factors((2,) * levels))
    return math.sqrt(made.noise.level_variance[-1])


@cache
def spread(scale: float) -> float:
    """The standard deviation of Laplace noise, by integrating over its distribution function."""
    law = Laplace(scale)
    return math.sqrt(2 * quad(lambda t: 2 * t * law.cdf(-t), 0, 60 * scale, epsabs=0, epsrel=1e-10)[0])


@cache
def half_width(scale: float) -> float:
    """What 95 % of Laplace noise lies within, by looking for it in the distribution function."""
    law = Laplace(scale)
    return float(brentq(lambda t: law.cdf(t) - law.cdf(-t) - 0.95, 0, 60 * scale, xtol=1e-12))


@cache
def best_share(top: int, below: int) -> float:
    """By trying shares, not by the cube roots that both the lesson and the core know."""
    shape = Shape.full((top, below))
    found = minimize_scalar(
        lambda share: total_squared_error(shape, [1 - share, share], 1), bracket=(0.4, 0.7, 0.95), tol=1e-12
    )
    return 100 * float(found.x)


@cache
def error_of(factors: tuple[int, ...]) -> float:
    settings = CdfSettings(math.prod(factors), factors, "laplace", 1.0, least_squares=False)
    return float(plan_cdf(settings).variance.sum())


@cache
def settled(children: int, parent: float, parts: tuple[float, ...]) -> np.ndarray:
    tree = Tree.from_branching_factors((children,))
    return least_squares.prepare(tree, np.ones(children + 1))[0](np.array([parent, *parts]))


@cache
def pushed(children: int, first: float, gap: float) -> float:
    """A child beside siblings of other values, under a parent that is known: its noise is next to none."""
    parts = [first, *(first + 7.0 * i for i in range(1, children))]
    tree, variance = Tree.from_branching_factors((children,)), np.array([1e-9, *[1.0] * children])
    return float(least_squares.prepare(tree, variance)[0](np.array([sum(parts) + gap, *parts]))[1])


def chosen(question: Question) -> float:
    shapes = [
        (
            int(re.match(r"(\d+)", re.sub(r"\s", "", name.replace("\u202f", "")))[1]),
            int(re.findall(r"(\d+) level", name)[0]),
        )  # type: ignore[index]
        for name in question.choices
    ]
    return float(np.argmin([error_of((n,) * h) for n, h in shapes]))


def path_length(given: dict[str, float]) -> int:
    tree = Tree.from_branching_factors((int(given["children"]),) * int(given["height"]))
    return len(tree.ancestors(int(tree.leaves[-1])))


FROM_THE_CORE: dict[str, Callable[[Question], float]] = {
    "gives.1": lambda q: posterior(q.given["prior"], q.given["epsilon"]),
    "gives.2": lambda q: path_length(dict(q.given)),
    "noise.1": lambda q: spread(1 / q.given["epsilon"]),
    "noise.2": lambda q: half_width(1 / q.given["epsilon"]),
    "who.1": lambda q: (
        ProtectedUnit(NeighbouringRelation.REPLACE_ONE, int(q.given["m"])).l1_sensitivity(2)[1] / q.given["epsilon"]
    ),
    "who.2": lambda q: risk_of_levels([DiscreteLaplace(q.given["epsilon"])], ADD, int(q.given["m"])).loss(),
    "ranges.1": lambda q: math.sqrt(float(np.full(int(q.given["bins"]), q.given["sd"] ** 2).sum())),
    "ranges.2": lambda q: max(n for n in range(1, 200) if n * q.given["sd"] ** 2 <= q.given["most"] ** 2 + 1e-9),
    "tree.1": lambda q: float(
        Shape.full((int(q.given["children"]),) * 2).tree().prefix_cover(int(q.given["bins"])).size
    ),
    "tree.2": lambda q: level_deviation(q.given["epsilon"], int(q.given["levels"])),
    "children.1": lambda q: float(
        next(h for h in range(1, 20) if Shape.full((int(q.given["children"]),) * h).n_bins >= q.given["bins"])
    ),
    "children.2": chosen,
    "spend.1": lambda q: best_share(int(q.given["top"]), int(q.given["below"])),
    "spend.2": lambda q: (spread(q.given["times"]) / spread(1.0)) ** 2,
    "adds.1": lambda q: float(
        settled(
            int(q.given["children"]),
            q.given["parent"],
            (q.given["total"] / q.given["children"],) * int(q.given["children"]),
        )[0]
    ),
    "adds.2": lambda q: pushed(int(q.given["children"]), q.given["first"], q.given["gap"]),
}


@pytest.mark.parametrize("step", EXERCISES)
def test_every_answer_is_that_of_the_core_for_250_seeds(step: str) -> None:
    made = [one for seed in SEEDS for one in exercises(step, seed)]
    for question in made:
        exact = FROM_THE_CORE[question.key](question)
        assert question.answer == pytest.approx(exact, rel=1e-6), (question.text, exact)
        assert question.is_right(float(f"{exact:.4g}")) or question.tolerance == 0, question.text
        assert mark(question, question.answer).is_right
        for one in question.wrong:
            assert not question.is_right(one.value), (question.text, one)
            assert not mark(question, one.value).is_right
    for k in range(len(EXERCISES[step])):  # neighbours differ
        texts = [exercises(step, seed)[k].text + str(exercises(step, seed)[k].choices) for seed in range(40)]
        assert len(set(texts)) >= 5


def test_a_child_after_least_squares_is_what_its_exercise_says() -> None:
    for seed in range(200):
        q = exercises("adds", seed)[1]
        children, first, gap = (int(q.given[name]) for name in ("children", "first", "gap"))
        after = settled(children, float(children * first), (float(first),) * children)  # no gap: nothing moves
        np.testing.assert_allclose(after[1:], first)
        wide = settled(children, float(children * first + gap * (children + 1) / children), (float(first),) * children)
        assert wide[0] - children * first == pytest.approx(gap) and wide[1] == pytest.approx(q.answer)


PREDICTED: dict[str, Callable[[], float]] = {
    "gives": lambda: 100 * risk_of_levels([DiscreteLaplace(50.0)], ADD).posterior(0.5), "noise": lambda: spread(2.0),
    "who": lambda: float(REPLACE.l1_sensitivity(2)[1]), "ranges": lambda: math.sqrt(100 * 2.8**2),
    "tree": lambda: float(Shape.full((16, 16)).tree().prefix_cover(100).size),
    "children": lambda: min((2, 4, 8, 16, 64, 4096), key=lambda n: error_of((n,) * round(math.log(4096, n)))),
    "spend": lambda: best_share(4, 64), "adds": lambda: float(settled(2, 30.0, (12.0, 12.0))[0]),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda one: one.name)
def test_a_prediction_is_run_whatever_is_guessed(step: object) -> None:
    assert isinstance(step, type(STEPS[0]))
    asked = step.predict
    assert asked.answer == pytest.approx(PREDICTED[step.name](), rel=1e-6)
    guesses = [asked.answer, *(one.value for one in asked.wrong), 0.0, -3.0, 1e9, 17.3]
    said = {mark(asked, guess).said for guess in guesses}
    assert len(said) >= 3
    for guess in guesses:
        found = revealed(step.name, guess)
        assert found.said and all(line.shape == found.x.shape for _, line in found.lines)
        assert "nan" not in found.said and len(found.said.split()) <= 20
        table = reveal_table(step.name, guess)
        assert json.dumps(table, allow_nan=False)
    assert (
        revealed(step.name, asked.answer).said != revealed(step.name, asked.wrong[0].value).said or step.name == "gives"
    )


@pytest.mark.parametrize("name", [one.name for one in STEPS])
def test_a_guess_is_dragged_along_an_axis_that_hints_at_nothing(name: str) -> None:
    drag, asked = DRAGS[name], step_named(name).predict
    assert drag.low <= asked.answer <= drag.high and not asked.is_right(drag.low)
    if name != "gives":  # where it is the end of the scale
        assert drag.low < asked.answer < drag.high
    ends = [-drag.high, drag.high] if drag.shape == "bell" else [drag.low, drag.high]
    assert [drag.ticks[0], drag.ticks[-1]] == ends and list(drag.ticks) == sorted(drag.ticks)
    right = [tick for tick in drag.ticks if asked.is_right(tick)]
    assert len(right) <= 1 and (not right or len(drag.ticks) >= 5)
    places = drag.stops or np.arange(drag.low, drag.high + drag.by / 2, drag.by)
    assert any(asked.is_right(float(place)) for place in places)
    told = json.dumps(drag_for_browser(name, None), allow_nan=False)
    assert asked.right not in told and asked.hint not in told and "answer" not in told


def test_what_is_said_of_the_best_is_true() -> None:
    best = best_branching(Criterion("laplace", Workload.CDF, False, REPLACE))
    assert best.whole is not None and abs(best.whole - 16) <= 1  # "about 16"
    keep = next(one.keep for one in STEPS if one.name == "children")
    assert "About 16" in keep
    assert revealed("noise", 2.0).lines[0][1].sum() == pytest.approx(1.0, abs=0.01)


def test_the_words_are_few_and_short() -> None:
    said = [one.text for one in STEPS] + [one.keep for one in STEPS]
    assert all(len(one.text.split()) + len(one.predict.text.split()) <= 80 for one in STEPS)
    said += [one.predict.text for one in STEPS] + [one.predict.right for one in STEPS]
    said += [wrong.why for one in STEPS for wrong in one.predict.wrong]
    said += [q.text for step in EXERCISES for q in exercises(step, 0)]
    sentences = [len(one.split()) for text in said for one in re.split(r"[.?!:](?:\s|$)", text) if one.strip()]
    assert sum(sentences) / len(sentences) <= 20 and max(sentences) <= 34
    assert minutes_left(STEPS[0].name) == 45 and minutes_left(CARD) < 10
    assert len(exercises(CARD, 1)) == 10
    grades = {one.name: grade(" ".join((one.text, one.predict.text, one.predict.right, one.keep))) for one in STEPS}
    assert max(grades.values()) <= 6, grades  # a reader of twelve
    assert grade("Subsequent probabilistic considerations necessitate characterisation of neighbouring relations.") > 15


def grade(text: str) -> float:
    """School years that a text takes (Flesch and Kincaid, 1975): syllables are runs of vowels, but a silent last e."""
    words = re.findall("[A-Za-z']+", text)
    sentences = [one for one in re.split(r"[.?!:]\s", text) if one.strip()]
    syllables = sum(max(1, len(re.findall("[aeiouy]+", w.lower())) - bool(re.search("[^l]e$", w))) for w in words)
    return 0.39 * len(words) / len(sentences) + 11.8 * syllables / len(words) - 15.59


def test_the_normal_margin_that_is_no_answer_is_that_of_a_normal_law() -> None:
    """Nineteen times in twenty, by the normal distribution function: not a rounded quantile that somebody typed."""
    asked = margin(Drawn("margin", 3))
    normal, epsilon = asked.wrong[0], asked.given["epsilon"]
    assert normal.value == pytest.approx(norm.ppf(0.975) * spread(1 / epsilon), rel=1e-7)
    assert normal.why.startswith("1.96 ")


def test_progress_is_text_and_points() -> None:
    entries = with_answer(with_answer((), "noise", 2.5), "noise", 2.8)
    assert answers(entries) == {"noise": 2.8} and steps_done(entries) == 1
    questions = exercises("noise", 4)
    for question in questions:
        entries = with_answer(entries, question.key, question.answer)
    entries = with_answer(entries, questions[0].key, -1.0)
    assert (score(entries, 4, "noise").right, score(entries, 4, "noise").answered) == (1, 2)
    assert score(entries, 4, CARD).answered == 0 and score(entries, 4, CARD).of == 10
    for refused in ("", "noise", "noise:", "noise:x", "no:1", "noise.9:1", "card.11:1", "noise:1e400", "noise:nan"):
        with pytest.raises(InputError):
            entry_checked(refused)
    assert entry_checked("card.10:0,5") == "card.10:0,5" and number_of("1\u202f234,5") == 1234.5


def test_a_hand_out_is_checked() -> None:
    question = exercises("spend", 12)[0]
    assert lesson.ask("spend.1", 12) == question.text
    assert lesson.check("spend.1", f"{question.answer:.1f}".replace(".", ","), 12).startswith("Right. ")
    assert lesson.check("spend.1", 50, 12).startswith("Not quite: ")
    choice = exercises("children", 12)[1]
    assert lesson.check("children.2", choice.answer + 1, 12).startswith("Right. ")
    with pytest.raises(InputError):
        lesson.check("spend.7", 1, 12)


def test_a_hand_out_runs_and_holds_no_answer() -> None:
    notebook = json.loads(hand_out(12))
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    codes = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    asked = [one for step in EXERCISES for one in exercises(step, 12)]
    assert len(codes) == 1 + len(asked)
    for code, question in zip(codes[1:], asked, strict=True):
        assert question.text in hand_out(12).decode().replace("\\n", "\n")
        assert question.right not in str(notebook)
        assert code == f"answer = None\nlesson.check({question.key!r}, answer, seat=12)"
        assert lesson.check(question.key, None, seat=12) == "No answer yet."


def test_the_teachers_sheet_has_every_step_every_wrong_idea_and_the_solutions() -> None:
    sheet = teacher_sheet(range(3), "https://lesson.example")
    for step in STEPS:
        assert f"https://lesson.example/lesson?step={step.name}" in sheet
        for text in (step.title, step.aim, step.keep, *(one.why for one in step.predict.wrong)):
            assert html.escape(text) in sheet
    for seat in range(3):
        for step in (*EXERCISES, CARD):
            cells = "".join(f"<td>{html.escape(one.solution)}</td>" for one in exercises(step, seat))
            assert f"<tr><th>{seat}</th>{cells}</tr>" in sheet
    assert "<script" not in sheet and "src=" not in sheet
    with pytest.raises(InputError, match="at most 100 seats"):
        teacher_sheet(range(101), "")


def opened(name: str) -> dict[str, str]:
    return dict(step_named(name).opened)


def lab(name: str, mechanism: str, allocation: str, shares: str = "") -> Pipeline:
    """What the page of a step makes of its link, on the tree that it names."""
    link = opened(name)
    split = {"custom": tuple(float(one) for one in link.get(shares, "").split(",") if one)}
    asked = Experiment(
        link[mechanism], ("least_squares",) if link.get("con_post") == "least_squares" else (), link[allocation],
        epsilon=float(link["eps"]), relation=link["nbr"], contributions=int(link["contributions"]),
        shares=split.get(link[allocation], ()),
    )  # fmt: skip
    assert link["source"] == "generate"
    return prepare(asked, Tree.from_branching_factors(tuple(map(int, link["gen_branching"].split(",")))))


def one_range(name: str) -> tuple[Way, Way, int, int]:
    """Histogram and tree on the page Why a tree, and the range that a link opens it with."""
    link = opened(name)
    found = three_ways(int(link["ran_bins"]), float(link["eps"]), 7, least_squares=link["ran_least_squares"] != "0")
    return found.ways[0], found.ways[2], int(link["ran_from"]), int(link["ran_to"])


def exact_counts() -> float:
    link = opened("gives")
    unit = ProtectedUnit(NeighbouringRelation(link["nbr"]))
    return 100 * risk_of_levels([DiscreteLaplace(float(link["eps"]))], unit).posterior(float(link["pro_prior"]))


def of_the_scale() -> float:
    (law,) = [one for one in lab("who", "plan_mechanism", "plan_allocation").noise.laws if one]
    assert isinstance(law, Laplace)
    return law.scale


def of_the_best() -> float:
    link = opened("children")
    asked = Criterion(link["bra_noise"], Workload(link["bra_workload"]), link["bra_post"] != "none", REPLACE)
    assert link["bra_budgets"] == "uniform" and link["nbr"] == "replace_one"
    (factor,) = set(best_shape(int(link["bra_bins"]), asked).branching_factors)
    return factor


def two_levels(allocation: str) -> CdfPlan:
    link = opened("spend")
    assert (link["cdf_source"], link["cdf_tree"], link["gen_branching"]) == ("current", "own", link["cdf_factors"])
    factors = tuple(map(int, link["cdf_factors"].split(",")))
    found = plan_cdf(CdfSettings(math.prod(factors), factors, link["cdf_mechanism"], float(link["eps"]),
                     allocation=allocation, least_squares=link["cdf_post"] != "0", relation=link["nbr"]))  # fmt: skip
    assert isinstance(found, CdfPlan)
    return found


def of_the_bins() -> float:
    best = two_levels(opened("spend")["cdf_allocation"])
    assert best.variance.mean() < 0.65 * two_levels("uniform").variance.mean()
    return 100 * best.budget.per_level[2] / sum(best.budget.per_level[1:])


def settled_total() -> float:
    """The total after least squares, of the counts in the question: of all noises on the page it has the same."""
    made, asked = lab("adds", "con_mechanism", "con_allocation"), step_named("adds").predict
    assert set(made.noise.level_variance) == {made.noise.level_variance[0]}
    half = asked.given["total"] / 2
    return float(made.postprocessing[0](np.array([asked.given["parent"], half, half]))[0])


SHOWN: dict[str, Callable[[], float]] = {
    "gives": exact_counts,
    "noise": lambda: math.sqrt(lab("noise", "plan_mechanism", "plan_allocation", "plan_shares").noise.variance[1]),
    "who": of_the_scale, "ranges": lambda: one_range("ranges")[0].deviation(*one_range("ranges")[2:]),
    "tree": lambda: float(one_range("tree")[1].n_counts(*one_range("tree")[2:])), "children": of_the_best,
    "spend": of_the_bins, "adds": settled_total,
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS, ids=lambda one: one.name)
def test_what_a_step_opens_shows_what_it_teaches(step: Step) -> None:
    """From the settings in its link alone: data, budget, relation and measure are those of its question."""
    asked = step.predict
    assert asked.is_right(SHOWN[step.name]()) or SHOWN[step.name]() == pytest.approx(asked.answer, rel=0.03)


def test_the_net_error_of_the_tree_is_said_and_is_what_its_page_shows() -> None:
    histogram, tree, start, stop = one_range("tree")
    step = step_named("tree")
    assert (start, stop) == (0, int(step.predict.given["bins"]))
    numbers = [float(one) for one in re.findall(r"RMSE (\d+\.\d)", revealed("tree", 3.0).said)]
    assert numbers == [round(tree.deviation(start, stop), 1), round(histogram.deviation(start, stop), 1)]
    assert numbers == [round(math.sqrt(10 * 2) * 4, 1), round(math.sqrt(100 * 2) * 2, 1)]  # counts times variance
    assert histogram.n_counts(start, stop) == 100


FIXED = ("0 or 1", "between 20 and 65", "1 / ε", "√2", "IV.2", "− 1.", "(children − 1)")
"""Numbers of formulas and of theorems, whatever is asked."""


@pytest.mark.parametrize("name", ["steps", "reveal"])
def test_no_number_that_a_step_says_is_typed(name: str) -> None:
    """Each comes from what its question gives, or from the core."""
    tree = ast.parse((ROOT / "treedp_core" / "studies" / "lesson" / f"{name}.py").read_text(encoding="utf-8"))
    docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module)}  # fmt: skip
    docs |= {node.value.value for node in ast.walk(tree)
             if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}  # fmt: skip
    said = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    for fixed in FIXED:
        said = {words.replace(fixed, "") for words in said - docs}
    assert sorted(words for words in said if re.search("[0-9]", words)) == []
