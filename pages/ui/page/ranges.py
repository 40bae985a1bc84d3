"""A range that is dragged over bins in the browser: the noisy counts that answer it light up."""

from __future__ import annotations

from collections.abc import Mapping

from pages.ui.page.scripts import script


def ranges(label: str, found: Mapping[str, object], *, key: str) -> None:
    """Show the ways to answer a range, as `treedp_core.studies.ranges.for_browser` writes them."""
    script("ranges", isolate_styles=False)(data={"label": label, **found}, key=key, height="stretch")
