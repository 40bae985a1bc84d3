"""Presets on every page that has them: a popover that closes after a choice, so that it hides nothing."""

from __future__ import annotations

import pytest

from oracles_pages import Later, open_page
from pages.ui import jobs
from pages.views.lab.settings import PRESETS as LAB

BUTTONS = {
    ("lab", "lab"): [f"lab_preset_{name}" for name in LAB],
    ("cdf", "cdf"): ["cdf_preset_error", "cdf_preset_experiment"],
    ("topdown", "td"): [f"td_preset_{i}" for i in range(3)],
    ("multiplicative", "mul"): [f"mul_preset_{i}" for i in range(4)],
}


@pytest.mark.parametrize(("page", "prefix"), list(BUTTONS))
def test_a_preset_closes_its_popover(page: str, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page(page)
    app.session_state[f"{prefix}_presets"] = True
    app.run()
    keys = [button.key for button in app.button if button.key and "_preset_" in button.key]
    assert keys == BUTTONS[page, prefix]
    next(button for button in app.button if button.key == keys[0]).click()
    app.run()
    assert not app.exception
    assert app.session_state[f"{prefix}_presets"] is False
