"""What a cell of the page TopDown released, as its settings say: to be drawn again beside another one."""

from __future__ import annotations

from dataclasses import replace

from pages.ui.settings import SEED
from pages.views.topdown import settings as s
from pages.views.topdown.asked import planned, subject_as_set
from treedp_core.notebook.paired import AnySide
from treedp_core.notebook.sides import TopDownSide
from treedp_core.records import Dataset
from treedp_core.studies.topdown import rules_for
from treedp_core.studies.topdown.wanted import RULES


def sides(_: Dataset) -> list[AnySide]:
    """Return the release of the settings, or those by every rule."""
    what = subject_as_set()
    wanted, _ready = planned(what)
    rules = rules_for(what) if s.VIEW.value == "rules" else [wanted.rule]
    return [TopDownSide(RULES[rule].label, what, replace(wanted, rule=rule), SEED.value) for rule in rules]
