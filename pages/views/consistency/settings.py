"""Settings of the Consistency page that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.figure.controls import ACCOUNTING_HELP, POST_HELP, SHARES_HELP
from pages.ui.inputs.setting import Setting, control
from treedp_core.views.consistency import ConsistencyInputs
from treedp_core.views.inputs import parameter

MECHANISM: Final = control(parameter(ConsistencyInputs, "mechanism"), label="Mechanism", look="pills")
POST: Final = control(
    parameter(ConsistencyInputs, "postprocess"), label="Post-processing", look="select", width=220, help=POST_HELP
)
ALLOCATION: Final = control(parameter(ConsistencyInputs, "allocation"), label="Budget split", look="select")
SHARES: Final = control(
    parameter(ConsistencyInputs, "shares"), label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP
)
TUNED: Final = control(parameter(ConsistencyInputs, "tuned_on"))
ACCOUNTING: Final = control(parameter(ConsistencyInputs, "accounting"), label="Accounting", help=ACCOUNTING_HELP)
NODE: Final = control(parameter(ConsistencyInputs, "node"))
SHOWN: Final = control(
    parameter(ConsistencyInputs, "shown"), label="Counts",
    help="The noisy counts as released, or the same after post-processing.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (MECHANISM, POST, ALLOCATION, SHARES, TUNED, ACCOUNTING, NODE, SHOWN)
