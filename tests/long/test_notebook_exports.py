"""What leaves a notebook: scripts and notebooks that run, reports that ask for nothing, archives with two tables."""

from __future__ import annotations

import ast
import base64
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from fresh import Done, fresh, here
from treedp_core.figures.base.export_layout import Dress, dressed
from treedp_core.figures.base.image import plotly_js
from treedp_core.notebook import Cell, DataNote
from treedp_core.notebook.code import call
from treedp_core.notebook.export.cell_summary import as_html, dress_of, plain, safe
from treedp_core.notebook.export.ipynb import ipynb_of
from treedp_core.notebook.export.program import is_ours, program_of
from treedp_core.notebook.export.report import SCRIPT, report_of
from treedp_core.notebook.export.script import bundle_of, script_of

CODE = """from treedp_core.tree import Tree

tree = Tree.from_branching_factors((2, 2))
dict(level=range(3), nodes=tree.level_sizes)"""
READS = """from treedp_core.records import count_hierarchy, domain_taken_from_the_data

DATA = {path!r}  # where the file lies

domain = domain_taken_from_the_data()
data = count_hierarchy(DATA, ['x'], domain=domain)
dict(total=(data.total,))"""
FIGURE = {"data": [{"type": "scatter", "x": [1, 2], "y": [3, 1], "name": "a"}], "layout": {"height": 300}}
HOSTILE = [
    '<img src=x onerror="alert(1)">', "</script><script>alert(1)</script>",
    "![x](http://evil.example/a.png) [y](javascript:alert(1)) http://evil.example",
    '"""\nimport os\nos.system("true")\n"""', "`</code><b>` \\` $x$ **<i>**", "# %%\r\nraise SystemExit",
]  # fmt: skip


def cell(number: int = 0, **more: Any) -> Cell:
    given: dict[str, Any] = {
        "name": "Errors", "page": "lab", "version": "0.1.0", "made": "2026-11-22T15:00:00+00:00", "code": CODE,
        "columns": {"level": (0, 1, 2), "nodes": (1, 2, 4)},
    }  # fmt: skip
    return Cell(id=f"{number:016x}", **given | more)


def sources(notebook: bytes, kind: str = "code") -> list[str]:
    return [one["source"] for one in json.loads(notebook)["cells"] if one["cell_type"] == kind]


def ran(code: str, folder: Path, *arguments: str, how: Callable[..., Done] = here) -> Done:
    """Code run as a program in a folder."""
    (folder / "program.py").write_text(code, encoding="utf-8")
    return how(folder, "program.py", *arguments)


# --- code that may leave ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.system('true')", "from os import system\nsystem('true')", "__import__('os').system('true')",
        "open('/etc/passwd')", "eval('1')", "exec('1')", "().__class__.__base__.__subclasses__()", "print(1)",
        "from treedp_core.cli import main\nmain([])", "from treedp_core.cli import os\nos.getcwd()",
        "from treedp_core.records.export.tables import shown\nshown({}, 'x', '/tmp')",
        "from treedp_core.records.export.tables import Path\nPath('/tmp/x').unlink()",
        "from treedp_core.records.export import tables\ntables.pd.io.common.os.getcwd()",
        "from treedp_core.tree import Tree\nTree.__init__.__globals__", "import numpy as np\nnp.load('x')",
        "import numpy as np\nnp.ctypeslib.ctypes.CDLL('x')", "import numpy\nnumpy.load('x')",
        "from treedp_core.tree import *\nTree", "from .tree import Tree\nTree",
        "from treedp_core.tree import Tree as t\nt",
        "[x for x in (1, 2)]", "(lambda: 1)()", "f'{1}'", "def f():\n    pass\nf()", "x = 1", "", "1 +", "(" * 500,
        "dict.fromkeys.__self__", "import sys\nsys.exit()", "while True:\n    pass",
        "from treedp_core import nothing\n1",
        "from treedp_coreevil import x\nx()", "dict = 1\nx()", "OUT = '/tmp'\n1",
        "shown = dict\n1", "x\n1", "import sys\nsys.path.insert(0, '/tmp')\n1",
    ],
)  # fmt: skip
def test_code_that_does_more_than_call_what_is_ours_is_left_out(code: str) -> None:
    assert not is_ours(code)
    told = script_of([cell(code=code)], "Survey")
    assert not code or code not in told
    assert "There is no code for this figure." in told
    assert "".join(sources(ipynb_of([cell(code=code)], "Survey"))).count("There is no code for this figure.") == 1


def test_nothing_of_a_notebook_runs_while_it_is_looked_at(tmp_path: Path) -> None:
    target = tmp_path / "made"
    code = f"from treedp_core.records.export.tables import shown\nshown({{}}, 'x', {str(target)!r})"
    for write in (script_of, ipynb_of, report_of, bundle_of):
        write([cell(code=code)], "Survey")
    assert not target.exists()


# --- scripts and notebooks -------------------------------------------------------------------------------------------


def test_a_script_writes_its_tables_where_it_is_told(tmp_path: Path) -> None:
    script = script_of([cell(1), cell(2, name="Again: ../x", note="two\nlines")], "Survey")
    done = ran(script, tmp_path, "out", how=fresh)
    assert done.returncode == 0, done.stderr
    written = {one.name: one.read_text("utf-8-sig") for one in (tmp_path / "out").iterdir()}
    assert written == dict.fromkeys(("1-errors.csv", "2-again-x.csv"), "level,nodes\n0,1\n1,2\n2,4\n")
    assert "4" in done.stdout
    assert ran(script, tmp_path).returncode == 0  # nothing is written without a folder


def test_each_file_is_asked_for_once_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n1\n2\n")
    (tmp_path / "b.csv").write_text("x\n1\n")
    cells = [cell(i, code=READS.format(path=path)) for i, path in enumerate(("a.csv", "b.csv", "a.csv"))]
    program = program_of(cells)
    assert program.files == {"DATA": "a.csv", "DATA_2": "b.csv"}
    script = script_of(cells, "Survey")
    assert script.count("a.csv") == script.count("b.csv") == 1
    assert script.count("= count_hierarchy(") == 2, "each is counted once"
    done = ran(script, tmp_path, "out")
    assert done.returncode == 0, done.stderr
    assert report_of(cells, "Survey").decode().count("DATA = ") == 3, "there each stands alone"
    totals = [(tmp_path / "out" / f"{i}-errors.csv").read_text("utf-8-sig").split()[1] for i in (1, 2, 3)]
    assert totals == ["2", "1", "2"]
    parameters = json.loads(ipynb_of(cells, "Survey"))["cells"][1]
    assert parameters["metadata"] == {"tags": ["parameters"]}
    assert parameters["source"].splitlines()[1:] == [
        "DATA = 'a.csv'  # where the file lies", "DATA_2 = 'b.csv'  # where the file lies",
    ]  # fmt: skip


def test_a_value_that_cells_share_is_found_once_and_nothing_takes_its_name(tmp_path: Path) -> None:
    found = "from treedp_core.tree import Tree\n\n{name} = Tree.from_branching_factors(({n}, 2))\n"
    nodes = "dict(nodes=({name}.n_nodes,))"
    ends = "from treedp_core.words import whole\n\nwhole_2 = whole(tree.n_nodes)\ndict(nodes=(whole_2,))"
    first, second, third = (found.format(name=name, n=n) for name, n in (("tree", 2), ("tree", 3), ("whole", 3)))
    twice = first + "tree = Tree.from_branching_factors((tree.n_nodes,))\n"
    codes = [
        first + nodes.format(name="tree"), second + ends, f"{first}dict(nodes=(tree.n_leaves,))",
        third + nodes.format(name="whole"), twice + nodes.format(name="tree"), second + ends,
    ]  # fmt: skip
    cells = [cell(i, code=code) for i, code in enumerate(codes)]
    script = script_of(cells, "Survey")
    assert script.count("((2, 2))") == 2 and script.count("((3, 2))") == 1
    assert ran(script, tmp_path, "out").returncode == 0
    written = [(tmp_path / "out" / f"{i}-errors.csv").read_text("utf-8-sig").split()[1] for i in range(1, 7)]
    assert written == ["7", "10", "4", "10", "8", "10"]


def test_a_table_that_is_found_already_is_not_found_again(tmp_path: Path) -> None:
    tree = "from treedp_core.tree import Tree\n\ntree = Tree.from_branching_factors((2, 2))\n"
    table, drawn = "dict(\n    nodes=(tree.n_nodes, 1),\n)", "leaves = dict(nodes=(tree.n_leaves, 2))\nleaves"
    codes = [
        tree + table,
        tree + drawn,
        f"{tree}lines = {table}\ndict(nodes=(len(lines), 0))",
        *(tree + drawn, tree + table),
    ]
    script = script_of([cell(i, code=code) for i, code in enumerate(codes)], "Survey")
    assert script.count("nodes=(tree.n_nodes, 1)") == 1 and script.count("Tree.from") == 1
    assert ran(script, tmp_path, "out").returncode == 0
    written = [(tmp_path / "out" / f"{i}-errors.csv").read_text("utf-8-sig").split()[1:] for i in (1, 2, 4, 5)]
    assert written == [["7", "1"], ["4", "2"], ["4", "2"], ["7", "1"]]


def test_code_whose_figure_draws_the_table_finds_it_once() -> None:
    table = call(max, 3, 5)
    assert table.drawn_by(call(min, table, 4)).snippet().splitlines() == [
        "found = max(3, 5)",
        "figure = min(found, 4)",
        "found",
    ]


@pytest.mark.parametrize("text", HOSTILE)
def test_words_of_others_are_words_in_code_and_in_notebooks(text: str, tmp_path: Path) -> None:
    data = DataNote(name=" ".join(text.split()), fingerprint="a" * 64, levels=(" ".join(text.split()),))
    line = " ".join(text.split())[:100]
    made = cell(name=line, note=text, answer=text, caption=text, label=text, alt=text, data=data)
    script = script_of([made], text)
    assert [type(one) for one in ast.parse(script).body if not isinstance(one, ast.ImportFrom | ast.Import)] == [
        ast.Assign, ast.Assign, ast.Assign, ast.Expr,
    ]  # fmt: skip
    assert ran(script, tmp_path).returncode == 0
    told = re.sub(r"(`+).+?\1", "", "\n".join(sources(ipynb_of([made], text), "markdown")))
    assert not re.search(r"(?<!\\)<|(?<!\\)\]\(|://", told)
    with zipfile.ZipFile(io.BytesIO(bundle_of([made], text))) as archive:
        assert all(re.fullmatch(r"[a-zA-Z0-9.-]+", name) for name in archive.namelist())


def test_a_notebook_is_one_that_jupyter_accepts() -> None:
    nbformat = pytest.importorskip("nbformat")
    pictures = {f"{1:016x}": b"\x89PNG"}
    made = ipynb_of([cell(1, figure=FIGURE, note="*Mine*"), cell(2, code="", badges=("NOT PRIVATE",))], "S", pictures)
    notebook = nbformat.reads(made.decode(), as_version=4)
    nbformat.validate(notebook)
    figure, table = notebook.cells[4].outputs
    assert figure.data["application/vnd.plotly.v1+json"]["data"] == FIGURE["data"]
    assert base64.b64decode(figure.data["image/png"]) == b"\x89PNG"
    assert "<td>4</td>" in table.data["text/html"]
    assert "NOT PRIVATE" in notebook.cells[0].source


# --- reports ---------------------------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """Elements of a page with their attributes, and what its scripts hold."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[str | None, str]] = []
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and data.strip():
            self.scripts.append((self.found[-1][1].get("type"), data))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_report_asks_for_nothing_and_runs_only_its_own_scripts(text: str) -> None:
    traces = [{"type": "scatter", "name": text}, {"type": "choropleth"}, {"type": "heatmap"}, {"type": "treemap"}]
    layout = {"title": {"text": text}, "images": [{"source": "http://evil.example"}], "geo": {}}
    figure = {"data": traces, "layout": layout}
    name = " ".join(text.split())[:100]
    page = Elements(report_of([cell(name=name, note=text, answer=text, caption=text, alt=text, figure=figure)], text))
    tags = {tag for tag, _ in page.found}
    assert not tags & {"img", "link", "a", "iframe", "b", "i", "object", "base", "form"}
    assert not [given for _, given in page.found if {"src", "href", "onerror", "onclick"} & set(given)]
    policy = next(given["content"] for tag, given in page.found if given.get("http-equiv"))
    runs = [data for kind, data in page.scripts if kind is None]
    assert runs == [plotly_js(), SCRIPT]
    digests = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in runs]
    assert policy is not None
    assert f"default-src 'none'; script-src 'sha256-{digests[0]}' 'sha256-{digests[1]}';" in policy
    drawn = json.loads(next(data for kind, data in page.scripts if kind == "application/json"))
    assert [one["type"] for one in drawn["data"]] == ["scatter", "heatmap", "treemap"]
    assert drawn["data"][0]["name"] == text
    assert not {"images", "geo"} & set(drawn["layout"]) | {"images", "geo"} & set(drawn["saved"])


def test_a_report_says_in_its_head_what_is_not_private() -> None:
    page = report_of([cell(badges=("simulation", "NOT PRIVATE"), figure=FIGURE), cell(2)], "Survey").decode()
    assert "<title>NOT PRIVATE: Survey</title>" in page
    assert re.search(r'<meta name="treedp-privacy" content="NOT PRIVATE[^"]+1 figure below', page)
    assert "NOT PRIVATE" not in report_of([cell()], "Survey").decode()
    assert '"name": "treedp-NOT-PRIVATE-1-errors"' in page, "as the picture that is saved from it is called"
    assert len(report_of([cell()], "Survey")) < 20_000  # without a figure there is no need for what draws one


# --- archives and pictures -------------------------------------------------------------------------------------------


def test_an_archive_has_true_and_released_counts_apart() -> None:
    columns = {"place": ("Ulm",), "true (NOT PRIVATE)": (31_415,), "released": (4,)}
    cells = [cell(columns=columns, badges=("simulation", "NOT PRIVATE")), cell(2)]
    made = bundle_of(cells, "S", {f"{0:016x}": b"<svg>"})
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        held = {one: archive.read(one).decode("utf-8-sig") for one in archive.namelist()}
    assert set(held) == {
        "report.md", "script.py", "1-errors-NOT-PRIVATE.csv", "1-errors-simulated.csv", "1-errors-NOT-PRIVATE.svg",
        "2-errors.csv",
    }  # fmt: skip
    assert [name for name, text in held.items() if "31415" in text] == ["1-errors-NOT-PRIVATE.csv"]
    assert "NOT PRIVATE" in held["report.md"].splitlines()[2]


PLACES = {"place": ("Ulm",), "true (NOT PRIVATE)": (31_415,), "released": (4,)}


@pytest.mark.parametrize(
    "kind",
    [
        {}, {"badges": ("formula",)}, {"badges": ("NOT PRIVATE",)}, {"label": "NOT PRIVATE: tuned on the true counts."},
        {"badges": ("simulation", "NOT PRIVATE"), "columns": PLACES}, {"badges": ("simulation",), "columns": PLACES},
    ],
)  # fmt: skip
def test_a_script_writes_the_files_of_an_archive(kind: dict[str, Any], tmp_path: Path) -> None:
    of_places = "from treedp_core.tree import Tree\n\ndict([('place', ('Ulm',)), "
    of_places += "('true (NOT PRIVATE)', (31415,)), ('released', (4,))])"
    made = cell(name="Errors vs ε", **kind, code=of_places if "columns" in kind else CODE)
    with zipfile.ZipFile(io.BytesIO(bundle_of([made], "S"))) as archive:
        held = {one: archive.read(one) for one in archive.namelist() if one.endswith(".csv")}
    for at, program in enumerate((script_of([made], "S"), "\n".join(sources(ipynb_of([made], "S"))))):
        out = tmp_path / str(at)
        done = ran(program.replace("OUT = None", f"OUT = {str(out)!r}"), tmp_path, str(out))
        assert done.returncode == 0, done.stderr
        assert {one.name: one.read_bytes() for one in out.iterdir()} == held


def test_a_picture_has_its_words_inside_and_room_for_them() -> None:
    before = json.dumps(FIGURE)
    dress = Dress("Error against ε", "A caption. " * 30, "Settings eps = 1 · Seed 7", "NOT PRIVATE")
    made = dressed(FIGURE, dress, 800, 500)["layout"]
    assert json.dumps(FIGURE) == before
    assert (made["width"], made["height"]) == (800, 500)
    said = " ".join([made["title"]["text"], *(one["text"] for one in made["annotations"])])
    for part in ("Error against ε", "A caption.", "Settings eps = 1 · Seed 7", "NOT PRIVATE"):
        assert part in said
    assert made["margin"]["b"] > 50
    cut = dressed(FIGURE, Dress("A", "A sentence. " * 100, "Seed 7"), 800, 500)["layout"]["title"]["text"]
    assert re.sub("<.*?>", " ", cut).split()[-4:] == ["sentence.", "…", "Seed", "7"]
    for width, height in ((900, 600), (500, 400)):
        margin = dressed(FIGURE, Dress("A", "A sentence. " * 100, "Seed 7"), width, height)["layout"]["margin"]
        assert height - margin["t"] - margin["b"] >= 0.45 * height, "a caption gives way to its figure"
    assert "<script>" not in json.dumps(dressed(FIGURE, Dress("<script>", "<script>"), 800, 500)).replace("&lt;", "")


def test_what_must_be_said_of_a_cell_is_in_its_picture() -> None:
    made = dress_of(cell(label="NOT PRIVATE: tuned.", answer="**Half**", caption="Seed 7.", seed=7))
    assert made.mark == "NOT PRIVATE"
    assert made.caption == "NOT PRIVATE: tuned. Half Seed 7."
    assert "Seed 7" in made.source


def test_a_note_in_a_report_is_laid_out_as_in_the_notebook() -> None:
    assert as_html("Best\n===\nIt is\n- one", typed=True) == "<h4>Best</h4><p>It is</p><ul><li>one</li></ul>"
    assert "<h4>" not in as_html("```\n# no heading\n```", typed=True)


@pytest.mark.parametrize("text", [*HOSTILE, "a" * 5000, "**" * 500, "`" * 999, "*a" * 999, "- x\n" * 99])
def test_markdown_of_others_is_read_without_harm(text: str) -> None:
    assert not re.search(r"<(?!/?(p|h4|ul|li|strong|em|code)>)", as_html(text))
    assert "\x00" not in plain(text) + safe(text)


def test_a_note_leaves_as_it_was_typed_below_the_headings_of_its_export() -> None:
    one = cell(note="# Head\n\n:red[now] :material/lock: kept")
    page = report_of([one], "T").decode()
    assert ":red[now] :material/lock: kept" in script_of([one], "T")
    assert ":red[now] :material/lock: kept" in page
    assert page.count("<h1>") == 1
    notebook = json.loads(ipynb_of([one], "T"))
    told = "".join("".join(part["source"]) for part in notebook["cells"] if part["cell_type"] == "markdown")
    for text in (told, zipfile.ZipFile(io.BytesIO(bundle_of([one], "T"))).read("report.md").decode()):
        assert "### Head" in text and "\n# Head" not in text
        assert r"\:red\[now\] \:material\/lock: kept" in text
