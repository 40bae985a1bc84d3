"""The page Budget split: which level gets how much of the privacy budget, and what that buys."""

from functools import partial

from treedp_core.records import Dataset
from treedp_core.studies.budget.question import matched
from treedp_core.views.budget import curves, targets
from treedp_core.views.budget.attribution import api, credit, room
from treedp_core.views.budget.curves import error_against_epsilon
from treedp_core.views.budget.inputs import BudgetInputs
from treedp_core.views.budget.splits import (
    chosen,
    comparison,
    errors_by_level,
    ledger,
    own_split,
    releases,
    reliability_map,
    slices,
    strategies,
    useful_tree,
    verdict,
    work,
)
from treedp_core.views.budget.targets import cost, costs, smallest_epsilon
from treedp_core.views.entries import Entry, FromFile
from treedp_core.views.finding import Memo

__all__ = [
    "ENTRIES",
    "VIEWS",
    "BudgetInputs",
    "api",
    "chosen",
    "comparison",
    "cost",
    "costs",
    "credit",
    "error_against_epsilon",
    "errors_by_level",
    "ledger",
    "own_split",
    "prior_of",
    "reliability_map",
    "room",
    "slices",
    "smallest_epsilon",
    "strategies",
    "useful_tree",
    "verdict",
]

PRIOR = "bud_prior"
"""Where a session keeps the file that a prior is counted from."""
VIEWS = {
    "targets": "From targets to ε",
    "custom": "Your own split",
    "strategies": "Strategies",
    "curves": "Error vs ε",
    "map": "Reliability map",
}


def prior_of(inputs: BudgetInputs, data: Dataset, from_file: FromFile, memo: Memo) -> Dataset | None:
    """Return the file that a prior is counted from; None where none is asked for, or it is of other data."""
    file = from_file(PRIOR) if inputs.is_from_file else None
    if file is None:
        return None
    key = ("budget.prior", data.fingerprint, file.fingerprint, inputs.absent)
    fits = memo(key, lambda: matched(data, file, absent_are_zero=inputs.absent) is not None)
    return file if fits else None


_entry = partial(Entry, page="budget", inputs=BudgetInputs, slow=work, start="auto", prior=prior_of)
ENTRIES = (
    _entry(view="targets", part="bud_targets_split", label=VIEWS["targets"], find=smallest_epsilon, slow=targets.work),
    _entry(view="custom", part="bud_custom", label=VIEWS["custom"], find=own_split, releases=releases),
    _entry(view="strategies", part="bud_strategies", label=VIEWS["strategies"], find=strategies),
    _entry(
        view="curves", part="bud_curves", label=VIEWS["curves"], find=error_against_epsilon, slow=curves.work,
        sample=curves.sample, apart=curves.apart,
    ),
    _entry(view="map", part="bud_map", label=VIEWS["map"], find=reliability_map),
    _entry(view="strategies", part="bud_steps", section="slices", find=slices),
    _entry(view="strategies", part="bud_levels", section="levels", find=errors_by_level),
    _entry(view="map", part="bud_useful", section="useful", find=useful_tree),
    *(
        _entry(view=view, part=part, section=section, find=find)
        for view in ("custom", "strategies", "map")
        for part, section, find in (
            ("bud_api", "api", api), ("bud_api_room", "room", room), ("bud_api_credit", "credit", credit),
        )
    ),
)  # fmt: skip
