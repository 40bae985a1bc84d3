"""A planted fault: one place of the core changed so that a promise breaks, and the test that must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "treedp_core"


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Parameters
    ----------
    file : str
        Module, as a path below ``treedp_core``.
    original, mutated : str
        The text that is replaced, which occurs exactly once in the module, and what replaces it.
    why : str
        What the fault would do to a user.
    test : str
        The test that fails because of it, as a path below ``tests`` and a name: ``core/test_tree.py::test_levels``.
    equivalent : str
        Why no test can fail (then `test` is the nearest one, and must pass); empty for a fault that must be noticed.
    """

    file: str
    original: str
    mutated: str
    why: str
    test: str
    equivalent: str = ""

    @property
    def path(self) -> Path:
        """The module's file."""
        return CORE / self.file

    @property
    def module(self) -> str:
        """The module's dotted name."""
        return ".".join(("treedp_core", *Path(self.file).with_suffix("").parts)).removesuffix(".__init__")

    def source(self) -> str:
        """Return the module's text with the fault in it.

        Raises
        ------
        ValueError
            When the original text does not occur exactly once.
        """
        text = self.path.read_text(encoding="utf-8")
        if (found := text.count(self.original)) != 1:
            raise ValueError(f"{self.file}: expected once, found {found} times: {self.original}")
        return text.replace(self.original, self.mutated)
