"""What a cell of the page CDF and ranges released, as its settings say: to be drawn again beside another one."""

from __future__ import annotations

from pages.ui.settings import SEED
from pages.ui.store import sample
from pages.views.cdf import settings as s
from pages.views.cdf.draw import settings_of
from pages.views.cdf.source import SAMPLE
from treedp_core.notebook.paired import AnySide
from treedp_core.notebook.sides import CdfSide
from treedp_core.records import Dataset
from treedp_core.studies.cdf.bins import bins_of


def sides(data: Dataset) -> list[AnySide]:
    """Return the release of the settings; other views draw none."""
    if s.VIEW.value != "release":
        return []
    bins = bins_of(sample(SAMPLE) if s.SOURCE.value == SAMPLE else data)
    return [CdfSide("release", settings_of(bins), bins.counts, s.FIT.value, SEED.value)]
