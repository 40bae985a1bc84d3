"""Cells as one program: files asked for at the top, the calls of each cell, its table under a name.

The code of a cell may have come with somebody else's notebook. It is written out only where it is what the generator
writes: imports of ours, calls with values, names for what they return. Nothing is run to find out.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from treedp_core.notebook.cell import Cell
from treedp_core.notebook.code import APP_PATH, FIGURE, RESERVED
from treedp_core.notebook.export.merge_snippets import assigned, joined
from treedp_core.records.export.tables import IN_NAMES
from treedp_core.registry import is_loaded

OURS: Final = ("treedp_core", "sample_data")
_NOT_THESE: Final = (
    "treedp_core.batch", "treedp_core.cli", "treedp_core.notebook", "treedp_core.records.exit",
    "treedp_core.records.export.tables", "treedp_core.registry.",
)  # fmt: skip
LOAD: Final = "load_plugin"
"""Loads code: a saved cell may call it for packages only that this start of the app was told to load."""
_BUILTINS: Final = {"float", "int", "str", "bool", "range", "tuple", "list", "dict", "round", "min", "max", "len"}
_NUMPY: Final = re.compile(r"array|bool|u?int(8|16|32|64)|float(32|64)")
_NODES: Final = (
    ast.Call, ast.Name, ast.Attribute, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp, ast.USub,
    ast.keyword, ast.Load, ast.Store, ast.Assign, ast.Expr, ast.ImportFrom, ast.Import, ast.alias, ast.Module,
)  # fmt: skip


@dataclass(frozen=True)
class Section:
    """The code of one cell.

    Parameters
    ----------
    cell : Cell
    name : str
        Of its files: its number and what it is called, in letters, digits and hyphens.
    code : str
        What ends with its table under the name `table`, after the code of the cells before it; empty where there is
        none, or none of ours.
    draws : bool
        Whether the code draws its figure, too.
    """

    cell: Cell
    name: str
    code: str
    draws: bool


@dataclass(frozen=True)
class Program:
    """Paths of files that stand at the top, by the names that code has for them, and the code of each cell."""

    files: dict[str, str]
    sections: tuple[Section, ...]


def program_of(cells: Sequence[Cell]) -> Program:
    """Return cells as one program; what several cells read or find is read or found once.

    >>> cell = Cell(id="0" * 16, name="Two & two", page="lab", version="1", made="2026-11-22T15:00:00+00:00")
    >>> [one.name for one in program_of([cell]).sections]
    ['1-two-two']
    """
    files: dict[str, str] = {}
    ours = [is_ours(cell.code) for cell in cells]
    written = iter(joined([cell.code for cell, one in zip(cells, ours, strict=True) if one], files))
    sections = []
    for number, (cell, one) in enumerate(zip(cells, ours, strict=True), 1):
        draws = one and any(name == FIGURE for name, _ in assigned(ast.parse(cell.code)))
        sections.append(Section(cell, f"{number}-{slug(cell.name)}", next(written) if one else "", draws))
    return Program(files, tuple(sections))


def slug(name: str) -> str:
    """Return a name as the name of a file: lower-case letters, digits and hyphens, at most 60.

    >>> slug("Error vs ε: “Ärger” in ../etc"), slug("…")
    ('error-vs-epsilon-arger-in-etc', 'cell')
    """
    spelled = re.sub("[Ͱ-Ͽ]", _spelled, name)
    plain = unicodedata.normalize("NFKD", spelled).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-") or "cell"


def export_name(title: str, *, private: bool) -> str:
    """Return what a file that leaves is called, without its end: after what it shows, and whether that is private.

    >>> export_name("Error lab: one draw", private=True)
    'treedp-NOT-PRIVATE-error-lab-one-draw'
    """
    return "-".join(("treedp", *((IN_NAMES,) if private else ()), slug(title)))


def _spelled(letter: re.Match[str]) -> str:
    """A Greek letter by its name, which is all that plain letters have of it."""
    return unicodedata.name(letter[0], "").partition(" WITH")[0].rpartition(" ")[2].lower()


def is_ours(code: str) -> bool:
    r"""Return whether code does no more than call what the generator can write a call of.

    >>> is_ours("from treedp_core.tree import Tree\n\nTree.from_branching_factors((2, 2))")
    True
    >>> is_ours("import os\n\nos.system('true')"), is_ours("().__class__"), is_ours("print(1)")
    (False, False, False)
    """
    try:
        program = ast.parse(code.replace(APP_PATH, ""))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if not program.body or not isinstance(program.body[-1], ast.Expr):
        return False
    known = set(_BUILTINS)
    return all(_is_plain(node) for node in ast.walk(program)) and all(_is_known(one, known) for one in program.body)


def _is_plain(node: ast.AST) -> bool:
    """Whether a node is one that the generator writes, in itself."""
    if isinstance(node, ast.Attribute):
        numpy = isinstance(node.value, ast.Name) and node.value.id == "np"
        return not node.attr.startswith("_") and (not numpy or _NUMPY.fullmatch(node.attr) is not None)
    if isinstance(node, ast.Name):
        return not node.id.startswith("_")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == LOAD:
        names = [one.value for one in node.args if isinstance(one, ast.Constant)]
        return not node.keywords and len(node.args) == 1 and all(is_loaded(str(name)) for name in names) and names != []
    if isinstance(node, ast.Call):
        return isinstance(node.func, (ast.Name, ast.Attribute))
    if isinstance(node, ast.Import):
        return [(one.name, one.asname) for one in node.names] == [("numpy", "np")]
    if isinstance(node, ast.ImportFrom):
        return node.level == 0 and all(one.asname is None and _is_offered(node.module, one.name) for one in node.names)
    return isinstance(node, _NODES)


def _is_known(line: ast.stmt, known: set[str]) -> bool:
    """Whether a line is a statement of the generator's, over names `known` by then; what it names is known after it."""
    if isinstance(line, ast.ImportFrom | ast.Import):
        known |= {one.asname or one.name for one in line.names}
        return True
    if not isinstance(line, ast.Assign | ast.Expr):
        return False
    if not all(node.id in known for node in ast.walk(line.value) if isinstance(node, ast.Name)):
        return False
    if isinstance(line, ast.Assign):
        if len(line.targets) != 1 or not isinstance(line.targets[0], ast.Name) or line.targets[0].id in RESERVED:
            return False
        known.add(line.targets[0].id)
    return True


def _is_offered(module: str | None, name: str) -> bool:
    """Whether a module of ours has a class or function of ours by a name."""
    if (module, name) in (("fractions", Fraction.__name__), ("treedp_core.registry", LOAD)):
        return True
    if module is None or not f"{module}.".startswith(tuple(f"{one}." for one in OURS)):
        return False
    try:
        thing = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        return False
    home = f"{getattr(thing, '__module__', '')}."
    is_one = inspect.isclass(thing) or inspect.isfunction(thing)
    return is_one and home.startswith(tuple(f"{one}." for one in OURS)) and not home.startswith(_NOT_THESE)
