"""Settings of the page Notebook, with their controls."""

from __future__ import annotations

from typing import Final

from pages.ui.inputs.setting import choice

VIEWS: Final = {"cell": "One cell", "all": "All cells", "compare": "Compare"}

VIEW: Final = choice(
    "nb_view",
    "cell",
    VIEWS,
    label="View",
    help="A cell with its figure; every cell in order; two to four on the same axes.",
)

SETTINGS: Final = (VIEW,)
