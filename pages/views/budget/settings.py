"""Settings of the Budget split page that a link can carry, and their controls."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.inputs.setting import Setting, choice, control, words
from treedp_core.allocation.shares import values_of_text
from treedp_core.studies.budget.strategies import CUSTOM as CUSTOM
from treedp_core.studies.methods.terms import text
from treedp_core.views.budget import VIEWS, BudgetInputs
from treedp_core.views.budget.inputs import HEIGHTS
from treedp_core.views.inputs import parameter
from treedp_core.words import setting_text, short

MAX_INPUTS: Final = 8
"""Levels up to which each has a slider, or a field, of its own."""


def _control(name: str, **drawn: Any) -> Setting[Any]:
    return control(parameter(BudgetInputs, name), **drawn)


VIEW: Final = choice(
    "bud_view", "targets", VIEWS, label="View",
    help="The smallest ε for wanted accuracies; a split of your own; strategies side by side; errors against ε as in "
    "Dawson et al., Figure 4; which counts one can rely on.",
)  # fmt: skip
MECHANISM: Final = _control("mechanism", label="Mechanism", look="pills")
LEAST_SQUARES: Final = _control(
    "least_squares", label="Least squares",
    help="Judge splits by the errors after least squares (Dawson et al., Algorithm 2), or by those of the noise "
    "itself, where a level without budget has no estimate at all (∞).",
)  # fmt: skip
METRIC: Final = _control(
    "metric", label="Metric",
    help="What greedy and tuned splits lower, and what strategies are compared by: metrics that follow from "
    "variances alone.",
)  # fmt: skip
PHASES_P: Final = _control(
    "phases", label="Greedy slices P", width=220, help=f"{text('greedy')} Here: P slices.",
)  # fmt: skip
PRIOR: Final = _control(
    "prior", label="Tune on", look="select", width=215,
    help="Counts that the search may look at. **Another draw**: of the same made-up data, which is public; not for a "
    "table of your own. **Noisy prior**: a release of its own, charged to the total. **Public or historic file**: "
    "free, if it really is public. **Historic file, private**: a noisy release of it, charged to the total, as a unit "
    "may have records then and now. **True counts**: how much tuning could gain at most; the split then tells about "
    "the records and must not be published.",
)  # fmt: skip
PRIOR_EPSILON: Final = _control(
    "prior_epsilon", label="ε for the prior (0: automatic)", low=0.0, step=0.1, width=230,
    help="Charged to the total ε. 0 chooses 1, or half of the total where that is less.",
)  # fmt: skip
ABSENT: Final = _control(
    "absent", label="Leaves that the file lacks count 0: they are public in my domain",
    help="A past year without a single record of some category lacks its leaf. That the leaf exists must be public all "
    "the same.",
)  # fmt: skip
STRATEGY: Final = _control(
    "strategy", label="Chosen split", look="select",
    help="Its ledger is below; the reliability map and “Use this split” take it.",
)  # fmt: skip
SHARES: Final = _control(
    "shares", label="Shares, from the root down", placeholder="0.2, 0.3, 0.5",
    help="One share for each level, summing to at most 1; what they leave is not spent.",
)  # fmt: skip
TUNED: Final = _control("tuned_on")
LOCKS: Final = words("bud_locks", "", values_of_text)
HEIGHT: Final = _control("height", label="Height of the tree", format=str, help="\n\n".join(HEIGHTS.values()))
CURVES_OF: Final = _control(
    "curves_of", label="Curves of",
    help="**The data in use**: splits are tuned on what **Tune on** says. **Published design**: Dawson et al., Figure "
    "4, on a sample of synthetic conversions, tuned on an earlier half of it.",
)  # fmt: skip
PARTNERS: Final = _control(
    "by_partner", label="A split for each partner",
    help="As in the paper: greedy is tuned for each partner on its own prior, on the pooled one where it has none; "
    "the root is then neither measured nor judged. Off: one split for all.",
)  # fmt: skip
ASK: Final = _control(
    "kind", label="Kind", look="select", width="stretch",
    help="Counts below τ are judged as if they were τ. “Every count” holds for each count by itself, not for all of "
    "them at once: that is “A part of the counts”, with a part of 100 %.",
)  # fmt: skip
TARGETS: Final = _control(
    "targets", label="Targets, from the root down", placeholder="0, every:5, random:10",
    help="Level by level, 0 for none: every:5 is every count within 5 %, random:10 a random count within 10 %, "
    "share:5/90 90 % of the counts within 5 % in one release, rmsre:20 an RMSRE of 20 %, rmse:3 an RMSE of 3 records. "
    "every:8r is within 8 records; every:5@100 asks about counts of at least 100 in the prior only; a bar joins "
    "several targets of a level: every:5@100|random:20. A plain number is of the kind under **Add**. **Margins ×** is "
    "not in it.",
)  # fmt: skip
WITHIN: Final = _control(
    "within", width=210, format=short, label="A count is good if within x %",
    help="Of the true count; counts below τ are judged as if they were τ.",
)  # fmt: skip
MARGINS: Final = _control(
    "margins", width=210, format=setting_text, label="Margins ×",
    help="What the error of every target is multiplied by: at 2 counts that were to be within 5 % need be within 10 %. "
    "The smallest ε follows.",
)  # fmt: skip
CONFIDENCE: Final = _control(
    "confidence", width=210, format=short, label="with probability", help="0.95 is nineteen times in twenty."
)
NODE: Final = _control("node")

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    VIEW, MECHANISM, LEAST_SQUARES, METRIC, PHASES_P, PRIOR, PRIOR_EPSILON, ABSENT, STRATEGY, SHARES, TUNED, LOCKS,
    CURVES_OF, HEIGHT, PARTNERS, ASK, TARGETS, MARGINS, WITHIN, CONFIDENCE, NODE,
)  # fmt: skip
