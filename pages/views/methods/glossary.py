"""Glossary: every word and symbol, searched and explained in the words of the tooltips."""

from __future__ import annotations

from pages.ui import frame, router
from pages.ui.glossary import TERMS, found, term_table
from pages.ui.page import Told
from pages.ui.setting import in_a_row
from pages.ui.strip import strip
from pages.ui.text import lit
from pages.views.methods import settings as s
from treedp_core.notebook.code import call
from treedp_core.words import plural


def show() -> Told:
    """Show the terms that a search finds, and what one of them means."""
    with in_a_row():
        wanted = s.SEARCH.draw()
        names = found(wanted)
        if names and s.TERM.value not in names:
            s.TERM.set(names[0])
        s.TERM.draw(offered=names or [s.TERM.value], disabled=not names)
    one = TERMS[s.TERM.value]
    said = f"**{one.title}.** {one.text}" if names else f"No term has {lit(wanted)} in it."
    frame.table(
        call(term_table, wanted), key="met_glossary", alt="Terms and what they mean", answer=said,
        caption="The same words stand in the tooltips of every page, and behind the question mark of its heading for "
        "the symbols that it shows.",
    )  # fmt: skip
    if one.page and names:
        router.link(one.page, f"See {one.title} at work")
    return Told(strip(plural(len(names), "term")), "")
