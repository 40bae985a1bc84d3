"""Settings of the page CDF and ranges: its controls, and what a link can carry."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from pages.ui.controls import accounted
from pages.ui.presets import Preset
from pages.ui.setting import Setting, choice, flag, number, tuned_on, whole, words
from treedp_core import checks
from treedp_core.allocation.shares import shares_from_text
from treedp_core.checks import InputError
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.listed import WORD
from treedp_core.postprocess.isotonic import FITS
from treedp_core.studies.branching.question import bins_from_text
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.studies.cdf.matrices.wanted import WORKLOADS, ranges_from_text
from treedp_core.studies.cdf.release import SPLITS, STRATEGIES
from treedp_core.studies.cdf.release import TREE as TREE_OF
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.words import whole as in_full

SOURCES: Final = {"ages": "Ages (sample)", "current": "Data set in use", "upload": "Column of your table"}
VIEWS: Final = {
    "release": "Error band",
    "error": "Error against ε",
    "experiment": "Published experiment",
    "optimal": "How far from optimal",
}
TREES: Final = {
    "best": "Best found", "sixteen": "16-ary", "binary": "Binary", "histogram": "Histogram", "own": "Own",
    **{name: one.label for name, one in STRATEGIES.items() if name != TREE_OF},
}  # fmt: skip
NORMS: Final = {"l2": "ℓ₂", "l1": "ℓ₁"}
TRIALS_GRID: Final = (100, 400, 1600)


def listed_checked(text: str) -> None:
    """Refuse what is no word for a table of ranges."""
    if WORD.fullmatch(text) is None:
        raise InputError("VALUE_UNKNOWN", "Expected eight digits or letters a to f for a table of ranges.")


_END: Final = partial(checks.number, "a bound of the range", low=-1e15, high=1e15, code="RANGE_BOUNDS")
END_HELP: Final = "In the unit of the column, rounded to the nearest edge of a bin."


VIEW: Final = choice(
    "cdf_view", "release", VIEWS, label="View",
    help="The band of one release, errors against ε, a published experiment, or a bound.",
)  # fmt: skip
SOURCE: Final = choice(
    "cdf_source", "ages", SOURCES, own="upload", label="Data", look="select", width=200,
    help="Ages: a synthetic sample. Data set in use: the bins of the Data and tree page. Column of your table: "
    "of the file that you have uploaded.",
)  # fmt: skip
MECHANISM: Final = choice("cdf_mechanism", "discrete_laplace", MECHANISMS, label="Mechanism", look="select", width=170)
TREE: Final = choice(
    "cdf_tree", "best", TREES, label="Tree", look="select", width=190,
    help="Best found: least expected error of the cumulative counts for this K. "
    "Matrices: noise on weighted sums of all bins, with less error than trees; p-identity is for Laplace noise, the "
    "others for Gaussian; optimal and p-identity are sought for the counts that you want. Private partition: for "
    "single bins of few records.",
)  # fmt: skip
WORKLOAD: Final = choice(
    "cdf_for", "cdf", WORKLOADS, label="Made for", look="select", width=190,
    help="The counts whose mean squared error the matrix makes least, or nearly; all others come with it. After a "
    "private partition: one level of noise for bins, else a tree.",
)  # fmt: skip
RANGES: Final = words(
    "cdf_ranges", "", ranges_from_text, label="Ranges of bins", width=320, placeholder="1-10, 5-20",
    help="First and last bin of each, from bin 1 on; each range once. Weighted sums, too: 1-5 + 2*7-9 - 1*12.",
)  # fmt: skip
LISTED: Final = words("cdf_listed", "", listed_checked)
FACTORS: Final = words(
    "cdf_factors", "", branching_factors_from_text, label="Branching factors", width=160, placeholder="10,10,10",
    help="Their product must be at least the number of bins.",
)  # fmt: skip
ALLOCATION: Final = choice(
    "cdf_allocation", "uniform", SPLITS, label="Budget split", look="select", width=150,
)  # fmt: skip
SHARES: Final = words(
    "cdf_shares", "", shares_from_text, label="Shares", width=160, placeholder="0, 0.4, 0.6",
    help="One share for each level from the root down, summing to at most 1; a public root takes 0.",
)  # fmt: skip
ACCOUNTING: Final = accounted("cdf_accounting")
FIT: Final = choice(
    "cdf_fit", "squared", FITS, label="Consistency", look="select", width=150,
    help="Which error the consistent counts minimise.",
)  # fmt: skip
POST: Final = flag("cdf_post", True, label="Least squares", help="Free; uses the public total N.")
FROM: Final = number(
    "cdf_from", 18.0, _END, code="RANGE_BOUNDS", label="Range from", look="slider", help=END_HELP
)  # fmt: skip
TO: Final = number("cdf_to", 65.0, _END, code="RANGE_BOUNDS", label="Range to", look="slider", help=END_HELP)
COMPARE: Final = flag(
    "cdf_compare", False, label="Compare with other mechanisms (takes a few seconds)",
    help="One simulated release of each, at the same promise.",
)  # fmt: skip
BINS: Final = words(
    "cdf_bins", "", bins_from_text, label="Bins K", width=220, placeholder="as in the data",
    help="Empty: the bins of the data. Digits or a power, such as 2^20. Errors depend on K, not on the records or on "
    f"how wide bins are; the lower bound takes cubic work: for up to {in_full(MAX_BOUND_BINS)} bins.",
)  # fmt: skip
TRIALS: Final = whole(
    "cdf_trials", 100, 2, checks.MAX_TRIALS, code="TRIALS_RANGE", grid=TRIALS_GRID, label="Runs", look="segments",
    format=in_full, help="Independent releases of fresh records.",
)  # fmt: skip
NORM: Final = choice(
    "cdf_norm", "l2", NORMS, label="Distance", help="How far the released CDF is from the true one."
)  # fmt: skip

PRESETS: Final = (
    Preset(
        "Published error curves",
        "Error against ε with 256 bins, as in Fig. 1 of Rameshwar et al.; sets this page only.",
        (VIEW.to("error"), BINS.to("256")),
    ),
    Preset(
        "Published experiment",
        "A hundred releases of 997 bins, as in Sec. VI of Rameshwar et al.; sets this page only.",
        (VIEW.to("experiment"), TRIALS.to(100)),
    ),
)

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    SOURCE, VIEW, MECHANISM, TREE, WORKLOAD, RANGES, LISTED, FACTORS, ALLOCATION, SHARES, tuned_on("cdf_tuned"),
    ACCOUNTING, POST, FIT, FROM, TO, COMPARE, BINS, TRIALS, NORM,
)  # fmt: skip
