"""A program: run the snippets it is given, each in a namespace of its own, and print the table that each ends with.

Reads a JSON list of code from standard input; prints a JSON object for each.
"""

from __future__ import annotations

import ast
import json
import sys
import traceback
from typing import Any


def last_value(code: str) -> Any:
    """Run code as it is and return the value of its last expression."""
    return run(code)[0]


def run(code: str, known: dict[str, Any] | None = None) -> tuple[Any, Any]:
    """Run code as it is; return the value of its last expression, and the figure that it draws, if any.

    What it names is taken from what is `known`, by the statements that lead to it, where others began with the same.
    """
    space, before = dict[str, Any](__name__="snippet"), ""
    *lines, end = ast.parse(code).body
    assert isinstance(end, ast.Expr)
    for line in lines:
        if known is not None and isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            before, name = f"{before}\n{ast.unparse(line)}", line.targets[0].id
            if before in known:
                space[name] = known[before]
                continue
        exec(compile(ast.Module([line], []), "snippet", "exec"), space)
        if known is not None and isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
            known[before] = space[name]
    return eval(compile(ast.Expression(end.value), "snippet", "eval"), space), space.get("figure")


def as_text(found: Any) -> str:
    """A table, or the bytes of a file, as the text of its download."""
    from treedp_core.records.export.tables import csv_bytes

    return (found if isinstance(found, bytes) else csv_bytes(found)).decode("utf-8-sig")


def main() -> None:
    """Run them all."""
    known: dict[str, Any] = {}
    for code in json.load(sys.stdin):
        try:
            found, figure = run(code, known)
            drawn = {} if figure is None else {"figure": figure.to_json()}
            print(json.dumps({"csv": as_text(found), **drawn}), flush=True)
        except Exception:
            print(json.dumps({"error": traceback.format_exc()}), flush=True)


if __name__ == "__main__":
    main()
