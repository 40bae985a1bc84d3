"""What a cell of the Error lab released, as its settings say: to be drawn again beside another one."""

from __future__ import annotations

from pages.ui.controls import shares
from pages.ui.sides import simulated
from pages.ui.tuned import accounting
from pages.views.lab.settings import ACCOUNTING, ALLOCATION, COMPARED, POST, SHARES
from treedp_core.notebook.paired import AnySide
from treedp_core.records import Dataset
from treedp_core.studies.sweep.series import chosen


def sides(data: Dataset) -> list[AnySide]:
    """Return the release of every series."""
    return simulated(
        data, chosen(COMPARED.value, POST.value), ALLOCATION.value, shares(ALLOCATION, SHARES),
        accounting("lab", ACCOUNTING.value),
    )  # fmt: skip
