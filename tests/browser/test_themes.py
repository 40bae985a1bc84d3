"""Pages and views in both themes: whole, in a browser that prefers light or dark."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from browsing import LiveServer, drawn

pytestmark = pytest.mark.browser

FIGURES = {
    "lab": "lab_figure",
    "consistency": "con_levels",
    "branching": "bra_heights",
    "cdf": "cdf_release",
    "cdf?cdf_view=optimal": "cdf_optimal",
    "budget?bud_view=strategies": "bud_strategies",
    "budget?bud_view=custom": "bud_custom",
    "budget?bud_view=curves": "bud_curves",
    "budget?bud_view=targets": "bud_targets_split",
    "budget?bud_view=map": "bud_map",
    "multiplicative?mul_view=growth&delta=1e-08&alpha=0.5": "mul_growth",
    "multiplicative?mul_view=run&delta=1e-08&alpha=0.5": "mul_tree",
    "multiplicative?mul_view=schedule&delta=1e-08&alpha=0.5": "mul_schedule",
    "topdown": "td_after",
    "topdown?td_source=sparse": "td_bound",
    "topdown?td_view=accounting": "td_epsilon",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", FIGURES)
def test_both_themes(open_page: Callable[..., Any], server: LiveServer, scheme: str, path: str) -> None:
    page = drawn(open_page(color_scheme=scheme), server, path, FIGURES[path])
    assert page.locator('[data-testid="stException"]').count() == 0
    assert page.locator("h1").count() == 1
