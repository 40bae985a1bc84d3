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


def run(code: str) -> tuple[Any, Any]:
    """Run code as it is; return the value of its last expression, and the figure that it draws, if any."""
    program, space = ast.parse(code), dict[str, Any](__name__="snippet")
    end = program.body.pop()
    assert isinstance(end, ast.Expr)
    exec(compile(program, "snippet", "exec"), space)
    return eval(compile(ast.Expression(end.value), "snippet", "eval"), space), space.get("figure")


def as_text(found: Any) -> str:
    """A table, or the bytes of a file, as the text of its download."""
    from treedp_core.records.export.tables import csv_bytes

    return (found if isinstance(found, bytes) else csv_bytes(found)).decode("utf-8-sig")


def main() -> None:
    """Run them all."""
    for code in json.load(sys.stdin):
        try:
            found, figure = run(code)
            drawn = {} if figure is None else {"figure": figure.to_json()}
            print(json.dumps({"csv": as_text(found), **drawn}), flush=True)
        except Exception:
            print(json.dumps({"error": traceback.format_exc()}), flush=True)


if __name__ == "__main__":
    main()
