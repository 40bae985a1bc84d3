"""The code of every view: run in a fresh interpreter it gives the table and the figure that the view found.

So do the script and the notebook that are written of all of them together.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Hashable
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from browsing import ROOT
from contract_snippets import as_text
from oracles_pages import dataset
from sample_data.catalogue import count_sample
from treedp_core.checks import InputError
from treedp_core.notebook import Cell, Notebook
from treedp_core.notebook.code import call
from treedp_core.notebook.export.cell_summary import drawable, is_simulated
from treedp_core.notebook.export.ipynb import ipynb_of
from treedp_core.notebook.export.program import is_ours, slug
from treedp_core.notebook.export.report import report_of
from treedp_core.notebook.export.script import SHOWN, bundle_of, script_of
from treedp_core.notebook.file.archive import open_study, save
from treedp_core.notebook.study import Study, Table, counted_again
from treedp_core.records.export.columns import credited, labelled
from treedp_core.records.export.tables import csv_files
from treedp_core.tree import Tree
from treedp_core.views import VIEWS, Tables
from treedp_core.views.cells.rerun import Sources, TableInputs, made_up
from treedp_core.views.cells.view_call import ViewCall
from treedp_core.views.entries import Work
from treedp_core.watch import Watch

Link = dict[str, Any]
SMALL: Link = {"source": "generate", "gen_branching": "3,4", "gen_n": "1000"}
TOWN: Link = {"source": "sample", "sample": "small_town"}
COLUMN: Link = {"cdf_source": "current", "gen_branching": "12"}
ROWS: Link = {"td_source": "current", "td_trials": "2", "contributions": "2"}
KNOWN: Link = {"nbr": "replace_unknown", "known_levels": "2"}
EIGHTS: Link = {"gen_branching": "8,8,8"}
RUN: Link = {"delta": "1e-6", "alpha": "0.3", "eps": "4"}
MATRIX: Link = {"cdf_mechanism": "gaussian", "nbr": "add_or_remove_one"}
VISITS: list[tuple[str, Link]] = [
    ("data", TOWN), ("data", EIGHTS), ("consistency", EIGHTS), ("start", {}), ("lesson", {}),
    ("lab.epsilon", {"lab_mechanisms": ["laplace", "discrete_laplace"]}),
    ("lab.epsilon", {"lab_trials": "100", "eps": "0.3"}),
    ("lab.epsilon", {"lab_allocation": "custom", "lab_shares": "0, 0.5, 0.5", "nbr": "add_or_remove_one"}),
    ("lab.level", {"lab_trials": "100", "lab_post": ["none", "non_negative"]}),
    ("lab.n_levels", {"lab_metric": "rmsre", "lab_trials": "100"}),
    ("lab.draw", {"lab_post": ["least_squares_shrink"], "lab_level": "2"}),
    ("consistency", {"con_post": "least_squares", "con_mechanism": "laplace"}),
    ("consistency", {"con_post": "none", "sample": "mobility", "source": "sample"}),
    ("branching", {"bra_bins": "24", "bra_noise": "gaussian"}),
    ("branching", {"bra_bins": "100", "bra_noise": "gaussian", "bra_post": "least_squares", "bra_budgets": "optimal",
                   "bra_padded": "0", "delta": "1e-6", "bra_workload": "ranges"}),
    ("cdf.release", COLUMN | {"cdf_mechanism": "laplace", "cdf_fit": "absolute"}),
    ("cdf.release", {"cdf_source": "ages", "cdf_tree": "binary", "cdf_post": "0", "contributions": "2"}),
    ("cdf.release", {"cdf_tree": "root", "cdf_mechanism": "discrete_gaussian", "nbr": "add_or_remove_one"}),
    ("cdf.release", COLUMN | MATRIX | {"cdf_tree": "optimal", "cdf_for": "own", "cdf_ranges": "1-9, 4-12"}),
    ("cdf.release", COLUMN | {"cdf_tree": "identity", "cdf_mechanism": "laplace", "cdf_for": "ranges"}),
    ("cdf.release", {"cdf_tree": "partition", "cdf_mechanism": "laplace", "cdf_for": "bins",
                     "nbr": "add_or_remove_one"}),
    ("cdf.error", {"cdf_bins": "64", "contributions": "2"}), ("cdf.optimal", {"cdf_bins": "16"}),
    ("cdf.optimal", {"cdf_bins": "16", "cdf_wanted": "ranges"}),
    ("cdf.experiment", {"cdf_trials": "2"}), ("cdf.experiment", {}),
    ("multiplicative.run", RUN | {"mul_source": "small", "mul_clamp": "1"}),
    ("multiplicative.run", RUN | {"mul_source": "deep", "mul_plan": "paper"}),
    ("multiplicative.run", RUN | {"mul_source": "current", "mul_plan": "provable", "nbr": "add_or_remove_one"}),
    ("multiplicative.growth", {"mul_levels": "500", "mul_all": "1"}), ("multiplicative.meaning", {"mul_eta": "0.1"}),
    ("multiplicative.prefixes", {"mul_levels": "9"}),
    ("multiplicative.meaning", {"mul_thresholds": "500, 60"}),
    ("topdown", ROWS | {"gen_branching": "12", "td_marginals": "1"}),
    ("topdown", ROWS | KNOWN | {"td_product": "1", "td_rule": "ls_water_filling", "td_columns": ["2", "1"]}),
    ("topdown.sensitivity", ROWS | {"td_spread": "distinct"}),
    ("topdown.release", {"td_source": "trips"}), ("topdown.counts", {"td_source": "trips"}),
    ("topdown.release", {"td_source": "sparse", "td_sizes": "10^7", "td_records": "1000"}),
    ("budget.strategies", KNOWN | {"eps": "0.5"}),
    ("budget.strategies", {"bud_prior": "true", "bud_mechanism": "gaussian", "delta": "1e-6",
                           "nbr": "add_or_remove_one", "bud_least_squares": "0"}),
    ("budget.strategies", {"bud_prior": "public"}), ("budget.custom", {"bud_shares": "0, 0.25, 0.5"}),
    ("budget.custom", KNOWN), ("budget.map", KNOWN),
    ("budget.targets", {"bud_ask": "rmse", "bud_targets": "0, 10, 5"}),
    ("budget.targets", TOWN | {"bud_targets": "0, every:5"}), ("budget.map", {"bud_strategy": "greedy"}),
    ("budget.curves", {"bud_prior": "noisy"}),
    ("budget.curves", {"bud_of": "paper", "bud_height": "3", "bud_phases": "10"}),
    ("lesson.noise", {"step": "noise", "les_said": ["noise:2"]}),
    ("lesson.ranges", {"step": "ranges", "les_said": ["ranges:9"]}),
    ("lesson.card", {"step": "card", "les_said": ["gives.1:30"]}), ("ranges", {"ran_bins": "16", "eps": "2"}),
    ("protects", {"pro_mechanism": "discrete_gaussian", "delta": "1e-6", "pro_records": "2"}),
    ("protects", KNOWN), ("protects.bound", {"source": "sample", "sample": "flights"}),
    ("methods", {"met_claim": "boninsegna.7", "met_one": "postprocessors.least_squares"}),
    ("plan", {"plan_mechanism": "discrete_gaussian", "delta": "1e-6", "plan_true": "rmsre"}),
    ("plan", {"plan_mechanism": "thresholds", "plan_bound": "100000", "plan_rule": "provable"}),
    ("plan", {"nbr": "replace_unknown", "plan_allocation": "custom", "plan_shares": "0, 0.25, 0.5",
              "plan_tuned": "noisy epsilon 0.125 replace_unknown 1 1"}),
]  # fmt: skip
"""A view with all that stands under it, or all views of a page; and settings, as texts of a link."""
AS_READ_OFF = {"multiplicative.growth.crossings"}
"""Shown without what takes longer than all else together."""
WITHOUT_CODE = {"cdf.release.distance"}
"""A sentence."""
SOURCES = Sources(sample=cache(partial(call, count_sample)), made_up=cache(made_up))
DONE: dict[Hashable, Any] = {}
"""What took long, by what was asked of which tables."""


def looks(of: str, link: Link) -> dict[str, ViewCall]:
    """Views as they are called with such settings, what takes long of them included."""
    texts = {key: (one,) if isinstance(one, str) else tuple(one) for key, one in (SMALL | link).items()}
    chosen = TableInputs.of_texts(texts)
    data = SOURCES.sample(chosen.sample).named("data") if chosen.source == "sample" else SOURCES.made_up(
        chosen.shape, chosen.records, chosen.branching, chosen.seed)  # fmt: skip
    found = {}
    for name, entry in VIEWS.items():
        if not f"{name}.".startswith(f"{of}."):
            continue
        inputs, tables = SOURCES.of_view(entry, entry.inputs.of_texts(texts), data)
        try:
            work = None if entry.slow is None or name in AS_READ_OFF else entry.slow(inputs, tables.value)
            value = None if work is None else done(work, tables.value)
            finding = entry.found(inputs, tables.value, value)
        except InputError:  # a section of other settings
            continue
        found[name] = ViewCall(entry, inputs, tables, finding, work, value)
    return {name: one for name, one in found.items() if one.ran is not None}


def done(work: Work, tables: Tables) -> Any:
    """What came of what takes long, worked out once."""
    key = (work.function, work.question, *tables.fingerprints)
    if key not in DONE:
        DONE[key] = work.on(tables)(Watch())
    return DONE[key]


def cell(name: str, one: ViewCall, number: int, *own: Table) -> Cell:
    """What a view is kept as."""
    return one.cell(
        own, id=f"{number:016x}", name=name, page=one.entry.page, view=one.entry.view, settings=one.inputs.texts(),
        about=one.finding.provenance.line(), version="1",
    )  # fmt: skip


@pytest.fixture(scope="module")
def seen() -> list[dict[str, ViewCall]]:
    """Every visit."""
    return [looks(*one) for one in VISITS]


@pytest.fixture(scope="module")
def results(seen: list[dict[str, ViewCall]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Code -> what it gave in a fresh interpreter, in a folder that is not the project's."""
    codes = list(dict.fromkeys(code_of(one) for visit in seen for one in visit.values()))
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "contract_snippets.py")], input=json.dumps(codes), env=env,
        cwd=tmp_path_factory.mktemp("else"), capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(codes), done.stderr[-2000:]
    return dict(zip(codes, lines, strict=True))


def code_of(one: ViewCall) -> str:
    assert one.ran is not None
    return one.ran.snippet()


@pytest.mark.parametrize("number", range(len(VISITS)), ids=[f"{one}-{i}" for i, (one, _) in enumerate(VISITS)])
def test_code_gives_what_the_view_found(
    number: int, seen: list[dict[str, ViewCall]], results: dict[str, dict[str, str]]
) -> None:
    assert seen[number]
    for name, one in seen[number].items():
        code = code_of(one)
        gave = results[code]
        assert "error" not in gave, f"{name}\n{code}\n{gave.get('error')}"
        assert is_ours(code), f"no program may contain {code}"
        assert gave["csv"] == as_text(one.finding.table), f"{name}\n{code}"
        assert ("figure" in gave) == (one.finding.figure is not None), name
        if one.finding.figure is not None:
            shown = json.loads(one.finding.figure.figure().to_json())
            assert json.loads(gave["figure"])["data"] == shown["data"], f"{name}\n{code}"


OWN = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100], name="own.csv")


def test_a_cell_of_every_view_can_be_saved_and_opened_and_says_whether_it_holds_counts() -> None:
    texts, own = {"td_source": ("current",), "cdf_source": ("current",)}, Table("upload", OWN, None, datetime.now(UTC))
    kept = []
    for name, entry in VIEWS.items():
        inputs, tables = SOURCES.of_view(entry, entry.inputs.of_texts(texts), counted_again(OWN, None))
        try:
            found = ViewCall(entry, inputs, tables, entry.found(inputs, tables.value))
        except InputError:
            continue
        if found.ran is not None:
            kept.append(cell(name, found, len(kept), own))
    assert len(kept) > 60 and all(one.figure is not None or one.columns is not None for one in kept)
    assert [one.name for one in kept if "NOT PRIVATE" in one.badges and not one.holds_counts] == []
    content = save(Study(notebook=Notebook("n", tuple(kept)), version="1"), with_data=True)
    assert save(open_study(content), with_data=True) == content


def test_the_code_of_every_view_is_run(seen: list[dict[str, ViewCall]]) -> None:
    assert set(VIEWS) - set().union(*seen) == WITHOUT_CODE


def exported(seen: list[dict[str, ViewCall]]) -> tuple[list[Cell], dict[str, bytes]]:
    """The cell of every view that has another code, and the files that its table must be written to."""
    cells, files = list[Cell](), dict[str, bytes]()
    for visit in seen:
        for name, one in visit.items():
            kept = cell(name, one, len(cells))
            if kept.code in {other.code for other in cells if other.part == kept.part}:
                continue
            file = f"{len(cells) + 1}-{slug(name)}"
            cells.append(kept)
            marks = {"private": kept.is_private_only, "simulated": is_simulated(kept)}
            table = credited(one.finding.table, kept.credit)
            files |= csv_files(labelled(table, kept.label) if kept.label else table, file, **marks)
    return cells, files


def written(program: str, folder: Path, *arguments: str) -> dict[str, bytes]:
    """The files that a program writes when a fresh interpreter runs it in a folder that is not the project's."""
    (folder / "program.py").write_text(program, encoding="utf-8")
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "program.py", *arguments]
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {one.name: one.read_bytes() for one in (folder / "out").iterdir() if one.suffix == ".csv"}


def sources(cells: list[Cell]) -> list[str]:
    """The code cells of the notebook of cells."""
    parts = [one for one in json.loads(ipynb_of(cells, "All"))["cells"] if one["cell_type"] == "code"]
    assert [one["metadata"] for one in parts if one["metadata"]] == [{"tags": ["parameters"]}]
    return [one["source"] for one in parts]


@pytest.mark.contract
def test_the_notebook_of_all_figures_gives_their_tables(seen: list[dict[str, ViewCall]], tmp_path: Path) -> None:
    """Its code cells run one after another; what a reader sets comes after the cell tagged `parameters`."""
    cells, files = exported(seen)
    parts = sources(cells)
    assert written("\n".join([parts[0], "OUT = 'out'", *parts[1:]]), tmp_path) == files


def test_the_script_of_all_figures_is_the_notebook_that_prints_its_tables(seen: list[dict[str, ViewCall]]) -> None:
    """Statement by statement, but for how it begins and the figures, which it writes as pages."""
    cells, _ = exported(seen)
    prints, shows = (
        [one for one in map(ast.unparse, ast.parse(code).body) if not one.startswith(("OUT = ", "if OUT:", "figure"))]
        for code in (script_of(cells, "All"), "\n".join(sources(cells)))
    )
    begins = prints.index(SHOWN), shows.index(SHOWN)
    assert prints[: begins[0]] == ["import sys"] and len(shows) > 500
    paths = shows[: begins[1]]
    told = [f"print({one})" if one.startswith("shown(") else one for one in shows[begins[1] + 1 :]]
    assert prints[begins[0] + 1 :] == [*paths, *told]


def test_the_script_of_some_figures_gives_their_tables(seen: list[dict[str, ViewCall]], tmp_path: Path) -> None:
    """Of the first visit of each page but where it takes long."""
    first = {of.partition(".")[0]: one for (of, _), one in zip(reversed(VISITS), reversed(seen), strict=True)}
    cells, files = exported([one for page, one in first.items() if page not in ("budget", "methods", "multiplicative")])
    assert len(files) > 30 and written(script_of(cells, "All"), tmp_path, "out") == files


def test_a_copy_of_a_figure_says_nothing_of_what_to_do_on_its_page(seen: list[dict[str, ViewCall]]) -> None:
    """Where to click, what to drag; and of what moves in the browser, what its still shows."""
    cells, _ = exported(seen)
    asked = [one.part for one in cells if re.search(r"(?i)\b(click a|drag|press|arrow keys|slider)\b", one.caption)]
    assert asked == []
    ways = [one for one in cells if one.part == "ran_ranges_figure"]
    assert ways and all("how many bins" in one.caption and not one.is_private_only for one in ways)


def test_everything_of_all_figures_can_be_written(seen: list[dict[str, ViewCall]]) -> None:
    cells, _ = exported(seen)
    assert {cell.part for cell in cells} == {one.part for name, one in VIEWS.items() if name not in WITHOUT_CODE}
    notebook = json.loads(ipynb_of(cells, "All"))
    assert len({one["id"].rpartition("-")[2] for one in notebook["cells"] if one.get("outputs")}) == len(cells)
    report = report_of(cells, "All").decode()
    assert report.count("<section") == len(cells)
    drawn = [cell for cell in cells if drawable(cell) is not None]
    assert report.count('class="plot"') == len(drawn) > 40
    with zipfile.ZipFile(io.BytesIO(bundle_of(cells, "All"))) as archive:
        assert len(archive.namelist()) > len(cells)
