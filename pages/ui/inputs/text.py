"""Words on the screen: user text shown literally, and prose of our own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal

import streamlit as st

from pages.ui.inputs.glossary import explain_new, written
from treedp_core.checks import InputError
from treedp_core.views.finding import Finding
from treedp_core.words import literal, unbroken
from treedp_core.words import plain as plain

# Numbers on cards, side by side.

WIDTH: Final = 192
"""Of a card in pixels: its label fits, and four stand side by side on a wide page."""
Card = tuple[str, str, str, str]
"""What it is called, its number, what stands below it, and its help."""


def found_cards(found: Finding, *, flow: bool = False) -> None:
    """Show a table of four columns of texts as cards: see `cards`. Its caption is added to their help."""
    rows = zip(*found.table.values(), strict=True)
    cards([(label, value, note, f"{about} {found.caption}".strip()) for label, value, note, about in rows], flow=flow)


def cards(shown: Sequence[Card], *, flow: bool = False) -> None:
    """Show cards over the whole width, or with `flow` as many in a row as there is room for."""
    places = [st.container(horizontal=True)] * len(shown) if flow else st.columns(len(shown))
    for place, (label, value, below, about) in zip(places, shown, strict=True):
        place.metric(
            label, value, below or None, delta_arrow="off", delta_color="off", border=True, help=about or None,
            height="content" if flow else "stretch", width=WIDTH if flow else "stretch",
        )  # fmt: skip


Width = Literal["stretch", "content"]
lit: Final = literal
_QUOTED: Final = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def small_print(words: str, *, beside: str = "", help: str = "", width: Width = "stretch") -> None:
    """Show small print (Markdown); symbols in it or `beside` it are explained where the page has them first."""
    told = explain_new(words, f"{words} {beside}")
    st.caption(unbroken(words), width=width, help="\n\n".join(filter(None, (help, told))) or None)


def prose(words: str, *, width: Width | Literal["auto"] = "auto") -> None:
    """Show a paragraph (Markdown); symbols in it are explained where the page has them first."""
    st.markdown(unbroken(words), width=width, help=explain_new(words, words) or None)


def formula(latex: str, letters: Iterable[str] = ()) -> None:
    """Show an equation with what its `letters` mean; other symbols are explained where the page has them first."""
    st.latex(latex, help="  \n".join(filter(None, (written(letters), explain_new(latex, latex)))) or None)


def alert(tell: Callable[..., object], words: str, *, icon: str | None = None) -> None:
    """Show a warning or another alert (Markdown) by `st.warning` or its like; symbols in it are explained below it.

    On the first screen that is left to the heading, and below it to where the page has them first.
    """
    tell(unbroken(words), icon=icon)
    if told := explain_new(words, words):
        st.caption(told)


def literal_sentence(sentence: str) -> str:
    """Return Markdown of a sentence of the core, whose quoted values are shown exactly as they are.

    Values stand there as Python writes text, in quotes (`checks.echo`). An apostrophe inside a word opens none.

    >>> literal_sentence("Unknown metric '<b>'; a unit's metric is one of: rmse.")
    "Unknown metric `'<b>'`; a unit's metric is one of: rmse."
    """
    pieces, at = [], 0
    for quoted in _QUOTED.finditer(sentence):
        pieces += [plain(sentence[at : quoted.start()]), lit(quoted.group(), 400)]
        at = quoted.end()
    return "".join([*pieces, plain(sentence[at:])])


_SPANS: Final = re.compile(r"(?<!`)(`++)(.*?[^`])\1(?!`)|(\*\*)|\\(.)", re.DOTALL)


def pieces(words: str) -> list[str]:
    r"""Return the text of Markdown as a page has it, in a piece for each change of its look.

    >>> pieces("a **b** `c*` 2 \\* 3")
    ['a ', 'b', ' ', 'c*', ' 2 * 3']
    """
    found, at, shown = [""], 0, words.strip()
    for mark in _SPANS.finditer(shown):
        found[-1] += shown[at : mark.start()]
        at = mark.end()
        if mark[2] is not None:
            code = mark[2]
            found += [code[1:-1] if code[0] == code[-1] == " " and code.strip() else code, ""]
        elif mark[3]:
            found.append("")
        else:
            found[-1] += mark[4]
    found[-1] += shown[at:]
    return [one for one in found if one]


def refusal_text(error: InputError) -> str:
    """Return Markdown of a refusal: the sentence, then its stable code, which static/app.css takes off the screen."""
    return f"{literal_sentence(str(error))}  \n:small[`{error.code}`]"
