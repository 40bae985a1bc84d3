"""Settings of the first page."""

from __future__ import annotations

from typing import Final

from pages.ui.setting import choice

SHOWN: Final = choice(
    "start_shown", "noisy", {"noisy": "With noise", "consistent": "Made consistent"}, label="Shown",
    help="With noise every count is drawn by itself, so sums fail. Least squares makes them agree, and costs no "
    "privacy.",
)  # fmt: skip
SETTINGS: Final = (SHOWN,)
