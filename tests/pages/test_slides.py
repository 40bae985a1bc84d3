"""The slides of a presentation: chosen in the sidebar, held in the session and the address, stepped through by keys."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest
import segno
from streamlit.runtime.scriptrunner_utils.exceptions import StopException
from streamlit.testing.v1 import AppTest

from oracles_pages import dataset, open_page, pick, press, shared_link, widget
from pages.ui.page import address, slides
from pages.ui.server import qr
from pages.ui.shell import shell
from treedp_core.tree import Tree

pytestmark = pytest.mark.usefixtures("own_jobs")

THREE = ["lab?eps=2&lab_metric=rmsre", "consistency?con_post=none", "cdf"]


def told(app: AppTest) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(app.main.get("bidi_component")[0].proto.json)
    return found


def chosen(app: AppTest) -> list[str]:
    return list(app.session_state["slides"])


def test_views_are_added_with_their_settings_moved_and_removed() -> None:
    app = open_page("lab", level="Basic", sample="small_town")
    press(app, "slide_add")
    assert chosen(app) == ["lab"] and widget(app, "slide_add").disabled, "it is there already"
    pick(app, eps=2.0, lab_view="level")
    press(app, "slide_add")
    app.switch_page("pages/cdf.py").run()
    press(app, "slide_add")
    assert chosen(app) == ["lab", "lab?eps=2&lab_view=level", "cdf?eps=2"]
    press(app, "slide_up_3")
    assert chosen(app) == ["lab", "cdf?eps=2", "lab?eps=2&lab_view=level"]
    press(app, "slide_down_1")
    assert chosen(app) == ["cdf?eps=2", "lab", "lab?eps=2&lab_view=level"]
    press(app, "slide_drop_2")
    assert chosen(app) == ["cdf?eps=2", "lab?eps=2&lab_view=level"]
    assert widget(app, "slide_up_1").disabled and widget(app, "slide_down_2").disabled


def test_start_shows_the_first_slide_as_it_was_chosen() -> None:
    app = open_page("start", slides=THREE, eps="5", lab_metric="rmse", seed="3")
    press(app, "present_on")
    assert told(app)["page"] == "lab" and told(app)["presents"]
    now = parse_qs(told(app)["query"])
    assert now.pop("slides") == THREE and now.pop("slide") == ["1"] and now.pop("present") == ["1"]
    assert now == {"eps": ["2"], "lab_metric": ["rmsre"]}, "what the slide does not name has its default"
    assert "1 of 3" in [caption.value for caption in app.main.caption]


def test_the_address_of_a_presentation_brings_the_slides_back() -> None:
    app = open_page("consistency", slides=THREE, slide="2", present="1")
    assert chosen(app) == THREE and "2 of 3" in [caption.value for caption in app.main.caption]
    pick_up = parse_qs(told(app)["query"])
    assert pick_up["slides"] == THREE
    app.session_state["present"] = False
    assert not {"slides", "slide"} & parse_qs(told(app.run())["query"]).keys(), "no other address is made long by it"
    assert chosen(app) == THREE


def test_a_list_too_long_for_an_address_lasts_in_the_session() -> None:
    many = [f"lab?lab_target={place}{'0' * 80}" for place in range(25)]
    app = open_page("lab", slides=many, slide="1", present="1")
    assert chosen(app) == many
    assert len(told(app)["query"]) < address.LONGEST and "slides" not in told(app)["query"]
    assert parse_qs(told(app)["query"])["slide"] == ["1"], "so that Back knows which one it leads to"
    assert "slides" not in shared_link(app)
    assert any("as long as this session" in caption.value for caption in app.sidebar.caption)


@pytest.mark.parametrize("link", ["nowhere?eps=1", "https://example.org/", "", "lab?" + "x" * 1000])
def test_a_slide_must_be_a_page_of_this_app(link: str) -> None:
    app = open_page("lab", slides=["lab", link] if link else "nowhere")
    assert not app.exception and chosen(app) == []


def test_a_slide_with_settings_that_are_refused_shows_its_page() -> None:
    app = open_page("start", slides=["lab?lab_view=none&eps=-4&zzz=1"])
    press(app, "present_on")
    assert not app.exception and told(app)["page"] == "lab"
    assert widget(app, "eps").value == 1.0


def test_nothing_of_a_file_is_in_a_slide() -> None:
    own = dataset(Tree.from_branching_factors((2, 3)), [70, 20, 1, 2, 30, 45], name="SECRET-4711")
    app = open_page("lab", own, lab_allocation="custom", lab_shares="0, 0.25, 0.75", lab_tuned="true_counts")
    press(app, "slide_add")
    assert "lab_shares" not in chosen(app)[0] and "SECRET" not in chosen(app)[0]


@pytest.mark.parametrize("link", ["http://127.0.0.1:8501/lab?eps=2", "https://example.org/" + "ä" * 500])
def test_a_code_holds_its_link_and_nothing_else(link: str) -> None:
    """The modules of the picture are those of a code that is made anew of the link."""
    svg = unquote(qr.image(link).partition(",")[2])
    expected = segno.make(link.encode(), error="l", micro=False)
    border, found = expected.default_border_size, set[tuple[int, int]]()
    path = re.search(r'class=.qrline. [^>]*d=.([^"\']*)', svg)
    assert path is not None
    x, y = 0.0, 0.0
    for step, numbers in re.findall(r"([Mmh])([-0-9. ]*)", path[1]):
        at = [float(one) for one in numbers.split()]
        if step == "h":
            found |= {(int(y - 0.5) - border, int(x) + i - border) for i in range(int(at[0]))}
            x += at[0]
        else:
            x, y = (at[0], at[1]) if step == "M" else (x + at[0], y + at[1])
    assert found == {(r, c) for r, row in enumerate(expected.matrix) for c, dark in enumerate(row) if dark}


def test_what_is_said_of_a_code() -> None:
    assert "no other" in qr.note("http://localhost:8501/lab") and qr.note("https://example.org/lab") == ""
    assert qr.image("https://example.org/?" + "x" * qr.LONGEST) == ""
    assert "too long" in qr.note("https://example.org/?" + "x" * qr.LONGEST)


def test_every_key_is_heeded_once_whatever_messages_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each message has the keys before it; a page that is loaded anew begins anew."""
    monkeypatch.setattr(shell.st, "session_state", {})
    assert shell._not_heeded("a", 0, ["next"]) == ["next"]
    assert shell._not_heeded("a", 0, ["next", "next", "back"]) == ["next", "back"]
    assert shell._not_heeded("a", 0, ["next", "next", "back"]) == []
    assert shell._not_heeded("a", 2, ["back", "next"]) == ["next"], "the first ones are let go"
    assert shell._not_heeded("b", 0, ["back"]) == ["back"]


def test_a_slide_is_asked_for_until_its_page_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is on its way to the page of a slide is ended where the next key comes first."""
    one, other = SimpleNamespace(name="one", path="one.py"), SimpleNamespace(name="other", path="other.py")
    went: list[str] = []

    def leave(path: str) -> None:
        went.append(path)
        raise StopException

    monkeypatch.setattr(slides.st, "session_state", {})
    monkeypatch.setattr(slides.st, "switch_page", leave)
    slides.open_page("other")
    for page in (one, one, other, one):
        with suppress(StopException):
            slides.turn(page, [one, other])  # type: ignore[arg-type,list-item]
    assert went == ["other.py"] * 2
