"""Settings of the Budget split page that a link can carry, and their controls."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pages.ui.glossary import text
from pages.ui.setting import Setting, choice, flag, number, tuned_on, whole, words
from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS, Allocation
from treedp_core.allocation.published import PUBLISHED_SPLITS, PublishedSplit
from treedp_core.allocation.shares import shares_of_text, values_of_text
from treedp_core.errors import METRICS, Metric
from treedp_core.mechanisms import MECHANISMS
from treedp_core.registry import Table
from treedp_core.studies.budget import STRATEGIES, Ask, Strategy, wanted_of_text
from treedp_core.studies.budget.greedy import MAX_PHASES, PHASES
from treedp_core.studies.budget.strategies import CUSTOM as CUSTOM
from treedp_core.words import short

TARGETS_VIEW: Final = "targets"
VIEWS: Final = {
    TARGETS_VIEW: "From targets to ε",
    "custom": "Your own split",
    "strategies": "Strategies",
    "curves": "Error vs ε",
    "map": "Reliability map",
}
PRIORS: Final = {
    "draw": "Another draw (public)",
    "noisy": "Noisy prior",
    "public": "Public or historic file",
    "earlier": "Historic file, private (noisy)",
    "true": "True counts (NOT PRIVATE)",
}
HEIGHTS: Final = {
    "5": "5: partner, country, device, product age, delay in 2-day buckets",
    "4": "4: partner, country, device, delay in 6-day buckets",
    "3": "3: partner, country, delay in 6-day buckets",
}
ASKS: Final = {
    Ask.AVERAGE_NODE: "A count picked at random is within x",
    Ask.EVERY_NODE: "Every count is within x",
    Ask.SHARE: "A part of them within x at once",
    Ask.RMSRE: "RMSRE at most x %",
    Ask.RMSE: "RMSE at most x records",
}
JUDGED_BY: Final[Table[Metric]] = Table(
    derived=lambda: [one for one in METRICS.values() if one.expected is None and one.root], of=(METRICS,)
)
"""Metrics that come from variances alone, before and after least squares."""
CHOICES: Final[Table[Strategy | PublishedSplit | Allocation]] = Table(
    derived=lambda: [*STRATEGIES.values(), *PUBLISHED_SPLITS.values(), ALLOCATIONS[CUSTOM]],
    of=(STRATEGIES,),
)
MAX_INPUTS: Final = 8
"""Levels up to which each has a slider, or a field, of its own."""


VIEW: Final = choice(
    "bud_view", "targets", VIEWS, label="View",
    help="The smallest ε for wanted accuracies; a split of your own; strategies side by side; errors against ε as in "
    "Dawson et al., Figure 4; which counts one can rely on.",
)  # fmt: skip
MECHANISM: Final = choice("bud_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism", look="pills")
LEAST_SQUARES: Final = flag(
    "bud_least_squares", True, label="Least squares",
    help="Judge splits by the errors after least squares (Dawson et al., Algorithm 2), or by those of the noise "
    "itself, where a level without budget has no estimate at all (∞).",
)  # fmt: skip
METRIC: Final = choice(
    "bud_metric", "rmsre", JUDGED_BY,
    label="Metric",
    help="What greedy and tuned splits lower, and what strategies are compared by: metrics that follow from "
    "variances alone.",
)  # fmt: skip
PHASES_P: Final = whole(
    "bud_phases", PHASES, 1, MAX_PHASES, code="PHASES_RANGE", grid=(10, 20, 40, 80), label="Greedy slices P",
    width=220, help=f"{text('greedy')} Here: P slices.",
)  # fmt: skip
PRIOR: Final = choice(
    "bud_prior", "draw", PRIORS, label="Tune on", look="select", width=215,
    help="Counts that the search may look at. **Another draw**: of the same made-up data, which is public; not for a "
    "table of your own. **Noisy prior**: a release of its own, charged to the total. **Public or historic file**: "
    "free, if it really is public. **Historic file, private**: a noisy release of it, charged to the total, as a unit "
    "may have records then and now. **True counts**: how much tuning could gain at most; the split then tells about "
    "the records and must not be published.",
)  # fmt: skip
PRIOR_EPSILON: Final = number(
    "bud_prior_eps", 0.0,
    partial(checks.number, "the ε of the prior", low=0, high=checks.EPSILON_HIGH, code="EPS_RANGE"),
    code="EPS", label="ε for the prior (0: automatic)", low=0.0, step=0.1,
    width=230, help="Charged to the total ε. 0 chooses 1, or half of the total where that is less.",
)  # fmt: skip
ABSENT: Final = flag(
    "bud_absent", False, label="Leaves that the file lacks count 0: they are public in my domain",
    help="A past year without a single record of some category lacks its leaf. That the leaf exists must be public all "
    "the same.",
)  # fmt: skip
STRATEGY: Final = choice(
    "bud_strategy", "greedy", CHOICES, label="Chosen split", look="select",
    help="Its ledger is below; the reliability map and “Use this split” take it.",
)  # fmt: skip
SHARES: Final = words(
    "bud_shares", "", shares_of_text, label="Shares, from the root down", placeholder="0.2, 0.3, 0.5",
    help="One share for each level, summing to at most 1; what they leave is not spent.",
)  # fmt: skip
TUNED: Final = tuned_on("bud_tuned")
LOCKS: Final = words("bud_locks", "", values_of_text)
HEIGHT: Final = choice(
    "bud_height", "5", HEIGHTS, label="Height of the tree", format=str, help="\n\n".join(HEIGHTS.values())
)  # fmt: skip
CURVES_OF: Final = choice(
    "bud_of", "data", {"data": "The data in use", "paper": "Published design"}, label="Curves of",
    help="**The data in use**: splits are tuned on what **Tune on** says. **Published design**: Dawson et al., Figure "
    "4, on a sample of synthetic conversions, tuned on an earlier half of it.",
)  # fmt: skip
PARTNERS: Final = flag(
    "bud_partners", True, label="A split for each partner",
    help="As in the paper: greedy is tuned for each partner on its own prior, on the pooled one where it has none; "
    "the root is then neither measured nor judged. Off: one split for all.",
)  # fmt: skip
ASK: Final = choice(
    "bud_ask", Ask.AVERAGE_NODE.name.lower(), {ask.name.lower(): told for ask, told in ASKS.items()},
    label="Kind", look="select", width="stretch",
    help="Counts below τ are judged as if they were τ. “Every count” holds for each count by itself, not for all of "
    "them at once: that is “A part of the counts”, with a part of 100 %.",
)  # fmt: skip
TARGETS: Final = words(
    "bud_targets", "", wanted_of_text, label="Targets, from the root down", placeholder="0, every:5, random:10",
    help="Level by level, 0 for none: every:5 is every count within 5 %, random:10 a random count within 10 %, "
    "share:5/90 90 % of the counts within 5 % in one release, rmsre:20 an RMSRE of 20 %, rmse:3 an RMSE of 3 records. "
    "every:8r is within 8 records; every:5@100 asks about counts of at least 100 in the prior only; a bar joins "
    "several targets of a level: every:5@100|random:20. A plain number is of the kind under **Add**.",
)  # fmt: skip
WITHIN: Final = number(
    "bud_within", 10.0,
    partial(checks.number, "the relative error in %", low=0, high=1000, open_low=True, code="TARGET_RANGE"),
    grid=(1.0, 2.0, 5.0, 10.0, 20.0, 50.0), code="TARGET", width=210, format=short,
    label="A count is good if within x %", help="Of the true count; counts below τ are judged as if they were τ.",
)  # fmt: skip
CONFIDENCE: Final = number(
    "bud_confidence", 0.95,
    partial(checks.number, "confidence", low=0, high=1, open_low=True, open_high=True, code="TARGET_RANGE"),
    grid=(0.5, 0.8, 0.9, 0.95, 0.99), code="TARGET", width=210, format=short,
    label="with probability", help="0.95 is nineteen times in twenty.",
)  # fmt: skip
NODE: Final = whole("bud_node", 0, 0, checks.MAX_NODES)

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    VIEW, MECHANISM, LEAST_SQUARES, METRIC, PHASES_P, PRIOR, PRIOR_EPSILON, ABSENT, STRATEGY, SHARES, TUNED, LOCKS,
    CURVES_OF, HEIGHT, PARTNERS, ASK, TARGETS, WITHIN, CONFIDENCE, NODE,
)  # fmt: skip
