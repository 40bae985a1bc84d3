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
from treedp_core.records import count_bins
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
