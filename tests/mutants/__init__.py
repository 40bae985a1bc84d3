"""The list of planted faults, which `make mutants` judges: one table for each in the files beside this one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from mutants.mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

MUTANTS: Final = tuple(
    Mutant(module, **row)
    for file in sorted(Path(__file__).parent.glob("*.toml"))
    for module, rows in tomllib.loads(file.read_text(encoding="utf-8")).items()
    for row in rows
)
