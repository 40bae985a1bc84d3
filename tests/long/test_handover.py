"""Programs that plans are handed over as: they run, their noise and loss are the plan's, and the rest is refused."""

from __future__ import annotations

import ast
import csv
import io
import runpy
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fresh import Done, fresh, here
from refusals import refuses
from test_release_plans import DATA, FROM_DATA, LAWS, PLANS, RELATIONS, data_of
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.noise import DiscreteGaussian, DiscreteLaplace
from treedp_core.notebook.file.container import limit_of
from treedp_core.plans import (
    LIBRARIES,
    NoiseLaw,
    ReleasePlan,
    not_covered,
    opendp_program,
    records_of,
    recount,
    tumult_program,
)
from treedp_core.plans.verify import cost
from treedp_core.plans.words import summary
from treedp_core.privacy.prior_provenance import Origin, PriorKind
from treedp_core.records import (
    Dataset,
    Recipe,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
    strict_json,
)  # fmt: skip
from treedp_core.records.dataset import labels_of
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.bins import bins_of
from treedp_core.studies.topdown.certificate import on_tree
from treedp_core.studies.topdown.contingency_table import made_up
from treedp_core.studies.topdown.plan import plan as plan_top_down
from treedp_core.tree import Tree

ROOT = Path(__file__).resolve().parents[2]


def named(plan: ReleasePlan) -> str:
    return f"{plan.law.value}-{plan.unit.relation.value}-{plan.unit.contributions}"


def program(plan: ReleasePlan, folder: Path) -> dict[str, Any]:
    """The names that the OpenDP program of a plan defines; it does not run its `main`."""
    pytest.importorskip("opendp")
    path = folder / "release.py"
    path.write_text(opendp_program(plan), encoding="utf-8")
    return runpy.run_path(str(path))


@pytest.mark.parametrize("plan", [one for one in PLANS if one.matrix is None], ids=named)
def test_opendp_finds_the_scales_and_the_loss_of_the_plan(plan: ReleasePlan, tmp_path: Path) -> None:
    """For every law, relation, size of a unit and spread: loss by OpenDP, from the sensitivities, is the plan's."""
    found = program(plan, tmp_path)
    noise = found["measurements"]()
    assert [one is None for one in noise] == [one.scale is None for one in plan.levels]
    whole = plan.law in (NoiseLaw.DISCRETE_LAPLACE, NoiseLaw.DISCRETE_GAUSSIAN)
    for one, level in zip(noise, plan.levels, strict=True):
        if level.scale is None:
            continue
        pure = plan.law in (NoiseLaw.LAPLACE, NoiseLaw.DISCRETE_LAPLACE)
        expected = 1 / level.scale if pure else 1 / (2 * level.scale**2)
        assert one.map(1 if whole and pure else 1.0) == pytest.approx(expected, rel=1e-12)
    assert found["loss"](noise) == pytest.approx(float(cost(plan)), rel=1e-9)
    assert found["loss"](noise) <= found["PROMISED"] * (1 + 1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("law", LAWS)
def test_opendp_draws_the_law_of_the_plan(law: str, tmp_path: Path) -> None:
    """The mean of squares of 20 000 draws; OpenDP takes no seed. False alarms: below 1e-8, at 6 standard errors."""
    plan = ReleasePlan.of(Experiment(mechanism=law, delta=1e-6, epsilon=2.0), DATA)
    noise = program(plan, tmp_path)["measurements"]()
    level, whole = plan.levels[1], law.startswith("discrete")
    drawn = np.array(noise[1]([0 if whole else 0.0] * 20_000))
    assert bool((drawn == np.floor(drawn)).all()) == whole
    fourth = 24.0 if law.endswith("laplace") else 3.0  # of a variable of scale or deviation 1; 24 and 2: Laplace
    second = 2.0 if law.endswith("laplace") else 1.0
    error = np.sqrt((fourth - second**2) / 20_000) / second
    assert level.deviation is not None
    assert np.mean(drawn.astype(float) ** 2) / level.deviation**2 == pytest.approx(1.0, abs=8 * error)


def test_a_scale_of_its_own_would_be_noticed(tmp_path: Path) -> None:
    """The program stops where OpenDP finds more than the plan promises."""
    pytest.importorskip("opendp")
    plan = ReleasePlan.of(Experiment(), DATA)
    scale = repr(plan.levels[1].scale)
    path = tmp_path / "release.py"
    path.write_text(opendp_program(plan).replace(scale, "3.9"), encoding="utf-8")
    done = here(tmp_path, "release.py", "none.csv", "out.csv")
    assert done.returncode != 0
    assert "more than the plan promises" in done.stderr


def released(
    plan: ReleasePlan, content: bytes, folder: Path, how: Callable[..., Done] = here
) -> dict[tuple[str, ...], float]:
    """What the program publishes of a file of records, by level and labels."""
    pytest.importorskip("opendp")
    (folder / "release.py").write_text(opendp_program(plan), encoding="utf-8")
    (folder / "records.csv").write_bytes(content)
    done = how(folder, "release.py", "records.csv", "out.csv")
    assert done.returncode == 0, done.stderr
    with open(folder / "out.csv", encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))[1:]
    return {tuple(row[:-1]): float(row[-1]) for row in table}


def held(plan: ReleasePlan, content: bytes, folder: Path) -> list[dict[tuple[Any, ...], int]]:
    """The counts before noise that the program finds in a file of records, level by level."""
    found = program(plan, folder)
    (folder / "records.csv").write_bytes(content)
    found["read_records"].__globals__["PREPARED_FILE"] = str(folder / "records.csv")
    counts: list[dict[tuple[Any, ...], int]] = found["counts_of"](found["read_records"]())
    return counts


def test_the_program_publishes_the_counts_of_every_node(tmp_path: Path) -> None:
    """At ε = 100 the noise of three levels is 0 but for a chance below e^-30."""
    data = data_of([2, 0, 1, 3, 0, 1])
    plan = ReleasePlan.of(Experiment(epsilon=100.0), data)
    content = records_of(plan, data) + b"a7,b0,1\n"  # nowhere in the domain
    found = released(plan, content, tmp_path, fresh)
    assert found[("0", "", "")] == 8
    expected = {("1", "a0", ""): 3, ("1", "a1", ""): 4,
                ("2", "a0", "b0"): 2, ("2", "a0", "b1"): 0, ("2", "a0", "b2"): 1,
                ("2", "a1", "b0"): 3, ("2", "a1", "b1"): 0, ("2", "a1", "b2"): 1}  # fmt: skip
    assert {key: value for key, value in found.items() if key[0] != "0"} == expected


def test_the_program_counts_the_bins_of_a_number(tmp_path: Path) -> None:
    column = b"age\n0\n9\n10\n39\n40\n25\n99\nnone\n"
    data = count_bins(io.BytesIO(column), "age", lower=0, upper=40, n_bins=4, branching=(2, 2))
    plan = ReleasePlan.of(plan_cdf(CdfSettings(5, (2, 3), epsilon=100.0)), bins_of(data), counted=data)
    found = released(plan, records_of(plan, data), tmp_path)
    bins = ["[0, 10)", "[10, 20)", "[20, 30)", "[30, 40]", "(other)"]
    assert [round(found[("2", one, one)]) for one in bins] == [2, 1, 1, 2, 2]
    assert round(found[("1", "[30, 40]", "(other)")]) == 4


def test_a_long_domain_is_in_plan_and_program(tmp_path: Path) -> None:
    """Seen failing: above 60 000 characters of leaves a file of them had to be made by hand."""
    cities = [f"{i // 25:03}town {i:05} {'x' * 20}" for i in range(4_000)]
    rows = "state,city\n" + "".join(f"{city[:3]},{city}\n" for city in cities)
    domain = domain_of_paths(rows.encode())
    data = count_hierarchy(f"{rows}{rows}zz,{cities[0]}\n".encode(), ["state", "city"], domain=domain)
    plan = ReleasePlan.of(Experiment(), data)
    assert ReleasePlan.from_json(plan.to_json()) == plan
    assert limit_of("plan.json") == limit_of("noted/0/plan.json") == strict_json.MAX_BYTES > len(plan.to_json())
    counts = held(plan, records_of(plan, data), tmp_path)
    assert counts[2] == {(city[:3], city): 2 for city in cities}
    assert counts[1][("(other)",)] == 2


def test_a_file_that_is_none_ends_the_program_with_a_sentence(tmp_path: Path) -> None:
    """By what no record decides: its place, and the names of its columns, the last of which is the plan's digest."""
    pytest.importorskip("opendp")
    data = COUNTED["values 0 category"]
    plan = ReleasePlan.of(Experiment(), data)
    (tmp_path / "release.py").write_text(opendp_program(plan), encoding="utf-8")
    good = records_of(plan, data)
    other_plan = records_of(ReleasePlan.of(Experiment(epsilon=0.5), data), data)
    for name, content in (
        ("good", good), ("empty", b""), ("rows", FILE), ("other", other_plan), ("marks", good.replace(b",", b";")),
    ):  # fmt: skip
        (tmp_path / f"{name}.csv").write_bytes(content)
    for given, said in (
        (("none.csv", "out.csv"), "The file of records cannot be read: none.csv."),
        ((".", "out.csv"), "The file of records cannot be read: .."),
        (("empty.csv", "out.csv"), "for this very plan."),
        (("rows.csv", "out.csv"), "for this very plan."),
        (("other.csv", "out.csv"), "for this very plan."),
        (("marks.csv", "out.csv"), "for this very plan."),
        (("good.csv", "no/out.csv"), "The file of what is released cannot be written: no/out.csv."),
        (("good.csv",), "Usage: python release.py PREPARED.csv RELEASED.csv"),
    ):
        done = here(tmp_path, "release.py", *given)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and said in done.stderr, (given, done.stderr)
    assert not (tmp_path / "out.csv").exists()


def test_opendp_s_own_counts_are_as_stable_as_the_plan_says() -> None:
    """Counts by categories, whose map OpenDP proves: m records that come or go, and m replaced (2 m in all)."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
    counts = dp.t.make_count_by_categories(*space, ["a", "b"], null_category=False, MO=dp.L1Distance[int])
    for records in (1, 3):
        for relation, rows in (("add_or_remove_one", records), ("replace_one", 2 * records)):
            plan = ReleasePlan.of(Experiment(relation=relation, contributions=records), DATA)
            assert plan.levels[1].sensitivity_l1 == counts.map(rows)


RACES = ("White", "Black", "", " ", "Martian", "(other)", "(blank)")
SEXES = ("M", "F", "", "X", " M", "e" + chr(0x301))
ROWS = [f"{race},{sex},{(3 * i + j) % 5},p{i * j}" for i, race in enumerate(RACES) for j, sex in enumerate(SEXES)]
FILE = "\n".join(["race,sex,rows,person", *ROWS]).encode()
NUMBERS = b"v\n0.1\n0.3\n0.7\n1\n0\n-1\n2\nx\n0.6\n0.30000000000000004\n1e-1\n 0.3 \n+0.2\nnan\ninf\n1_0\n.5\n"
CATEGORIES = (
    (("White", "Black"), ("M", "F")),
    (("White", "Black", "(blank)"), ("M", "F", "(blank)")),
    (("White", "(other)"), ("M", chr(0xE9), "(other)")),
    (("White", "(other)", "(blank)"), ("M", "(other)", "(blank)")),
)
PATHS = ("White,M\nWhite,F\nBlack,", "White,M\nWhite,(other)\nBlack,\n(other),", "White,M\nWhite,(blank)\nBlack,M")


def counted() -> dict[str, Dataset]:
    """Files counted in every way that a domain, blank cells, bounds, weights and units allow."""
    found = {}
    for missing in ("category", "other"):
        for i, lists in enumerate(CATEGORIES):
            found[f"values {i} {missing}"] = count_hierarchy(
                FILE, ["race", "sex"], domain=domain_of_values(lists), missing=missing
            )
        for i, paths in enumerate(PATHS):
            listed = domain_of_paths(b"race,sex\n" + paths.encode(), ["race", "sex"])
            found[f"paths {i} {missing}"] = count_hierarchy(FILE, ["race", "sex"], domain=listed, missing=missing)
    values = domain_of_values(CATEGORIES[0])
    found["weights"] = count_hierarchy(FILE, ["race", "sex"], domain=values, weight="rows")
    found["units"] = count_hierarchy(FILE, ["race", "sex"], domain=values, unit="person", contributions=2)
    for outside in ("other", "clamp"):
        for branching in (None, (2, 5)):
            found[f"bins {outside} {branching}"] = count_bins(
                NUMBERS, "v", lower=0, upper=1, n_bins=10, branching=branching, outside=outside
            )
        found[f"bins of unequal width {outside}"] = count_bins(
            NUMBERS, "v", edges=[0, 0.1, 0.3, 0.7, 1], branching=(2, 2), outside=outside
        )
    return found


COUNTED = counted()


@pytest.mark.parametrize("name", COUNTED)
def test_the_program_counts_what_counting_the_file_did(name: str, tmp_path: Path) -> None:
    """Also of labels that nothing lists, blank cells, numbers on and beyond edges, and rows beyond a unit's first."""
    data = COUNTED[name]
    plan = ReleasePlan.of(Experiment(relation="add_or_remove_one", contributions=2), data)
    content = records_of(plan, data)
    counts = held(plan, content, tmp_path)
    again = recount(ReleasePlan.from_json(plan.to_json()), NUMBERS if name.startswith("bins") else FILE)
    assert records_of(plan, again).splitlines()[0] == content.splitlines()[0]
    assert sorted(records_of(plan, again).splitlines()) == sorted(content.splitlines())
    at = {path: node for node, path in enumerate(data.labels.paths_of(np.arange(data.tree.n_nodes)))}
    for level, found in enumerate(counts):
        nodes = range(*data.tree.level(level).indices(data.tree.n_nodes))
        if not name.startswith("bins"):
            assert {path: data.counts[at[path]] for path in found} == found
        assert list(found.values()) == data.counts[nodes].tolist()


@pytest.mark.parametrize("own", [False, True])
def test_values_on_edges_are_handed_over_in_their_bins(own: bool, tmp_path: Path) -> None:
    """Seen failing: 19 of 140 values of a grid of pH lay one bin beside, in the program too."""
    content = ("pH\n" + "\n".join(f"{tenths // 10}.{tenths % 10}" for tenths in range(140))).encode()
    ends = (0, 5, 58, 61, 65, 140)
    how: Any = {"edges": [end / 10 for end in ends]} if own else {"lower": 0, "upper": 14, "n_bins": 140}
    data = count_bins(content, "pH", **how)
    plan = ReleasePlan.of(Experiment(), data)
    again = recount(ReleasePlan.from_json(plan.to_json()), content)
    expected = [b - a for a, b in pairwise(ends)] if own else [1] * 140
    assert list(held(plan, records_of(plan, again), tmp_path)[1].values()) == [*expected, 0]


def test_labels_that_are_bins_are_handed_over_by_their_labels(tmp_path: Path) -> None:
    """Seen failing: the program took them for numbers, and released all records in the last bin."""
    groups = {"[0, 5)": 7, "[5, 18)": 17, "[18, 65)": 61, "[65, 100)": 22}
    content = "\n".join(["age", *(f'"{label}"' for label, n in groups.items() for _ in range(n))]).encode()
    data = count_hierarchy(content, ["age"], domain=domain_of_values({"age": list(groups)}))
    bins = bins_of(data)
    assert bins.ends(1, 3) == (5.0, 65.0)
    plan = ReleasePlan.of(plan_cdf(CdfSettings(bins.n_bins, (2, 3), epsilon=1.0)), bins, counted=data)
    again = recount(ReleasePlan.from_json(plan.to_json()), content)
    assert list(held(plan, records_of(plan, again), tmp_path)[2].values()) == [*groups.values(), 0]


def test_bins_counted_as_a_tree_are_handed_over_by_their_labels(tmp_path: Path) -> None:
    """A plan of a tree over bins has one column, that of the file, whatever levels lie above the bins."""
    data = COUNTED["bins other (2, 5)"]
    plan = ReleasePlan.of(Experiment(), data)
    assert program(plan, tmp_path)["HEADER"][:-1] == ["v"]
    assert "public: 10 bins from 0 to 1 and one for all else" in plan.to_markdown()
    last = held(plan, records_of(plan, data), tmp_path)
    assert list(last[2].values()) == data.counts[data.tree.level(2)].tolist()
    assert last[1][("(other)",)] == data.counts[data.other_leaf]


@pytest.mark.parametrize("name", ["values 1 category", "values 2 category", "paths 2 other", "weights"])
def test_categories_in_a_row_are_handed_over_by_their_labels(name: str, tmp_path: Path) -> None:
    """The bins of a CDF may be leaves without numbers: the file has the columns of their labels."""
    data = COUNTED[name]
    bins = bins_of(data)
    plan = ReleasePlan.of(plan_cdf(CdfSettings(bins.n_bins, (3, 4), epsilon=1.0)), bins, counted=data)
    assert ReleasePlan.from_json(plan.to_json()) == plan
    assert "leaf" not in plan.to_markdown().partition("## Levels")[2].partition("##")[0]
    assert list(held(plan, records_of(plan, data), tmp_path)[2].values()) == bins.counts.tolist()


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (2, 3, 1, 0)])
def test_labels_that_look_like_intervals_keep_their_records(order: tuple[int, ...], tmp_path: Path) -> None:
    """Seen failing: their plan asked for numbers in equal bins, so that all records were released in the last one."""
    ages = {"[0, 5)": 7, "[5, 18)": 17, "[18, 65)": 61, "[65, 100)": 22}
    listed = [list(ages)[i] for i in order]
    file = ("age\n" + "".join(f'"{label}"\n' * n for label, n in ages.items())).encode()
    data = count_hierarchy(file, ["age"], domain=domain_of_values({"age": listed}))
    bins = bins_of(data)
    plan = ReleasePlan.of(plan_cdf(CdfSettings(bins.n_bins, (5,), epsilon=100.0)), bins, counted=data)
    prepared = records_of(plan, recount(plan, file))
    assert list(held(plan, prepared, tmp_path)[1].values()) == [*(ages[label] for label in listed), 0]
    found = {key[1]: round(value) for key, value in released(plan, prepared, tmp_path).items() if key[0] == "1"}
    assert found == ages | {"(other)": 0}


def test_bins_whose_leaves_a_plan_does_not_state_are_handed_over_to_nobody() -> None:
    data = COUNTED["values 1 category"]
    bins = bins_of(data)
    plan = ReleasePlan.of(plan_cdf(CdfSettings(bins.n_bins, (3, 4), epsilon=1.0)), bins, counted=data)
    assert plan.domain.bins is not None
    for without in (
        replace(plan.domain, categories=(), leaves=()),
        replace(plan.domain, leaves=(), bins=replace(plan.domain.bins, column="leaf, in its order", columns=())),
    ):
        with pytest.raises(InputError, match="which leaf"):
            opendp_program(replace(plan, domain=without))


def test_weights_that_the_plan_does_not_name_are_handed_over_to_nobody() -> None:
    plan = replace(ReleasePlan.of(Experiment(), COUNTED["weights"]), recipe=Recipe())
    for write in (opendp_program, tumult_program):
        with pytest.raises(InputError, match="does not name"):
            write(plan)


# ---- Tumult Analytics


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("law", LAWS)
def test_tumult_is_given_what_it_can_express_and_else_the_reason(law: str, relation: str) -> None:
    plan = ReleasePlan.of(Experiment(mechanism=law, relation=relation, delta=1e-6, contributions=2), DATA)
    able = law == "discrete_laplace" and relation != "replace_unknown"
    able |= law == "discrete_gaussian" and relation == "add_or_remove_one"
    if not able:
        with refuses("HANDOVER", "Tumult"):
            tumult_program(plan)
        return
    text = tumult_program(plan)
    ast.parse(text)
    assert f"AddMaxRows({4 if relation == 'replace_one' else 2})" in text
    assert ("CountMechanism.LAPLACE" in text.partition("def main")[2]) == (law == "discrete_laplace")
    assert repr(plan.levels[1].amount) in text


# ---- what is refused


def huge() -> ReleasePlan:
    table = plan_top_down((2000, 2000), 0.5)
    return ReleasePlan.of(table, made_up((2000, 2000), 50, 1))


def halved() -> ReleasePlan:
    """A plan as a file may have it that somebody has changed: one level has half the noise."""
    plan = ReleasePlan.of(Experiment(), DATA)
    levels = [replace(one, scale=one.scale / 2) if one.scale and at == 1 else one for at, one in enumerate(plan.levels)]
    return replace(plan, levels=tuple(levels))


REFUSED = {
    "a plan that does not hold": (halved, "does not hold"),
    "categories from the data": (lambda: ReleasePlan.of(Experiment(), FROM_DATA), "taken from the data"),
    "too many nodes": (huge, "cannot be measured"),
    "tuned on true counts": (
        lambda: ReleasePlan.of(Experiment(), DATA, tuned=Origin(PriorKind.TRUE_COUNTS)), "not private",
    ),
    "true errors": (lambda: ReleasePlan.of(Experiment(metric="rmsre"), DATA, reads_counts=True), "without them"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("write", [opendp_program, tumult_program])
def test_what_cannot_be_handed_over_is_refused_with_the_reason(name: str, write: Callable[..., str]) -> None:
    make, why = REFUSED[name]
    with pytest.raises(InputError, match=why):
        write(make())


def test_every_reason_names_a_control_that_its_page_has() -> None:
    """The pages' own texts say where: a label among the views of the page, or in the sidebar that all have."""
    reasons = [node for node in ast.walk(ast.parse((ROOT / "treedp_core/plans/handover.py").read_text("utf-8")))
               if isinstance(node, ast.Call) and ast.unparse(node.func) == "Reason"]  # fmt: skip
    assert len(reasons) > 12
    for one in reasons:
        page, control = (str(ast.literal_eval(word)) for word in one.args[1:])
        files = [
            *(ROOT / "pages/views").glob(f"{page}.py"),
            *(ROOT / "pages/views" / page).glob("*.py"),
            *(ROOT / "pages/ui").rglob("*.py"),
        ]
        assert any(f'"{control}"' in file.read_text("utf-8") for file in files), (page, control)


STEPLESS = {
    "shrink": (("shrink",), "Post-processing"), "nnls": (("non_negative_least_squares",), "Post-processing"),
    "pruned": (("pruned",), "Post-processing"), "late": (("non_negative", "least_squares"), "Post-processing"),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPLESS)
def test_post_processing_that_no_program_does_is_refused_and_leads_to_its_control(name: str) -> None:
    steps, control = STEPLESS[name]
    plan = replace(ReleasePlan.of(Experiment(), DATA), postprocess=steps)
    for library in LIBRARIES:
        assert control in {one.control for one in library.refusals(plan)}
        with refuses("HANDOVER"):
            library.write(plan)
    assert not LIBRARIES[0].refusals(replace(plan, postprocess=("least_squares", "non_negative")))


def test_a_program_holds_no_code_that_somebody_typed() -> None:
    evil = '"""\nimport os\nos.system("touch canary")\n$leaves ${columns}'
    tree = Tree.from_branching_factors((2,))
    labels = labels_of(tree, [np.array([0, 1])], [[evil, "'''"]], [evil])
    data = replace(DATA, tree=tree, labels=labels, counts=np.array([3, 2, 1]), name=evil)
    plan = ReleasePlan.of(Experiment(), data, whom=evil)
    for write in (opendp_program, tumult_program):
        calls = {ast.unparse(node.func) for node in ast.walk(ast.parse(write(plan))) if isinstance(node, ast.Call)}
        assert "os.system" not in calls


def test_what_is_not_covered_is_said() -> None:
    plan = ReleasePlan.of(Experiment(), DATA)
    told = " ".join(not_covered(plan))
    for part in ("Timing", "taken for granted", "Nothing enforces", "add up"):
        assert part in told
    assert "Timing" in opendp_program(plan)


CERTIFIED = [
    (law, steps, relation)
    for law in ("discrete_laplace", "discrete_gaussian")
    for steps in (("top_down_intopt",), ("least_squares", "top_down_water_filling"), ("real_then_round",))
    for relation in RELATIONS
]


@pytest.mark.parametrize(("law", "steps", "relation"), CERTIFIED)
def test_the_program_says_how_far_each_count_can_be_from_the_truth(
    law: str, steps: tuple[str, ...], relation: str, tmp_path: Path
) -> None:
    """In every file of twenty at ε = 0.5, of 95 % that do at least: false alarms below 1e-6 for 14 of 20."""
    data = data_of([20, 0, 1, 30, 0, 9])
    plan = ReleasePlan.of(Experiment(law, steps, delta=1e-6, epsilon=0.5, relation=relation), data)
    found = program(plan, tmp_path)
    noise, counts = found["measurements"](), found["counts_of"]
    (tmp_path / "records.csv").write_bytes(records_of(plan, data))
    found["read_records"].__globals__["PREPARED_FILE"] = str(tmp_path / "records.csv")
    truth, held_in = counts(found["read_records"]()), 0
    for _ in range(20):
        measured = [
            here if one is None else dict(zip(here, one(list(here.values())), strict=True))
            for one, here in zip(noise, truth, strict=True)
        ]
        released = found["finished"](measured)
        error = found["certified"](measured, released)
        held_in += all(
            abs(value - truth[level][path]) <= error[level][path]
            for level, here in enumerate(released)
            for path, value in here.items()
        )
        at = [(level, path) for level, here in enumerate(measured) for path in here]
        tree, ready = data.tree, replace_laws(plan)
        noisy, after = (np.array([one[level][path] for level, path in at]) for one in (measured, released))
        assert sorted(error[level][path] for level, path in at) == sorted(
            on_tree(ready, tree, noisy, after, 0.95, descends=False).nodes.tolist()  # type: ignore[union-attr]
        )
    assert held_in >= 14
    assert "Certificate" in dict(summary(plan))


def replace_laws(plan: ReleasePlan) -> Any:
    """What the core's certificate reads of a plan."""
    pure = plan.law is NoiseLaw.DISCRETE_LAPLACE
    scales = [one.scale for one in plan.levels]
    return SimpleNamespace(
        laws=[None if s is None else DiscreteLaplace(1 / s) if pure else DiscreteGaussian(s) for s in scales]
    )


def test_the_file_has_the_bound_beside_each_count_only_where_noise_is_whole_and_something_projects(
    tmp_path: Path,
) -> None:
    pytest.importorskip("opendp")
    data = data_of([20, 0, 1, 30, 0, 9])
    plan = ReleasePlan.of(Experiment(postprocess=("top_down_intopt",)), data)
    (tmp_path / "release.py").write_text(opendp_program(plan), encoding="utf-8")
    (tmp_path / "records.csv").write_bytes(records_of(plan, data))
    done = here(tmp_path, "release.py", "records.csv", "out.csv")
    assert done.returncode == 0, done.stderr
    header, root, *rows = csv.reader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
    assert header[-2:] == ["released", "error at most"] and root[-2:] == ["60", "0"]
    assert all(int(row[-1]) >= 0 and int(row[-2]) >= 0 for row in rows)
    for made in (Experiment(), Experiment("laplace", ("top_down_intopt",)), Experiment(postprocess=("non_negative",))):
        other = ReleasePlan.of(made, data)
        assert "error at most" not in opendp_program(other) and "Certificate" not in dict(summary(other))
