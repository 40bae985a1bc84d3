"""What a cell of the page Multiplicative error released, as its settings say: to be drawn again beside another one."""

from __future__ import annotations

from pages.views.multiplicative.run import experiment_of, source_again, source_key
from pages.views.multiplicative.settings import CLAMP, PLAN, SOURCE, VIEW
from treedp_core.notebook.paired import AnySide
from treedp_core.notebook.sides import ThresholdSide
from treedp_core.records import Dataset
from treedp_core.studies.multiplicative.trees import tree_in_use


def sides(data: Dataset) -> list[AnySide]:
    """Return the run of the settings; other views draw nothing."""
    if VIEW.value != "run":
        return []
    is_current = SOURCE.value == "current"
    source = tree_in_use(data.name, data.tree, data.counts) if is_current else source_again(source_key()).value
    return [ThresholdSide("run", source, PLAN.value, experiment_of(source), CLAMP.value)]
