"""What a cell of the page Budget split released, as its settings say: to be drawn again beside another one."""

from __future__ import annotations

from pages.ui import tuned
from pages.ui.sides import simulated
from pages.views.budget import ask
from pages.views.budget.settings import CUSTOM, LEAST_SQUARES, MECHANISM, SHARES, VIEW
from treedp_core.allocation.shares import shares_from_text
from treedp_core.notebook.paired import AnySide
from treedp_core.privacy import Accounting
from treedp_core.records import Dataset
from treedp_core.studies.sweep.series import Series


def sides(data: Dataset) -> list[AnySide]:
    """Return the split of one's own, which is uniform until it has shares; other views draw nothing."""
    if VIEW.value != CUSTOM:
        return []
    one, origin = Series(MECHANISM.value, "least_squares" if LEAST_SQUARES.value else "none"), tuned.of("bud")
    paid = origin is not None and origin.spent > 0
    accounting = Accounting.FORMULA.value if paid else ask.question().experiment.accounting
    if not SHARES.value.strip():
        return simulated(data, [one], "uniform", (), accounting)
    return simulated(data, [one], CUSTOM, shares_from_text(SHARES.value), accounting)
