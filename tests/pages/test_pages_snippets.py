"""The code beside every figure: run in a fresh interpreter it gives the table that the figure's Data button offers.

So do the script and the notebook that are written of all figures together.
"""

from __future__ import annotations

import ast
import importlib
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from browsing import ROOT
from contract_snippets import as_text
from oracles_pages import Inline, WorkersHere, open_page, press
from pages.ui.figure import export_dialog, frame
from pages.ui.jobs import jobs
from pages.ui.notebook import pins
from pages.ui.notebook.pins import what_of
from treedp_core.notebook import Cell
from treedp_core.notebook.export.cell_summary import drawable, is_simulated
from treedp_core.notebook.export.ipynb import ipynb_of
from treedp_core.notebook.export.program import is_ours, slug
from treedp_core.notebook.export.report import report_of
from treedp_core.notebook.export.script import SHOWN, bundle_of, script_of
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records.export.columns import labelled
from treedp_core.records.export.tables import IN_NAMES, csv_files
from treedp_core.views import VIEWS, Finding

REFUSED = ("ALPHA_RANGE",)
"""What a visit may be refused: the figure stands all the same."""
FRAMES = {"figure", "live", "table", "footer"}
FILES = {"td_contingency", "td_records"}
"""What has a code but is a file, not a figure."""
SMALL: dict[str, Any] = {"source": "generate", "gen_branching": "3,4", "gen_n": "1000"}


BRANCHING = {"bra_live", "bra_ranking", "bra_heights", "bra_checks"}
CDF = {"cdf_release", "cdf_errors", "cdf_range", "cdf_quantiles"}
PLANNED = {"td_before", "td_after", "td_levels", "td_one_level", "td_bound", "td_wrong", "td_bias"}
RELEASE = {"td_rows", *PLANNED}
CONSISTENCY = {"con_figure", "con_boxes", "con_levels"}
STRATEGIES = {"bud_strategies", "bud_levels", "bud_steps"}
VISITS: list[tuple[str, dict[str, Any], tuple[str, ...], set[str]]] = [
    ("data", {"source": "sample", "sample": "small_town"}, (), {"tree_0"}),
    ("data", {"gen_branching": "8,8,8"}, (), {"tree_0", "strips"}),
    ("consistency", {"gen_branching": "8,8,8"}, ("+con_strips",),
     {*CONSISTENCY, "con_strips_before", "con_strips_after"}),
    ("start", {}, (), {"start_tree", "start_beliefs", "start_ranges_figure", "start_curves"}),
    ("lab", {"lab_mechanisms": ["laplace", "discrete_laplace"]}, (), {"lab_figure"}),
    ("lab", {"lab_view": "level", "lab_trials": "100", "lab_post": ["none", "non_negative"]}, ("lab_run",),
     {"lab_figure"}),
    ("lab", {"lab_view": "n_levels", "lab_metric": "rmsre", "lab_trials": "100"}, ("lab_run",), {"lab_figure"}),
    ("lab", {"lab_trials": "100", "eps": "0.3"}, ("lab_run",), {"lab_figure"}),
    ("lab", {"lab_view": "draw", "lab_post": ["least_squares_shrink"], "lab_level": "2"}, (), {"lab_draw"}),
    ("lab", {"lab_allocation": "custom", "lab_shares": "0, 0.5, 0.5", "nbr": "add_or_remove_one"}, (), {"lab_figure"}),
    ("consistency", {"con_post": "least_squares", "con_mechanism": "laplace"}, (), CONSISTENCY),
    ("consistency", {"con_post": "none", "sample": "mobility", "source": "sample"}, (), CONSISTENCY),
    ("branching", {"bra_bins": "2^11"}, (), BRANCHING),
    ("branching", {"bra_bins": "24", "bra_noise": "gaussian"}, (), BRANCHING | {"bra_matrices"}),
    ("branching", {"bra_bins": "100", "bra_noise": "gaussian", "bra_post": "least_squares", "bra_budgets": "optimal",
                   "bra_padded": "0", "delta": "1e-6", "bra_workload": "range"}, (), BRANCHING),
    ("cdf", {"cdf_source": "current", "cdf_mechanism": "laplace", "cdf_fit": "absolute"}, (), CDF),
    ("cdf", {"cdf_source": "ages", "cdf_tree": "binary", "cdf_post": "0", "contributions": "2"}, (), CDF),
    ("cdf", {"cdf_source": "current", "nbr": "add_or_remove_one"}, (), CDF),
    ("cdf", {"cdf_tree": "root", "cdf_mechanism": "discrete_gaussian", "nbr": "add_or_remove_one"}, (),
     CDF | {"cdf_ledger"}),
    ("cdf", {"cdf_source": "current", "cdf_tree": "optimal", "cdf_mechanism": "gaussian", "cdf_for": "own",
             "cdf_ranges": "1-9, 4-12"}, (), CDF | {"cdf_ledger", "cdf_own"}),
    ("cdf", {"cdf_source": "current", "cdf_tree": "identity", "cdf_mechanism": "laplace", "cdf_for": "ranges"}, (),
     CDF | {"cdf_ledger"}),
    ("cdf", {"cdf_tree": "partition", "cdf_mechanism": "laplace", "cdf_for": "bins", "nbr": "add_or_remove_one"}, (),
     CDF | {"cdf_ledger", "cdf_when", "cdf_dawa"}),
    ("cdf", {"cdf_view": "error", "cdf_bins": "64", "contributions": "2"}, (),
     {"cdf_error", "cdf_error_at", "cdf_baselines"}),
    ("cdf", {"cdf_view": "optimal", "cdf_bins": "16"}, (), {"cdf_optimal"}),
    ("cdf", {"cdf_view": "experiment", "cdf_trials": "2"}, (), {"cdf_gains", "cdf_experiment"}),
    ("cdf", {"cdf_view": "experiment"}, (), {"cdf_gains", "cdf_experiment"}),
    *(("multiplicative", {"mul_view": "run", "delta": "1e-6", "alpha": "0.3", "eps": "4"} | more, (),
       {"mul_tree", "mul_against", "mul_summary"})
      for more in ({"mul_source": "small", "mul_clamp": "1"}, {"mul_source": "deep", "mul_plan": "paper"},
                   {"mul_source": "current", "mul_plan": "provable", "nbr": "add_or_remove_one"})),
    ("multiplicative", {"mul_view": "growth", "mul_levels": "500"}, (), {"mul_growth", "mul_ranking", "mul_crossings"}),
    ("multiplicative", {"mul_view": "growth", "mul_all": "1"}, (),
     {"mul_growth", "mul_ranking", "mul_bounds", "mul_crossings"}),
    ("multiplicative", {"mul_view": "meaning", "mul_eta": "0.1"}, (), {"mul_kept", "mul_accuracy", "mul_schedule"}),
    ("topdown", {"td_source": "trips"}, (), RELEASE),
    ("topdown", {"td_source": "current", "td_rule": "ls_water_filling", "nbr": "replace_unknown", "known_levels": "2",
                 "td_columns": ["2", "1"], "contributions": "2"}, (), RELEASE),
    ("topdown", {"td_source": "sparse", "td_sizes": "10^7", "td_records": "1000"}, (), RELEASE - {"td_before"}),
    ("topdown", {"td_source": "current", "td_view": "rules", "td_trials": "2", "td_more": "marginals",
                 "td_marginals": "1"}, ("td_rules_run",), {"td_rules_dots", "td_rules_bias", "td_marginal_errors"}),
    ("topdown", {"td_source": "current", "td_more": "orders", "td_trials": "2"}, ("td_orders_run",),
     {"td_rows", "td_orders_dots"}),
    ("topdown", {"td_source": "current", "td_more": "accounting", "contributions": "2"}, (),
     {"td_rows", "td_epsilon", "td_extra", "td_relations"}),
    ("topdown", {"td_more": "sensitivity", "contributions": "2", "td_spread": "distinct"}, (),
     {"td_rows", "td_sensitivity"}),
    ("topdown", {"td_source": "trips", "td_view": "counts", "td_more": "records"}, (),
     {"td_pairs", "td_contingency", "td_records"}),
    ("budget", {"bud_view": "strategies", "eps": "0.5", "nbr": "replace_unknown", "known_levels": "2"}, (),
     STRATEGIES | {"bud_api", "bud_api_room"}),
    ("budget", {"bud_view": "strategies", "bud_prior": "true", "bud_mechanism": "gaussian", "delta": "1e-6",
                "nbr": "add_or_remove_one", "bud_least_squares": "0"}, (), STRATEGIES),
    ("budget", {"bud_view": "strategies", "bud_prior": "public"}, (), STRATEGIES - {"bud_steps"}),
    ("budget", {"bud_view": "custom", "bud_shares": "0, 0.25, 0.5"}, (), {"bud_custom"}),
    ("budget", {"bud_view": "targets", "bud_ask": "rmse", "bud_targets": "0, 10, 5"}, (), {"bud_targets_split"}),
    ("budget", {"bud_view": "targets", "source": "sample", "sample": "small_town", "bud_targets": "0, every:5"}, (),
     {"bud_targets_split"}),
    ("lesson", {"step": "noise", "les_said": ["noise:2"]}, (), {"les_noise_run", "les_beliefs"}),
    ("lesson", {"step": "ranges", "les_said": ["ranges:9"]}, (), {"les_ranges_run", "les_ranges_figure"}),
    ("lesson", {"step": "tree"}, (), {"les_tree"}),
    ("lesson", {"step": "card", "les_said": ["gives.1:30"]}, (), {"les_card"}),
    ("ranges", {"ran_bins": "16", "eps": "2"}, (), {"ran_ranges_figure"}),
    ("protects", {"pro_mechanism": "discrete_gaussian", "delta": "1e-6", "pro_records": "2"}, (),
     {"pro_beliefs", "pro_persons"}),
    ("protects", {"pro_view": "tests", "nbr": "replace_unknown", "known_levels": "2"}, (),
     {"pro_tests", "pro_persons"}),
    ("methods", {"met_view": "papers", "met_claim": "boninsegna.7"}, (), {"met_ratios", "met_claims"}),
    ("methods", {"met_one": "postprocessors.least_squares"}, ("met_check_run",),
     {"met_compared", "met_kind_table", "met_checked"}),
    ("methods", {"met_view": "glossary"}, (), {"met_glossary"}),
    ("methods", {"met_view": "papers", "met_shown": "growth"}, (), {"met_growth", "met_claims"}),
    ("plan", {"plan_mechanism": "discrete_gaussian", "delta": "1e-6", "plan_true": "rmsre"}, (), {"plan_levels"}),
    ("plan", {"plan_view": "handover", "nbr": "replace_unknown", "plan_allocation": "custom",
              "plan_shares": "0, 0.25, 0.5", "plan_tuned": "noisy epsilon 0.125 replace_unknown 1 1"}, (),
     {"plan_spending"}),
    ("cdf", {"cdf_source": "current", "cdf_mechanism": "laplace"}, ("cdf_plan",), {"plan_levels", *CDF}),
    ("topdown", {"td_source": "current", "contributions": "2"}, ("td_plan",), {"plan_levels", *RELEASE}),
    ("budget", {"bud_view": "strategies", "eps": "0.5"}, ("bud_plan",), {"plan_levels", *STRATEGIES}),
    ("budget", {"bud_view": "map", "bud_strategy": "greedy"}, (), {"bud_map", "bud_useful"}),
    ("budget", {"bud_view": "curves", "bud_prior": "noisy"}, (), {"bud_curves"}),
    ("budget", {"bud_view": "curves", "bud_of": "paper", "bud_height": "3", "bud_phases": "10"}, (), {"bud_curves"}),
]  # fmt: skip
WITHOUT_CODE = {"cdf_distance"}
"""A look at rows of a file that is not counted yet; a sentence."""


@dataclass
class Seen:
    """What one visit showed: the code of each footer, the table of its Data button, and what the code gave."""

    refused: list[str]
    codes: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    without_code: set[str] = field(default_factory=set)
    values: dict[str, Any] = field(default_factory=dict)
    cells: dict[str, Cell] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    results: dict[str, dict[str, str]] = field(default_factory=dict)


def visit(mine: jobs.Jobs, page: str, link: dict[str, Any], buttons: tuple[str, ...]) -> Seen:
    """Open a page, press buttons (open what begins with a plus), and note every footer."""
    found, footer, code = Seen([]), frame.footer, frame.code_popover

    def watched(key: str, ran: Any, label: str = "") -> None:
        found.codes[key] = ran.snippet()
        found.tables[key] = as_text(ran.value)
        found.values[key] = ran.value
        code(key, ran, label)

    def footed(seen: Any, *, has_code: bool = True, **more: Any) -> None:
        found.without_code |= {seen.entry.part} if seen.finding.is_empty or not has_code else set()
        footer(seen, has_code=has_code, **more)

    def left(seen: Any) -> None:
        if not seen.finding.is_empty:
            found.cells[seen.entry.part] = pins.cell_of(seen, "0" * 16, seen.entry.part)

    def saved(label: str, write: Callable[[], bytes], *, name: str, key: str, **more: Any) -> None:
        found.files[key.removesuffix("_csv")] = name, write()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "jobs", lambda: mine)
        patch.setattr(jobs, "pool", Inline)
        patch.setattr(jobs, "WORKERS", WorkersHere())
        patch.setattr(frame, "footer", footed)
        patch.setattr(frame, "code_popover", watched)
        patch.setattr(frame, "download", saved)
        patch.setattr(export_dialog, "button", left)
        app = open_page(page, **{**SMALL, **link})
        for button in buttons:
            if button.startswith("+"):
                app.session_state[button[1:]] = True
                app.run()
            else:
                press(app, button)
    refused = [one for one in app.main.error if "Something went wrong" in one.value or ":small[`" in one.value]
    found.refused = [str(one.value) for one in (*app.exception, *refused)]
    return found


def run_all(codes: list[str], folder: Path) -> list[dict[str, str]]:
    """Run code in a fresh interpreter, in a folder that is not the project's."""
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "contract_snippets.py")], input=json.dumps(codes), env=env, cwd=folder,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(codes), done.stderr[-2000:]
    return lines


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> list[Seen]:
    """Every visit, as those of one session, and all of their code run in one fresh interpreter."""
    mine = jobs.Jobs()
    visits = [visit(mine, page, link, buttons) for page, link, buttons, _ in VISITS]
    codes = list(dict.fromkeys(code for one in visits for code in one.codes.values()))
    results = dict(zip(codes, run_all(codes, tmp_path_factory.mktemp("else")), strict=True))
    for one in visits:
        one.results = {key: results[code] for key, code in one.codes.items()}
    return visits


@pytest.mark.parametrize("number", range(len(VISITS)), ids=[f"{one[0]}-{i}" for i, one in enumerate(VISITS)])
def test_code_gives_the_table_beside_it(number: int, seen: list[Seen]) -> None:
    mine, keys = seen[number], VISITS[number][3]
    assert not [one for one in mine.refused if not any(code in one for code in REFUSED)]
    assert set(mine.codes) == keys
    assert mine.without_code <= WITHOUT_CODE
    for key, result in mine.results.items():
        assert "error" not in result, f"{key}\n{mine.codes[key]}\n{result.get('error')}"
        assert is_ours(mine.codes[key]), f"no program may contain {mine.codes[key]}"
        assert result["csv"] == mine.tables[key], f"{key}\n{mine.codes[key]}"
        if "figure" in result:
            drawn, shown = json.loads(result["figure"]), mine.cells[key].figure
            assert shown is not None
            assert drawn["data"] == shown["data"], f"{key}\n{mine.codes[key]}"
    assert {key for key, result in mine.results.items() if "figure" in result} == {
        key for key in keys if key in mine.cells and mine.cells[key].figure is not None
    }


def keys_of_views() -> dict[str, str]:
    """Every key that a view gives a figure, a table or a footer, with the file that does; what varies in it is a *."""
    found = {}
    for path in sorted((ROOT / "pages" / "views").rglob("*.py")):
        for one in ast.walk(ast.parse(path.read_text())):
            name = getattr(one, "func", None)
            if isinstance(one, ast.Call) and getattr(name, "attr", getattr(name, "id", "")) in FRAMES:
                given = [word.value for word in one.keywords if word.arg == "key"] or one.args[:1]
                found |= dict.fromkeys(map(written_key, given), str(path.relative_to(ROOT)))
    return found


def written_key(node: ast.expr) -> str:
    """A key as it is written down."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(str(one.value) if isinstance(one, ast.Constant) else "*" for one in parts)


def test_the_code_of_every_figure_of_every_view_is_run(seen: list[Seen]) -> None:
    """A key that is a variable is that of a function whose callers name it; a view with several parts is run once."""
    run = {key for one in seen for key in one.results}
    parts: dict[Callable[..., Finding], set[str]] = {}
    for one in VIEWS.values():
        parts.setdefault(one.find, set()).add(one.part)
    not_run = {min(of) for of in parts.values() if not of & run}
    assert len(parts) > 50
    not_run |= {key for key in keys_of_views() if key != "*" and not any(fnmatch(one, key) for one in run)}
    assert not_run == WITHOUT_CODE


def test_the_name_of_a_file_of_numbers_says_what_they_are_of_and_whether_they_are_private(seen: list[Seen]) -> None:
    pages = {page: slug(names_of(f"pages/{page}.py")) for page, *_ in VISITS}
    for (page, *_), one in zip(VISITS, seen, strict=True):
        for key, (name, content) in one.files.items():
            assert name.startswith(("treedp-", f"treedp-{IN_NAMES}-"))
            assert not what_of(key) or slug(what_of(key))[:20] in name
            assert pages["plan" if key == "plan_levels" else page] in name, "as a picture of it is called"
            is_private = any(NOT_PRIVATE in head or IN_NAMES in file for file, head in heads(name, content).items())
            assert (IN_NAMES in name) >= is_private, f"{page} {name}"
            released = [file for file in heads(name, content) if file.endswith(("-simulated.csv", "-released.csv"))]
            assert not any(IN_NAMES in file for file in released)
        names = [name for name, _ in one.files.values()]
        assert len(set(names)) == len(names), "figures of one view have files of their own"
    assert {IN_NAMES in name for one in seen for name, _ in one.files.values()} == {True, False}


def names_of(path: str) -> str:
    """The title of a page."""
    return str(importlib.import_module(path.removesuffix(".py").replace("/", ".")).PAGE.title)


def heads(name: str, content: bytes) -> dict[str, str]:
    """The first lines of a table, or of those in an archive, by the names of the files."""
    if not name.endswith(".zip"):
        return {name: content.decode("utf-8-sig").partition("\n")[0]}
    with zipfile.ZipFile(io.BytesIO(content)) as files:
        return {one: files.read(one).decode("utf-8-sig").partition("\n")[0] for one in files.namelist()}


def exported(seen: list[Seen]) -> tuple[list[Cell], dict[str, bytes]]:
    """The cell of every figure that has another code, and the files that its table must be written to."""
    cells, files = list[Cell](), dict[str, bytes]()
    for one in seen:
        for key, cell in one.cells.items():
            if cell.code in {other.code for other in cells if cell.code and other.part == key}:
                continue
            name = f"{len(cells) + 1}-{slug(key)}"
            cells.append(replace(cell, id=f"{len(cells):016x}"))
            if key in one.codes:
                value = one.values[key]
                marks = {"private": cell.is_private_only, "simulated": is_simulated(cell)}
                table = labelled(value, cell.label) if cell.label and not isinstance(value, bytes) else value
                ending = f"-{IN_NAMES}.csv" if cell.is_private_only else ".csv"
                files |= {name + ending: value} if isinstance(value, bytes) else csv_files(table, name, **marks)
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
def test_the_notebook_of_all_figures_gives_their_tables(seen: list[Seen], tmp_path: Path) -> None:
    """Its code cells run one after another; what a reader sets comes after the cell tagged `parameters`."""
    cells, files = exported(seen)
    parts = sources(cells)
    assert written("\n".join([parts[0], "OUT = 'out'", *parts[1:]]), tmp_path) == files


def test_the_script_of_all_figures_is_the_notebook_that_prints_its_tables(seen: list[Seen]) -> None:
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


def test_the_script_of_some_figures_gives_their_tables(seen: list[Seen], tmp_path: Path) -> None:
    """Of the first visit of each page."""
    first = {page: one for (page, *_), one in zip(reversed(VISITS), reversed(seen), strict=True)}
    cells, files = exported(list(first.values()))
    assert len(files) > 30 and written(script_of(cells, "All"), tmp_path, "out") == files


def test_a_copy_of_a_figure_says_nothing_of_what_to_do_on_its_page(seen: list[Seen]) -> None:
    """Where to click, what to drag; and of what moves in the browser, what its still shows."""
    cells, _ = exported(seen)
    asked = [one.part for one in cells if re.search(r"(?i)\b(click a|drag|press|arrow keys|slider)\b", one.caption)]
    assert asked == []
    ways = [one for one in cells if one.part == "ran_ranges_figure"]
    assert ways and all("how many bins" in one.caption and not one.is_private_only for one in ways)


def test_everything_of_all_figures_can_be_written(seen: list[Seen]) -> None:
    cells, _ = exported(seen)
    names = {cell.part for cell in cells}
    assert names >= set().union(*(keys for *_, keys in VISITS)) - FILES
    notebook = json.loads(ipynb_of(cells, "All"))
    assert len({one["id"].rpartition("-")[2] for one in notebook["cells"] if one.get("outputs")}) == len(cells)
    report = report_of(cells, "All").decode()
    assert report.count("<section") == len(cells)
    drawn = [cell for cell in cells if drawable(cell) is not None]
    assert report.count('class="plot"') == len(drawn) > 40
    with zipfile.ZipFile(io.BytesIO(bundle_of(cells, "All"))) as archive:
        assert len(archive.namelist()) > len(cells)
