"""Settings of the Consistency page that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.controls import POST_HELP, SHARES_HELP, accounted
from pages.ui.setting import Setting, choice, tuned_on, whole, words
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import MAX_NODES
from treedp_core.mechanisms import MECHANISMS
from treedp_core.postprocess.chains import CHAINS

MECHANISM: Final = choice("con_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism", look="pills")
POST: Final = choice(
    "con_post", "least_squares", CHAINS, label="Post-processing", look="select", width=220, help=POST_HELP
)
ALLOCATION: Final = choice("con_allocation", "uniform", ALLOCATIONS, label="Budget split", look="select")
SHARES: Final = words("con_shares", "", shares_from_text, label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP)
TUNED: Final = tuned_on("con_tuned")
ACCOUNTING: Final = accounted("con_accounting")
NODE: Final = whole("con_node", 0, 0, MAX_NODES)
SHOWN: Final = choice(
    "con_shown", "before", {"before": "Before", "after": "After"}, label="Counts",
    help="The noisy counts as released, or the same after post-processing.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (MECHANISM, POST, ALLOCATION, SHARES, TUNED, ACCOUNTING, NODE, SHOWN)
