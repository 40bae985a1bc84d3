"""Methods: what each assumes and where it comes from, closed forms beside simulations, and claims of papers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

from treedp_core.figures import methods as figures
from treedp_core.registry import generation
from treedp_core.studies.methods import papers, terms
from treedp_core.studies.methods.comparison import compared
from treedp_core.studies.methods.entries import KINDS, METHODS, method_table
from treedp_core.studies.methods.letters import letters_of_paper
from treedp_core.studies.methods.papers import CLAIMS, PAPERS
from treedp_core.studies.methods.selfcheck import TRIALS, SelfCheck, check_table, n_steps, self_check
from treedp_core.studies.methods.terms import TERMS
from treedp_core.views import parameters
from treedp_core.views.entries import Entry, Work, alone
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, UserText, forgetful
from treedp_core.views.inputs import Inputs, of
from treedp_core.views.methods import words
from treedp_core.views.parameters import choice
from treedp_core.words import plural

# ---- an entry of the tables beside the others of its kind, the self-check, and claims of papers with today's numbers


DRAWN: Final = {"verdicts": "All numbers", "growth": "Its picture"}
checked: Final = cache(papers.checked)
"""Claims of a paper with their numbers, which are of no data: all sessions of a server have the same."""
Check = SelfCheck | None
"""What all closed forms were found to be, once they were simulated."""


@dataclass(frozen=True, kw_only=True)
class MethodInputs(Inputs):
    """Which entry of the tables is shown."""

    one: str = of(choice("met_one", "mechanisms.gaussian", METHODS, label="Which one"))


@dataclass(frozen=True, kw_only=True)
class ClaimInputs(Inputs):
    """Which claim of a paper is shown, and how."""

    claim: str = of(choice("met_claim", "ghazi.1", CLAIMS, label="Claim"))
    shown: str = of(choice("met_shown", "verdicts", DRAWN, label="Figure"))

    @property
    def paper(self) -> str:
        """The paper that the claim is of."""
        return CLAIMS[self.claim].paper


@dataclass(frozen=True, kw_only=True)
class GlossaryInputs(Inputs):
    """Which terms are sought, by words that all stand in them, and which one is explained."""

    search: str = of(parameters.words("met_search", ""))
    term: str = of(choice("met_term", "epsilon", TERMS, label="Term"))


def beside_others(inputs: MethodInputs, tables: Tables, *, slow: Check = None, memo: Memo = forgetful) -> Finding:
    """Return an entry beside the others of its kind, over what decides between them, on made-up counts."""
    one, found = METHODS[inputs.one], memo(("methods", inputs.one, generation()), lambda: compared(inputs.one))
    said, about = words.answer(one, found), f"{KINDS[one.kind]}: {one.label}"
    return Finding(
        figure=figures.beside_others(found.columns, found.chosen, found.says, found.is_ratio),
        columns=lambda: found.columns, answer=said, alt=said, caption=words.caption(one, found),
        badges=("formula", "simulation") if slow is not None or found.simulated else ("formula",),
        provenance=Provenance(about=(UserText(about) if one.author else about, "made-up counts")),
    )  # fmt: skip


def every_entry(inputs: MethodInputs, tables: Tables, *, slow: Check = None, memo: Memo = forgetful) -> Finding:
    """Return what is stated of every entry of a kind."""
    kind = METHODS[inputs.one].kind
    return Finding(
        columns=partial(method_table, kind), alt=f"What is stated of every entry: {KINDS[kind]}",
        caption="Written from the tables; a plug-in's entries are here, too.",
    )  # fmt: skip


def self_checked(inputs: MethodInputs, tables: Tables, *, slow: Check = None, memo: Memo = forgetful) -> Finding:
    """Return every closed form beside its simulation, once that was run."""
    if slow is None:
        return Finding(answer="Press **Self-check**.")
    rows = check_table(slow)
    return Finding(
        figure=figures.checked(rows), columns=lambda: rows, alt=words.checked(slow), badges=("formula", "simulation"),
        caption="Simulation minus closed form, in standard errors of the simulation; dotted: the limits. A formula "
        "wrong by a tenth would lie far outside. Formula beside simulation.",
    )  # fmt: skip


def all_numbers(inputs: ClaimInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return a claim of a paper, and today's numbers over all of the paper's."""
    found = checked(inputs.paper)
    columns = papers.ratio_table(found)
    figure = figures.ratios(columns, CLAIMS[inputs.claim].place)
    return _of_claim(inputs, figure=figure, columns=lambda: columns, caption=words.all_numbers(found))


def growth(inputs: ClaimInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return a claim of a paper, and the paper's own picture."""
    paper = inputs.paper
    curves = memo(("methods.picture", paper), lambda: papers.picture(paper))
    figure = figures.grown(curves, papers.axis_of(paper))
    return _of_claim(inputs, figure=figure, columns=lambda: curves, caption=words.PICTURES[paper])


def claims(inputs: ClaimInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return every claim of a paper, a row for each of its numbers."""
    found = checked(inputs.paper)
    said = " ".join(f"{one.claim.says} {one.claim.why}" for one in found)
    return Finding(
        columns=partial(papers.claim_table, found), alt=f"Every claim of {PAPERS[inputs.paper]} with its numbers",
        caption="Every number of “today” is computed when this is shown. The paper's is what its text prints, or what "
        f"its formula gives. {'; '.join(letters_of_paper(inputs.paper, said))}. Formula, and simulation where the row "
        "says so.",
        badges=("formula", "simulation"),
    )  # fmt: skip


def glossary(inputs: GlossaryInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the terms that a search finds, and what one of them means."""
    names, one = terms.found(inputs.search), TERMS[inputs.term]
    return Finding(
        columns=partial(terms.term_table, inputs.search), alt="Terms and what they mean",
        answer=f"**{one.title}.** {one.text}" if names else "No term has all of these words in it.",
        caption="The same words stand in the tooltips of every page, and behind the question mark of its heading for "
        "the symbols that it shows.",
        provenance=Provenance(about=(plural(len(names), "term"),)),
    )  # fmt: skip


def _of_claim(inputs: ClaimInputs, **drawn: Any) -> Finding:
    found = checked(inputs.paper)
    said = words.claim(next(one for one in found if one.name == inputs.claim))
    used = Provenance(about=(PAPERS[inputs.paper], papers.summary(found)))
    return Finding(answer=said, alt=said, badges=("formula", "simulation"), provenance=used, **drawn)


def _self_check(inputs: MethodInputs, tables: Tables) -> Work:
    """The simulation of every closed form."""
    return Work(self_check, TRIALS, (), n_steps, name="check")


_entry = partial(Entry, page="methods", view="methods", inputs=MethodInputs, apart=alone, slow=_self_check)
_paper = partial(Entry, page="methods", view="papers", inputs=ClaimInputs, apart=alone)
ENTRIES = (
    _entry(part="met_compared", label="Methods", question="Which method, and why?", find=beside_others),
    _entry(part="met_kind_table", section="kind", find=every_entry),
    _entry(part="met_checked", section="check", find=self_checked),
    Entry(page="methods", view="glossary", part="met_glossary", label="Glossary", inputs=GlossaryInputs, find=glossary,
          question="What does this word mean?", apart=alone),
    _paper(part="met_ratios", label="Papers, checked", question="Do the papers' numbers hold?", find=all_numbers),
    _paper(part="met_growth", section="growth", find=growth),
    _paper(part="met_claims", section="claims", find=claims),
)  # fmt: skip


__all__ = [
    "ENTRIES", "ClaimInputs", "GlossaryInputs", "MethodInputs", "all_numbers", "beside_others", "claims", "every_entry",
    "glossary", "growth", "self_checked",
]  # fmt: skip
