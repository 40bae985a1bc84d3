"""Settings of the page What ε protects that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.inputs.setting import Setting, choice, control
from treedp_core.views.inputs import parameter
from treedp_core.views.protects import VIEWS, ProtectsInputs
from treedp_core.words import percent_set, whole

VIEW: Final = choice(
    "pro_view", "beliefs", VIEWS, label="View",
    help="What an attacker believes after the release, or how often his best test fails.",
)  # fmt: skip
PRIOR: Final = control(
    parameter(ProtectsInputs, "prior"), label="Belief before", format=percent_set, width=200,
    help="How sure the attacker is beforehand. He knows all other records.",
)  # fmt: skip
HELD: Final = control(
    parameter(ProtectsInputs, "records"), label="Records of one person", format=whole, width=200,
    help="How many records the person really has. The noise grows with “Records of one unit, at most” in the sidebar, "
    "not with this.",
)  # fmt: skip
MECHANISM: Final = control(parameter(ProtectsInputs, "mechanism"), label="Mechanism", look="select", width=180)

SETTINGS: Final[tuple[Setting[Any], ...]] = (VIEW, PRIOR, HELD, MECHANISM)
