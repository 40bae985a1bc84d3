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
    program, space = ast.parse(code), {"__name__": "snippet"}
    end = program.body.pop()
    assert isinstance(end, ast.Expr)
    exec(compile(program, "snippet", "exec"), space)
    return eval(compile(ast.Expression(end.value), "snippet", "eval"), space)


def main() -> None:
    """Run them all."""
    for code in json.load(sys.stdin):
        try:
            columns = last_value(code)
            from pages.ui.exports import csv_bytes

            print(json.dumps({"csv": csv_bytes(columns).decode("utf-8-sig")}), flush=True)
        except Exception:
            print(json.dumps({"error": traceback.format_exc()}), flush=True)


if __name__ == "__main__":
    main()
