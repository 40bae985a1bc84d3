"""The views of TopDown as calls: one release beside the truth, repeated releases, and the promise, by oracles."""

from __future__ import annotations

import importlib
import io
import itertools
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from oracles_pages import RAGGED, dataset
from oracles_top_down import HUGE, RECORDS, product_data
from refusals import refuses
from sample_data.catalogue import count_sample
from treedp_core.checks import InputError
from treedp_core.privacy import Provenance
from treedp_core.records.export.synthetic import Columns, contingency_csv, records_csv
from treedp_core.studies.topdown import draw, product_of_columns
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.tree import Tree
from treedp_core.views import VIEWS, Finding, Tables
from treedp_core.views.topdown import TopDownInputs, comparisons, promise, releases
from treedp_core.views.topdown.inputs import Made
from treedp_core.views.topdown.runs import FEW, by_order, by_rule, release

DRAW = importlib.import_module("treedp_core.studies.topdown.draw")
"""The module: its package's front has a function of that name."""
TRIPS = count_sample("mobility")
PRODUCT = product_data()
NESTED = dataset(Tree.from_branching_factors((2, 3)), [5] * 6)
PAPER = {"rule": "intopt"}


def look(name: str, data: Any = TRIPS, slow: Any = None, **inputs: Any) -> Finding:
    """What a view finds at a δ of the specification."""
    return VIEWS[f"topdown.{name}"].found(TopDownInputs(**{"delta": 1e-6} | inputs), Tables(data), slow)


def code_of(name: str, data: Any = TRIPS, **inputs: Any) -> str:
    """The code of a refusal; nothing where there is none."""
    try:
        look(name, data, **inputs)
    except InputError as error:
        assert str(error).endswith(".") and "\n" not in str(error)
        return error.code
    return ""


# --- columns and order -----------------------------------------------------------------------------------------------


def test_columns_make_the_tree_of_their_order_and_a_nested_tree_stays_as_it_is() -> None:
    of = {"source": "current", "rho": "900"}
    assert look("levels", PRODUCT, **of).table["level"] == ["all", "c0", "c1", "c2"]
    turned = look("levels", PRODUCT, columns=("3", "1"), **of).table
    assert turned["level"] == ["all", "c2", "c0"] and turned["cells"] == [1, 2, 4]
    assert look("levels", columns=("2", "9")).table["level"] == ["all", "destination"]  # the trips have no ninth one
    assert TopDownInputs(columns=("2",)).texts() == {"td_columns": ("2",)}
    nested = TopDownInputs(source="current", columns=("2", "1"))
    assert nested.is_as_it_is(NESTED) and not nested.subject(NESTED).has_orders
    every = TopDownInputs(source="current", columns=("2", "1"), product=True)
    assert every.subject(NESTED).columns == ("nlevel2", "nlevel1")


def test_what_is_not_of_the_table_in_use_says_by_itself_what_it_takes_of_it() -> None:
    """δ fits both the records released and those in use; what is of the table in use says nothing by itself."""
    million = dataset(Tree.from_branching_factors((3,)), [10**7] * 3)
    trips, made_up = (TopDownInputs(source=one).apart for one in ("trips", "sparse"))
    assert trips(million, TRIPS).delta == TopDownInputs().usable_delta(3 * 10**7) == 1e-8  # type: ignore[union-attr]
    assert trips(RAGGED, TRIPS).delta == TopDownInputs().usable_delta(TRIPS.total)  # type: ignore[union-attr]
    assert made_up(RAGGED).delta == TopDownInputs().usable_delta(100_000)  # type: ignore[union-attr]
    assert TopDownInputs(source="current").apart(million) is None
    entry = VIEWS["topdown.release"]
    assert not entry.is_of_table(TopDownInputs()) and entry.is_of_table(TopDownInputs(source="current"))


# --- one release -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "lost", "rule"),
    [(0.5, 52, PAPER), (1.0, 41, PAPER), (2.0, 31, PAPER), (8.0, 16, PAPER), (1.0, 34, {}), (4.0, 16, {})],
)
def test_the_answer_says_how_many_places_are_lost(epsilon: float, lost: int, rule: dict[str, str]) -> None:
    """The parts lost are means over ten draws: one draw is within two per cent of them; fewer by the default."""
    text = look("release", epsilon=epsilon, **rule).answer
    told = re.search(
        rf"at \({epsilon:g}, 1e-6\) (\S+) % of the places with records are lost, (\S+) % of the released", text
    )
    assert told is not None, text
    assert float(told[1]) == pytest.approx(lost, abs=2) and 0 < float(told[2]) < 15


def test_rows_are_marked_as_they_are_lost_or_invented() -> None:
    """From a separate draw of the same release: what is 0 in it is lost, what is 0 in the truth never existed."""
    found = look("release")
    what = product_of_columns(TRIPS, (0, 1, 2))
    assert found.figure is not None and what.tree is not None and what.counts is not None and what.labels is not None
    traces = {trace["name"]: trace for trace in found.figure.data if trace["type"] == "bar"}
    lost = next(trace for trace in found.figure.data if trace["name"] == "lost")
    places = list(found.figure.layout["yaxis"]["ticktext"])
    assert len(places) == 12
    true = dict(zip(places, traces["true"]["customdata"].tolist(), strict=True))
    names = {" › ".join(what.labels.path(node)): node for node in what.tree.leaves.tolist()}
    assert all(what.counts[names[place]] == count for place, count in true.items())
    assert list(true.values()) == sorted(true.values(), reverse=True)
    assert [places[i] for i in traces["never existed"]["y"]] == [place for place in places if not true[place]]
    assert {places[i] for i in lost["y"]}.isdisjoint(places[i] for i in traces["kept"]["y"])
    assert all(true[places[i]] for i in lost["y"])
    assert len(look("release", presented=True).table["place"]) == 5


def test_errors_of_a_release_stand_below_their_bounds_and_cards_count_them() -> None:
    table = look("under_bound").table
    seen, bound = table["largest error (NOT PRIVATE)"], table["Theorem 1"]
    assert seen[0] == 0 and all(a <= b for a, b in zip(seen, bound, strict=True))  # n is public and exact
    cards = releases.beside_truth(TopDownInputs(delta=1e-6), Tables(TRIPS)).table
    assert cards["number"] == ("Leaves with records", "Spurious leaves", "Lost leaves", "Largest error of a leaf")
    shown = [float(value.replace("\u202f", "")) for value in cards["released"]]
    wrong = look("wrong_nodes").table
    assert shown[1:3] == [wrong["spurious"][-1], wrong["lost"][-1]]
    figure = look("wrong_nodes").figure
    assert figure is not None and figure.data[0]["y"][-1] == shown[1]


def test_another_seed_changes_the_noise_only() -> None:
    one, other = (look("one_level", seed=seed).table for seed in (7, 8))
    assert one["true (NOT PRIVATE)"].tolist() == other["true (NOT PRIVATE)"].tolist()
    assert one["released"].tolist() != other["released"].tolist()


def test_a_noisy_total_is_measured_too() -> None:
    found = look("levels", relation="add_or_remove_one")
    assert found.table["σ (records)"][0] > 0 and "the total is measured too" in found.caption
    assert look("levels").table["σ (records)"][0] == 0


def test_a_large_release_is_drawn_only_when_asked_for_and_one_of_other_inputs_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = release(TopDownInputs(delta=1e-6).question, TRIPS)
    assert look("release", slow=made).notes == () and not look("counts", slow=made, level=1).notes
    (note,) = look("release", slow=made, seed=8).notes
    assert "seed 7. Press **Run**" in note and look("release", slow=made, seed=8).provenance.seed == 7
    monkeypatch.setattr(DRAW, "LIGHT_CELLS", 100)
    waits = look("release")
    assert waits.is_empty and "Press **Run**" in waits.answer and waits.provenance.seed is None
    assert look("under_bound").figure is None
    assert VIEWS["topdown.release"].slow is not None
    assert not VIEWS["topdown.release"].slow(TopDownInputs(), Tables(TRIPS)).is_quick


def test_a_budget_set_takes_the_place_of_epsilon() -> None:
    typed, other = (TopDownInputs(rho="0.5", epsilon=epsilon).question for epsilon in (1.0, 2.0))
    assert typed == other and TopDownInputs(epsilon=2.0).question != TopDownInputs().question
    assert "replace one · ρ = 0.5, δ = 1e-6 · seed 7" in look("release", rho="0.5").provenance.line()


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        *(({"rho": typed}, "RHO_RANGE") for typed in ("0", "-1", "a lot", "nan")),
        *(({"allocation": "custom", "shares": typed}, "BUDGET_SPLIT")
          for typed in ("0.5", "0,0.5,0.6,0.2", "0,0.5,0,0.5")),
        ({"source": "sparse", "sizes": "10,1,10"}, "ONE_CATEGORY"),
        ({"source": "sparse", "sizes": "100000^4", "people": 10_000}, "TOO_MANY_CELLS"),
        *(({"source": "sparse", "sizes": typed}, "TREE_SHAPE") for typed in ("", "many")),
        ({"source": "sparse", "sizes": "10^40"}, "TOO_MANY_LEVELS"),
        *(({"source": "sparse", "sizes": typed, "people": 0}, "NO_RECORDS") for typed in ("10^9", "3,3")),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_sentence(inputs: dict[str, Any], code: str) -> None:
    assert code_of("release", **inputs) == code_of("counts", **inputs) == code


def test_a_large_release_of_bad_input_is_refused_before_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DRAW, "LIGHT_CELLS", 100)
    made = release(TopDownInputs(delta=1e-6).question, TRIPS)
    for slow in (None, made):
        with refuses("RHO_RANGE"):
            look("release", rho="0", slow=slow)


def test_custom_shares_not_typed_yet_are_equal_ones() -> None:
    assert "uniform shares" in look("release", allocation="custom").caption


def test_a_column_of_one_category_is_refused_by_its_name() -> None:
    with refuses("ONE_CATEGORY", "c1"):
        look("release", product_data([(0, 0), (1, 0)], (2, 1)), source="current")


def test_no_records_at_all() -> None:
    none = product_data([])
    for view in ("release", "counts", "rules", "orders", "marginals"):
        assert code_of(view, none, source="current") == "NO_RECORDS"
        assert code_of(view, none, source="current", relation="add_or_remove_one") == ""


# --- repeated releases -----------------------------------------------------------------------------------------------


def test_rules_are_compared_a_few_times_at_once_and_what_ran_for_other_inputs_says_so() -> None:
    data, of = product_data(RECORDS * 9), {"source": "current", "trials": 20}
    first = look("rules", data, **of)
    assert f", {FEW} runs, seed 7" in first.caption and first.notes == ()
    made = by_rule(VIEWS["topdown.rules"].slow(TopDownInputs(delta=1e-6, **of), Tables(data)).question, data)  # type: ignore[arg-type, misc]
    ran = look("rules", data, slow=made, **of)
    assert ", 20 runs, seed 7" in ran.caption and ran.notes == ()
    assert len(ran.table["projection"]) == len(lines_of_dots(ran)) == len(RULES)
    assert look("rules", data, slow=made, rule="intopt", **of).notes == ()  # all rules ran, whichever is chosen
    (note,) = look("rules", data, slow=made, epsilon=2.0, **of).notes
    assert note.startswith("Shown meanwhile: ") and "20 runs, seed 7. Press **Run**" in note
    assert look("rules.bias", data, slow=made, **of).figure is not None
    every = comparisons.every_measure(TopDownInputs(delta=1e-6, **of), Tables(data), slow=made)  # type: ignore[arg-type]
    assert len(every.table["projection"]) == len(RULES) and "Least squares before water filling" in every.answer
    assert len(lines_of_dots(look("rules", data, slow=made, presented=True, **of))) == 4  # the named and the chosen


def lines_of_dots(found: Finding) -> list[float]:
    assert found.figure is not None
    return list(found.figure.data[0]["x"])


def test_orders_are_compared_and_the_smallest_stands_first() -> None:
    data, inputs = product_data(RECORDS * 9), TopDownInputs(source="current", trials=20, delta=1e-6)
    made: Made[Any] = by_order(inputs, data)
    found = look("orders", data, slow=made, source="current", trials=20)
    assert lines_of_dots(found) == sorted(lines_of_dots(found)) and len(lines_of_dots(found)) == 6
    assert found.figure is not None
    assert set(found.figure.layout["yaxis"]["ticktext"]) == {
        " › ".join(f"c{i}" for i in order) for order in itertools.permutations(range(3))
    }
    assert len(comparisons.errors_of_columns(inputs, Tables(data), slow=made).table["order"]) == 6
    assert [code_of(name, NESTED, source="current") for name in ("orders", "marginals")] == ["ORDER"] * 2


# --- the promise -----------------------------------------------------------------------------------------------------


def tight_epsilon(rho: float, delta: float) -> float:
    """Canonne, Kamath and Steinke (2020): the least over a grid of orders."""
    orders = 1 + np.geomspace(1e-2, 1e4, 200_001)
    ends = np.log(1 / delta) / (orders - 1) + np.log1p(-1 / orders) - np.log(orders) / (orders - 1)
    return float((orders * rho + ends).min())


def test_accounting_of_the_paper_in_numbers() -> None:
    """rho = 0.1, delta = 1e-6: 2.4508 by rho + 2 sqrt(rho ln(1/delta)); the two tight values from the literature."""
    table = promise.conversions(TopDownInputs(rho="0.1", delta=1e-6), Tables(TRIPS)).table
    cards = dict(zip(table["number"], table["value"], strict=True))
    simple = 0.1 + 2 * math.sqrt(0.1 * math.log(1e6))
    assert float(cards["ε, standard"]) == pytest.approx(simple, abs=1e-3)
    assert float(cards["ε, tight"]) == pytest.approx(2.1419, abs=1e-3)
    assert float(cards["ε, continuous noise"]) == pytest.approx(1.9945, abs=1e-3)
    low, high = 0.1, 1.0
    for _ in range(50):  # the rho whose tight epsilon is the standard one of 0.1
        middle = (low + high) / 2
        low, high = (middle, high) if tight_epsilon(middle, 1e-6) < simple else (low, middle)
    saved = float(cards["Noise saved at the same ε"].removesuffix(" %"))
    assert saved == pytest.approx(100 * (1 - math.sqrt(0.1 / low)), abs=0.06)


def test_relations_and_contributions_beside_each_other() -> None:
    rows = look("relations", rho="1", contributions=2).table
    last = list(rows.values())[-1]
    assert last[0] == pytest.approx(math.sqrt(3) * 2)  # d = 3, sigma = sqrt(2) m / sqrt(2 rho / 3)
    assert last[1] == pytest.approx(math.sqrt(6))  # 4 leaves by 1 each: L2 = 2, not 2 sqrt(2)
    assert rows["measured levels"] == [3, 3, 4, 4]


def test_sensitivity_enumerated_beside_the_formula() -> None:
    found = look("sensitivity", contributions=2)
    assert found.table["L1 enumerated"] == [0, 4, 4] and "No neighbour changes a level more" in found.answer
    assert found.table["L2 formula"] == pytest.approx([0, math.sqrt(8), math.sqrt(8)])
    assert code_of("sensitivity", small="60,60") == "INSPECTOR_SIZE"


# --- synthetic records -----------------------------------------------------------------------------------------------


def test_records_and_their_files() -> None:
    made = release(TopDownInputs(source="current", rho="900", delta=1e-6), PRODUCT)
    assert sum(releases.synthetic_rows(made, by_record=False).table["count"]) == len(RECORDS)
    assert len(next(iter(releases.synthetic_rows(made, by_record=True).table.values()))) == len(RECORDS)
    what = product_of_columns(PRODUCT, (0, 1, 2))
    one = draw(what, HUGE, 7)
    assert one.table is not None
    columns = Columns(what.columns, tuple(w.tolist() for w in what.words))
    rows = pd.read_csv(io.BytesIO(records_csv(one.table, columns, Provenance.RELEASE)))
    assert sorted(rows.itertuples(index=False, name=None)) == sorted(
        tuple(f"c{i}={code}" for i, code in enumerate(record)) for record in RECORDS
    )
    counts = pd.read_csv(io.BytesIO(contingency_csv(one.table, columns, Provenance.RELEASE)))
    assert counts["count"].sum() == len(RECORDS)
    real = release(TopDownInputs(rule="nnls", delta=1e-6), TRIPS)  # counts that are not whole are no records
    assert releases.synthetic_rows(real, by_record=True).is_empty


# --- the certificate -------------------------------------------------------------------------------------------------


def test_the_certificate_stands_below_theorem_1_and_above_the_errors_and_reads_no_record() -> None:
    for of in ({}, PAPER, {"rule": "pruned", "relation": "add_or_remove_one"}, {"source": "sparse", "people": 9000}):
        found, beside = look("certificate", **of), look("under_bound", **of)
        assert (
            found.badges == ("formula", "simulation", "NOT PRIVATE")
            and "NOT PRIVATE" not in found.caption + found.answer
        )
        assert not any("NOT PRIVATE" in name for name in found.table)
        certified = list(found.table["certificate"])
        assert certified == list(beside.table["certificate"])
        seen, theorem = beside.table["largest error (NOT PRIVATE)"], beside.table["Theorem 1"]
        assert all(a <= b for a, b in zip(seen, certified, strict=True))
        assert certified[-1] < theorem[-1] and f"**{round(certified[-1])}**" in found.answer
        assert beside.figure is not None and beside.figure.data[3]["y"][1::4].tolist() == certified
    node = look("tree_after", source="current", rule="intopt", data=PRODUCT).table
    assert len(node["error at most"]) == len(node["count"])
    surer, less = (look("certificate", confidence=sure).table["certificate"][-1] for sure in (0.999, 0.5))
    assert surer > less
    assert look("certificate").table["noises"] == [1, 28, 784, 5488]  # least squares comes first: all are looked at
    assert look("certificate", **PAPER).table["noises"][-1] < 5488  # children of a 0 are not drawn


def test_the_files_of_records_say_how_far_they_can_be_from_the_truth() -> None:
    made = release(TopDownInputs(delta=1e-6, rule="intopt"), TRIPS)
    certificate = made.found.certificate(0.9)
    columns = importlib.import_module("treedp_core.studies.topdown.tables").columns_of(made.subject, certificate)
    table = made.found.table
    assert table is not None and made.found.picture is not None
    text = contingency_csv(table, columns, Provenance.SIMULATION)
    rows = pd.read_csv(io.BytesIO(text), keep_default_na=False)
    last = math.ceil(certificate.by_level[-1])
    assert rows["certificate"][0].startswith("With probability 90 %, all at once: no count has an error above ")
    assert rows["certificate"][0].endswith(f", {last} on level hours.") and set(rows["certificate"][1:]) == {""}
    assert rows["error at most"].max() <= last
    tree, labels, truth, _ = made.found.picture
    names = {labels.path(node): int(truth[node]) for node in tree.leaves.tolist()}
    for row in rows.head(200).itertuples(index=False):
        assert abs(row.count - names[row.origin, row.destination, row.hours]) <= row[-1]
    every = pd.read_csv(io.BytesIO(records_csv(table, columns, Provenance.SIMULATION)), keep_default_na=False)
    assert every["certificate"][0] == rows["certificate"][0] and len(every) == table.total
    shown = releases.synthetic_rows(made, by_record=False).table
    assert list(shown)[-2:] == ["count", "error at most"]
