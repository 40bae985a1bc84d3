"""Words that do not appear on screen, as docs/style.md has them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from browsing import ROOT

BANNED = {
    "errs": r"\berr(?:s|ed|ing)?\b", "is told": r"\b(?:is|are|was|were|be|been) told\b",
    "what it rests on": r"\b(?:what|all) (?:\w+ )?(?:\w+ )?rests? on\b", "off by": r"\boff by\b",
    "lets go of": r"\blets? go of\b", "he": r"\b(?:he|she|his|hers?|him)\b",
}  # fmt: skip
"""A word in docs/style.md, and the pattern of what is meant."""


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


def test_no_banned_word_is_on_screen() -> None:
    files = [file for folder in ("pages", "treedp_core") for file in (ROOT / folder).rglob("*.py")]
    uses = {str(file.relative_to(ROOT)): banned_in(file.read_text(encoding="utf-8")) for file in files}
    assert {name: words for name, words in uses.items() if words} == {}


def test_a_banned_word_is_found_in_every_form_and_nowhere_else() -> None:
    says = 'f"A count {x} is OFF BY 3: he errs.", "others are told what all of it rests on"'
    says = f'def f():\n    """It errs."""\n    return {says}\n'
    assert Counter(banned_in(says)) == Counter(["off by", "he", "errs", "is told", "what it rests on"])
    assert banned_in('"an error, the other, untold, this, interest on what it is, offbeat"') == []


def test_the_page_on_style_names_every_banned_word() -> None:
    table = (ROOT / "docs" / "style.md").read_text(encoding="utf-8").partition("## Words that do not appear")[2]
    assert [word for word in BANNED if not re.search(rf"^\|[^|]*\b{word}\b", table, re.MULTILINE)] == []
