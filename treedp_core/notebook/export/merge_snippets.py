"""Code of several cells, one after another: a value that several of them have is found once, in the first of these."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Final

from treedp_core.notebook.code import APP_PATH, FIGURE, RESERVED

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
