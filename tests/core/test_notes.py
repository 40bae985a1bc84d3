"""Notes as Markdown that asks for nothing elsewhere; a browser test shows that none of these becomes a link."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treedp_core.notebook.export.cell_summary import safe_markdown

HOSTILE = (
    "![x](http://192.0.2.1/b.png)", "[x](http://192.0.2.1)", "[x]: http://192.0.2.1", "<http://192.0.2.1>",
    "http://192.0.2.1", "HTTPS://x.org/a", "www.x.org", "a@x.org", "mailto:a@x.org", r"http:\//x.org",
    "http&#58;//x.org", "<img src=x>", "<script>alert(1)</script>", "$\\href{http://x}{y}$", "[x][y]", "[![a](b)](c)",
    "`` [x](y)", "```\n[x](y)", "> [x](http://y)", "- [x](http://y)", "    [x](http://y)\n[x](http://y)",
    "`a\n[x](http://y)`", "\\`[x](http://y)\\`", "````\n```\n[x](http://y)", "~~~\n[x](y)\n~~~\n[x](y)",
    "| [x](y) |\n|---|",
)  # fmt: skip
"""Tried in a browser too."""


@pytest.mark.parametrize(
    "note",
    ["plain words", "**bold** and *slanted*", "1. one\n2. two", "- a\n  - b", "| a |\n|:--|\n| 1 |",
     "> quoted", "`a[0] < b`", "```\nx = [1](2)\n```", "3 * 4 = 12; at 10:30", "a: b"],
)  # fmt: skip
def test_what_only_looks_stays(note: str) -> None:
    assert safe_markdown(note) == note


def outside_of_code(markdown: str) -> str:
    """The text without blocks and spans of code, whose ends the function writes itself, and without what is escaped."""
    blocks = markdown.split("```")[::2]
    return re.sub(r"\\.|`[^`\n]+`", " ", "\n".join(blocks))


@pytest.mark.parametrize(
    ("note", "shown"),
    [(":red[now] and x:blue-badge[y]", r"\:red\[now\] and x\:blue-badge\[y\]"), (":small[x]", r"\:small\[x\]"),
     (":material/lock: said :smile:", r"\:material\/lock: said `:smile:`"),
     ("::note\n:::note", "\\:\\:note\n\\:\\:\\:note"),
     (":a::b:", "`:a::b:`")],
)  # fmt: skip
def test_what_only_the_app_reads_comes_out_as_it_was_typed(note: str, shown: str) -> None:
    assert safe_markdown(note) == shown


@pytest.mark.parametrize(
    ("note", "shown"),
    [("# Head", "### Head"), ("## Head", "#### Head"), ("##### Head", "###### Head"), ("#1 of 2", "#1 of 2"),
     ("> # Head", "> ### Head"), ("- # Head", "- ### Head"), ("1. # Head", "1. ### Head"),
     ("Head\n===", "### Head"), ("Head\n---\nmore", "#### Head\nmore"), ("> Head\n> ---", "> #### Head"),
     ("Head\r\nof two\r\n==", "### Head of two"), ("# One\nTwo\n---", "### One\n#### Two"),
     ("# Head\n---", "### Head\n---"), ("- Head\n---", "- Head\n\\---"), ("> Head\n===", "> Head\n\\==="),
     ("```\nHead\n===\n```", "```\nHead\n===\n```"),
     ("text\n\n---\n\nmore", "text\n\n---\n\nmore"), ("a | b\n--- | ---", "a | b\n--- | ---")],
)  # fmt: skip
def test_a_heading_stands_below_those_of_the_page(note: str, shown: str) -> None:
    assert safe_markdown(note) == shown


@pytest.mark.parametrize("note", HOSTILE)
def test_nothing_active_is_left(note: str) -> None:
    left = outside_of_code(safe_markdown(note))
    assert not re.search(r"[\[\]<&$~`!]|https?:|www\.|@|mailto:", left, re.IGNORECASE), left


@example(">@:")  # the mark of a quotation, and no name before the @
@given(st.text(st.sampled_from("ab`[]()<>!&$\\~\n# *>-|:/@."), max_size=60))
def test_whatever_is_written(note: str) -> None:
    left = outside_of_code(safe_markdown(note))
    assert not re.search(r"[\[\]<&$~`!]|[^\s>]@\S", left), left
