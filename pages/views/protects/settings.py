"""Settings of the page What ε protects that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, number, whole
from treedp_core import checks
from treedp_core.mechanisms import MECHANISMS
from treedp_core.words import percent_set
from treedp_core.words import whole as in_full

VIEWS: Final = {"beliefs": "What is seen", "tests": "The best test"}
PRIORS: Final = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
RECORDS: Final = (1, 2, 3, 5, 10, 20, 50)


def _prior(value: object) -> float:
    return checks.number("prior", value, low=0.001, high=0.999, code="PRIOR_RANGE")


VIEW: Final = choice(
    "pro_view", "beliefs", VIEWS, label="View",
    help="What an attacker believes after the release, or how often his best test fails.",
)  # fmt: skip
PRIOR: Final = number(
    "pro_prior", 0.5, _prior, grid=PRIORS, label="Belief before", format=percent_set, width=200,
    help="How sure the attacker is beforehand. He knows all other records.",
)  # fmt: skip
HELD: Final = whole(
    "pro_records", 1, 1, RECORDS[-1], code="CONTRIBUTIONS_RANGE", grid=RECORDS, label="Records of one person",
    format=in_full, width=200,
    help="How many records the person really has. The noise grows with “Records of one unit, at most” in the sidebar, "
    "not with this.",
)  # fmt: skip
MECHANISM: Final = choice("pro_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism", look="select", width=180)

SETTINGS: Final[tuple[Setting[Any], ...]] = (VIEW, PRIOR, HELD, MECHANISM)
