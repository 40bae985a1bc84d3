"""What a cell of experiments released, so that it can be simulated again beside another one, on the same noise."""

from __future__ import annotations

from collections.abc import Iterable

from pages.ui.shared import experiment, slack_of
from treedp_core.notebook.paired import AnySide, Side
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy.accounting import USUAL
from treedp_core.records import Dataset
from treedp_core.studies.sweep.series import Series


def simulated(
    data: Dataset,
    series: Iterable[Series],
    split: str,
    shares: tuple[float, ...],
    accounting: str = USUAL.value,
) -> list[AnySide]:
    """Return the experiments of some series on data: the shared settings, a split of the budget, an accounting."""

    def of(one: Series) -> Side:
        asked = experiment(
            mechanism=one.mechanism, postprocess=CHAINS[one.pipeline].steps, allocation=split, shares=shares,
            delta=slack_of([one.mechanism], data.total), accounting=accounting,
        )  # fmt: skip
        return Side(one.label, asked, data.tree, data.counts, tuple(data.labels.level_names))

    return [of(one) for one in series]
