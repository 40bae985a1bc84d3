"""Settings of the page Release plan that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.figure.controls import ACCOUNTING_HELP, POST_HELP, SHARES_HELP
from pages.ui.inputs.setting import Setting, choice, control
from treedp_core.errors import METRICS
from treedp_core.views import labels_of
from treedp_core.views.inputs import parameter
from treedp_core.views.plan import NONE, PlanInputs

VIEWS: Final = labels_of("plan")

VIEW: Final = choice(
    "plan_view", "plan", VIEWS, label="View",
    help="The document, or a program that publishes what it says.",
)  # fmt: skip
MECHANISM: Final = control(parameter(PlanInputs, "mechanism"), label="Mechanism", look="select", width=170)
POST: Final = control(
    parameter(PlanInputs, "postprocess"), label="Post-processing", look="select", width=190, help=POST_HELP
)
ALLOCATION: Final = control(parameter(PlanInputs, "allocation"), label="Budget split", look="select")
SHARES: Final = control(parameter(PlanInputs, "shares"), label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP)
TUNED: Final = control(parameter(PlanInputs, "tuned_on"))
TRUE_ERROR: Final = control(
    parameter(PlanInputs, "true_error"), label="Error on the true counts (NOT PRIVATE)", look="select", width=320,
    format=lambda name: "None" if name == NONE else METRICS[name].label,
    help="A plan holds no number that was worked out from the true counts. One that is asked for here is marked, and "
    "no plan with it should leave this computer.",
)  # fmt: skip
ACCOUNTING: Final = control(parameter(PlanInputs, "accounting"), label="Accounting", help=ACCOUNTING_HELP)
LIBRARY: Final = control(
    parameter(PlanInputs, "library"), label="Library",
    help="OpenDP: this project's tests run its programs and compare noise and loss with the plan. Tumult Analytics: "
    "its programs were tried with version 0.21; the tests run them on stand-ins that add no noise.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    VIEW, MECHANISM, POST, ALLOCATION, SHARES, TUNED, TRUE_ERROR, ACCOUNTING, LIBRARY,
)  # fmt: skip
