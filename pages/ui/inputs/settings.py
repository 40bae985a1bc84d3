"""The one registry of settings: the session keeps them, the address carries them (see `pages.ui.page.address`).

Here are the settings every page shares, the data set's among them; a page declares its own in its `Page`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pages.ui.inputs.setting import Setting, choice, control, flag, number, tuned_on, whole, words
from sample_data.catalogue import SAMPLES
from treedp_core import checks
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import EPSILON_HIGH
from treedp_core.cli import FILE_VARIABLE
from treedp_core.notebook import study
from treedp_core.privacy.unit import MAX_CONTRIBUTIONS
from treedp_core.records.mock_data import MAX_RECORDS, MIN_RECORDS
from treedp_core.studies.budget import source_of_text
from treedp_core.studies.methods.terms import text
from treedp_core.views.cells.rerun import RECORDS_GRID, TableInputs
from treedp_core.views.inputs import MAX_ALPHA, ReleaseInputs, parameter
from treedp_core.views.parameters import many
from treedp_core.words import setting_text, short
from treedp_core.words import whole as in_full

MAX_SLIDES: Final = 40
LONGEST_SLIDE: Final = 1_000
"""Characters of one slide."""


def _slide(link: str) -> str:
    if len(link) > LONGEST_SLIDE or link.partition("?")[0] not in _OF_PAGE:
        raise checks.InputError("SLIDE_PAGE", f"Expected a page of this app, in at most {LONGEST_SLIDE} characters.")
    return link


def _delta(value: float) -> str:
    return "0 (pure)" if value == 0 else setting_text(value)


EPSILON: Final = control(
    parameter(ReleaseInputs, "epsilon"), format=setting_text,
    help=f"{text('epsilon')} Left: more private, more noise. Right: more accurate, less private.",
)  # fmt: skip
EPSILON_TUNED: Final = number(study.EPSILON_TUNED, 0.0, partial(checks.number, "eps_tuned", low=0, high=EPSILON_HIGH))
"""The ε that was sought on true counts; as long as it is the one that is set, no file without data and no address has
it."""
DELTA: Final = control(
    parameter(ReleaseInputs, "delta"), label="Failure probability δ", format=_delta,
    help=text("delta"),
)  # fmt: skip
RELATION: Final = control(
    parameter(ReleaseInputs, "relation"), label="Neighbouring relation", look="select", help=text("relation"),
)  # fmt: skip
UNIT: Final = words(
    "unit", "", own="", label="What is one unit?", placeholder="person, household, device, record …",
    help=text("unit"),
)  # fmt: skip
CONTRIBUTIONS: Final = control(
    parameter(ReleaseInputs, "contributions"), low=1, high=MAX_CONTRIBUTIONS, step=1,
    label="Records of one unit, at most", help=text("contributions"),
)  # fmt: skip
KNOWN_LEVELS: Final = control(
    parameter(ReleaseInputs, "known_levels"), low=1, high=64, step=1, label="Known levels",
    help=text("known"),
)  # fmt: skip
ALPHA: Final = control(
    parameter(ReleaseInputs, "alpha"), label="Slack α", look="slider", low=0.0, high=MAX_ALPHA, step=0.05,
    help=text("alpha"),
)  # fmt: skip
THRESHOLD: Final = control(
    parameter(ReleaseInputs, "threshold"), label="Threshold τ", format=short,
    help=text("tau"),
)  # fmt: skip
SEED: Final = control(
    parameter(ReleaseInputs, "seed"), low=0, high=checks.MAX_SEED, step=1, label="Seed",
    help=text("seed"),
)  # fmt: skip
LEVEL: Final = choice(
    "level", "Basic", ("Basic", "Advanced"), label="Controls",
    help="Advanced adds the settings of the error metrics: α and τ.",
)  # fmt: skip
EXPLAIN: Final = flag("explain", True, label="Explanations", help="Paragraphs that explain each page.")
PRESENT: Final = flag("present", False)
"""Whether pages are presented: no prose, larger figures."""
SPLIT_SHARES: Final = words("split_shares", "", shares_from_text)
"""The split that pages took over from Budget, from the root down; nothing before the first one."""
SPLIT_TUNED: Final = tuned_on("split_tuned")
SPLIT_FROM: Final = words("split_from", "", source_of_text)
SLIDES: Final = control(many("slides", _slide, MAX_SLIDES))
"""What a presentation steps through, each as `pages.ui.page.address.link_of` writes it; without any, a page's views."""
SLIDE: Final = whole("slide", 0, 0, MAX_SLIDES, code="SLIDE_RANGE")
"""Which of them is shown, from 1; 0 before the first."""
SOURCE: Final = replace(control(
    parameter(TableInputs, "source"), label="Source",
    help="Sample: small data sets that come with the app, made up or published. Generate: made-up records on a tree of "
    "your choice. Upload: a file of your own, which is discarded once it is counted.",
), at_first="file" if os.environ.get(FILE_VARIABLE) else None)  # fmt: skip
SAMPLE: Final = choice(
    "sample", TableInputs.sample, SAMPLES, label="Sample data set", look="select",
    format=lambda name: SAMPLES[name].title,
    help="Synthetic ones are made up from a seed. The others are published records; every export says their source and "
    "licence. How each was made is part of the project.",
)  # fmt: skip
MADE_SHAPE: Final = control(parameter(TableInputs, "shape"), label="Shape", look="select")
MADE_RECORDS: Final = control(
    parameter(TableInputs, "records"), low=MIN_RECORDS, high=MAX_RECORDS, step=1, label="Records", format=in_full,
    help=f"From {in_full(RECORDS_GRID[0])} to {in_full(RECORDS_GRID[-1])}.",
)  # fmt: skip
MADE_BRANCHING: Final = control(
    parameter(TableInputs, "branching"), label="Branching factors",
    help="Children of each node, level by level from the root, with commas: 16,16,16 has 4 096 leaves.",
)  # fmt: skip
MADE_SEED: Final = control(
    parameter(TableInputs, "seed"), low=0, high=checks.MAX_SEED, step=1, label="Seed of the data",
    help="The same seed gives the same records. The seed in the sidebar is that of the noise.",
)  # fmt: skip

SHARED: Final[tuple[Setting[Any], ...]] = (
    EPSILON, EPSILON_TUNED, SPLIT_SHARES, SPLIT_TUNED, SPLIT_FROM, DELTA, RELATION,
    UNIT, CONTRIBUTIONS, KNOWN_LEVELS, ALPHA, THRESHOLD, SEED, LEVEL, EXPLAIN,
    PRESENT, SOURCE, SAMPLE, MADE_SHAPE, MADE_RECORDS, MADE_BRANCHING, MADE_SEED,
)  # fmt: skip
TALK: Final[tuple[Setting[Any], ...]] = (SLIDES, SLIDE)
"""What only the address of a presentation carries."""
REG: Final[dict[str, Setting[Any]]] = {one.key: one for one in (*SHARED, *TALK)}
"""Every setting, by key."""
_OF_PAGE: Final[dict[str, tuple[Setting[Any], ...]]] = {}


def declare(settings: Iterable[Setting[Any]], page: str) -> None:
    """Add the settings of a page to the registry; the same one may be declared again.

    Raises
    ------
    ValueError
        When two settings have one key.
    """
    own = tuple(settings)
    for one in own:
        if REG.setdefault(one.key, one) is not one:
            raise ValueError(f"Two settings have the key {one.key!r}.")
    _OF_PAGE[page] = own


def name_of(key: str) -> str:
    """Return what a setting is called on screen, or its key where there is no such setting or it has no name."""
    return (REG[key].drawn.label if key in REG else "") or key


def is_page(name: str) -> bool:
    """Whether a page of that name was declared."""
    return name in _OF_PAGE


def of_page(page: str) -> tuple[Setting[Any], ...]:
    """Return the settings a page has of its own; those of the first page where there is none of that name."""
    return _OF_PAGE[page] if is_page(page) else next(iter(_OF_PAGE.values()), ())


def follow(*, own: bool, recounted: bool = False) -> None:
    """Have every page take the data set in use, because a table of one's own came; or, as it went, its sample again.

    What one unit is must be said of every table anew, but not where the same one was `recounted`.
    """
    for one in REG.values():
        if one.own is None or (recounted and one is UNIT):
            continue
        if own:
            one.set(one.own)
        elif one.value == one.own:
            one.set(one.default)


def get(key: str) -> Any:
    """Return the value of a setting, valid on every page; a list-valued one as a tuple."""
    return REG[key].value
