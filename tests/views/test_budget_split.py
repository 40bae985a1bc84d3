"""Views of the page Budget split, called: splits, prices and errors against hand-made numbers, and what is refused."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Hashable
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oracles_figures import decoded
from oracles_pages import RAGGED, dataset, tree_rmsre
from refusals import refuses
from sample_data.catalogue import count_sample
from treedp_core.allocation import ALLOCATIONS, Allocation
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment, run
from treedp_core.figures.budget import targets_met
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.records import Dataset
from treedp_core.studies.budget import Ask, Problem, Target, greedy, smallest_budget
from treedp_core.studies.budget.figure4 import TOTALS
from treedp_core.tree import Tree
from treedp_core.views import VIEWS, Finding, Tables, budget
from treedp_core.views.budget import BudgetInputs, words
from treedp_core.watch import Cancelled, Watch
from treedp_core.words import short

COUNTS = [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100]
SMALL = dataset(Tree.from_branching_factors((3, 4)), COUNTS)
NOTHING = dataset(SMALL.tree, [0] * 12)
STARTS = [0, 1, 4, 16]
ADD = "add_or_remove_one"
DONE: dict[Hashable, Any] = {}
"""What took long, by what was asked of which tables: many tests ask the same."""
MAIN = ("targets", "custom", "strategies", "curves", "map")
RAW = {"mechanism": "laplace", "least_squares": False, "relation": ADD, "prior": "true"}


def asked(view: str, data: Dataset, file: Dataset | None = None, **inputs: Any) -> tuple[Any, ...]:
    """A view's inputs and tables, and what takes long of it."""
    given, tables = BudgetInputs(**inputs), Tables(data, file)
    slow = VIEWS[f"budget.{view}"].slow
    assert slow is not None
    work = slow(given, tables)
    key = (work.function, work.question, *tables.fingerprints)
    if key not in DONE:
        DONE[key] = work.on(tables)(Watch())
    return given, tables, DONE[key]


def look(view: str, data: Dataset = SMALL, file: Dataset | None = None, **inputs: Any) -> Finding:
    return VIEWS[f"budget.{view}"].found(*asked(view, data, file, **inputs))


def ask(find: Callable[..., Any], data: Dataset = SMALL, file: Dataset | None = None, **inputs: Any) -> Any:
    """What another function finds of strategies with what takes long of them."""
    given, tables, slow = asked(
        "targets" if find in (budget.cost, budget.costs) else "strategies", data, file, **inputs
    )
    return find(given, tables, slow=slow)


def tree_errors(view: str = "strategies", data: Dataset = SMALL, **inputs: Any) -> dict[str, str]:
    """Strategy -> its error as written on the right of the comparison."""
    bar = decoded(look(view, data, **inputs).figure)["data"][-1]
    return dict(zip(bar["y"], bar["text"], strict=True))


def cards(
    find: Callable[..., Any] = budget.verdict, data: Dataset = SMALL, **inputs: Any
) -> dict[str, tuple[str, str]]:
    first, second, third, *_ = ask(find, data, **inputs).table.values()
    return dict(zip(first, zip(second, third, strict=True), strict=True))


def rmsre(by_level: list[float], tau: float = 10.0) -> float:
    """RMSRE of the small tree from the standard deviation of each level's nodes."""
    errors = [by_level[level] for level, (a, b) in enumerate(pairwise(STARTS)) for _ in range(a, b)]
    return tree_rmsre(STARTS, errors, SMALL.counts.tolist(), tau)


# --- every strategy at the same price --------------------------------------------------------------------------------


def test_simple_strategies_by_hand() -> None:
    """Laplace noise of scale 1 / share, one record added or removed, no post-processing."""
    errors = tree_errors(**RAW)
    assert errors["Uniform"] == short(rmsre([math.sqrt(2) * 3] * 3))
    assert errors["Leaves only"] == "∞"


def test_splits_can_be_judged_by_records_instead() -> None:
    """RMSE of uniform raw Laplace noise of scale 3: sqrt(2) times 3 on every count, whatever its size."""
    found = look("strategies", **RAW, metric="rmse")
    errors = dict(zip(found.table["strategy"], found.table["RMSE of the tree"], strict=True))
    assert short(errors["Uniform"]) == short(3 * math.sqrt(2)) and errors["Optimum"] < errors["Uniform"]
    assert found.figure is not None and found.figure.layout["xaxis2"]["title"]["text"] == "RMSE of the tree (records)"
    wanted = {"kind": "rmsre", "targets": "0,20,0", "prior": "true", "relation": ADD}
    assert repr(look("targets", **wanted, metric="rmse").table) == repr(look("targets", **wanted).table)


def test_leaves_only_after_least_squares_by_hand() -> None:
    """Public total, leaves of variance 8: knowing their sum takes a twelfth away; four siblings keep two thirds."""
    by_level = [0.0, math.sqrt(4 * 8 * (1 - 4 / 12)), math.sqrt(8 * (1 - 1 / 12))]
    assert tree_errors(mechanism="laplace", prior="true")["Leaves only"] == short(rmsre(by_level))


def test_greedy_steps_are_the_cores() -> None:
    given = {"mechanism": "laplace", "prior": "true", "phases": 10}
    unit = ProtectedUnit(NeighbouringRelation.REPLACE_ONE)
    expected = greedy(Problem(SMALL.tree, SMALL.counts, "laplace", unit), 1.0, 10)
    drawn = decoded(look("strategies.slices", **given).figure)
    np.testing.assert_allclose(np.array([bar["y"] for bar in drawn["data"]]).T, expected.after_each_step)
    assert len(drawn["layout"]["sliders"][0]["steps"]) == 10


@pytest.mark.parametrize("more", [{}, {"mechanism": "gaussian", "delta": 1e-6}, {"least_squares": False}])
def test_the_optimum_is_never_worse_than_what_it_is_compared_with(more: dict[str, Any]) -> None:
    found = ask(budget.comparison, prior="true", relation=ADD, **more)
    tuned = found.row("optimum").errors.tree
    assert tuned <= min(row.errors.tree for row in found.rows) * (1 + 1e-9)


def test_gaussian_optimum_says_it_is_certified() -> None:
    gaussian = {"mechanism": "gaussian", "delta": 1e-6}
    assert "Proved: no split" in " ".join(ask(budget.verdict, prior="true", **gaussian).notes)
    assert "Optimum" in tree_errors(prior="true", **gaussian)
    laplace = ask(budget.verdict, prior="true", mechanism="laplace")
    assert "Proved: no split" in " ".join(laplace.notes)
    assert {"Tuned", "Optimum"} & set(tree_errors(prior="true", mechanism="laplace"))  # as near as it was proved
    assert "Tuned, after paying for its prior" in tree_errors(**gaussian)


def test_published_shares_appear_where_the_levels_match() -> None:
    assert not any("Census" in label for label in tree_errors())
    one = budget.strategies(BudgetInputs(), Tables(count_sample("geography")))
    assert "Census 2020, persons in Puerto Rico" in one.table["strategy"]
    assert "published shares of ρ, used here as shares of ε" in one.caption


def test_a_ragged_tree_says_what_per_node_budgets_gain() -> None:
    assert "Per-node budgets" in " ".join(ask(budget.ledger, RAGGED, relation=ADD, strategy="uniform").notes)
    assert not ask(budget.ledger).notes


def test_while_the_optimum_is_searched_the_rest_is_there() -> None:
    """So it is while the last search is of another question."""
    tables, other = Tables(SMALL), asked("strategies", SMALL, prior="true", epsilon=2.0)[2]
    for slow in (None, other):
        found = budget.strategies(BudgetInputs(prior="true"), tables, slow=slow)
        bar = decoded(found.figure)["data"][-1]
        errors = dict(zip(bar["y"], bar["text"], strict=True))
        assert errors["Tuned"] == "–" and errors["Greedy"] != "–" and "Tuned" not in found.table["strategy"]
        assert budget.verdict(BudgetInputs(prior="true"), tables, slow=slow).table["error"][-1] == "…"


def test_a_split_that_nobody_has_reviewed_marks_the_views_that_show_it() -> None:
    def is_marked(view: str, **inputs: Any) -> bool:
        return "not reviewed" in look(view, **inputs).badges

    ALLOCATIONS.register(Allocation("tops", "Top heavy", "Halves.", lambda tree, *_: 0.5 ** np.arange(tree.n_levels)))
    try:
        assert is_marked("strategies") and is_marked("custom")
        assert not is_marked("curves"), "its five splits are TreeDP's own"
        assert is_marked("curves", strategy="tops") and is_marked("map", strategy="tops")
        assert not is_marked("map")
    finally:
        ALLOCATIONS.withdraw("tops")
    assert not is_marked("strategies")


# --- the honest line -------------------------------------------------------------------------------------------------


def row(name: str, error: float, prior: Any = None) -> Any:
    return SimpleNamespace(
        name=name, label=name, errors=SimpleNamespace(tree=error), ledger=SimpleNamespace(prior=prior)
    )


def test_the_verdict_names_the_winner() -> None:
    simple = [row("uniform", 3.0), row("leaves_only", 2.0)]
    loses = words.verdict([*simple, row("greedy", 2.5)])
    assert loses.startswith("**Greedy loses here:**") and "leaves_only" in loses and "25 % more" in loses
    assert words.verdict([*simple, row("greedy", 1.5)]).startswith("Greedy wins here")
    assert "25 % less" in words.verdict([*simple, row("greedy", 1.5)])
    assert words.verdict([*simple, row("greedy", 2.0001)]).startswith("Greedy is no better")
    assert "unbounded" in words.verdict([*simple, row("greedy", math.inf)])
    assert words.verdict(simple) == ""


def test_greedy_loses_when_its_prior_takes_half() -> None:
    told = budget.verdict(BudgetInputs(prior="noisy"), Tables(count_sample("geography"))).notes[0]
    assert told.startswith("**Greedy loses here:**") and "What its prior costs is missing on the levels" in told


# --- priors and what they cost ---------------------------------------------------------------------------------------


def ledger(**inputs: Any) -> str:
    return str(ask(budget.ledger, **inputs).answer)


def test_a_noisy_prior_is_charged_to_the_total() -> None:
    told = ledger(prior_epsilon=0.25)
    assert "for the prior 0.25, charged 1 of 1." in told
    levels = re.findall(r"\d[\d.e-]*", told.partition("public +")[2])[:2]
    assert sum(map(float, levels)) == pytest.approx(0.75, abs=1e-4)
    assert "ε = 0.25, charged to the total" in " ".join(ask(budget.verdict, prior_epsilon=0.25).notes)
    drawn = decoded(look("strategies", prior_epsilon=0.25).figure)["data"]
    boxes = next(bar for bar in drawn if bar["name"] == "for the prior")
    assert dict(zip(boxes["y"], boxes["x"], strict=True))["Greedy"] == 0.25


def test_the_automatic_prior_is_one_or_half() -> None:
    assert "for the prior 0.5, charged 1 of 1" in ledger()
    assert "for the prior 1, charged 4 of 4" in ledger(epsilon=4.0)


def test_another_draw_is_of_made_up_data_only() -> None:
    """Of a table of one's own it would tell about the records for nothing: a noisy prior stands for it."""
    assert ledger(prior="draw") == ledger(prior="noisy")
    assert "for the prior" not in str(ask(budget.ledger, replace(SMALL, is_made_up=True), prior="draw").answer)
    assert count_sample("ages").is_made_up and not SMALL.is_made_up
    assert float(cards(budget.costs, prior="draw")["For the prior"][0]) > 0


def test_what_the_browser_s_api_would_report() -> None:
    given = {"relation": "replace_unknown", "known_levels": 2, "strategy": "uniform"}
    told = look("strategies.api", **given).answer.replace("\u202f", " ")
    assert "add 65 536 together" in told and "92 682 of these units at ε = 1" in told and "by last touch" in told
    assert look("strategies.room", **given).table["counted of a click"][0] == 1
    told = look("strategies.credit", **given)
    assert "the first **1 conversion** counts: 5 conversions are lost" in told.answer
    assert "none may add more than" in told.answer and set(told.table["counts"]) == {"yes", "no"}
    assert "5 conversions count" not in look("strategies.credit", **given, contributions=2).answer
    assert look("strategies.credit", strategy="uniform").is_empty
    assert look("strategies.api", strategy="uniform").is_empty


def test_one_leaf_below_a_public_total_needs_no_budget() -> None:
    assert cards(data=dataset(Tree.from_branching_factors((1,)), [50]))["Greedy"][0] == "0"


def test_a_prior_that_takes_everything_is_refused_and_the_rest_stays() -> None:
    found = look("strategies", prior_epsilon=1.0)
    assert set(found.table["strategy"]) == {"Uniform", "Leaves only", "Minimax", "Cube root"}
    assert "Expected a prior that costs less than the total" in found.notes[0]
    assert cards(prior_epsilon=1.0)["Greedy"] == ("–", "needs a prior")
    with pytest.raises(InputError, match="costs less than the total"):
        look("targets", prior_epsilon=1.0)


def test_true_counts_are_labelled_everywhere() -> None:
    for view in ("strategies", "custom", "map", "curves", "targets", "strategies.slices", "strategies.levels"):
        found = look(view, prior="true")
        assert found.label.startswith("NOT PRIVATE") and found.figure is not None, view
        assert "NOT PRIVATE" in [note["text"] for note in found.figure.layout["annotations"]]
    assert ledger(prior="true").startswith("NOT PRIVATE")
    copied = {"prior": "noisy", "shares": "0, 0.25, 0.25", "tuned_on": "true_counts"}
    assert look("custom", **copied).label.startswith("NOT PRIVATE")
    assert ledger(**copied, strategy="custom").startswith("NOT PRIVATE")


def test_a_public_prior_costs_nothing_and_a_missing_one_leaves_the_simple_strategies() -> None:
    missing = look("strategies", prior="public")
    assert "Until there is a prior" in missing.notes[0] and "Greedy" not in missing.table["strategy"]
    assert look("targets", prior="public").answer == "The search needs a prior to look at."
    other = dataset(Tree.from_branching_factors((2, 2)), [1, 2, 3, 4])
    assert look("strategies", file=other, prior="public").notes == missing.notes, "it was counted for other data"
    file = dataset(SMALL.tree, [c + 1 for c in COUNTS])
    assert "which cost no budget" in " ".join(ask(budget.verdict, file=file, prior="public").notes)
    assert "for the prior" not in ledger(file=file, prior="public")
    paid = {"file": file, "prior": "earlier", "prior_epsilon": 0.25}
    assert "for the prior 0.25, charged 1 of 1" in ledger(**paid)
    assert "one simulated release of all earlier counts" in " ".join(ask(budget.verdict, **paid).notes)
    assert not look("targets", file=file, prior="public").is_empty
    assert len(decoded(look("curves", file=file, prior="public").figure)["data"]) == 5
    assert len(decoded(look("curves", prior="public").figure)["data"]) == 3


# --- a split of one's own --------------------------------------------------------------------------------------------


def test_a_split_of_ones_own_is_a_strategy_from_the_start() -> None:
    """Before anything was moved it is the equal split: its card, bar and ledger are there, not those of greedy."""
    mine = {"relation": ADD, "strategy": "custom"}
    errors = tree_errors("custom", relation=ADD)
    assert errors["Your own"] == errors["Uniform"] == cards(**mine)["Your own split"][0]
    found = ask(budget.ledger, **mine)
    assert found.caption == "Ledger: Your own" and "charged 1 of 1" in found.answer
    assert "for the prior" not in found.answer


@pytest.mark.parametrize(
    "text", ["0.5, 0.6, 0.2", "0.5, 0.5", "0.1, 0.2, 0.3, 0.4", "a, b, c", "-0.1, 0.5, 0.5", "0, 0, 0"]
)
def test_shares_that_do_not_fit_are_refused_and_take_nothing_from_strategies(text: str) -> None:
    with refuses("BUDGET_SPLIT") as refused:
        look("custom", relation=ADD, shares=text)
    beside = look("strategies", relation=ADD, shares=text)
    assert str(refused.value) in beside.notes and "Greedy" in beside.table["strategy"]
    assert ask(budget.chosen, relation=ADD, shares=text).name == "greedy"


def test_a_copy_of_a_split_tuned_on_a_noisy_prior_is_charged_for_it() -> None:
    """By hand: ε = 1, half for the prior; stretched to 1 the levels and the prior cost 1.5, which is refused."""
    mine = {"relation": ADD, "strategy": "custom", "tuned_on": "noisy epsilon 0.5 add_or_remove_one 1 1"}
    assert "for the prior 0.5, charged 0.9 of 1" in ledger(**mine, shares="0, 0.2, 0.2")
    told = ledger(**mine, shares="0, 0.2, 0.2", prior="true")
    assert "for the prior 0.5" in told, "another prior for the other strategies changes nothing about this one"
    with refuses("BUDGET_EXCEEDED", r"Prior and levels cost 1\.5 together"):
        look("custom", **mine, shares="0.25, 0.25, 0.5")


@pytest.mark.parametrize("other", [{"relation": "replace_one"}, {"contributions": 3}, {"mechanism": "gaussian"}])
def test_a_tuned_split_is_refused_where_its_prior_protects_others_or_costs_another_currency(
    other: dict[str, Any],
) -> None:
    mine = {"relation": ADD, "delta": 1e-6, "shares": "0, 0.25, 0.25", "tuned_on": f"noisy epsilon 0.5 {ADD} 1 1"}
    look("custom", **mine)
    with refuses("PRIOR_OTHER"):
        look("custom", **mine | other)


def test_a_shown_budget_is_never_below_the_exact_one() -> None:
    told = ledger(mechanism="laplace", relation=ADD, strategy="custom", epsilon=1.00049, shares="0,0.5,0.5")
    assert "charged 1.001, the whole of this budget" in told and "0.5003 + 0.5003" in told


def test_shares_that_are_handed_over_give_the_error_that_is_shown() -> None:
    given = {"mechanism": "laplace", "strategy": "cube_root"}
    shares = tuple(map(float, ask(budget.chosen, **given).handed_over.split(", ")))
    one = Experiment("laplace", ("least_squares",), "custom", "rmsre", shares=shares)
    expected = run(one, SMALL.tree, SMALL.counts, simulated=False).formula
    assert expected is not None and tree_errors(**given)["Cube root"] == short(expected.tree)


def test_one_s_own_split_is_released_as_it_stands_and_uniform_before() -> None:
    (uniform,) = budget.releases(BudgetInputs(), Tables(SMALL))
    (own,) = budget.releases(BudgetInputs(shares="0, 0.25, 0.75", mechanism="gaussian"), Tables(SMALL))
    assert uniform.experiment.allocation == "uniform"  # type: ignore[attr-defined]
    assert own.experiment.shares == (0.0, 0.25, 0.75) and own.experiment.delta > 0  # type: ignore[attr-defined]


def test_what_comes_at_once_is_shown_before_the_search_for_the_smallest_goes_on() -> None:
    given, tables = BudgetInputs(targets="0,20,0"), Tables(SMALL)
    slow, shown = VIEWS["budget.targets"].slow, list[Any]()
    assert slow is not None
    work = slow(given, tables)
    found = work.on(tables)(watch=Watch(offer=shown.append))
    assert work.at_once is not None and len(shown) == 1
    first = work.at_once(work.question, SMALL)
    assert shown[0].answer.found.total == first.answer.found.total >= found.answer.found.total
    assert (shown[0].searched, found.searched) == (0.0, 1.0)


# --- targets ---------------------------------------------------------------------------------------------------------


def test_the_smallest_budget_by_hand() -> None:
    """Raw Laplace noise, RMSE 2 on level 1: 2 / ε² = 4."""
    given = RAW | {"kind": "rmse", "targets": "0, 2"}
    shown = cards(budget.costs, **given)
    assert shown["Smallest ε in all"][0] == "0.7072", "rounded up"
    assert shown["Binding level"][0] == "1"
    assert "+ 0.7072 + 0, charged 0.7072, the whole of this budget." in ask(budget.costs, **given).answer
    unmeasured = look("custom", **RAW, shares="0, 1, 0").answer
    assert "**∞**: all and" in unmeasured and "Least squares" in unmeasured, "what is not measured is explained"


def test_a_sentence_about_a_part_of_the_large_counts_is_answered() -> None:
    """Two targets on one level, one of them about one release; both are in the answer, and what binds is simulated."""
    given = {"prior": "true", "targets": "0, random:30|share:20/60@1"}
    told = look("targets", **given).answer
    assert "at once" in told and "≥ 1 within 20 %" in told
    seen, below = cards(budget.costs, **given)["Seen in simulation"]
    error = re.search(r"± ([0-9.]+), (one release|mean count)", below)
    assert error is not None and float(seen) > 0.95 - 3 * float(error[1])
    assert "within 3 records at once" in look("targets", prior="true", targets="0, share:3r/100").answer


def test_the_first_screen_answers_in_a_sentence() -> None:
    """On the small town two targets share the budget; the numbers of the sentence are those of the ledger below."""
    town = count_sample("small_town")
    found = look("targets", town)
    told = re.fullmatch(
        r"Every half within 1 % and a random district within 10 %, each with probability 0.95: "
        r"\*\*ε = ([0-9.]+)\*\* \(proved within ([0-9.]+) %\), of which ([0-9.]+) on half and ([0-9.]+) on district; "
        r"an equal split needs ([0-9.]+)\.",
        found.answer,
    )
    assert told is not None, found.answer
    total, _, half, district, equal = map(float, told.groups())
    shown = cards(budget.costs, town)
    assert any(f"gap {told[2]} %" in str(card).replace("\u00a0", " ") for card in shown.values())
    assert shown["Smallest ε in all"][0] == told[1] and shown["For the prior"][0] == "0"
    assert half + district == pytest.approx(total, rel=2e-3) and equal > 2 * total
    shares, tuned, same = (trace["x"] for trace in decoded(found.figure)["data"])
    assert sum(shares) == pytest.approx(1.0)
    assert max(tuned) == pytest.approx(1.0, abs=0.02) and max(same) > 1.5
    assert not found.label


def test_an_answer_of_other_targets_says_so() -> None:
    inputs, tables, slow = asked("targets", SMALL, prior="true", targets="0, rmse:5")
    before = budget.smallest_epsilon(inputs, tables, slow=slow)
    now = budget.smallest_epsilon(replace(inputs, targets="0, rmse:9"), tables, slow=slow)
    assert now.answer == before.answer and not any("Shown meanwhile" in note for note in before.notes)
    assert any(note.startswith("Shown meanwhile: level 1: RMSE at most 5") for note in now.notes)
    none = budget.smallest_epsilon(inputs, tables)
    assert none.is_empty and none.figure is not None and "not known yet" in none.answer


def test_the_answer_is_confirmed_by_simulated_releases() -> None:
    """Claimed 0.95 for each count of level 1; 20 000 releases, ± 95 %: within twice that (false alarm 10^-4)."""
    given = {"mechanism": "laplace", "prior": "true", "kind": "every_node", "targets": "0, 10, 0"}
    seen, below = cards(budget.costs, **given)["Seen in simulation"]
    error = re.fullmatch(r"± ([0-9.]+), worst count, 20\W000 runs", below)
    assert error is not None and 0 < float(error[1]) < 0.004
    assert abs(float(seen) - 0.95) < 2 * float(error[1])


def test_targets_charge_the_noisy_prior_on_top() -> None:
    shown, found = cards(budget.costs, prior_epsilon=0.25), look("targets", prior_epsilon=0.25)
    assert shown["For the prior"][0] == "0.25" and float(shown["Smallest ε in all"][0]) > 0.25
    assert "promised as what came out, not as a bound" in found.caption
    assert "for the prior 0.25" in ask(budget.costs, prior_epsilon=0.25).answer
    assert "the prior included, and" in found.answer and "without one, for counts of any size" in found.answer


def test_targets_in_records_charge_no_prior() -> None:
    """Raw noise: sqrt(2) / 5 and sqrt(2) / 20, whatever prior is chosen; nothing of it is handed over."""
    given = RAW | {"prior": "noisy", "targets": "0, rmse:5, rmse:20"}
    shown, found = cards(budget.costs, **given), look("targets", **given)
    least = math.sqrt(2) / 5 + math.sqrt(2) / 20
    assert shown["For the prior"][0] == "0" and float(shown["Smallest ε in all"][0]) == pytest.approx(least, rel=1e-3)
    assert (
        "nothing is tuned on them, nothing charged" in found.notes[0] and "Judged by its noise alone" in found.caption
    )
    assert ask(budget.cost, **given).ledger.prior is None


@pytest.mark.parametrize(
    ("targets", "code"),
    [("0", "TARGET_RANGE"), ("x", "TARGET_RANGE"), ("-1, 2", "TARGET_RANGE"), ("0, every:5@100000", "TARGET_RANGE"),
     ("0, 0, rmse:1e-9", "TARGET_INFEASIBLE")],
)  # fmt: skip
def test_targets_that_cannot_be_had_are_refused(targets: str, code: str) -> None:
    with refuses(code) as refused:
        look("targets", mechanism="laplace", prior="true", targets=targets)
    assert code != "TARGET_INFEASIBLE" or "binding level: 2" in str(refused.value)


@pytest.mark.parametrize(
    ("more", "most"),
    [
        ({}, 0.45),
        ({"kind": "every_node"}, 0.15),
        ({"kind": "rmse"}, 1e-3),
        ({"mechanism": "gaussian", "delta": 1e-6}, 0.15),
        ({"mechanism": "gaussian", "delta": 1e-6, "kind": "rmsre"}, 1e-3),
    ],
)
def test_the_gap_between_what_was_found_and_what_is_proved_is_always_said(more: dict[str, Any], most: float) -> None:
    given = {"prior": "true", "targets": "0, 20, 0", "mechanism": "laplace", **more}
    value, below = cards(budget.costs, **given)["Proved lower bound"]
    gap = float(below.partition("gap ")[2].removesuffix(" %")) / 100
    answer = ask(budget.costs, **given).answer
    assert 0 < gap <= most and float(value) > 0
    assert f"smaller by more than {below.partition('gap ')[2]}" in answer and "Proved: no split" in answer


def test_the_figure_and_a_note_say_what_skipping_a_level_saves() -> None:
    """(2, 2, 2), add or remove: 0.30077 with nothing for level 2, and 0.31756 with it, by the slow oracle."""
    unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    problem = Problem(Tree.from_branching_factors((2, 2, 2)), np.full(15, 100), "laplace", unit)
    found = smallest_budget(problem, [Target(i, Ask.RMSE, size) for i, size in ((1, 8.0), (2, 11.0), (3, 14.0))])
    assert found.saved[2] == pytest.approx(1 - 0.30077 / 0.31756, abs=2e-4) and found.saved[1] == found.saved[3] == 0
    fig = targets_met(found.shares, list("abcd"), (), found.saved).figure()
    assert list(fig.data[0].text) == ["54.1 %", "skipped: −5.29 %", "45.9 %"]
    told = words.skipped(BudgetInputs().request(SMALL).question, found, list("abcd"))
    assert "not measuring c saves 5.29 % (with it 0.3176)" in told and "without b 5.58 % more (0.3176)" in told


# --- the reliability map, and error against ε ------------------------------------------------------------------------


def test_reliability_by_hand() -> None:
    """Raw Laplace noise of scale 1 on the leaves: within 10 % of 100 with probability 1 - e^-10, of τ = 10 1 - e^-1."""
    given = RAW | {"strategy": "leaves_only"}
    block = decoded(look("map", **given).figure)["data"][0]
    probability = dict(zip(block["ids"], block["marker"]["colors"], strict=True))
    assert probability["15"] == pytest.approx(1 - math.exp(-10))
    assert probability["4"] == pytest.approx(1 - math.exp(-1))
    assert probability["0"] == 0.0
    useful = decoded(look("map.useful", **given).figure)["data"][0]
    assert useful["text"] == ["0 of 1", "0 of 3", "2 of 12"]  # 40 and 100: 1 - e^-4 = 0.98
    sure = decoded(look("map.useful", **given, confidence=0.99).figure)["data"][0]
    assert sure["text"] == ["0 of 1", "0 of 3", "1 of 12"]


def test_the_published_curves_are_of_a_sample_whatever_table_is_in_use() -> None:
    entry = VIEWS["budget.curves"]
    inputs = BudgetInputs(curves_of="paper", height="3")
    assert entry.sample is not None and entry.sample(inputs) == "conversions" and not entry.is_of_table(inputs)
    assert entry.is_of_table(BudgetInputs())
    found = look("curves", count_sample("conversions"), curves_of="paper", height="3")
    assert "Published at ε = 4" in found.notes[0] and "with another height or τ" in found.notes[0]
    drawn = decoded(found.figure)["data"]
    assert drawn[-1]["name"] == "Greedy, least squares" and len(drawn) == 5
    assert "Height 3, τ = 10" in found.caption and "whatever the sidebar says" in found.provenance.line()
    other = look("curves", count_sample("conversions"), curves_of="paper", height="3", threshold=5.0)
    assert decoded(other.figure)["data"][0]["y"] != drawn[0]["y"]


def test_curves_of_ones_own_data_follow_the_page() -> None:
    """Errors at ε = 1 are those of the strategies side by side; a prior's cost is part of each total."""
    drawn = {trace["name"]: trace["y"] for trace in decoded(look("curves").figure)["data"]}
    at, strategies = TOTALS.index(1.0), tree_errors()
    assert short(drawn["Uniform, least squares"][at]) == strategies["Uniform"]
    assert short(drawn["Greedy, least squares"][at]) == strategies["Greedy"]
    dear = decoded(look("curves", prior_epsilon=3.0).figure)["data"]
    assert [math.isnan(y) for y in dear[3]["y"]] == [True] * 4 + [False] * 3


def test_while_curves_are_worked_out_the_axes_stay_and_the_last_ones_are_grey() -> None:
    inputs, tables, slow = asked("curves", SMALL)
    none = budget.error_against_epsilon(inputs, tables)
    assert none.is_empty and none.figure is not None and not none.figure.data and "not there yet" in none.answer
    stale = decoded(budget.error_against_epsilon(replace(inputs, phases=7), tables, slow=slow).figure)["data"]
    moved = decoded(budget.error_against_epsilon(replace(inputs, epsilon=2.0), tables, slow=slow).figure)["data"]
    assert stale[0]["opacity"] < moved[0]["opacity"] == 1.0, "your ε is a mark on them and makes none of them another"


# --- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", MAIN)
def test_one_level_is_refused_in_one_sentence(view: str) -> None:
    one = dataset(Tree(np.array([-1]), np.array([0, 1])), [5])
    with refuses("ONE_LEVEL"):
        look(view, one) if view == "curves" else VIEWS[f"budget.{view}"].found(BudgetInputs(), Tables(one))


@pytest.mark.parametrize("view", MAIN)
def test_zero_counts_everywhere(view: str) -> None:
    if view in ("targets", "curves"):
        with refuses("PRIOR_EMPTY"):
            look(view, NOTHING, prior="true")
    else:
        assert "Every count of the prior is 0" in look(view, NOTHING, prior="true").notes[0]
    assert look(view, NOTHING).answer


@pytest.mark.parametrize(
    ("relation", "more"),
    [
        ("add_or_remove_one", {}),
        ("replace_one", {"mechanism": "discrete_gaussian", "delta": 1e-6}),
        ("replace_unknown", {"least_squares": False}),
    ],
)
def test_every_view_under_every_relation(relation: str, more: dict[str, Any]) -> None:
    """Each relation with other noise, or without least squares."""
    for name in (one.removeprefix("budget.") for one in VIEWS if one.startswith("budget.")):
        try:
            found = look(name, RAGGED, relation=relation, known_levels=2, **more)
        except InputError as error:
            assert error.code in ("TARGET_INFEASIBLE", "NOISE_RANGE"), name
        else:
            assert found.answer or not found.is_empty
            assert found.figure is None or found.figure.figure()


def test_margins_multiply_the_error_of_every_target_as_decimals() -> None:
    inputs = BudgetInputs(targets="every:5, rmse:0.7|share:3r/90, rmsre:10@4", margins=1.2)
    assert [words.target(one, "level") for one in inputs.wanted(SMALL)] == [
        "every level within 6 %", "level: RMSE ≤ 0.84", "90 % of level within 3.6 records at once",
        "level ≥ 4: RMSRE ≤ 12 %",
    ]  # fmt: skip
    same, plain = BudgetInputs(targets="0, every:24, random:36"), BudgetInputs(targets="0, every:20, random:30")
    assert replace(plain, margins=1.2).request(SMALL) == same.request(SMALL)
    with refuses("TARGET_RANGE"):
        BudgetInputs(targets="0, 5", margins=0.0).wanted(SMALL)


@pytest.mark.parametrize("prior", ["true", "noisy"])
def test_what_comes_without_simulation_is_the_same_but_for_what_is_simulated(prior: str) -> None:
    inputs, tables, whole = asked("targets", SMALL, prior=prior, targets="0, every:20, random:30")
    work = VIEWS["budget.targets"].slow(inputs, tables)  # type: ignore[misc]
    first = work.without_simulation().on(tables)(Watch())  # type: ignore[union-attr]
    known, now = (budget.smallest_epsilon(inputs, tables, slow=one) for one in (whole, first))
    assert first.answer.found.total == pytest.approx(whole.answer.found.total, rel=2e-3)
    assert first.answer.found.total >= whole.answer.found.total * (1 - 1e-9)  # a quick search is never called better
    bars = [[trace.get("name") for trace in decoded(one.figure)["data"]] for one in (now, known)]
    assert bars[0] == bars[1] and now.badges == known.badges
    assert now.notes == (words.NOT_SIMULATED,) and words.NOT_SIMULATED not in known.notes
    of_known, of_now = (budget.costs(inputs, tables, slow=one).table for one in (whole, first))
    differ = [row for row, (a, b) in enumerate(zip(of_known["value"], of_now["value"], strict=True)) if a != b]
    assert "Seen in simulation" in {of_now["number"][row] for row in differ}
    assert not [name for name in now.table if "simulated" in name] and [name for name in known.table if "simul" in name]


def test_a_tree_of_many_nodes_is_not_searched_while_a_hand_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, tables = BudgetInputs(prior="true"), Tables(SMALL)
    monkeypatch.setattr(importlib.import_module("treedp_core.studies.budget.answer"), "MANY_NODES", 3)
    with pytest.raises(Cancelled):
        VIEWS["budget.targets"].slow(inputs, tables).without_simulation().on(tables)(Watch())  # type: ignore[misc, union-attr]
