"""A bound on the records of a unit: its errors, the best one, and what it costs to choose it privately."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from oracles_pages import RAGGED, answer, dataset, figure, open_page, pick, table, with_units, words
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.records import Dataset, count_hierarchy, domain_of_values, domain_taken_from_the_data
from treedp_core.records.unit_rows import UnitRows
from treedp_core.studies.protects.unit_bound import (
    BOUNDS,
    PAID,
    bound_errors,
    bounds_with,
    chances,
    paid_choices,
    public_units,
    thresholds,
)
from treedp_core.tree import Tree
from treedp_core.views import Tables
from treedp_core.views.protects import unit_bound
from treedp_core.views.protects.unit_bound import BoundInputs

SHOPS = {"region": ["N", "S"], "shop": ["a", "b", "c"]}
ADDED = "add_or_remove_one"


def purchases(seed: int = 1, n_units: int = 60) -> tuple[bytes, list[tuple[str, str, str]]]:
    rng = np.random.default_rng(seed)
    rows = [
        (f"u{unit}", rng.choice(["N", "S"], p=[0.7, 0.3]), rng.choice(["a", "b", "c"]))
        for unit in range(n_units)
        for _ in range(min(rng.zipf(1.8), 60))
    ]
    rng.shuffle(rows)
    return ("who,region,shop\n" + "".join(",".join(row) + "\n" for row in rows)).encode(), rows


FILE, ROWS = purchases()


def counted(bound: int, file: bytes = FILE) -> Dataset:
    return count_hierarchy(
        file, ["region", "shop"], domain=domain_of_values(SHOPS), unit="who", contributions=bound, outside="refuse"
    )


def by_recount(inputs: BoundInputs) -> dict[int, list[float]]:
    """The RMSE of each level with each bound: the file counted anew, Laplace noise by the formula of its scale."""
    whole, found = counted(1000), {}
    factor = 1 if inputs.relation == ADDED else 2
    n_levels = 3 if inputs.relation == ADDED else 2
    for bound in BOUNDS:
        data = counted(bound)
        lacking = (whole.counts - data.counts).astype(float)
        sd = math.sqrt(2) * factor * bound / (inputs.epsilon / n_levels)
        noise = [sd if level or inputs.relation == ADDED else 0.0 for level in range(3)]
        found[bound] = [
            math.sqrt(np.mean(lacking[data.tree.level(level)] ** 2) + noise[level] ** 2) for level in range(3)
        ]
    return found


@pytest.mark.parametrize("relation", [ADDED, "replace_one"])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_the_best_bound_is_that_of_brute_force(relation: str, level: int) -> None:
    inputs = BoundInputs(relation=relation, level=level, mechanism="laplace", epsilon=3.0, bound=4)
    brute = by_recount(inputs)
    wanted = {bound: sum(errors) if level == 0 else errors[level - 1] for bound, errors in brute.items()}
    found = unit_bound.bound_on_units(inputs, Tables(counted(2)))
    assert found.table["records of a unit, at most"] == list(wanted)
    assert found.table["RMSE (NOT PRIVATE)"] == pytest.approx(list(wanted.values()), rel=1e-9)
    best = min(wanted, key=lambda bound: wanted[bound])
    told = "the smallest there is" if best == 4 else f"with **at most {best}**"
    assert told in found.answer
    by_level = unit_bound.by_level(inputs, Tables(counted(7))).table
    assert by_level["RMSE (NOT PRIVATE)"] == pytest.approx(brute[4], rel=1e-9)
    for at, name in enumerate(["all", "region", "shop"]):
        assert by_level["level"][at] == name
        assert by_level["best bound (NOT PRIVATE)"][at] == min(brute, key=lambda bound: brute[bound][at])


def test_what_is_left_out_is_told_exactly_and_always_too_little() -> None:
    data, whole = counted(3), counted(1000)
    found = unit_bound.bound_on_units(BoundInputs(bound=3), Tables(data))
    beyond = sum(count > 3 for count in np.unique([row[0] for row in ROWS], return_counts=True)[1])
    assert f"{whole.total - data.total} records" in found.answer and f"of {beyond} units are left out" in found.answer
    assert found.badges == ("formula", "NOT PRIVATE") and found.caption.startswith("NOT PRIVATE")
    levels = unit_bound.by_level(BoundInputs(bound=3), Tables(data)).table
    for level, bias in enumerate(levels["bias of a node, mean (NOT PRIVATE)"]):
        nodes = data.tree.level(level)
        assert bias == pytest.approx(float(np.mean(data.counts[nodes] - whole.counts[nodes]))) and bias <= 0
    nothing = unit_bound.bound_on_units(BoundInputs(bound=1000), Tables(data))
    assert nothing.answer.startswith("Nothing is left out")


def test_it_does_not_depend_on_the_bound_that_the_table_was_counted_with() -> None:
    tables = [Tables(counted(bound)) for bound in (1, 5, 1000)]
    answers = {unit_bound.bound_on_units(BoundInputs(bound=6), one).answer for one in tables}
    assert len(answers) == 1 and len({one.fingerprints for one in tables}) == 3


def test_units_that_differ_tell_tables_of_equal_counts_apart() -> None:
    """What is kept of one column of units may not stand for another one."""
    file = FILE.replace(b"who,", b"shop_id,")
    mine, other = counted(1000), counted(1000, file.replace(b"shop_id", b"who").replace(b"u1,", b"u2,"))
    assert mine.fingerprint == other.fingerprint and Tables(mine).fingerprints != Tables(other).fingerprints


def test_a_prior_that_names_units_is_taken_to_be_public() -> None:
    data, prior = counted(2), counted(4, purchases(8)[0])
    found = unit_bound.bound_on_units(BoundInputs(), Tables(data, prior=prior))
    assert found.badges == ("formula",) and "NOT PRIVATE" not in found.caption + "".join(found.answer)
    assert found.answer == unit_bound.OF_PRIOR + unit_bound.bound_on_units(BoundInputs(), Tables(prior)).answer
    without = Tables(data, prior=dataset(data.tree, [1] * data.tree.n_leaves))
    assert unit_bound.bound_on_units(BoundInputs(), without).badges == ("formula", "NOT PRIVATE")


def test_a_level_that_is_not_released_does_not_count() -> None:
    inputs = BoundInputs(allocation="custom", shares="0, 0.5, 0.5", relation=ADDED)
    found = unit_bound.bound_on_units(inputs, Tables(counted(2)))
    assert "RMSE of 2 levels" in found.answer and np.isfinite(found.table["RMSE (NOT PRIVATE)"]).all()
    assert found.figure is not None and "not released" in found.figure.data[-1]["text"][0]
    with pytest.raises(InputError):
        unit_bound.bound_on_units(replace(inputs, shares="0.5"), Tables(counted(2)))


# ---- a private choice


def units_beyond(records: tuple[int, ...], bounds: range) -> list[int]:
    return [sum(one > bound for one in records) for bound in bounds]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_private_choice_keeps_its_promise_for_every_unit_that_comes_goes_or_is_replaced(epsilon: float) -> None:
    """All tables of up to three units of one to five records beside all their neighbours: exact, by enumeration."""
    bounds = range(1, 5)
    worst = 0.0
    for limits in ([0.5, 0.5, 0.5], [1.0, 2.0, 1.5], [0.0, 3.0, 0.7]):
        limit = np.array([*limits, np.inf])
        for n in range(4):
            for records in itertools.product(range(1, 6), repeat=n):
                mine = chances(units_beyond(records, bounds), limit, epsilon)
                neighbours = [(*records, more) for more in range(1, 6)]
                neighbours += [(*records[:-1], other) for other in range(1, 6)] if records else []
                for other in neighbours:
                    theirs = chances(units_beyond(other, bounds), limit, epsilon)
                    worst = max(worst, float(np.abs(np.log(mine) - np.log(theirs)).max()))
    assert 0.5 * epsilon < worst <= epsilon * (1 + 1e-9)


def test_a_private_choice_with_much_to_spend_is_the_first_bound_that_few_enough_units_exceed() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        beyond = np.sort(rng.integers(0, 50, 6))[::-1]
        limits = np.append(rng.uniform(0, 40, 5), np.inf)
        first = next(at for at in range(6) if beyond[at] <= limits[at])
        often = chances(beyond, limits, 1000.0)
        assert often.sum() == pytest.approx(1.0) and often[first] > 0 and often[first] == often.max()


def test_the_threshold_is_where_the_sum_of_left_out_and_noise_turns() -> None:
    """With records spread evenly over the nodes the first bound below its threshold has the least bias plus noise."""
    tree, rng = Tree.from_branching_factors((4, 5)), np.random.default_rng(6)
    records = np.minimum(rng.zipf(1.6, 500), 300)
    lacking = [int(np.maximum(records - m, 0).sum()) for m in range(int(records.max()) + 1)]
    rows = UnitRows((tuple(lacking),) * 3, tuple(tuple(x * x // n for x in lacking) for n in (1, 4, 20)))
    bounds = np.arange(1, 301)
    found = bound_errors(Experiment("laplace", relation=ADDED), tree, rows, bounds)
    total = sum(np.array(lacking)[np.minimum(bounds, rows.largest)] / n for n in (1, 4, 20)) + found.noise.sum(axis=0)
    beyond, limits = rows.units_beyond(bounds), thresholds(found)
    first = int(np.argmax(beyond <= limits))
    assert total[first] == pytest.approx(total.min(), rel=1e-9)


def test_what_a_private_choice_costs_is_what_many_of_them_cost() -> None:
    """10^5 choices: the mean error lies within five standard errors."""
    data = counted(2)
    rows = data.report.unit_rows
    assert rows is not None
    experiment, bounds = Experiment("laplace", epsilon=2.0, relation=ADDED), bounds_with(1)
    found = paid_choices(experiment, data.tree, rows, bounds)
    assert [one.part for one in found] == list(PAID)
    for one in found:
        assert one.for_bound + one.for_counts <= 2.0 and one.times >= 1.0
        rest = bound_errors(replace(experiment, epsilon=one.for_counts), data.tree, rows, bounds)
        often = chances(rows.units_beyond(bounds), thresholds(rest), one.for_bound)
        errors = rest.added_up(rest.rmse)
        drawn = np.random.default_rng(9).choice(bounds.size, 100_000, p=often)
        assert one.error == pytest.approx(errors[drawn].mean(), abs=5 * errors[drawn].std() / math.sqrt(1e5) + 1e-9)
        inside = (bounds[drawn] >= one.low) & (bounds[drawn] <= one.high)
        assert inside.mean() >= 0.89
    shown = unit_bound.paid_for(BoundInputs(mechanism="laplace", epsilon=2.0, relation=ADDED), Tables(data))
    assert shown.table["expected RMSE (NOT PRIVATE)"] == [one.error for one in found]


# ---- the page

UNITS = with_units(RAGGED)


def test_the_page_shows_what_the_view_finds_for_its_controls() -> None:
    app = pick(open_page("protects", UNITS, pro_view="bound"), pro_bound=2, pro_level=1, eps=2.0)
    inputs = BoundInputs(bound=2, level=1, epsilon=2.0)
    found = unit_bound.bound_on_units(inputs, Tables(UNITS))
    assert not app.exception and answer(app) == found.answer.replace("\u00a0", " ") and found.learnt in words(app)
    assert len(figure(app, "pro_bounds")["data"]) == 7 and figure(app, "pro_units")["data"]
    assert table(app, "part of ε")["part of ε"].tolist() == list(PAID)
    assert app.query_params.get("pro_bound", ["2"]) == ["2"]


def test_a_bound_is_used_everywhere_by_one_press() -> None:
    app = pick(open_page("protects", UNITS, pro_view="bound"), pro_bound=50)
    assert app.session_state["contributions"] == 1
    app = app.button(key="bound_use").click().run()
    assert app.session_state["contributions"] == 50 and app.button(key="bound_use").disabled


def test_a_table_without_units_says_how_to_name_some() -> None:
    app = open_page("protects", None, pro_view="bound")
    assert not app.exception and "No column of this table names units" in answer(app)
    assert "a file of your own" in words(app) and "NOT PRIVATE" not in words(app)
    found = unit_bound.bound_on_units(BoundInputs(bound=3), Tables(RAGGED))
    assert found.badges == ("formula",) and "smallest, " in found.answer and "**at most 1**" in found.answer
    assert set(found.table["records left out"]) == {0}
    other = dataset(RAGGED.tree, [5] * RAGGED.tree.n_leaves)
    assert unit_bound.bound_on_units(BoundInputs(bound=3), Tables(other)).answer == found.answer
    assert "too many pairs" in unit_bound.bound_on_units(BoundInputs(), Tables(unfollowed())).answer


def unfollowed() -> Dataset:
    report = replace(RAGGED.report, recipe=replace(RAGGED.report.recipe, unit="person", bound=2))
    return replace(RAGGED, report=report)


@pytest.mark.usefixtures("own_jobs")
def test_a_column_of_units_is_chosen_beside_the_handle_and_counted_at_once() -> None:
    app = open_page("data", source="upload", contributions="2")
    app.file_uploader[0].upload("purchases.csv", FILE).run()
    columns = next(one for one in app.multiselect if one.label.startswith("Columns of the hierarchy"))
    columns.set_value(["region", "shop"]).run()
    app.button(key="upload_count").click().run()
    app.session_state["pro_view"] = "bound"
    app.switch_page("pages/protects.py").run()
    assert not app.exception and "No column of this table names units" in answer(app)
    units = next(one for one in app.selectbox if one.label == "Column that names units")
    assert units.options == ["each record is a unit of its own", "who"]
    units.set_value("who").run()
    data = app.session_state["_from_file"]["upload"].data
    assert (data.report.recipe.unit, data.report.recipe.bound) == ("who", 2)
    assert data.total == counted(2).total
    app.run()
    assert "units are left out" in answer(app)
    pick(app, pro_bound=7).button(key="bound_use").click().run()
    assert app.session_state["_from_file"]["upload"].data.report.recipe.bound == 7
    assert app.session_state["_from_file"]["upload"].data.total == counted(7).total


@pytest.mark.usefixtures("own_jobs")
def test_public_records_stand_for_the_units_of_the_data_until_they_are_removed() -> None:
    app = open_page("protects", UNITS, pro_view="bound")
    levels = UNITS.labels.level_names[1:]
    rows = [(*(f"{name}{n % 2}" for name in levels), f"u{n // 9}") for n in range(90)]
    public = pd.DataFrame(rows, columns=[*levels, "who"])
    app.file_uploader[0].upload("last year.csv", public.to_csv(index=False).encode()).run()
    next(one for one in app.selectbox if one.label == "Unit column").set_value("who").run()
    app.button(key="pro_prior_count").click().run()
    pick(app, pro_bound=2)
    known = count_hierarchy(public, levels, domain=domain_taken_from_the_data(), unit="who")
    found = unit_bound.bound_on_units(BoundInputs(bound=2), Tables(UNITS, prior=known))
    assert not app.exception and found.answer in answer(app) and "70 records" in found.answer
    app.button(key="pro_prior_remove").click().run()
    assert found.answer not in answer(app)


def test_public_units_are_others_and_named() -> None:
    with pytest.raises(InputError, match="the data themselves"):
        public_units(UNITS, UNITS)
    with pytest.raises(InputError, match="named by a column"):
        public_units(UNITS, dataset(RAGGED.tree, [5] * RAGGED.tree.n_leaves))
    other = replace(RAGGED, counts=2 * RAGGED.counts)
    assert public_units(other, UNITS) is UNITS
