"""What a cell of the page Consistency released, as its settings say: to be drawn again beside another one."""

from __future__ import annotations

from pages.ui.controls import shares
from pages.ui.sides import simulated
from pages.ui.tuned import accounting
from pages.views.consistency.settings import ACCOUNTING, ALLOCATION, MECHANISM, POST, SHARES
from treedp_core.notebook.paired import AnySide
from treedp_core.records import Dataset
from treedp_core.studies.sweep.series import Series


def sides(data: Dataset) -> list[AnySide]:
    """Return the release of the settings."""
    return simulated(
        data, [Series(MECHANISM.value, POST.value)], ALLOCATION.value, shares(ALLOCATION, SHARES),
        accounting("con", ACCOUNTING.value),
    )  # fmt: skip
