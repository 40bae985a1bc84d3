"""The shape of the code, read from its syntax trees: who may import whom, and what is written nowhere."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# The one place that lists the floors of treedp_core, from the ground up: a module or package imports only from lines
# above its own, which also rules out cycles. Where a floor of the design needs steps of its own, it takes two lines.
FLOORS = (
    ("words",), ("checks",), ("registry", "watch"), ("tree",), ("noise",), ("privacy",), ("records",), ("errors",),
    ("mechanisms", "allocation", "postprocess"), ("experiment",), ("testing",),
    ("studies/__init__", "studies/cdf", "studies/data"),
    (
        "studies/sweep", "studies/branching", "studies/multiplicative", "studies/budget", "studies/topdown",
        "studies/ranges", "studies/lesson",
    ),
    ("studies/methods", "studies/protects"), ("plans", "lesson"), ("figures",), ("notebook",), ("views",),
    ("__init__", "cli"), ("batch",), ("__main__",),
)  # fmt: skip
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names}
CLI_MAY_IMPORT = {"checks", "registry", "__init__"}

# Libraries that belong to some places only; a place is a file or, with a slash at its end, a folder.
PLACES = {
    "streamlit": ("app.py", "pages/"), "plotly": ("treedp_core/figures/", "pages/ui/", "pages/views/"),
    "pandas": ("treedp_core/records/", "treedp_core/studies/sweep/frames.py"),
    "pyarrow": ("treedp_core/records/",), "pages": ("app.py", "pages/"),
    "sample_data": ("app.py", "pages/ui/", "pages/views/", "sample_data/"),
}  # fmt: skip
# Parts of Streamlit that are safe only as one module uses them.
KEPT_TO = {"download_button": "pages/ui/session/download.py", "file_uploader": "pages/ui/session/uploads.py"}
IN_THE_SHELL = {"caption", "latex"}
"""What a view shows by `pages.ui.inputs.text`, which explains symbols."""

ANYTHING = {
    ("treedp_core/notebook/file/drawing.py", "__getitem__"): "a part of what plotly takes",
    ("treedp_core/experiment.py", "_plain"): "the value of a field of any type",
    ("treedp_core/views/parameters.py", "accepts"): "what a browser sends",
    ("treedp_core/views/parameters.py", "write"): "the value of a parameter of any type",
    ("treedp_core/views/parameters.py", "choices"): "the value of a parameter of any type",
    ("treedp_core/views/parameters.py", "parse"): "the value of a parameter of any type",
    ("treedp_core/views/entries.py", "__call__"): "the inputs of any view",
    ("treedp_core/views/entries.py", "found"): "what of a view takes long, of any type",
    ("treedp_core/records/read/sources.py", "readinto"): "a buffer, for which Python 3.11 has no type",
}
"""Functions of the core that do take or return anything, and why."""

ARRAYS = {"FloatArray", "IntArray", "AnyArray", "BoolArray", "NDArray"}
_AXIS = r"(?:\.\.\.|\d+|[nmkdK]\b|n_\w+|nodes(?: of level)?|children|trials|size)(?: [+*-] (?:\d+|\w+))*"
SHAPE = re.compile(rf"\({_AXIS}(?:, {_AXIS})*,\)|\({_AXIS}(?:, {_AXIS})+\)|[Ss]hapes? (?:of )?`")
"""A shape, such as "(n_nodes,)" or "(..., n_nodes)", or that of an argument, such as "shape of `counts`"."""

BYTES = "treedp_core.records.read."
"""Bytes become records on the way that every upload takes, not in a view."""
COLOURS_IN = ("treedp_core/figures/base/style.py", "treedp_core/figures/base/colour.py")
MAX_BODY = 40
MAX_UNNAMED = 6
DIGITS = re.compile(r"[+]?(\.\d?)?[efg%]")
"""How a number is written for a reader; twelve digits are for a link."""

RANDOM_TYPES = {"Generator", "default_rng", "SeedSequence", "BitGenerator", "PCG64", "PCG64DXSM", "Philox", "SFC64"}
UNSAFE_MODULES = {"pickle", "cPickle", "dill", "marshal", "shelve", "joblib", "cloudpickle"}
PICKLED = ("pages/ui/jobs/ipc.py", "pickle")  # between the server and the processes that it forks, never a file
LATER = "TO" + "DO"
UNFINISHED = re.compile(rf"\b({LATER}|{'FIX' + 'ME'}|{'X' * 3})\b")


def unit_of(parts: list[str]) -> str:
    """The floor's name of a path below treedp_core: a module, a package, or one study."""
    return "/".join(parts[:2]) if parts[0] == "studies" and len(parts) > 1 else parts[0]


@dataclass(frozen=True)
class Source:
    """A file of the project: its path below the root and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All of the tree, walked once for all rules."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[str]:
        """Full dotted names of everything imported anywhere in the file."""
        return list(imported(self))

    @property
    def unit(self) -> str | None:
        """The module or package of treedp_core that this file belongs to."""
        parts = self.path.removesuffix(".py").split("/")
        return unit_of(parts[1:]) if parts[0] == "treedp_core" else None

    @property
    def is_page(self) -> bool:
        return self.path.startswith("pages/") and self.path.count("/") == 1

    def is_in(self, places: tuple[str, ...]) -> bool:
        return any(self.path == place or (place.endswith("/") and self.path.startswith(place)) for place in places)


def project_files() -> list[Source]:
    folders = ("treedp_core", "pages", "sample_data", "tests")
    paths = [ROOT / "app.py", *(p for folder in folders for p in sorted((ROOT / folder).rglob("*.py")))]
    return [Source(p.relative_to(ROOT).as_posix(), p.read_text(encoding="utf-8")) for p in paths if p.exists()]


FILES = project_files()
SHIPPED = [source for source in FILES if not source.path.startswith("tests/")]


# --- reading a syntax tree -------------------------------------------------------------------------------------------


def imported(source: Source) -> Iterator[str]:
    """Full dotted names of everything imported anywhere in the file; relative imports are resolved."""
    package = source.path.removesuffix(".py").split("/")[:-1]
    for node in source.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def top(name: str) -> str:
    return name.split(".")[0]


def core_units(source: Source) -> set[str]:
    """Modules and packages of treedp_core that the file imports; the package's own namespace is `__init__`."""
    units = set()
    for name in source.imports:
        if top(name) == "treedp_core":
            unit = unit_of([*name.split(".")[1:], "__init__"])
            units.add(unit if unit in FLOOR or (ROOT / "treedp_core" / f"{unit}.py").exists() else "__init__")
    return units


def identifiers(source: Source) -> Iterator[tuple[str, int]]:
    for node in source.nodes:
        line = getattr(node, "lineno", 0)
        for name in ("id", "arg", "attr", "name", "asname"):
            value = getattr(node, name, None)
            if isinstance(value, str):
                yield value, line


def dotted(node: ast.AST) -> str:
    """`a.b.c` of an attribute chain; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


# --- the rules: each returns what is wrong ---------------------------------------------------------------------------


def floors(source: Source) -> list[str]:
    if source.unit is None:
        return []
    if source.unit not in FLOOR:
        return [f"{source.unit} has no floor: add it to FLOORS"]
    if source.unit == "cli":
        return [f"cli imports {unit}" for unit in sorted(core_units(source) - CLI_MAY_IMPORT)]
    wrong = []
    for unit in sorted(core_units(source) - {source.unit}):
        if unit not in FLOOR or FLOOR[unit] >= FLOOR[source.unit]:
            wrong.append(f"{source.unit} imports {unit}, which is not on a floor below")
    return wrong


def places(source: Source) -> list[str]:
    return [
        f"imports {name}, which belongs to {', '.join(PLACES[top(name)])}"
        for name in source.imports
        if top(name) in PLACES and not source.is_in(PLACES[top(name)])
    ]


def pages_do_no_arithmetic(source: Source) -> list[str]:
    """Neither a page nor a view computes: that is a study's work, where a notebook finds it."""
    shows = source.is_page or source.path.startswith("pages/views/")
    return [f"imports {n}" for n in source.imports if shows and n.startswith(("numpy", "scipy", BYTES))]


def page_floors(source: Source) -> list[str]:
    """The shell knows no page; a view knows the shell and its own page's views; a page its own views."""
    if not source.path.startswith("pages/"):
        return []
    parts = source.path.removesuffix(".py").split("/")
    own = {"ui": "pages.ui", "views": ".".join(["pages", *parts[1:3]])}.get(parts[1], f"pages.views.{parts[1]}")
    names = (name for name in source.imports if top(name) == "pages")
    foreign = [name for name in names if not f"{name}.".startswith(("pages.ui.", f"{own}."))]
    return [f"imports {name}" for name in foreign]


def sample_data_is_apart(source: Source) -> list[str]:
    if not source.path.startswith("sample_data/"):
        return []
    return [f"imports {u}" for u in sorted(core_units(source) - {"registry", "records"})]


def randomness(source: Source) -> list[str]:
    """No hidden global generator: neither numpy's functions nor the standard library's."""
    used = [dotted(node) for node in source.nodes if isinstance(node, ast.Attribute)]
    used += list(source.imports)
    wrong = []
    for name in used:
        match = re.fullmatch(r"(?:np|numpy)\.random\.(\w+)", name)
        if match and match[1] not in RANDOM_TYPES:
            wrong.append(f"uses {name}")
    wrong += [f"imports {n}" for n in source.imports if top(n) == "random" and n != "random.Random"]
    return wrong


def banned_name(source: Source) -> list[str]:
    """The papers count a tree's levels differently, so the word is no identifier here."""
    word = "dep" + "th"
    return [f"line {line}: {name}" for name, line in identifiers(source) if word in name.lower().split("_")]


STYLE_SHEET = "st.html(STYLE_SHEET)"


def raw_html(source: Source) -> list[str]:
    """No HTML in code; the one stylesheet is a file."""
    wrong = []
    style = {
        id(node.func) for node in source.nodes
        if source.path == "pages/ui/page/page.py" and isinstance(node, ast.Call) and ast.unparse(node) == STYLE_SHEET
    }  # fmt: skip
    for node in source.nodes:
        if id(node) in style:
            continue
        if isinstance(node, ast.keyword) and node.arg == "unsafe_allow_html":
            wrong.append(f"line {node.value.lineno}: unsafe_allow_html")
        if isinstance(node, ast.Attribute) and re.fullmatch(r"(st|streamlit|.*components(\.v1)?)\.html", dotted(node)):
            wrong.append(f"line {node.lineno}: {dotted(node)}")
    return wrong


def unsafe_reading(source: Source) -> list[str]:
    """Nothing that runs code found in a file."""
    unsafe = (name for name in source.imports if top(name) in UNSAFE_MODULES)
    wrong = [f"imports {name}" for name in unsafe if (source.path, name) != PICKLED]
    for node in source.nodes:
        if isinstance(node, ast.Call) and dotted(node.func) in ("eval", "exec", "__import__", "yaml.load"):
            wrong.append(f"line {node.lineno}: {dotted(node.func)}")
        if isinstance(node, ast.Attribute) and node.attr in ("read_pickle", "to_pickle", "unsafe_load"):
            wrong.append(f"line {node.lineno}: {node.attr}")
        if isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "persist"):
            wrong.append(f"line {node.value.lineno}: {node.arg}")
    return wrong


def caches(source: Source) -> list[str]:
    """No cache of Streamlit: it is shared between users and hashes samples, and any session may empty it for all."""
    wrong = [
        f"line {node.lineno}: {node.attr}"
        for node in source.nodes
        if isinstance(node, ast.Attribute) and node.attr in ("cache_data", "cache_resource")
    ]
    return wrong + [f"imports {name}" for name in source.imports if re.search(r"\.cache_(data|resource)$", name)]


def kept_to(source: Source) -> list[str]:
    """Parts of Streamlit that one module wraps are used nowhere else."""
    used = ((node.attr, node.lineno) for node in source.nodes if isinstance(node, ast.Attribute))
    wrong = [f"line {line}: {name}" for name, line in used if KEPT_TO.get(name, source.path) != source.path]
    if source.path.startswith("pages/views/"):
        text = ((node, node.value) for node in source.nodes if isinstance(node, ast.Attribute))
        bare = (node for node, of in text if isinstance(of, ast.Name) and of.id == "st" and node.attr in IN_THE_SHELL)
        wrong += [f"line {node.lineno}: st.{node.attr} explains no symbols" for node in bare]
    last = ((name, name.rpartition(".")[2]) for name in source.imports if top(name) == "streamlit")
    return wrong + [f"imports {name}" for name, part in last if KEPT_TO.get(part, source.path) != source.path]


DOCUMENTED = {
    "streamlit", "streamlit.delta_generator.DeltaGenerator", "streamlit.runtime.uploaded_file_manager.UploadedFile",
    "streamlit.starlette.App",
}  # fmt: skip
COMPAT = "pages/ui/session/streamlit_compat.py"


def documented(source: Source) -> list[str]:
    """One file uses what Streamlit does not document, and its test harness stays in tests."""
    if source.path == COMPAT or not source.path.startswith(("app.py", "pages/")):
        return []
    wrong = [f"imports {name}" for name in source.imports if top(name) == "streamlit" and name not in DOCUMENTED]
    inner = ((node, dotted(node.value)) for node in source.nodes if isinstance(node, ast.Attribute))
    return wrong + [
        f"line {node.lineno}: {of}.{node.attr}" for node, of in inner
        if re.match("_[a-z]", node.attr) and top(of) in ("st", "streamlit", "runtime")
    ]  # fmt: skip


def shapes(source: Source) -> list[str]:
    """A public function of the core that takes or returns arrays says of which shape."""
    if not source.path.startswith("treedp_core/"):
        return []
    return [
        f"line {one.lineno}: {one.name} gives no shape"
        for one in public_functions(source.tree)
        if takes_arrays(one) and not SHAPE.search(ast.get_docstring(one) or "")
    ]


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Those of a module and of its public classes."""
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for node in (inner for place in (tree, *classes) for inner in place.body):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield node


def takes_arrays(function: ast.FunctionDef) -> bool:
    """Whether the signature names an array type."""
    given = function.args
    hints = [one.annotation for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)] + [function.returns]
    inner = (node for hint in hints if hint is not None for node in ast.walk(hint))
    return any(isinstance(node, ast.Name) and node.id in ARRAYS for node in inner)


def colours(source: Source) -> list[str]:
    """A colour is written once, in the palette or in a scale; figures name it."""
    if source.path.startswith("tests/") or source.path in COLOURS_IN:
        return []
    texts = (node for node in source.nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [f"line {one.lineno}: {one.value}" for one in texts if re.fullmatch("#[0-9A-Fa-f]{6}", one.value)]


def numbers(source: Source) -> list[str]:
    """Digits for a reader are written by `words`; what a browser draws itself (sliders, bars, hover) is its own."""
    if not source.is_in(("pages/", "treedp_core/figures/", "treedp_core/views/")):
        return []
    wrong = []
    for node in source.nodes:
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            spec = "".join(str(part.value) for part in node.format_spec.values if isinstance(part, ast.Constant))
            wrong += [f"line {node.lineno}: {spec}"] if DIGITS.fullmatch(spec) else []
        if isinstance(node, ast.Call) and dotted(node.func).endswith("NumberColumn"):
            wrong += [f"line {node.lineno}: format" for word in node.keywords if "%" in ast.unparse(word.value)]
    return wrong


def body(source: Source) -> list[str]:
    """A function is at most 40 lines long, its docstring not counted."""
    wrong = []
    for node in source.nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[1] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body[0]
            lines = (node.body[-1].end_lineno or 0) - first.lineno + 1
            wrong += [f"{node.name} has {lines} lines"] if lines > MAX_BODY else []
    return wrong


def unnamed(source: Source) -> list[str]:
    """A call gives at most six arguments without their names."""
    wrong = []
    for node in source.nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = [one.arg for one in [*node.args.posonlyargs, *node.args.args] if one.arg not in ("self", "cls")]
            wrong += [f"{node.name} takes {len(given)} without names"] if len(given) > MAX_UNNAMED else []
    return wrong


def any_value(source: Source) -> list[str]:
    """No argument and no result of the core is just anything; cells of a table, and what plotly takes, may be."""
    wrong = []
    for node in source.nodes:
        if source.unit is None or not isinstance(node, ast.FunctionDef) or (source.path, node.name) in ANYTHING:
            continue
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if any(is_any(kind) for kind in (node.returns, *(one.annotation for one in given)) if kind is not None):
            wrong.append(f"line {node.lineno}: {node.name}")
    return wrong


def is_any(kind: ast.AST) -> bool:
    return dotted(kind) == "Any" or (isinstance(kind, ast.BinOp) and (is_any(kind.left) or is_any(kind.right)))


def length(source: Source) -> list[str]:
    limit = 60 if source.path == "app.py" or source.is_page else None
    lines = source.text.count("\n")
    return [f"{lines} lines; at most {limit} are allowed"] if limit and lines > limit else []


def unfinished(source: Source) -> list[str]:
    wrong = [
        f"line {i}: {line.strip()}" for i, line in enumerate(source.text.splitlines(), 1) if UNFINISHED.search(line)
    ]
    raised = (n.exc for n in source.nodes if isinstance(n, ast.Raise) and n.exc is not None)
    names = (dotted(exc.func if isinstance(exc, ast.Call) else exc) for exc in raised)
    return wrong + [f"raises {name}" for name in names if name == "NotImplementedError"]


Rule = Callable[[Source], list[str]]
SHIPPED_RULES: tuple[Rule, ...] = (
    floors, places, pages_do_no_arithmetic, page_floors, sample_data_is_apart, randomness, raw_html, unsafe_reading,
    caches, kept_to, documented, colours, numbers, any_value, body, unnamed, length, shapes,
)  # fmt: skip
EVERYWHERE_RULES: tuple[Rule, ...] = (banned_name, unfinished)


@pytest.mark.parametrize("rule", SHIPPED_RULES, ids=lambda rule: rule.__name__)
def test_shipped_code_obeys(rule: Rule) -> None:
    assert {source.path: wrong for source in SHIPPED if (wrong := rule(source))} == {}


@pytest.mark.parametrize("rule", EVERYWHERE_RULES, ids=lambda rule: rule.__name__)
def test_all_code_obeys(rule: Rule) -> None:
    assert {source.path: wrong for source in FILES if (wrong := rule(source))} == {}


def test_no_cycles() -> None:
    """Also inside packages, where floors say nothing, and also by imports inside functions."""
    modules = {dotted_path(source.path): source for source in SHIPPED}
    graph = {name: module_imports(source, set(modules)) - {name} for name, source in modules.items()}
    assert cycle(graph) == []


def dotted_path(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def module_imports(source: Source, modules: set[str]) -> set[str]:
    found = set()
    for name in source.imports:
        while name and name not in modules:
            name = name.rpartition(".")[0]
        found |= {name} - {""}
    # A package's front imports its parts; a part that imports a neighbour through the package's name is no cycle.
    package = dotted_path(source.path).rpartition(".")[0]
    return found - {package}


def cycle(graph: dict[str, set[str]]) -> list[str]:
    """What remains after taking away, again and again, whoever uses nobody or is used by nobody that remains."""
    left = dict(graph)
    while True:
        used = set().union(*left.values()) if left else set()
        free = [name for name, uses in left.items() if not uses & left.keys() or name not in used]
        if not free:
            return sorted(left)
        for name in free:
            del left[name]


def test_the_shell_has_rooms_of_twelve_files_one_above_another_and_eight_layers_of_them() -> None:
    shell = {name: source for source in SHIPPED if (name := dotted_path(source.path)).startswith("pages.ui.")}
    rooms: dict[str, set[str]] = {}
    files: dict[str, int] = {}
    for name, source in shell.items():
        room = name.split(".")[2]
        files[room] = files.get(room, 0) + (source.path.count("/") == 3 and not source.path.endswith("__init__.py"))
        rooms.setdefault(room, set()).update(one.split(".")[2] for one in source.imports if one.startswith("pages.ui."))
    uses = {room: used - {room} for room, used in rooms.items()}
    assert cycle(uses) == [] and max(files.values()) <= 12 and sum(files.values()) + len(rooms) == len(shell), files
    assert layers(uses) <= 8
    assert layers({"a": {"b"}, "b": {"c"}, "c": set(), "d": {"c"}}) == 3


def layers(uses: dict[str, set[str]]) -> int:
    """How many stand one above another in a graph without cycles."""

    @cache
    def height(one: str) -> int:
        return 1 + max(map(height, uses[one]), default=0)

    return max(map(height, uses))


def test_lists_name_what_exists() -> None:
    """A stale entry in an allow-list would quietly allow something new."""
    assert {(path, name) for name, path in KEPT_TO.items()} <= {
        (s.path, n.attr) for s in SHIPPED for n in s.nodes if isinstance(n, ast.Attribute)
    }
    core = {source.unit for source in SHIPPED} - {None}
    functions = {(s.path, n.name) for s in SHIPPED for n in s.nodes if isinstance(n, ast.FunctionDef)}
    assert set(ANYTHING) <= functions
    assert set(FLOOR) - core == set()


# --- each rule can fail ----------------------------------------------------------------------------------------------

BAD = [
    (floors, "treedp_core/tree/tree.py", "from treedp_core.experiment import run"),
    (floors, "treedp_core/tree/tree.py", "def f():\n    import treedp_core.experiment"),
    (floors, "treedp_core/experiment.py", "import treedp_core"),
    (floors, "treedp_core/mechanisms/__init__.py", "from ..postprocess import non_negative"),
    (floors, "treedp_core/surprise.py", "x = 1"),
    (floors, "treedp_core/cli.py", "from treedp_core.tree.tree import Tree"),
    (places, "treedp_core/experiment.py", "import streamlit as st"),
    (places, "treedp_core/experiment.py", "from pages.ui import state"),
    (pages_do_no_arithmetic, "pages/lab.py", "import numpy as np"),
    (pages_do_no_arithmetic, "pages/views/data/view.py", "from treedp_core.records.read.sources import open_source"),
    (page_floors, "pages/ui/state.py", "from pages import lab"),
    (page_floors, "pages/views/cdf/release.py", "from pages.views.lab.state import keep"),
    (page_floors, "pages/start.py", "from pages.views.lab import curves"),
    (sample_data_is_apart, "sample_data/ages.py", "from treedp_core import noise"),
    (randomness, "treedp_core/noise/laws.py", "import numpy as np\nf = np.random.laplace"),
    (randomness, "treedp_core/noise/laws.py", "from numpy.random import normal"),
    (randomness, "treedp_core/noise/laws.py", "import random"),
    (banned_name, "treedp_core/tree/tree.py", "def f(depth): ..."),
    (banned_name, "treedp_core/tree/tree.py", "x.max_depth = 1"),
    (raw_html, "pages/lab.py", "import streamlit as st\nst.markdown('x', unsafe_allow_html=True)"),
    (raw_html, "pages/lab.py", "import streamlit as st\nst.html(STYLE_SHEET)"),
    (raw_html, "pages/ui/page/page.py", "import streamlit as st\nst.html(title)"),
    (raw_html, "pages/lab.py", "import streamlit.components.v1 as components\ncomponents.html('x')"),
    (unsafe_reading, "pages/ui/jobs/ipc.py", "import marshal"),
    (unsafe_reading, "pages/ui/state.py", "yaml.load(text)"),
    (unsafe_reading, "treedp_core/records/files.py", "np.load(f, allow_pickle=True)"),
    (unsafe_reading, "pages/ui/state.py", "pd.read_pickle(f)"),
    (caches, "pages/ui/state.py", "@st.cache_data\ndef f(): ..."),
    (caches, "pages/ui/state.py", "@st.cache_resource(scope='session')\ndef f(): ..."),
    (caches, "pages/ui/state.py", "from streamlit import cache_data"),
    (kept_to, "pages/ui/figure/frame.py", "import streamlit as st\nst.download_button('x', b'')"),
    (kept_to, "pages/ui/figure/frame.py", "from streamlit import download_button"),
    (kept_to, "pages/views/lab.py", "import streamlit as st\nst.caption('x')"),
    (documented, "pages/ui/figure/frame.py", "from streamlit.runtime.scriptrunner import get_script_run_ctx"),
    (documented, "pages/ui/figure/frame.py", "from streamlit import runtime\nruntime.get_instance()"),
    (documented, "pages/ui/figure/frame.py", "st.session_state._state"),
    (colours, "treedp_core/figures/budget.py", 'x = "#0072B2"'),
    (unnamed, "treedp_core/experiment.py", "def f(a, b, c, d, e, f, g): ..."),
    (body, "treedp_core/errors/metrics.py", "def f():\n" + "    x = 1\n" * 41),
    (any_value, "treedp_core/errors/metrics.py", "def f(*, x: Any | None = None) -> int: ..."),
    (any_value, "treedp_core/figures/base/curves.py", "def _line(x: int) -> Any: ..."),
    (length, "pages/lab.py", "x = 1\n" * 61),
    (shapes, "treedp_core/tree/tree.py", 'def f(x: FloatArray) -> float:\n    """Sum."""'),
    (shapes, "treedp_core/tree/tree.py", 'def f(*, x: IntArray | None) -> int:\n    """Sum (Ghazi, Lemma 3.3)."""'),
    (shapes, "treedp_core/tree/tree.py", "class A:\n    def f(self, x: BoolArray): ..."),
    (unfinished, "treedp_core/tree/tree.py", f"x = 1  # {LATER} later"),
    (unfinished, "treedp_core/tree/tree.py", "def f():\n    raise NotImplementedError"),
    (numbers, "treedp_core/views/lab/words.py", 'f"{x:.1f} records"'),
    (numbers, "pages/ui/figure/frame.py", 'f"{part:.0%}"'),
    (numbers, "treedp_core/figures/base/curves.py", 'f"{x:.{digits}e}"'),
    (numbers, "pages/views/lab.py", 'st.column_config.NumberColumn(format="%.3g")'),
]
GOOD = [
    (floors, "treedp_core/experiment.py", "from treedp_core.mechanisms import MECHANISMS"),
    (floors, "treedp_core/postprocess/__init__.py", "from treedp_core.postprocess.least_squares import least_squares"),
    (places, "pages/lab.py", "import streamlit as st"),
    (pages_do_no_arithmetic, "pages/ui/state.py", "import numpy as np"),
    (page_floors, "pages/ui/state.py", "from pages.ui.figure import frame\nfrom pages.ui.inputs.text import lit"),
    (page_floors, "pages/cdf.py", "from pages.views.cdf import release"),
    (randomness, "treedp_core/noise/laws.py", "import numpy as np\nrng = np.random.default_rng(1)"),
    (banned_name, "treedp_core/figures/tree.py", "go.Icicle(maxdepth=3)"),
    (raw_html, "pages/ui/page/page.py", "import streamlit as st\nst.html(STYLE_SHEET)"),
    (unsafe_reading, "pages/ui/jobs/ipc.py", "import pickle"),
    (unfinished, "treedp_core/records/files.py", "try:\n    f()\nexcept NotImplementedError:\n    pass"),
    (kept_to, "pages/ui/session/download.py", "import streamlit as st\nst.download_button('x', b'')"),
    (documented, "pages/ui/figure/frame.py", "from streamlit.delta_generator import DeltaGenerator"),
    (documented, COMPAT, "from streamlit import runtime\nruntime.get_instance()._session_mgr"),
    (shapes, "treedp_core/tree/tree.py", 'def f(x: FloatArray) -> float:\n    """Sum of (..., n_nodes)."""'),
    (shapes, "treedp_core/tree/tree.py", 'def f(x: FloatArray) -> FloatArray:\n    """Squares, shape of `x`."""'),
    (shapes, "treedp_core/tree/tree.py", 'def f(x: FloatArray) -> FloatArray:\n    """Gaps (n - 1,)."""'),
    (shapes, "treedp_core/tree/tree.py", "def _f(x: FloatArray): ..."),
    (colours, "treedp_core/figures/base/style.py", 'BLUE = "#0072B2"'),
    (body, "treedp_core/errors/metrics.py", 'def f():\n    """Words."""\n' + "    x = 1\n" * 40),
    (unnamed, "treedp_core/experiment.py", "def f(a, b, c, d, e, f, *, g): ..."),
    (any_value, "treedp_core/experiment.py", "def _plain(value: Any) -> Any: ..."),
    (any_value, "treedp_core/errors/metrics.py", "def f(x: NDArray[Any], **cells: Any) -> dict[str, list[Any]]: ..."),
    (any_value, "pages/ui/inputs/setting.py", "def f(x: Any): ..."),
    (length, "app.py", "x = 1\n" * 60),
    (numbers, "pages/ui/inputs/setting.py", 'f"{x:.12g}"'),
    (numbers, "treedp_core/views/lab/words.py", 'f"{when:%H:%M} {short(x)}"'),
    (numbers, "treedp_core/figures/budget.py", 'hover = "%{x:.1%}"'),
]


def test_every_rule_catches_what_it_is_for_and_lets_pass_what_is_beside_it() -> None:
    assert [(rule.__name__, text) for rule, path, text in BAD if not rule(Source(path, text))] == []
    assert [(rule.__name__, text) for rule, path, text in GOOD if rule(Source(path, text))] == []
    assert {rule for rule, *_ in BAD} == {*SHIPPED_RULES, *EVERYWHERE_RULES}


def test_a_cycle_is_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c"]
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def shelf(paths: Iterable[str]) -> tuple[set[str], set[str]]:
    """The packages and the loose modules of the core among paths within it."""
    parts = [path.split("/") for path in paths]
    return {one[0] for one in parts if len(one) > 1}, {one[0] for one in parts if len(one) == 1 and one[0][0] != "_"}


def test_the_shelf_of_the_core_has_room_for_fourteen_packages_and_eight_modules() -> None:
    core = ROOT / "treedp_core"
    packages, modules = shelf(path.relative_to(core).as_posix() for path in core.rglob("*.py"))
    assert len(packages) <= 14 and len(modules) <= 8, (packages, modules)
    assert shelf(["__init__.py", "cli.py", "noise/laws.py", "noise/__init__.py"]) == ({"noise"}, {"cli.py"})


def test_a_room_of_the_core_has_at_most_twelve_files_and_says_what_it_is_for() -> None:
    rooms = [front.parent for front in sorted((ROOT / "treedp_core").rglob("__init__.py"))]
    assert [str(room) for room in rooms if len([*room.glob("*.py")]) > 12 + 1] == []
    assert [str(room) for room in rooms if not ast.get_docstring(ast.parse((room / "__init__.py").read_text()))] == []
    assert {file.parent for file in (ROOT / "treedp_core").rglob("*.py")} == set(rooms)


def test_no_two_files_of_tests_have_one_name() -> None:
    """Their folders are no packages, so the second of a name could not be collected."""
    names = sorted(file.name for file in (ROOT / "tests").rglob("test_*.py"))
    assert [one for one, other in pairwise(names) if one == other] == []


EXACT_DECIMALS = ("treedp_core/allocation/shares.py", "treedp_core/privacy/budget.py")
"""Where every digit of a `Decimal` is written: a share in a link, and a sum that is refused."""


def formats_by_hand(source: str) -> list[str]:
    """Formats of numbers in f-strings and in plotly's templates, and thousands set apart by hand."""
    found = ["localized"] * source.count("localized")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec = ast.unparse(node.format_spec)[2:-1]
            found += [spec] if re.search(r"[eEfFgGn%]$|,", spec) else []
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += re.findall(r"%\{[^{}:\s]*:([^{}\s]+)\}", node.value)
        elif isinstance(node, ast.Dict):
            keys = [one.value if isinstance(one, ast.Constant) else "" for one in node.keys]
            pairs = zip(keys, node.values, strict=True)
            found += [str(one.value) for key, one in pairs if key == "tickformat" and isinstance(one, ast.Constant)]
    return found


def test_numbers_are_written_in_one_place() -> None:
    """On the screen, in the core's sentences, in links, over figures and at axes: by `words`, as its table says."""
    files = [file for folder in ("treedp_core", "pages") for file in (ROOT / folder).rglob("*.py")]
    found = {str(file.relative_to(ROOT)): formats_by_hand(file.read_text(encoding="utf-8")) for file in files}
    del found["treedp_core/words.py"]
    assert {name for name, formats in found.items() if formats} == set(EXACT_DECIMALS)


def test_a_format_by_hand_is_found() -> None:
    written = (
        """[f"{x:g} {x:.{n}f} {x:,} {name:>8} {y}", "%{x:,.3~r} %{y} %{customdata[0]:d}", {"tickformat": ".0%"}]"""
    )
    assert formats_by_hand(written) == [",.3~r", "d", ".0%", "g", ".{n}f", ","]


# --- the map of the core ---------------------------------------------------------------------------------------------

MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LIBRARY = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


def test_twenty_things_are_where_the_map_says_under_the_name_it_gives() -> None:
    rows = re.findall(r"^\| .+ \| `([\w/]+\.py)` \| `(\w+)` \|$", MAP, re.MULTILINE)
    assert len(rows) == 20
    defined = {path: {name for node in file.tree.body for name in bound(node)} for path, file in by_path().items()}
    assert [(path, name) for path, name in rows if name not in defined.get(path, ())] == []


def test_what_no_page_shows_exists_and_has_an_example() -> None:
    listed = re.findall(r"`(treedp_core(?:\.\w+)+)`", LIBRARY.partition("## What no page shows")[2])
    assert len(listed) >= 9
    for name in listed:
        found = pkgutil.resolve_name(name)
        owner = pkgutil.resolve_name(name.rpartition(".")[0])
        assert ">>>" in (found.__doc__ or "") or ">>>" in (owner.__doc__ or ""), name


def test_browser_tests_stand_where_make_runs_them() -> None:
    """A browser elsewhere leaves its event loop running in a process that then tests what needs one of its own."""
    homes = {"browser"}
    marked = [one for one in (ROOT / "tests").rglob("test_*.py") if "pytest.mark." + "browser" in one.read_text()]
    assert [one.name for one in marked if one.parent.name not in homes] == []
    assert {one.parent.name for one in marked} == homes


def by_path() -> dict[str, Source]:
    return {source.path: source for source in SHIPPED}


def bound(node: ast.stmt) -> list[str]:
    targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets if isinstance(node, ast.Assign) else []
    return [getattr(node, "name", ""), *map(dotted, targets)]
