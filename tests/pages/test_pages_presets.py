"""Presets on every page that has them: a popover that closes after a choice, so that it hides nothing."""

from __future__ import annotations

import pytest

from app import all_pages
from oracles_pages import Later, open_page, press
from pages.ui.inputs.presets import Preset
from pages.ui.jobs import jobs

PRESETS = {page.name: page.presets for page in all_pages() if page.presets}


def test_pages_have_presets() -> None:
    assert set(PRESETS) >= {"lab", "cdf", "topdown", "multiplicative", "branching"}


@pytest.mark.parametrize("page", PRESETS)
def test_a_preset_closes_its_popover(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = open_page(page)
    app.session_state[f"{page}_presets"] = True
    app.run()
    keys = [button.key for button in app.button if button.key and "_preset_" in button.key]
    assert keys == [f"{page}_preset_{preset.name}" for preset in PRESETS[page]]
    press(app, keys[0])
    assert not app.exception
    assert app.session_state[f"{page}_presets"] is False


@pytest.mark.parametrize(("page", "preset"), [(page, one) for page, presets in PRESETS.items() for one in presets],
                         ids=lambda one: getattr(one, "name", one))  # fmt: skip
def test_a_preset_sets_what_it_says_and_nothing_is_refused(
    page: str, preset: Preset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "pool", Later)
    app = press(open_page(page, seed="11", td_columns="2"), f"{page}_preset_{preset.name}")
    assert not app.exception
    assert not app.main.error
    held = [app.session_state[setting.key] for setting, _ in preset.sets]
    assert held == [list(value) if isinstance(value, tuple) else value for _, value in preset.sets]
    assert app.session_state["seed"] == 11


def test_a_preset_sets_only_what_may_be() -> None:
    sets = [(preset.name, chosen) for presets in PRESETS.values() for preset in presets for chosen in preset.sets]
    assert [(name, one.key) for name, (one, value) in sets if not one.accepts(value)] == []
