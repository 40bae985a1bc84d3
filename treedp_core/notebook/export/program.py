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
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from treedp_core.notebook.cell import Cell
from treedp_core.notebook.code import APP_PATH, FIGURE, RESERVED
from treedp_core.records.export.tables import IN_NAMES
from treedp_core.registry import is_loaded

# ---- code of several cells, one after another: a value that several of them have is found once, in the first of these


TABLE: Final = "table"
"""What the table of a cell is called in code."""
_MOST: Final = 10_000
"""Variables of one name, and files."""


def joined(codes: Sequence[str], files: dict[str, str]) -> list[str]:
    r"""Return code of cells that runs in their order, each with a name for what it ends with.

    Two cells have the same value where they write the same calls of the same values; a call draws from no stream that
    it is not given. What cells share keeps its name to the end, so what another calls so gets another name.

    Parameters
    ----------
    codes : sequence of str
        What the generator writes: see `program.is_ours`.
    files : dict
        Paths by the names that they have at the top of the program, to which those of these cells are added.

    >>> first, second = joined(["tree = max(2, 3)\nmin(tree, 1)", "tree = max(2, 3)\nmin(tree, 2)"], {})
    >>> first.splitlines(), second.splitlines()
    (['tree = max(2, 3)', 'table = min(tree, 1)'], ['table = min(tree, 2)'])
    """
    numbers: dict[str, int] = {}
    parts = [_Code(code, files, numbers) for code in codes]
    times = Counter(value for one in parts for value in set(one.values.values()))
    shared = {value for value, n in times.items() if n > 1}
    taken = set().union(RESERVED, *(one.known for one in parts))
    imported = set().union(*(one.imported for one in parts))
    kept: dict[int, str] = {}
    written, has_path = [], False
    for one in parts:
        names, gone = dict(one.paths), set[str]()
        for name, value in one.values.items():
            if value in kept:
                names[name] = kept[value]
                gone.add(name)
                continue
            clashes = name in kept.values() or (value in shared and (name in imported or name == TABLE))
            names[name] = _free(name, taken) if clashes else name
            if value in shared:
                kept[value] = names[name]
        written.append(("" if has_path or not one.from_app else APP_PATH) + one.written(names, gone))
        has_path |= one.from_app
    return written


class _Code:
    """The code of one cell.

    Its `paths` are files by their names here, as the names at the top of the program; its `values` are what each
    variable stands for, and its table, a number that another cell's variable has only if it stands for the same.
    """

    def __init__(self, code: str, files: dict[str, str], numbers: dict[str, int]) -> None:
        self.from_app = APP_PATH in code
        self.code = code.replace(APP_PATH, "")
        self.program = ast.parse(self.code)
        self.known = {one.id for one in ast.walk(self.program) if isinstance(one, ast.Name)}
        self.imported: set[str] = set()
        self.paths: dict[str, str] = {}
        self.values: dict[str, int] = {}
        stands: dict[str, str] = {}
        for line in self.program.body:
            if isinstance(line, ast.ImportFrom):
                stands |= {one.name: f"{line.module}.{one.name}" for one in line.names}
                self.imported |= {one.name for one in line.names}
        for name, line in assigned(self.program):
            if _is_path(name, line):
                path = ast.literal_eval(line.value)
                self.paths[name], stands[name] = _place(path, name, files), repr(path)
            else:
                text = f"{ast.unparse(_Spelled(stands).visit(deepcopy(line.value)))}"
                again = name in self.values or name in self.imported  # nothing that we write
                number = numbers.setdefault(text if not again else f"{text} {len(numbers)}", len(numbers))
                stands[name] = f"§{number}"
                numbers[stands[name]] = number
                if name != FIGURE:  # each cell draws its own
                    self.values[name] = number
        table = ast.unparse(_Spelled(stands).visit(deepcopy(self.program.body[-1])))
        self.values[TABLE] = numbers.setdefault(table, len(numbers))

    def written(self, names: Mapping[str, str], gone: Collection[str]) -> str:
        """The code with other names for its variables, without its paths and without the lines that make `gone`."""
        lines: list[str | None] = list(self.code.splitlines())
        edits = list[tuple[int, int, int, str]]()
        last = self.program.body[-1]
        removed: list[ast.stmt] = [line for name, line in assigned(self.program) if name in gone or name in self.paths]
        removed += [last] if TABLE in gone else []
        left = [line for line in self.program.body if line not in removed]
        used = {one.id for line in left for one in ast.walk(line) if isinstance(one, ast.Name)}
        for line in left:
            if isinstance(line, ast.ImportFrom):
                told = ", ".join(one.name for one in line.names if one.name in used)
                lines[line.lineno - 1] = f"from {line.module} import {told}" if told else None
            elif isinstance(line, ast.Import) and "np" not in used:
                lines[line.lineno - 1] = None
            for one in ast.walk(line):
                if isinstance(one, ast.Name) and names.get(one.id, one.id) != one.id:
                    edits.append((one.lineno, one.col_offset, one.end_col_offset or 0, names[one.id]))
        if TABLE not in gone:
            named = "".join(f"{name} = " for name in dict.fromkeys((names[TABLE], TABLE)))
            edits.append((last.lineno, last.col_offset, last.col_offset, named))
        for row, start, end, text in sorted(edits, reverse=True):
            whole = (lines[row - 1] or "").encode()
            lines[row - 1] = (whole[:start] + text.encode() + whole[end:]).decode()
        for line in removed:
            first = line.lineno - 1
            while first and (lines[first - 1] or "").startswith("#"):  # what is said of it
                first -= 1
            lines[first : line.end_lineno] = [None] * ((line.end_lineno or 0) - first)
        if TABLE in gone:
            lines.append(f"{TABLE} = {names[TABLE]}")
        text = "\n".join(one for one in lines if one is not None)
        return re.sub(r"\n{3,}", "\n\n", text).strip("\n")


class _Spelled(ast.NodeTransformer):
    """Writes what names stand for in their place."""

    def __init__(self, stands: Mapping[str, str]) -> None:
        self.stands = stands

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """The name of what a name stands for."""
        return ast.Name(self.stands.get(node.id, node.id), node.ctx)


def assigned(program: ast.Module) -> Iterator[tuple[str, ast.Assign]]:
    """The names that a program gives to values, and the lines that do."""
    for line in program.body:
        if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            yield line.targets[0].id, line


def _is_path(name: str, line: ast.Assign) -> bool:
    return name.isupper() and isinstance(line.value, ast.Constant) and isinstance(line.value.value, str)


def _free(name: str, taken: set[str]) -> str:
    """A name like another that nothing else has, from now on taken."""
    stem = re.sub(r"_\d+$", "", name)
    found = next(f"{stem}_{n}" for n in range(2, _MOST) if f"{stem}_{n}" not in taken)
    taken.add(found)
    return found


def _place(path: str, name: str, files: dict[str, str]) -> str:
    """Return the name that a path has at the top of the program, where it is added."""
    stem = re.sub(r"_\d+$", "", name)
    for found in (stem, *(f"{stem}_{n}" for n in range(2, _MOST))):
        if files.setdefault(found, path) == path:
            return found
    raise ValueError(f"A program has at most {_MOST} files.")


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
