"""The setting of the page Data and tree: from which node its tree is shown."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, whole
from treedp_core.checks import MAX_NODES

NODE: Final = whole("data_node", 0, 0, MAX_NODES)
SETTINGS: Final[tuple[Setting[Any], ...]] = (NODE,)
