"""Published records: every copy of what was found in them says their source, date and licence."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from sample_data.catalogue import SAMPLES, count_sample
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.notebook import Cell, Notebook
from treedp_core.notebook.code import call
from treedp_core.notebook.export.ipynb import ipynb_of
from treedp_core.notebook.export.program import is_ours
from treedp_core.notebook.export.report import report_of
from treedp_core.notebook.export.script import files_of, script_of
from treedp_core.notebook.file.archive import open_study, save
from treedp_core.notebook.study import Study
from treedp_core.plans import LIBRARIES, ReleasePlan
from treedp_core.privacy import Provenance
from treedp_core.records.export import synthetic
from treedp_core.studies.topdown import tables as topdown_tables
from treedp_core.studies.topdown import tree_as_it_is
from treedp_core.views import VIEWS
from treedp_core.views.cells.rerun import Sources, counted_sample, rerun_of
from treedp_core.views.cells.view_call import ViewCall
from treedp_core.views.finding import Tables

PUBLISHED = [name for name, one in SAMPLES.items() if not one.is_synthetic]
EVERY = pytest.mark.parametrize("name", PUBLISHED)


def cell_of(name: str, view: str = "lab.epsilon") -> Cell:
    entry = VIEWS[view]
    inputs = entry.inputs()
    tables = call(Tables, counted_sample(count_sample(name), count_sample, name)).named("tables")
    called = ViewCall(entry, inputs, tables, entry.found(inputs, tables.value))
    return called.cell(
        (), id="0" * 16, name="Errors", page=entry.page, view=entry.view, version="0.1.0",
        settings={"sample": (name,)}, about=called.finding.provenance.line(),
    )  # fmt: skip


def in_one_line(text: str) -> str:
    """Return a text without what breaks its lines in comments."""
    return " ".join(text.replace("\n# ", "\n").replace("`", "").split())


@EVERY
def test_report_notebook_script_and_archive_name_the_source(name: str) -> None:
    cell, told = cell_of(name), SAMPLES[name].credit
    assert cell.credit == told
    assert told in report_of([cell], "Errors").decode()
    (words,) = [one for one in json.loads(ipynb_of([cell], "Errors"))["cells"] if one["id"] == "words-1"]
    assert told in in_one_line(words["source"])
    assert told in in_one_line(script_of([cell], "Errors"))
    files = files_of([cell], "Errors")
    assert told in in_one_line(files["report.md"].decode())
    tables = [content.decode("utf-8-sig") for file, content in files.items() if file.endswith(".csv")]
    assert tables and all(table.startswith("Source,") and told in table.splitlines()[1] for table in tables)


@EVERY
def test_the_code_names_the_source_and_is_ours(name: str) -> None:
    cell = cell_of(name)
    assert f"Source: {SAMPLES[name].credit}." in in_one_line(cell.code)
    assert is_ours(cell.code)
    assert max(map(len, cell.code.splitlines())) <= 120


@EVERY
def test_what_is_saved_and_run_again_names_it_still(name: str) -> None:
    cell = cell_of(name)
    for with_data in (True, False):
        study = open_study(save(Study(notebook=Notebook(cells=(cell,)), version="0.1.0"), with_data=with_data))
        assert study.notebook.cells == (cell,)
    sources = Sources(sample=lambda one: counted_sample(count_sample(one), count_sample, one))
    assert rerun_of(cell, sources).made("0.1.0").credit == cell.credit


@EVERY
def test_plan_and_its_programs_name_the_source(name: str) -> None:
    told = SAMPLES[name].credit
    data = count_sample(name)
    plan = ReleasePlan.of(Experiment(contributions=max(1, data.report.recipe.bound)), data)
    assert plan.credit == told and ReleasePlan.from_json(plan.to_json()) == plan
    assert told in json.loads(plan.to_json())["credit"]
    assert told in plan.to_markdown() and told in plan.to_html()
    assert told in in_one_line(LIBRARIES[0].write(plan))


@pytest.mark.parametrize("line", ["a\nimport os", "a\u2028b", "a\x00"])
def test_a_source_that_is_not_one_visible_line_is_refused(line: str) -> None:
    """It stands in comments of programs; a plan may have come from elsewhere."""
    plan = ReleasePlan.of(Experiment(), count_sample("small_town"))
    with pytest.raises(InputError, match="one line of visible text"):
        replace(plan, credit=line)
    if "\n" in line:
        with pytest.raises(InputError, match="on one line"):
            replace(cell_of("flights"), credit=line)


def test_synthetic_records_made_of_published_ones_name_their_source() -> None:
    told = SAMPLES["flights"].credit
    subject = tree_as_it_is(count_sample("flights"))
    columns = topdown_tables.columns_of(subject)
    for provenance in Provenance:
        marked = synthetic.Columns(columns.names, columns.vocabularies, told)
        head, first, *_ = synthetic.contingency_csv(subject.table, marked, provenance).decode("utf-8-sig").splitlines()
        assert '"Source"' in head and f'"{told}"' in first
        assert ("simulation" in head) == (provenance is not Provenance.RELEASE)
        stored = pq.read_table(io.BytesIO(synthetic.records_parquet(subject.table, marked, provenance)))
        assert stored["Source"][0].as_py() == told and stored.num_rows == subject.table.total


OF_A_TABLE = [name for name, one in VIEWS.items() if one.is_of_table(one.inputs()) and one.start == "button"]


@pytest.mark.parametrize("view", OF_A_TABLE)
def test_whatever_a_view_finds_in_published_records_has_their_source(view: str) -> None:
    entry, data = VIEWS[view], count_sample("flights")
    assert entry.found(entry.inputs(), Tables(data)).credit == data.credit


def test_made_up_records_need_no_source() -> None:
    cell = cell_of("small_town")
    assert cell.credit == ""
    assert "<dt>Source</dt>" not in report_of([cell], "Errors").decode()
    assert "Source:" not in script_of([cell], "Errors")
    plan = ReleasePlan.of(Experiment(), count_sample("small_town"))
    assert plan.credit == "" and "Source" not in plan.to_markdown()
