"""Settings of the page Release plan that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.controls import POST_HELP, SHARES_HELP, accounted
from pages.ui.setting import Setting, choice, tuned_on, words
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS
from treedp_core.plans import LIBRARIES
from treedp_core.postprocess.chains import CHAINS

VIEWS: Final = {"plan": "Plan", "handover": "Hand over"}
NONE: Final = "none"

VIEW: Final = choice(
    "plan_view", "plan", VIEWS, label="View",
    help="The document, or a program that publishes what it says.",
)  # fmt: skip
MECHANISM: Final = choice("plan_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism", look="select", width=170)
POST: Final = choice(
    "plan_post", "least_squares", CHAINS, label="Post-processing", look="select", width=190, help=POST_HELP
)
ALLOCATION: Final = choice("plan_allocation", "uniform", ALLOCATIONS, label="Budget split", look="select")
SHARES: Final = words(
    "plan_shares", "", shares_from_text, label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP
)
TUNED: Final = tuned_on("plan_tuned")
TRUE_ERROR: Final = choice(
    "plan_true", NONE, (NONE, *METRICS), label="Error on the true counts (NOT PRIVATE)", look="select", width=320,
    format=lambda name: "None" if name == NONE else METRICS[name].label,
    help="A plan holds no number that was worked out from the true counts. One that is asked for here is marked, and "
    "no plan with it should leave this computer.",
)  # fmt: skip
ACCOUNTING: Final = accounted("plan_accounting")
LIBRARY: Final = choice(
    "plan_library", LIBRARIES[0].name, {one.name: one for one in LIBRARIES}, label="Library",
    help="OpenDP: this project's tests run its programs and compare noise and loss with the plan. Tumult Analytics: "
    "its programs were tried with version 0.21; the tests run them on stand-ins that add no noise.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    VIEW, MECHANISM, POST, ALLOCATION, SHARES, TUNED, TRUE_ERROR, ACCOUNTING, LIBRARY,
)  # fmt: skip
