"""The setting of the page Data and tree: from which node its tree is shown."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.inputs.setting import Setting, control
from treedp_core.views.data import DataInputs
from treedp_core.views.inputs import parameter

NODE: Final = control(parameter(DataInputs, "node"))
SETTINGS: Final[tuple[Setting[Any], ...]] = (NODE,)
