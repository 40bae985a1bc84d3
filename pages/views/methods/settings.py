"""Settings of the page Methods that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.inputs.setting import Setting, choice, control
from treedp_core.studies.methods.entries import KINDS, METHODS
from treedp_core.studies.methods.papers import CLAIMS, PAPERS
from treedp_core.studies.methods.terms import TERMS
from treedp_core.views import labels_of
from treedp_core.views.inputs import parameter
from treedp_core.views.methods import ClaimInputs, GlossaryInputs, MethodInputs

VIEWS: Final = labels_of("methods")

VIEW: Final = choice(
    "met_view", "methods", VIEWS, label="View",
    help="Every method with formula and source; every word and symbol; what the four papers say, with today's numbers.",
)  # fmt: skip
KIND: Final = choice(
    "met_kind", "mechanisms", KINDS, label="Kind", look="select", width=190,
    help="Noise, what follows it, how ε is split, how errors are judged, what others do, or what nobody can beat.",
)  # fmt: skip
ONE: Final = control(
    parameter(MethodInputs, "one"), label="Which one", look="select", width=280,
    format=lambda name: METHODS[name].label, help="Every entry of the table, those of plug-ins last.",
)  # fmt: skip
PAPER: Final = choice(
    "met_paper", "ghazi", PAPERS, label="Paper", look="select", width=190, help="One of the four papers.",
)  # fmt: skip
CLAIM: Final = control(
    parameter(ClaimInputs, "claim"), label="Claim", look="select", width=290,
    format=lambda name: f"{CLAIMS[name].place}: {CLAIMS[name].verdict.value}",
    help="A theorem, algorithm, figure or table, in the order of the paper.",
)  # fmt: skip
SHOWN: Final = control(
    parameter(ClaimInputs, "shown"), label="Figure",
    help="Today's numbers over the paper's; or the paper's own picture, with growth exponents measured.",
)  # fmt: skip

SEARCH: Final = control(
    parameter(GlossaryInputs, "search"), label="Search", placeholder="a word or a symbol", width=240,
    help="Terms with all of these words in them; nothing for all.",
)  # fmt: skip
TERM: Final = control(
    parameter(GlossaryInputs, "term"), label="Term", look="select", width=300, format=lambda name: TERMS[name].title,
    help="The same words as in the tooltips of every page.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (VIEW, KIND, ONE, SEARCH, TERM, PAPER, CLAIM, SHOWN)
