"""Presets on every page that has them: a popover that closes after a choice, so that it hides nothing."""

from __future__ import annotations

import pytest

from oracles_pages import Later, open_page
from pages.ui import jobs
from pages.views.cdf.settings import PRESETS as CDF
from pages.views.lab.settings import PRESETS as LAB
from pages.views.multiplicative.settings import PRESETS as MULTIPLICATIVE
from pages.views.topdown.settings import PRESETS as TOPDOWN

NAMES = {
    "lab": ["Uniform vs minimax", "What least squares buys", "Deep binary tree"],
    "cdf": ["Published error curves", "Published experiment"],
    "topdown": ["As in the paper", "A billion possible leaves", "Least squares first"],
    "multiplicative": ["Paper's example", "Break-even", "Deep chain", "Step by step"],
}


@pytest.mark.parametrize("page", NAMES)
def test_a_preset_closes_its_popover(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page(page)
    app.session_state[f"{page}_presets"] = True
    app.run()
    keys = [button.key for button in app.button if button.key and "_preset_" in button.key]
    assert keys == [f"{page}_preset_{name}" for name in NAMES[page]]
    next(button for button in app.button if button.key == keys[0]).click()
    app.run()
    assert not app.exception
    assert app.session_state[f"{page}_presets"] is False


def test_a_preset_sets_only_what_may_be() -> None:
    presets = [*LAB, *CDF, *MULTIPLICATIVE, *TOPDOWN]
    assert sorted(preset.name for preset in presets) == sorted(name for names in NAMES.values() for name in names)
    wrong = [(preset.name, one.key) for preset in presets for one, value in preset.sets if not one.accepts(value)]
    assert wrong == []
