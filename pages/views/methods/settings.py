"""Settings of the page Methods that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice
from treedp_core.studies.methods.entries import KINDS, METHODS

KIND: Final = choice(
    "met_kind", "mechanisms", KINDS, label="Kind", look="select", width=190,
    help="Noise, what follows it, how ε is split, how errors are judged, or what nobody can beat.",
)  # fmt: skip
ONE: Final = choice(
    "met_one", "mechanisms.gaussian", METHODS, label="Which one", look="select", width=280,
    format=lambda name: METHODS[name].label, help="Every entry of the table, those of plug-ins last.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (KIND, ONE)
