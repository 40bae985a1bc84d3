"""Papers, checked: each claim with its verdict, and today's numbers beside the paper's."""

from __future__ import annotations

from functools import cache, partial

from pages.ui import frame, router
from pages.ui.glossary import also
from pages.ui.page import Told
from pages.ui.result import at_once, show_state
from pages.ui.setting import in_a_row
from pages.ui.store import remember
from pages.ui.strip import strip
from pages.views.methods import settings as s
from pages.views.methods import words
from treedp_core.figures.methods import grown, ratios
from treedp_core.notebook.code import call, given
from treedp_core.studies.methods.letters import letters_of_paper
from treedp_core.studies.methods.papers import (
    CLAIMS,
    PAPERS,
    Checked,
    axis_of,
    checked,
    claim_table,
    picture,
    ratio_table,
    rows_of_claims,
    rows_of_ratios,
    summary,
)
from treedp_core.words import short


def show() -> Told:
    """Show a claim of a paper among all of it, or the paper's own picture."""
    with in_a_row():
        name = _chosen()
        s.SHOWN.draw()
    paper = CLAIMS[name].paper
    found = at_once("met_papers", paper, lambda: _checked(paper), of="papers", room=len(PAPERS))
    if found.value is not None:
        _figure(paper, next(one for one in found.value if one.name == name), found.value)
    show_state(found, "Computing")
    page, settings = CLAIMS[name].opens
    router.link(page, f"See {CLAIMS[name].place} at work", settings)
    about = strip(PAPERS[paper], *([summary(found.value)] if found.value is not None else []))
    more = partial(_more, paper, found.value) if found.value is not None else None
    return Told(about, "formula, simulation", more=more)


@cache
def _checked(paper: str) -> tuple[Checked, ...]:
    """Return a paper's claims with their numbers, which are of no data: all sessions of a server have the same."""
    return checked(paper)


def _figure(paper: str, one: Checked, found: tuple[Checked, ...]) -> None:
    said = words.claim(one)
    also(letters_of_paper(paper, said))
    if s.SHOWN.value == "growth":
        curves = remember(("picture of a paper", paper), lambda: call(picture, paper).named("curves"))
        also(letters_of_paper(paper, " ".join((axis_of(paper), *curves.value))))
        frame.figure(
            call(grown, curves, axis_of(paper)), key="met_growth", alt=said, answer=said, ran=curves,
            caption=words.PICTURES[paper],
        )  # fmt: skip
        return
    ran = given(rows_of_ratios(found), ratio_table, paper).named("columns")
    frame.figure(
        call(ratios, ran, one.claim.place), key="met_ratios", alt=said, answer=said, ran=ran,
        caption=words.all_numbers(found),
    )  # fmt: skip


def _chosen() -> str:
    """Show which claim of which paper; where a link names only the claim, the paper is its own."""
    if CLAIMS[s.CLAIM.value].paper != s.PAPER.value:
        s.PAPER.set(CLAIMS[s.CLAIM.value].paper)
    s.PAPER.draw(on_change=_first_of_paper)
    return s.CLAIM.draw(offered=[name for name, one in CLAIMS.items() if one.paper == s.PAPER.value])


def _first_of_paper() -> None:
    s.CLAIM.set(next(name for name, one in CLAIMS.items() if one.paper == s.PAPER.value))


def _more(paper: str, found: tuple[Checked, ...]) -> None:
    """Show every claim of the paper, a row for each of its numbers."""
    told = "; ".join(letters_of_paper(paper, " ".join(f"{one.claim.says} {one.claim.why}" for one in found))) + "."
    frame.table(
        given(rows_of_claims(found), claim_table, paper), key="met_claims",
        alt=f"Every claim of {PAPERS[paper]} with its numbers",
        caption="Every number of “today” is computed when this is shown. The paper's is what its text prints, or what "
        f"its formula gives. {told} Formula, and simulation where the row says so.",
        formats={"today": partial(short, digits=5), "the paper's": partial(short, digits=5)},
    )  # fmt: skip
