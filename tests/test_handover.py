"""Programs that plans are handed over as: they run, their noise and loss are the plan's, and the rest is refused."""

from __future__ import annotations

import ast
import csv
import io
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from test_release_plans import DATA, FROM_DATA, LAWS, PLANS, RELATIONS, data_of
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.plans import NoiseLaw, ReleasePlan, not_covered, opendp_program, tumult_program
from treedp_core.plans.verify import cost
from treedp_core.privacy.origin import Origin, PriorKind
from treedp_core.records import (
    Dataset,
    Recipe,
    count_bins,
    count_hierarchy,
    domain_of_paths,
    domain_of_values,
)  # fmt: skip
from treedp_core.records.dataset import labels_of
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.cdf.bins import bins_of
from treedp_core.studies.topdown.plan import plan as plan_top_down
from treedp_core.studies.topdown.subject import made_up
from treedp_core.tree import Tree


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
    done = subprocess.run([sys.executable, str(path), "none.csv", "out.csv"], capture_output=True, text=True,
                          cwd=tmp_path, check=False)  # fmt: skip
    assert done.returncode != 0
    assert "more than the plan promises" in done.stderr


def released(plan: ReleasePlan, rows: list[dict[str, str]], folder: Path) -> dict[tuple[str, ...], float]:
    """What the program publishes of these records, by level and labels."""
    pytest.importorskip("opendp")
    (folder / "release.py").write_text(opendp_program(plan), encoding="utf-8")
    with open(folder / "records.csv", "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    subprocess.run([sys.executable, "release.py", "records.csv", "out.csv"], cwd=folder, check=True)
    with open(folder / "out.csv", encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))[1:]
    return {tuple(row[:-1]): float(row[-1]) for row in table}


def test_the_program_publishes_the_counts_of_every_node(tmp_path: Path) -> None:
    """At ε = 100 the noise of three levels is 0 but for a chance below e^-30."""
    data = data_of([2, 0, 1, 3, 0, 1])
    paths = [data.labels.path(int(leaf)) for leaf in data.tree.leaves for _ in range(int(data.counts[leaf]))]
    rows = [dict(zip(("column 1", "column 2"), path, strict=True)) for path in paths]
    rows.append({"column 1": "a7", "column 2": "b0"})  # nowhere in the domain
    plan = ReleasePlan.of(Experiment(epsilon=100.0), data)
    found = released(plan, rows, tmp_path)
    assert found[("0", "", "")] == 8
    expected = {("1", "a0", ""): 3, ("1", "a1", ""): 4,
                ("2", "a0", "b0"): 2, ("2", "a0", "b1"): 0, ("2", "a0", "b2"): 1,
                ("2", "a1", "b0"): 3, ("2", "a1", "b1"): 0, ("2", "a1", "b2"): 1}  # fmt: skip
    assert {key: value for key, value in found.items() if key[0] != "0"} == expected


def test_the_program_counts_the_bins_of_a_number(tmp_path: Path) -> None:
    column = b"age\n" + b"\n".join(b"%d" % age for age in (0, 9, 10, 39, 40, 25)) + b"\n"
    data = count_bins(io.BytesIO(column), "age", lower=0, upper=40, n_bins=4, branching=(2, 2))
    plan = ReleasePlan.of(plan_cdf(CdfSettings(5, (2, 3), epsilon=100.0)), bins_of(data), counted=data)
    rows = [{"age": text} for text in ("0", "9", "10", "39", "40", "25", "99", "none")]
    found = released(plan, rows, tmp_path)
    bins = [("0", "0"), ("0", "1"), ("0", "2"), ("1", "0"), ("1", "1")]
    assert [found[("2", *path)] for path in bins] == [2, 1, 1, 2, 2]  # the last is "(other)"
    assert found[("1", "0", "")] == 4


def test_a_long_domain_comes_from_a_file_that_is_checked(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    plan = ReleasePlan.of(Experiment(), DATA)
    long = replace(plan, domain=replace(plan.domain, categories=()))
    (tmp_path / "release.py").write_text(opendp_program(long), encoding="utf-8")
    (tmp_path / "records.csv").write_text("column 1,column 2\na0,b1\n", encoding="utf-8")
    paths = [",".join(DATA.labels.path(int(leaf))) for leaf in DATA.tree.leaves]
    for lines, works in ((paths, True), (paths[1:], False)):
        (tmp_path / "domain.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        done = subprocess.run([sys.executable, "release.py", "records.csv", "out.csv", "domain.csv"], cwd=tmp_path,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode == 0) == works, done.stderr


def test_a_file_that_is_none_ends_the_program_with_a_sentence(tmp_path: Path) -> None:
    """Seen failing: Python's own words, with a path of the program in them."""
    pytest.importorskip("opendp")
    weighted = count_hierarchy(
        io.BytesIO(b"town,n\na,2\nb,3\n"), ["town"], weight="n", domain=domain_of_values({"town": ["a", "b"]}),
        outside="refuse",
    )  # fmt: skip
    plan = ReleasePlan.of(Experiment(), weighted)
    (tmp_path / "release.py").write_text(opendp_program(plan), encoding="utf-8")
    long = replace(plan, domain=replace(plan.domain, categories=()))
    (tmp_path / "long.py").write_text(opendp_program(long), encoding="utf-8")
    for name, content in (
        ("good", b"town,n\na,2\n"), ("empty", b""), ("words", b"town,n\na,many\n"), ("short", b"town,n\na\n"),
        ("latin", "town,n\na,2\nÄ,2\n".encode("latin-1")), ("less", b"town,n\na,-4\n"), ("signs", b"town,n\na,1_0\n"),
    ):  # fmt: skip
        (tmp_path / f"{name}.csv").write_bytes(content)
    for given, said in (
        (("release.py", "none.csv", "out.csv"), "The file of records cannot be read: none.csv."),
        (("release.py", "empty.csv", "out.csv"), "got none called town."),
        (("release.py", "words.csv", "out.csv"), "whole numbers of records in line 2 of"),
        (("release.py", "short.csv", "out.csv"), "whole numbers of records in line 2 of"),
        (("release.py", "less.csv", "out.csv"), "whole numbers of records in line 2 of"),
        (("release.py", "signs.csv", "out.csv"), "whole numbers of records in line 2 of"),
        (("release.py", "latin.csv", "out.csv"), "Expected UTF-8"),
        (("long.py", "good.csv", "out.csv", "latin.csv"), "does not list the leaves"),
        (("release.py", "good.csv", "no/out.csv"), "The file of what is released cannot be written: no/out.csv."),
        (("long.py",), "The file of leaves cannot be read: none is named."),
    ):
        done = subprocess.run([sys.executable, *given], cwd=tmp_path, capture_output=True, text=True, check=False)
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
    return found


COUNTED = counted()


@pytest.mark.parametrize("name", COUNTED)
def test_the_program_finds_the_leaf_that_counting_the_file_found(name: str, tmp_path: Path) -> None:
    """Also of labels that nothing lists, blank cells, numbers on and beyond edges, and rows beyond a unit's first."""
    data = COUNTED[name]
    plan = ReleasePlan.of(Experiment(relation="add_or_remove_one", contributions=2), data)
    found = program(plan, tmp_path)
    (tmp_path / "records.csv").write_bytes(NUMBERS if name.startswith("bins") else FILE)
    found["read_records"].__globals__["RECORDS_FILE"] = str(tmp_path / "records.csv")
    counts = found["counts_of"](found["read_records"]())
    at = {path: node for node, path in enumerate(data.labels.paths_of(np.arange(data.tree.n_nodes)))}
    for level, here in enumerate(counts):
        nodes = range(*data.tree.level(level).indices(data.tree.n_nodes))
        if not name.startswith("bins"):
            assert {path: data.counts[at[path]] for path in here} == here
        assert sorted(here.values()) == sorted(data.counts[nodes].tolist())
        assert len(here) == len(nodes)


def test_bins_counted_as_a_tree_are_handed_over_by_their_numbers(tmp_path: Path) -> None:
    """A plan of a tree over bins asks for the column of the file, not for columns of intervals."""
    data = COUNTED["bins other (2, 5)"]
    found = program(ReleasePlan.of(Experiment(), data), tmp_path)
    assert found["BINNED"] == "v"
    assert "public: 10 bins from 0 to 1 and one for all else" in ReleasePlan.of(Experiment(), data).to_markdown()
    (tmp_path / "records.csv").write_bytes(NUMBERS)
    found["read_records"].__globals__["RECORDS_FILE"] = str(tmp_path / "records.csv")
    last = found["counts_of"](found["read_records"]())
    assert list(last[2].values()) == data.counts[data.tree.level(2)].tolist()
    assert last[1][("(other)",)] == data.counts[data.other_leaf]


@pytest.mark.parametrize("name", ["values 1 category", "values 2 category", "paths 2 other", "weights"])
def test_categories_in_a_row_are_handed_over_by_their_labels(name: str, tmp_path: Path) -> None:
    """The bins of a CDF may be leaves without numbers: the program asks for the columns that the file has."""
    data = COUNTED[name]
    bins = bins_of(data)
    plan = ReleasePlan.of(plan_cdf(CdfSettings(bins.n_bins, (3, 4), epsilon=1.0)), bins, counted=data)
    assert ReleasePlan.from_json(plan.to_json()) == plan
    assert "leaf" not in plan.to_markdown().partition("## Levels")[2].partition("##")[0]
    found = program(plan, tmp_path)
    (tmp_path / "records.csv").write_bytes(FILE)
    found["read_records"].__globals__["RECORDS_FILE"] = str(tmp_path / "records.csv")
    assert list(found["counts_of"](found["read_records"]())[2].values()) == bins.counts.tolist()
    (tmp_path / "records.csv").write_text("race,weight\nWhite,1\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="none called sex"):
        found["read_records"]()


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


def test_a_file_without_the_columns_is_refused_by_name(tmp_path: Path) -> None:
    found = program(ReleasePlan.of(Experiment(), COUNTED["weights"]), tmp_path)
    (tmp_path / "records.csv").write_text("race,sex\nWhite,M\n", encoding="utf-8")
    found["read_records"].__globals__["RECORDS_FILE"] = str(tmp_path / "records.csv")
    with pytest.raises(SystemExit, match="none called rows"):
        found["read_records"]()


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
        with pytest.raises(InputError, match="Tumult") as refused:
            tumult_program(plan)
        assert refused.value.code == "HANDOVER"
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
