"""Settings of the page TopDown that a link can carry: columns by position, never by name."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pages.ui.figure.controls import ACCOUNTING_HELP
from pages.ui.inputs.inactive_settings import PLAIN, Reasons
from pages.ui.inputs.presets import Preset
from pages.ui.inputs.setting import Setting, choice, control
from pages.ui.inputs.settings import CONTRIBUTIONS, RELATION
from treedp_core.studies.methods.terms import text
from treedp_core.views import labels_of
from treedp_core.views.inputs import parameter
from treedp_core.views.topdown import TopDownInputs
from treedp_core.words import percent_set, whole

VIEWS: Final = labels_of("topdown")
SECTIONS: Final = {
    "release": "This release",
    "records": "Synthetic records",
    "orders": "Which column first?",
    "marginals": "Marginals",
    "accounting": "Accounting",
    "sensitivity": "Sensitivity",
}
_of: Final = partial(parameter, TopDownInputs)


VIEW: Final = choice(
    "td_view", "release", VIEWS, label="View",
    help="Rows, all counts of a level, or repeated releases by every projection.",
)  # fmt: skip
SECTION: Final = choice(
    "td_more", "release", SECTIONS, label="About",
    help="This release level by level, its records as files, orders of the columns, or what is promised.",
)  # fmt: skip
SOURCE: Final = control(
    _of("source"), own="current", look="select", label="Records", width=180,
    help="Trips: a synthetic sample of three columns. Data set in use: that of the Data and tree page. Sparse: "
    "made-up people in a table far too large to lay out.",
)  # fmt: skip
COLUMNS: Final = control(
    _of("columns"), look="select", label="Columns, in order", width=250, placeholder="all, in their order",
    help="The first one chosen stands right below the root. Empty: all columns in the order of the data. Columns "
    "left out are summed over.",
)  # fmt: skip
PRODUCT: Final = control(
    _of("product"), label="Use all combinations of the columns",
    help="The columns as a product: combinations that the tree does not list become empty leaves, and the order can "
    "be chosen.",
)  # fmt: skip
SIZES: Final = control(
    _of("sizes"), label="Categories per column", width=190, placeholder="10, 10, 4 or 10^9",
    help="The public domain: 10^9 is nine columns of ten categories.",
)  # fmt: skip
PEOPLE: Final = control(
    _of("people"), low=0, high=1_000_000, label="People", step=10_000, width=150,
    help="Made-up records, drawn with the seed; most lie among the first categories.",
)  # fmt: skip
RHO: Final = control(
    _of("rho"), label="ρ", width=130, placeholder="from ε and δ",
    help=f"{text('rho')} Empty: the largest ρ that the sidebar's ε and δ allow.",
)  # fmt: skip
ALLOCATION: Final = control(
    _of("allocation"), look="select", label="Budget split", width=150,
    help="Uniform is the paper's: ρ / d for each noisy level.",
)  # fmt: skip
SHARES: Final = control(
    _of("shares"), label="Shares of the levels", width=190, placeholder="0, 0.1, 0.1, 0.1",
    help="One for each level from the root down, summing to at most 1; a public root's is not used. Empty: equal ones.",
)  # fmt: skip
TUNED: Final = control(_of("tuned_on"))
UNIT: Final = CONTRIBUTIONS.said(label="Records of one unit", width=140)
SPREAD: Final = control(_of("spread"), look="select", label="They lie", width=230, help=text("spread"))
RULE: Final = control(
    _of("rule"), look="select", label="Post-processing", width=200,
    help="IntOpt is the paper's. Water filling is closest in every distance at once, and has the smallest "
    "error after least squares. Pruned fills hardly any empty place, on any number of leaves. All are free.",
)  # fmt: skip
ACCOUNTING: Final = control(_of("accounting"), label="Accounting", help=ACCOUNTING_HELP)
CONFIDENCE: Final = control(
    _of("confidence"), label="Bounds hold with", width=190, format=percent_set,
    help="Theorem 1 holds for each level with this probability, 1 − β; the release's own certificate for all counts "
    "at once.",
)  # fmt: skip
LEVEL: Final = control(
    _of("level"), look="select", label="Level", width=130, help="Whose true and released counts are drawn."
)
TRIALS: Final = control(
    _of("trials"), look="segments", label="Runs", format=whole, step=1,
    help="Independent releases; standard errors shrink with their root.",
)  # fmt: skip
MEASURE: Final = control(
    _of("measure"), look="select", label="Measure", width=200,
    help="Of all leaves, in one release; averaged over the runs.",
)  # fmt: skip
ORDER_MEASURE: Final = control(
    _of("order_measure"), look="select", label="Measure", width=400, help="Averaged over the runs."
)
MARGINALS: Final = control(
    _of("marginals"), look="select", label="Counts", width=200,
    help="Hierarchical queries count by the first columns; a marginal by any of them.",
)  # fmt: skip
SMALL: Final = control(
    _of("small"), label="Small tree", width=150, placeholder="2,2",
    help="Branching factors from the root down; few leaves, as all neighbours are enumerated.",
)  # fmt: skip
NODE: Final = control(_of("node"))

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    SOURCE, VIEW, SECTION, COLUMNS, PRODUCT, SIZES, PEOPLE, RHO, ALLOCATION, SHARES, TUNED, SPREAD, RULE,
    ACCOUNTING, CONFIDENCE, LEVEL, TRIALS, MEASURE, ORDER_MEASURE, MARGINALS, SMALL, NODE,
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
