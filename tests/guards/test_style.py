"""Words that do not appear on screen, as docs/style.md has them: what is left from before may only become less."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from browsing import ROOT

BANNED = {
    "errs": r"\berr(?:s|ed|ing)?\b", "is told": r"\b(?:is|are|was|were|be|been) told\b",
    "what it rests on": r"\b(?:what|all) (?:\w+ )?(?:\w+ )?rests? on\b", "off by": r"\boff by\b",
    "lets go of": r"\blets? go of\b", "he": r"\b(?:he|she|his|hers?|him)\b",
}  # fmt: skip
"""A word in docs/style.md, and the pattern of what is meant."""

LEFT = {
    "page branching": 2, "page budget": 1, "page cdf": 7, "page consistency": 1, "page lab": 2, "page methods": 1,
    "page multiplicative": 5, "page plan": 1, "page protects": 8, "page ranges": 1, "page topdown": 5,
    "pages/ui/figure/pictures.py": 1, "treedp_core/errors/metrics.py": 5, "treedp_core/mechanisms/stability.py": 1,
    "treedp_core/notebook/comparison/pairs.py": 1, "treedp_core/plans/programs.py": 1,
    "treedp_core/plans/words.py": 1, "treedp_core/postprocess/__init__.py": 3, "treedp_core/postprocess/chains.py": 2,
    "treedp_core/studies/cdf/baselines.py": 3, "treedp_core/studies/cdf/release.py": 3,
    "treedp_core/studies/cdf/method_cards.py": 2, "treedp_core/studies/lesson/exercises.py": 3,
    "treedp_core/studies/lesson/reveal.py": 8, "treedp_core/studies/lesson/steps.py": 9,
    "treedp_core/studies/methods/letters.py": 1, "treedp_core/studies/methods/papers/boninsegna.py": 1,
    "treedp_core/studies/methods/papers/dawson.py": 1, "treedp_core/studies/methods/papers/ghazi.py": 3,
    "treedp_core/studies/multiplicative/method_cards.py": 4, "treedp_core/studies/multiplicative/tree_bounds.py": 1,
}  # fmt: skip
"""Uses from before: of a page's files together, as its sentences move among them, else of a file."""


def subject_of(path: PurePosixPath) -> str:
    """What a file's sentences are counted under.

    The page of `pages/NAME.py`, `pages/views/NAME` and `treedp_core/views/NAME`; any other file is its own.
    """
    parts = path.with_suffix("").parts
    if parts[:2] in (("pages", "views"), ("treedp_core", "views")):
        return f"page {parts[2]}"
    return f"page {path.stem}" if parts[0] == "pages" and len(parts) == 2 else path.as_posix()


def strings(source: str) -> Iterator[str]:
    """Every string of a file that is no docstring."""
    tree = ast.parse(source)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def banned_in(source: str) -> list[str]:
    """The banned words of a file, once for each use."""
    found = ((word, text) for text in strings(source) for word in BANNED)
    return [word for word, text in found for _ in re.findall(BANNED[word], text, re.IGNORECASE)]


def test_banned_words_on_screen_become_less() -> None:
    uses: Counter[str] = Counter()
    for folder in ("pages", "treedp_core"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            uses[subject_of(PurePosixPath(file.relative_to(ROOT)))] += len(banned_in(file.read_text(encoding="utf-8")))
    assert {subject: n for subject, n in uses.items() if n > LEFT.get(subject, 0)} == {}


def test_a_banned_word_is_found_in_every_form_and_nowhere_else() -> None:
    says = 'f"A count {x} is OFF BY 3: he errs.", "others are told what all of it rests on"'
    says = f'def f():\n    """It errs."""\n    return {says}\n'
    assert Counter(banned_in(says)) == Counter(["off by", "he", "errs", "is told", "what it rests on"])
    assert banned_in('"an error, the other, untold, this, interest on what it is, offbeat"') == []


def test_sentences_of_a_page_are_counted_together() -> None:
    paths = ("pages/cdf.py", "pages/views/cdf/words.py", "treedp_core/views/cdf/words.py")
    assert {subject_of(PurePosixPath(path)) for path in paths} == {"page cdf"}
    assert subject_of(PurePosixPath("pages/ui/figure/frame.py")) == "pages/ui/figure/frame.py"


def test_the_page_on_style_names_every_banned_word() -> None:
    table = (ROOT / "docs" / "style.md").read_text(encoding="utf-8").partition("## Words that do not appear")[2]
    assert [word for word in BANNED if not re.search(rf"^\|[^|]*\b{word}\b", table, re.MULTILINE)] == []
