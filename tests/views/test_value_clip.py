"""A clip on values: its errors beside a recount for each clip, the best one, budgets for sums, and the plan."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from oracles_pages import RAGGED, answer, figure, open_page, pick, table, words
from treedp_core.allocation import split
from treedp_core.experiment import Experiment, total_of
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit
from treedp_core.privacy.sums import unit_of_sums
from treedp_core.records import Dataset, count_hierarchy, domain_of_values
from treedp_core.records.dataset import sums_of
from treedp_core.records.unit_rows import MOST
from treedp_core.studies.protects.unit_bound import BOUNDS, PAID, chances
from treedp_core.studies.protects.value_clip import budgets_for_sums, made_up
from treedp_core.tree import Tree
from treedp_core.views import Tables
from treedp_core.views.protects import value_clip
from treedp_core.views.protects.unit_bound import OF_PRIOR
from treedp_core.views.protects.value_clip import ClipInputs

SHOPS = {"region": ["N", "S"], "shop": ["a", "b", "c"]}
ADDED, REPLACED, UNKNOWN = "add_or_remove_one", "replace_one", "replace_unknown"
GRID = 0.5


def purchases(seed: int = 1, n: int = 200) -> list[tuple[str, str, float]]:
    rng = np.random.default_rng(seed)
    return [
        (rng.choice(["N", "S"], p=[0.7, 0.3]), rng.choice(["a", "b", "c"]), round(float(rng.lognormal(2.0, 1.2)), 2))
        for _ in range(n)
    ]


ROWS = purchases()


def counted(rows: list[tuple[str, str, float]] = ROWS) -> Dataset:
    file = "region,shop,paid\n" + "".join(f"{a},{b},{paid}\n" for a, b, paid in rows)
    return count_hierarchy(
        file.encode(), ["region", "shop"], domain=domain_of_values(SHOPS), value="paid", grid=GRID, outside="refuse"
    )


def sums_by_hand(clip: float) -> list[list[float]]:
    """Sums of each level of values that are rounded to halves and clipped, row by row."""
    paths: list[list[tuple[str, ...]]] = [[()], [("N",), ("S",)], [(r, s) for r in "NS" for s in "abc"]]
    rounded = [(a, b, round(2 * Fraction(str(paid))) / 2) for a, b, paid in ROWS]
    return [
        [sum(min(paid, clip) for a, b, paid in rounded if (a, b)[: len(path)] == path) for path in level]
        for level in paths
    ]


def by_recount(inputs: ClipInputs) -> dict[int, list[float]]:
    """The RMSE of each level with each clip: sums by hand, Laplace noise by what listing says that a record moves."""
    whole, found = sums_by_hand(math.inf), {}
    for steps in BOUNDS:
        clip = GRID * steps
        clipped = sums_by_hand(clip)
        spent = inputs.epsilon / 3
        if inputs.relation == REPLACED:  # levels below the root move by 2 clips when the root does not, all by 1 else
            spent = inputs.epsilon / max(3, 2 * 2)
        noise = math.sqrt(2) * clip / spent
        lacking = [np.array(a) - np.array(b) for a, b in zip(whole, clipped, strict=True)]
        found[steps] = [math.sqrt(float(np.mean(one**2)) + noise**2) for one in lacking]
    return found


@pytest.mark.parametrize("relation", [ADDED, REPLACED])
@pytest.mark.parametrize("level", [0, 1, 3])
def test_the_best_clip_is_that_of_brute_force(relation: str, level: int) -> None:
    inputs = ClipInputs(relation=relation, level=level, mechanism="laplace", epsilon=3.0, clip=14)
    brute = by_recount(inputs)
    wanted = {steps: sum(errors) if level == 0 else errors[level - 1] for steps, errors in brute.items()}
    found = value_clip.clip_on_values(inputs, Tables(counted()))
    assert found.table["clip"] == [GRID * steps for steps in wanted]
    assert found.table["RMSE (NOT PRIVATE)"] == pytest.approx(list(wanted.values()), rel=1e-9)
    best = min(wanted, key=lambda steps: wanted[steps])
    assert f"with a clip at **{GRID * best:g}**" in found.answer
    assert found.badges == ("formula", "NOT PRIVATE") and found.caption.startswith("NOT PRIVATE: exact")
    by_level = value_clip.by_level(inputs, Tables(counted())).table
    assert by_level["RMSE (NOT PRIVATE)"] == pytest.approx(brute[14], rel=1e-9)
    for at in range(3):
        assert by_level["best clip (NOT PRIVATE)"][at] == GRID * min(brute, key=lambda steps: brute[steps][at])
        bias = np.mean(np.array(sums_by_hand(7.0)[at]) - np.array(sums_by_hand(math.inf)[at]))
        assert by_level["bias of a node, mean (NOT PRIVATE)"][at] == pytest.approx(float(bias))


@pytest.mark.parametrize("wrong", [1.0, 0.9, 1.1])
def test_the_error_of_drawn_releases_is_the_one_claimed(wrong: float) -> None:
    """400 releases: the mean square error of each level lies within 5 standard errors; 0.9 and 1.1 times it do not."""
    data, rng = counted(), np.random.default_rng(5)
    inputs = ClipInputs(relation=REPLACED, epsilon=2.0, clip=20)
    sums, exact = sums_of(data, 20), sums_of(data, MOST)
    assert data.report.values is not None and max(data.report.values.steps) <= MOST
    unit = inputs.release(data).unit
    claimed = GRID * np.array(value_clip._found(inputs, data, lambda _, make: make())[1].rmse[:, 19])  # type: ignore
    spent = inputs.epsilon / 4
    drawn = rng.geometric(1 - math.exp(-spent / unit.contributions), (2, 4000, data.tree.n_nodes))
    errors = GRID * (sums.counts + drawn[0] - drawn[1] - exact.counts)
    inside = []
    for level in range(3):
        squares = (errors[:, data.tree.level(level)] ** 2).mean(axis=1)
        inside.append(abs(squares.mean() - (wrong * claimed[level]) ** 2) < 5 * squares.std() / math.sqrt(4000))
    assert all(inside) == (wrong == 1.0)


def test_made_up_values_are_expected_what_many_draws_of_them_are() -> None:
    tree, rng = Tree.from_branching_factors((2,)), np.random.default_rng(2)
    law = made_up(tree, np.array([60, 20, 40]))
    assert law.chances.sum() == pytest.approx(1.0) and law.largest == MOST
    values = rng.choice(MOST + 1, p=law.chances, size=(20_000, 60))
    for clip in (1, 20, 200):
        beyond = np.maximum(values - clip, 0)
        nodes = np.stack([beyond.sum(axis=1), beyond[:, :20].sum(axis=1), beyond[:, 20:].sum(axis=1)])
        at = np.array([clip])
        for found, drawn in (
            (law.lacking(at)[0, 0], nodes[0]), (law.lacking_squares(at)[0, 0], nodes[0] ** 2.0),
            (law.lacking_squares(at)[1, 0], nodes[1] ** 2.0 + nodes[2] ** 2.0),
            (law.units_beyond(at)[0], (values > clip).sum(axis=1)),
            (law.sums(clip)[1], np.minimum(values[:, :20], clip).sum(axis=1)),
        ):  # fmt: skip
            assert abs(found - drawn.mean()) < 5 * drawn.std() / math.sqrt(20_000)


def test_a_private_choice_of_the_clip_keeps_its_promise_whatever_a_value_is() -> None:
    """All tables of up to three values of 0 to 5 steps beside all their neighbours: exact, by enumeration."""
    epsilon, limits, worst = 1.0, np.array([0.5, 2.0, 1.5, np.inf]), 0.0

    def often(values: tuple[int, ...]) -> np.ndarray:
        return chances([sum(one > clip for one in values) for clip in range(1, 5)], limits, epsilon)

    tables = [(), *((a,) for a in range(6)), *((a, b) for a in range(6) for b in range(6))]
    for values in tables:
        others = [(*values, more) for more in range(6)] + [(*values[:-1], one) for one in range(6) if values]
        worst = max(worst, *(float(np.abs(np.log(often(values)) - np.log(often(one))).max()) for one in others))
    assert 0.5 * epsilon < worst <= epsilon * (1 + 1e-9)
    found = value_clip.paid_for(ClipInputs(mechanism="laplace", epsilon=2.0), Tables(counted()))
    assert found.table["part of ε"] == list(PAID) and "**" not in found.answer


@pytest.mark.parametrize("relation", [ADDED, REPLACED, UNKNOWN])
def test_budgets_for_sums_are_those_of_counts_that_one_record_moves_by_one(relation: str) -> None:
    """Sums over the clip, tau too: the same splits and errors."""
    data, clip = counted(), 16
    sums, small = sums_of(data, clip).counts, Tree.from_branching_factors((2, 3))
    assert data.tree.level_sizes.tolist() == small.level_sizes.tolist()
    one = ProtectedUnit(NeighbouringRelation(relation), 1, 2)
    of_sums, of_counts = (
        budgets_for_sums(
            Experiment("laplace", relation=unit.relation.value, contributions=unit.contributions,
                       known_levels=unit.known_levels),
            data.tree, sums / scale, 64.0 / scale,
        )
        for unit, scale in ((unit_of_sums(one, clip), 1), (unit_of_sums(one, 1), clip))
    )  # fmt: skip
    for mine, theirs in zip(of_sums, of_counts, strict=True):
        assert mine.amounts == pytest.approx(theirs.amounts, rel=1e-6, abs=1e-9) and mine.name == theirs.name
        assert mine.error == pytest.approx(theirs.error, rel=1e-9)
    even, greedy, best = of_sums
    assert best.error <= greedy.error <= even.error * (1 + 1e-12) and even.error <= even.plain


@pytest.mark.parametrize("relation", [ADDED, REPLACED, UNKNOWN])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_the_best_split_for_sums_is_taken_into_the_release_as_it_is(relation: str, law: str) -> None:
    data = counted()
    inputs = ClipInputs(clip=16, relation=relation, known_levels=2, mechanism=law, delta=1e-6)
    release, sums = inputs.release(data), sums_of(data, 16).counts
    best = min(budgets_for_sums(release, data.tree, sums, inputs.threshold / GRID), key=lambda one: one.error)
    used = replace(inputs, allocation="custom", shares=value_clip.best_shares(inputs, Tables(data))).release(data)
    amounts = split(
        data.tree, total_of(used, data.tree), MECHANISMS[law].currency, used.unit, used.allocation, used.shares
    ).per_level
    assert np.asarray(amounts) == pytest.approx(best.amounts, rel=1e-4, abs=1e-9)
    assert sum(amounts) <= sum(best.amounts) * (1 + 1e-12), "never more than was charged"


def test_rmsre_of_equal_shares_is_that_of_its_variances() -> None:
    data, clip, tau = counted(), 16, 40.0
    sums = sums_of(data, clip).counts
    unit = unit_of_sums(ProtectedUnit(NeighbouringRelation(ADDED)), clip)
    even = budgets_for_sums(Experiment("laplace", relation=ADDED, contributions=clip), data.tree, sums, tau)[0]
    variance = 2 * (clip * 3) ** 2
    levels = [np.mean(variance / np.maximum(sums[data.tree.level(level)], tau) ** 2) for level in range(3)]
    assert unit.contributions == clip and even.plain == pytest.approx(math.sqrt(float(np.mean(levels))), rel=1e-9)


def test_a_prior_with_values_is_taken_to_be_public() -> None:
    data, prior = counted(), counted(purchases(8))
    found = value_clip.clip_on_values(ClipInputs(), Tables(data, prior=prior))
    assert found.badges == ("formula",) and "NOT PRIVATE" not in found.caption + found.answer
    assert found.answer == OF_PRIOR + value_clip.clip_on_values(ClipInputs(), Tables(prior)).answer
    assert Tables(data).fingerprints != Tables(counted([(a, b, paid + 1) for a, b, paid in ROWS])).fingerprints


def test_the_plan_of_the_view_protects_the_clip() -> None:
    plan = value_clip.release_plan(ClipInputs(clip=30), Tables(counted()), "purchase")
    assert plan.recipe.clip == 30 and plan.unit.contributions == 30 and plan.verify() == ()
    assert "clipped to at most 15" in plan.sentence() and plan.postprocess == ("least_squares",)


# ---- the page


def test_the_page_shows_what_the_view_finds_for_its_controls() -> None:
    data = counted()
    app = pick(open_page("protects", data, pro_view="clip"), pro_clip=20, pro_level=1, eps=2.0)
    found = value_clip.clip_on_values(ClipInputs(clip=20, level=1, epsilon=2.0), Tables(data))
    assert not app.exception and answer(app) == found.answer.replace("\u00a0", " ") and found.learnt in words(app)
    assert figure(app, "pro_clips")["data"] and table(app, "part of ε")["part of ε"].tolist() == list(PAID)
    assert app.button(key="clip_plan")


def test_a_table_without_values_has_made_up_ones_and_says_so() -> None:
    app = open_page("protects", None, pro_view="clip")
    assert not app.exception and "Values are made up" in answer(app) and "A file of your own" in words(app)
    found = value_clip.clip_on_values(ClipInputs(), Tables(RAGGED))
    assert "NOT PRIVATE" in found.badges and "expected: values of a log-normal law" in found.caption


@pytest.mark.usefixtures("own_jobs")
def test_values_with_a_decimal_comma_are_read_as_shown_and_where_that_is_open_it_is_asked() -> None:
    lines = [f"{a},{b},{paid},{paid:.2f},{1 + n % 8}.{100 + n},{-n}" for n, (a, b, paid) in enumerate(ROWS)]
    named = "region;shop;note;paid;steps;loss"
    file = "\n".join((named, *(one.replace(",", ";").replace(".", ",") for one in lines)))
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("purchases.csv", file.encode()).run()
    next(one for one in app.multiselect if one.label.startswith("Columns of the")).set_value(["region", "shop"]).run()
    app.button(key="upload_count").click().run()
    app.session_state["pro_view"] = "clip"
    app.switch_page("pages/protects.py").run()

    def choose(column: str) -> str:
        next(one for one in app.selectbox if one.label == "Column of values").set_value(column).run()
        app.run()
        assert not app.exception
        return str(app.session_state["_from_file"]["upload"].data.report.recipe.marks)

    offered = next(one for one in app.selectbox if one.label == "Column of values").options
    assert "region" not in offered and {"paid", "steps", "loss"} <= set(offered)
    assert choose("paid") == "(('paid', ','),)" and "is read as" in words(app)
    assert choose("steps") == "(('paid', ','),)", "one and a thousandth, or a thousand and one: nothing is guessed"
    asked = next(one for one in app.segmented_control if "steps" in one.label)
    asked.set_value(",").run()
    app.run()
    recipe = app.session_state["_from_file"]["upload"].data.report.recipe
    assert (recipe.value, recipe.marks) == ("steps", (("steps", ","),))
    next(one for one in app.selectbox if one.label == "Column of values").set_value("loss").run()
    assert any("loss" in one.value for one in app.toast), "what is refused is said over the page, not below its side"


@pytest.mark.usefixtures("own_jobs")
def test_a_column_of_values_that_is_refused_is_not_the_one_that_is_named() -> None:
    file = "region,shop,paid\n" + "".join(f"{a},{b},{paid}\n" for a, b, paid in ROWS) + "North,a,-3\n"
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("purchases.csv", file.encode()).run()
    columns = next(one for one in app.multiselect if one.label.startswith("Columns of the hierarchy"))
    columns.set_value(["region", "shop"]).run()
    app.button(key="upload_count").click().run()
    app.session_state["pro_view"] = "clip"
    app.switch_page("pages/protects.py").run()
    next(one for one in app.selectbox if one.label == "Column of values").set_value("paid").run()
    app.run()
    assert not app.exception and "made up" in answer(app)
    assert next(one for one in app.selectbox if one.label == "Column of values").value == "", "seen failing: paid"


@pytest.mark.usefixtures("own_jobs")
def test_a_column_of_values_is_chosen_beside_the_handle_and_counted_at_once() -> None:
    file = "region,shop,paid\n" + "".join(f"{a},{b},{paid}\n" for a, b, paid in ROWS)
    app = open_page("data", source="upload")
    app.file_uploader[0].upload("purchases.csv", file.encode()).run()
    columns = next(one for one in app.multiselect if one.label.startswith("Columns of the hierarchy"))
    columns.set_value(["region", "shop"]).run()
    app.button(key="upload_count").click().run()
    assert any(one.proto.label.startswith("Sums of a column") for one in app.get("page_link"))
    app.session_state["pro_view"] = "clip"
    app.switch_page("pages/protects.py").run()
    next(one for one in app.selectbox if one.label == "Column of values").set_value("paid").run()
    app.run()
    next(one for one in app.number_input if one.label == "Grid").set_value(GRID).run()
    data = app.session_state["_from_file"]["upload"].data
    assert (data.report.recipe.value, data.report.recipe.grid) == ("paid", GRID)
    assert data.report.values is not None and data.total == len(ROWS)
    app.run()
    assert "made up" not in answer(app) and "of the sum is left out" in answer(app)
    app.button(key="clip_use_split").click().run()
    best = value_clip.best_shares(ClipInputs(), Tables(data))
    assert not app.exception and app.session_state["pro_split"] == "custom" and app.session_state["pro_shares"] == best
    app.button(key="clip_plan").click().run()
    assert not app.exception
