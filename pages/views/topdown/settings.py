"""Settings of the page TopDown that a link can carry: columns by position, never by name."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pages.ui.controls import accounted
from pages.ui.glossary import text
from pages.ui.presets import Preset
from pages.ui.setting import Setting, choice, flag, number, several, tuned_on, whole, words
from pages.ui.settings import CONTRIBUTIONS, RELATION
from pages.ui.unused import PLAIN, Reasons
from treedp_core import checks
from treedp_core.allocation import ALLOCATIONS
from treedp_core.allocation.shares import shares_from_text
from treedp_core.privacy import Spread
from treedp_core.studies.topdown import marginals, orders, projections, rho_of
from treedp_core.studies.topdown.wanted import RULES
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.words import percent_set
from treedp_core.words import whole as in_full

TRIALS_GRID: Final = (20, 100, 400)
CONFIDENCE_GRID: Final = (0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
POSITIONS: Final = tuple(str(i) for i in range(1, checks.MAX_LEVEL_COLUMNS + 1))
SOURCES: Final = {"trips": "Trips (sample)", "current": "Data set in use", "sparse": "Sparse, made up"}
VIEWS: Final = {"release": "Rows", "counts": "Counts", "rules": "Rules"}
SECTIONS: Final = {
    "release": "This release",
    "records": "Synthetic records",
    "orders": "Which column first?",
    "marginals": "Marginals",
    "accounting": "Accounting",
    "sensitivity": "Sensitivity",
}


VIEW: Final = choice(
    "td_view", "release", VIEWS, label="View",
    help="Rows, all counts of a level, or repeated releases by every projection.",
)  # fmt: skip
SECTION: Final = choice(
    "td_more", "release", SECTIONS, label="About",
    help="This release level by level, its records as files, orders of the columns, or what is promised.",
)  # fmt: skip
SOURCE: Final = choice(
    "td_source", "trips", SOURCES, own="current", look="select", label="Records", width=180,
    help="Trips: a synthetic sample of three columns. Data set in use: that of the Data and tree page. Sparse: "
    "made-up people in a table far too large to lay out.",
)  # fmt: skip
COLUMNS: Final = several(
    "td_columns", (), POSITIONS, look="select", label="Columns, in order", width=250,
    placeholder="all, in their order",
    help="The first one chosen stands right below the root. Empty: all columns in the order of the data. Columns "
    "left out are summed over.",
)  # fmt: skip
PRODUCT: Final = flag(
    "td_product", False, label="Use all combinations of the columns",
    help="The columns as a product: combinations that the tree does not list become empty leaves, and the order can "
    "be chosen.",
)  # fmt: skip
SIZES: Final = words(
    "td_sizes", "10^9", label="Categories per column", width=190, placeholder="10, 10, 4 or 10^9",
    help="The public domain: 10^9 is nine columns of ten categories.",
)  # fmt: skip
PEOPLE: Final = whole(
    "td_records", 100_000, 0, 1_000_000, code="RECORDS_RANGE", label="People", step=10_000, width=150,
    help="Made-up records, drawn with the seed; most lie among the first categories.",
)  # fmt: skip
RHO: Final = words(
    "td_rho", "", lambda typed: rho_of(typed, 1.0, 1e-6), label="ρ", width=130, placeholder="from ε and δ",
    help=f"{text('rho')} Empty: the largest ρ that the sidebar's ε and δ allow.",
)  # fmt: skip
ALLOCATION: Final = choice(
    "td_allocation", "uniform", ALLOCATIONS, look="select", label="Budget split", width=150,
    help="Uniform is the paper's: ρ / d for each noisy level.",
)  # fmt: skip
SHARES: Final = words(
    "td_shares", "", shares_from_text, label="Shares of the levels", width=190, placeholder="0, 0.1, 0.1, 0.1",
    help="One for each level from the root down, summing to at most 1; a public root's is not used. Empty: equal ones.",
)  # fmt: skip
UNIT: Final = CONTRIBUTIONS.said(label="Records of one unit", width=140)
SPREAD: Final = choice(
    "td_spread", "stacked", {spread.value: spread.label for spread in Spread}, look="select", label="They lie",
    width=230, help=text("spread"),
)  # fmt: skip
RULE: Final = choice(
    "td_rule", "ls_water_filling", RULES, look="select", label="Post-processing", width=200,
    help="IntOpt is the paper's. Water filling is closest in every distance at once, and after least squares errs "
    "least. Pruned fills hardly any empty place, on any number of leaves. All keep the promise: free.",
)  # fmt: skip
ACCOUNTING: Final = accounted("td_accounting")
CONFIDENCE: Final = number(
    "td_confidence", 0.95, partial(checks.number, "confidence", low=0.01, high=0.999999, code="CONFIDENCE_RANGE"),
    grid=CONFIDENCE_GRID, code="CONFIDENCE", label="Bounds hold with", width=190,
    format=percent_set, help="Theorem 1 holds for each level with this probability, 1 − β.",
)  # fmt: skip
LEVEL: Final = whole(
    "td_level", checks.MAX_LEVEL_COLUMNS, 0, 64, look="select", label="Level", width=130,
    help="Whose true and released counts are drawn.",
)  # fmt: skip
TRIALS: Final = whole(
    "td_trials", 100, 2, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=TRIALS_GRID, look="segments", label="Runs",
    format=in_full, help="Independent releases; standard errors shrink with their root.",
)  # fmt: skip
MEASURE: Final = choice(
    "td_measure", "rmse", projections.MEASURES, look="select", label="Measure", width=200,
    help="Of all leaves, in one release; averaged over the runs.",
)  # fmt: skip
ORDER_MEASURE: Final = choice(
    "td_order_measure", "marginals", orders.MEASURES, look="select", label="Measure", width=400,
    help="Averaged over the runs.",
)  # fmt: skip
MARGINALS: Final = choice(
    "td_marginals", marginals.PREFIXES, marginals.OF, look="select", label="Counts", width=200,
    help="Hierarchical queries count by the first columns; a marginal by any of them.",
)  # fmt: skip
SMALL: Final = words(
    "td_small", "2,2", branching_factors_from_text, label="Small tree", width=150, placeholder="2,2",
    help="Branching factors from the root down; few leaves, as all neighbours are enumerated.",
)  # fmt: skip
NODE: Final = whole("td_node", 0, 0, checks.MAX_NODES)

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    SOURCE, VIEW, SECTION, COLUMNS, PRODUCT, SIZES, PEOPLE, RHO, ALLOCATION, SHARES, tuned_on("td_tuned"), SPREAD, RULE,
    ACCOUNTING, CONFIDENCE, LEVEL, TRIALS, MEASURE, ORDER_MEASURE, MARGINALS,
    SMALL, NODE,
)  # fmt: skip
OWN_BUDGET: Final[Reasons] = PLAIN | {
    "eps": lambda: "The ρ set on this page takes its place." if RHO.value.strip() else ""
}
PRESETS: Final = (
    Preset(
        "As in the paper",
        "IntOpt, ρ / d for each level, one record replaced, columns in their order.",
        (
            SOURCE.to("trips"), RULE.to("intopt"), ALLOCATION.to("uniform"), RELATION.to("replace_one"),
            COLUMNS.to(()),
        ),
    ),
    Preset(
        "A billion possible leaves",
        "Nine columns of ten categories, a hundred thousand people, zeros never laid out.",
        (SOURCE.to("sparse"), SIZES.to("10^9"), PEOPLE.to(100_000), VIEW.to("release")),
    ),
    Preset(
        "Least squares first",
        "All levels measured, least squares, then the projection: the same ρ.",
        (RULE.to("ls_water_filling"), VIEW.to("rules")),
    ),
)  # fmt: skip
