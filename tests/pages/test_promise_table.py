"""What is added from outside the project appears where it should: a page with views, a setting, a sample, a colour."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from streamlit.testing.v1 import AppTest

from browsing import ROOT
from oracles_pages import codes, open_page, pick, shared_link, widget
from pages.ui.inputs import settings
from pages.ui.page import navigation
from pages.ui.tables.store import count_sample
from sample_data.catalogue import SAMPLES
from treedp_core.checks import InputError
from treedp_core.figures.base import style

PAGE = '''
"""A page of twenty lines."""
import streamlit as st

from pages.ui.page.page import Page, Told, View
from pages.ui.inputs.setting import choice, whole

LUCK = whole("more_luck", 3, 1, 9, label="Luck", help="How much of it.")
VIEW = choice("more_view", "one", {"one": "First", "two": "Second"}, label="View", help="Which.")


def one() -> Told:
    """Show the first view."""
    st.text(f"luck {LUCK.draw()}")
    return Told("made of luck", "formula")


def two() -> Told:
    """Show the second view."""
    st.text("the second view")
    return Told("made of nothing", "NOT PRIVATE")


PAGE = Page(
    name="more", title="One more page", icon="casino", section="Explore", about="A page.", lede="Is it there?",
    settings=(LUCK, VIEW), views=(View("one", one, "Luck helps."), View("two", two)), switch=VIEW,
    file="more.py",
)

if __name__ == "__main__":
    PAGE.run()
'''
APP = """
import more
from app import all_pages
from pages.ui.page import address, navigation
from pages.ui.shell import router
from pages.ui.page.page import configure
from pages.ui.shell.sidebar import link_problems, sidebar

known = navigation.declare((*all_pages(), more.PAGE))
refused = address.hydrate()
configure()
link_problems(refused)
router.run(known, sidebar)
"""

arrived: list[str] = []
"""The passing messages of the first run."""


@pytest.fixture
def more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., AppTest]]:
    """The app with one more page, opened at it by a link."""
    (tmp_path / "pages").symlink_to(ROOT / "pages")
    (tmp_path / "more.py").write_text(PAGE, encoding="utf-8")
    (tmp_path / "whole_app.py").write_text(APP, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = dict(settings.REG)
    arrived.clear()

    def opened(**link: str) -> AppTest:
        app = AppTest.from_file(str(tmp_path / "whole_app.py"), default_timeout=60)
        for key, value in link.items():
            app.query_params[key] = value
        app.run()
        arrived[:] = [one.value for one in app.toast]
        return app.switch_page("more.py").run()

    yield opened
    sys.modules.pop("more", None)
    settings.REG.clear()
    settings.REG.update(before)
    navigation._known.pop("more", None)
    settings._OF_PAGE.pop("more", None)


def texts(app: AppTest) -> list[str]:
    return [one.value for one in app.main.text]


def test_a_page_of_one_file_has_its_header_its_views_and_its_setting(more: Callable[..., AppTest]) -> None:
    app = more()
    assert not app.exception and not app.error
    assert app.title[0].value == "One more page" and texts(app) == ["luck 3"]
    shown = [one.value for one in app.main.markdown]
    assert app.title[0].help == "Is it there?" and "**What you learn.** Luck helps." in shown
    assert any("formula" in one for one in shown) and "made of luck" in [one.value for one in app.main.caption]
    app = pick(app, more_view="two")
    assert texts(app) == ["the second view"] and any("NOT PRIVATE" in one.value for one in app.main.markdown)


def test_a_link_carries_the_setting_and_the_view(more: Callable[..., AppTest]) -> None:
    app = more(more_luck="8")
    assert texts(app) == ["luck 8"]
    app = pick(app, more_luck=5)
    assert texts(app) == ["luck 5"]
    link = shared_link(app)
    assert "more_luck=5" in link and "more_view" not in link
    assert texts(more(more_luck="5", more_view="two")) == ["the second view"]


def test_a_refused_value_in_a_link_keeps_the_present_one(more: Callable[..., AppTest]) -> None:
    app = more(more_luck="99")
    assert texts(app) == ["luck 3"]
    assert len(arrived) == 1 and "more_luck" in arrived[0]


def test_a_setting_of_another_key_is_no_second_one() -> None:
    from pages.ui.inputs.setting import flag

    with pytest.raises(ValueError, match="present"):
        settings.declare([flag("present", False)], "more")


def test_a_sample_of_one_module_is_offered_and_counted(tmp_path: Path) -> None:
    (tmp_path / "pets.csv").write_text("kind,breed,pets\ncat,Manx,3\ncat,Birman,4\ndog,Pug,5\n", encoding="utf-8")
    geography = SAMPLES["geography"]
    pets = replace(
        geography, name="pets", title="Pets (synthetic)", description="Twelve pets.",
        file=str(tmp_path / "pets.csv"), generator=ModuleType("pets"), columns=("kind", "breed"), weight="pets",
    )  # fmt: skip
    SAMPLES.register(pets)
    try:
        assert count_sample("pets").total == 12
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app.query_params["sample"] = "pets"
        app = app.run().switch_page("pages/data.py").run()
        assert not app.exception and codes(app) == []
        assert any("Pets (synthetic)" in option for option in widget(app, "sample").options)
        assert widget(app, "sample").value == "pets" and "Pets" in str([one.value for one in app.main.caption])
    finally:
        SAMPLES.withdraw("pets")
    with pytest.raises((InputError, KeyError)):
        count_sample("pets")


def test_the_colour_of_a_mechanism_is_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure that compares mechanisms asks `look`; another palette is another colour in each of them."""
    monkeypatch.setitem(style.PALETTE, "blue", style.Look("#123456", "solid", "circle"))
    assert style.look("discrete_laplace").colour == "#123456"
    for view in ("epsilon", "level", "draw"):
        specs = [json.loads(one.proto.spec) for one in open_page("lab", lab_view=view).get("plotly_chart")]
        drawn = json.dumps([spec | {"layout": spec["layout"] | {"modebar": {}}} for spec in specs])
        assert "#123456" in drawn and "#0072B2" not in drawn, view
