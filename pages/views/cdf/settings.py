"""Settings of the page CDF and ranges: its controls, and what a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.figure.controls import ACCOUNTING_HELP
from pages.ui.inputs.presets import Preset
from pages.ui.inputs.setting import Setting, choice, control
from treedp_core.checks import MAX_TRIALS
from treedp_core.studies.cdf.error.bound import MAX_BOUND_BINS
from treedp_core.views import labels_of
from treedp_core.views.cdf import CdfInputs, ExperimentInputs, OptimalInputs, PipelineInputs
from treedp_core.views.inputs import parameter
from treedp_core.words import whole as in_full

VIEWS: Final = labels_of("cdf")
END_HELP: Final = "In the unit of the column, rounded to the nearest edge of a bin."


VIEW: Final = choice(
    "cdf_view", "release", VIEWS, label="View",
    help="The band of one release, errors against ε, a published experiment, or a bound.",
)  # fmt: skip
SOURCE: Final = control(
    parameter(CdfInputs, "source"), own="upload", label="Data", look="select", width=200,
    help="Ages: a synthetic sample. Data set in use: the bins of the Data and tree page. Column of your table: "
    "of the file that you have uploaded.",
)  # fmt: skip
MECHANISM: Final = control(parameter(CdfInputs, "mechanism"), label="Mechanism", look="select", width=170)
TREE: Final = control(
    parameter(CdfInputs, "tree"), label="Tree", look="select", width=190,
    help="Best found: least expected error of the cumulative counts for this K. "
    "Matrices: noise on weighted sums of all bins, with less error than trees; p-identity is for Laplace noise, the "
    "others for Gaussian; optimal and p-identity are sought for the counts that you want. Private partition: for "
    "single bins of few records.",
)  # fmt: skip
WORKLOAD: Final = control(
    parameter(CdfInputs, "workload"), label="Made for", look="select", width=190,
    help="The counts whose mean squared error the matrix makes least, or nearly; all others come with it. After a "
    "private partition: one level of noise for bins, else a tree.",
)  # fmt: skip
RANGES: Final = control(
    parameter(CdfInputs, "ranges"), label="Ranges of bins", width=320, placeholder="1-10, 5-20",
    help="First and last bin of each, from bin 1 on; each range once. Weighted sums, too: 1-5 + 2*7-9 - 1*12.",
)  # fmt: skip
LISTED: Final = control(parameter(CdfInputs, "listed"))
FACTORS: Final = control(
    parameter(CdfInputs, "factors"), label="Branching factors", width=160, placeholder="10,10,10",
    help="Their product must be at least the number of bins.",
)  # fmt: skip
ALLOCATION: Final = control(parameter(CdfInputs, "allocation"), label="Budget split", look="select", width=150)
SHARES: Final = control(
    parameter(CdfInputs, "shares"), label="Shares", width=160, placeholder="0, 0.4, 0.6",
    help="One share for each level from the root down, summing to at most 1; a public root takes 0.",
)  # fmt: skip
ACCOUNTING: Final = control(parameter(CdfInputs, "accounting"), label="Accounting", help=ACCOUNTING_HELP)
FIT: Final = control(
    parameter(CdfInputs, "fit"), label="Consistency", look="select", width=150,
    help="Which error the consistent counts minimise.",
)  # fmt: skip
POST: Final = control(parameter(CdfInputs, "least_squares"), label="Least squares",
                      help="Free; uses the public total N.")  # fmt: skip
ESTIMATE: Final = control(
    parameter(CdfInputs, "estimate"), label="Estimate", look="select", width=180,
    help="Of cumulative counts, where no least squares follows. Nodes as measured: the plain tree. Others combine each "
    "node with its descendants first, and add up from the left, take from N what is behind, or use both views, halves "
    "or by precision (Rameshwar et al., Lemma IV.4). All are free; least squares has a smaller RMSE than each.",
)  # fmt: skip
FROM: Final = control(parameter(CdfInputs, "start"), label="Range from", look="slider", help=END_HELP)
TO: Final = control(parameter(CdfInputs, "stop"), label="Range to", look="slider", help=END_HELP)
COMPARE: Final = control(
    parameter(CdfInputs, "compare"), label="Compare with other mechanisms (takes a few seconds)",
    help="One simulated release of each, at the same promise.",
)  # fmt: skip
BINS: Final = control(
    parameter(PipelineInputs, "bins"), label="Bins K", width=220, placeholder="as in the data",
    help="Empty: the bins of the data. Digits or a power, such as 2^20. Errors depend on K, not on the records or on "
    f"how wide bins are; the lower bound takes cubic work: for up to {in_full(MAX_BOUND_BINS)} bins.",
)  # fmt: skip
QUERIES: Final = control(
    parameter(OptimalInputs, "queries"), label="Queries", look="segments",
    help="Whose mean error it is: of all cumulative counts, or of all K (K + 1) / 2 ranges of bins.",
)  # fmt: skip
TRIALS: Final = control(
    parameter(ExperimentInputs, "trials"), label="Runs", look="segments", format=in_full, low=2, high=MAX_TRIALS,
    step=1, help="Independent releases of fresh records.",
)  # fmt: skip
NORM: Final = control(
    parameter(ExperimentInputs, "norm"), label="Distance", help="How far the released CDF is from the true one."
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
    SOURCE, VIEW, MECHANISM, TREE, WORKLOAD, RANGES, LISTED, FACTORS, ALLOCATION, SHARES,
    control(parameter(CdfInputs, "tuned_on")), ACCOUNTING, POST, ESTIMATE, FIT, FROM, TO, COMPARE, BINS, QUERIES,
    TRIALS, NORM,
)  # fmt: skip
