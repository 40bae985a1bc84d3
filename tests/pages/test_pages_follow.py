"""A figure that is drawn while a handle is held is the one that the page shows once it is let go."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from oracles_figures import near, unpack
from oracles_pages import RAGGED, Later
from pages.ui.figure import follow
from pages.ui.figure.follow import Stage
from pages.ui.inputs.text import pieces
from pages.ui.jobs import jobs
from pages.ui.page import view as view_of_page
from pages.ui.session import uploads
from test_pages_contract import QUICK, SMALL, VIEWS, opened
from treedp_core.figures.base.differences import applied, differences, written
from treedp_core.views.budget import words
from treedp_core.words import unbroken

pytestmark = pytest.mark.usefixtures("own_jobs")

STILL = {"methods", "lesson"}
"""Pages whose views depend on no slider."""
WITHOUT = {"experiment", "optimal"}
"""Views that depend on none of the sliders: the published experiment, and the best matrix."""


class Shown(NamedTuple):
    """What stood on a stage, and what the browser was told."""

    stage: Stage
    figure: Any
    answer: str
    told: dict[str, Any]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Shown]:
    stages, told, begin = list[Shown](), list[dict[str, Any]](), Stage.follow
    monkeypatch.setattr(follow, "script", lambda name, **how: lambda *, data, **more: told.append(data))
    monkeypatch.setattr(jobs, "pool", Later)

    def stand(self: Stage) -> None:
        told.clear()
        begin(self)
        stages.append(Shown(self, self._parts, self.seen.finding.answer, told[-1] if told else {}))

    monkeypatch.setattr(Stage, "follow", stand)
    return stages


def asked(app: AppTest, shown: list[Shown], key: str, values: list[str]) -> dict[str, Any]:
    """What the browser is told of values that a hand is near to."""
    app.session_state["_values_near"] = {"base": shown[-1].stage.base, "handle": key, "values": values}
    app.run()
    assert not app.exception
    return dict(shown[-1].told["frames"])


def looked_at(app: AppTest, page: str, switch: str, view: str, shown: list[Shown]) -> Shown | None:
    shown.clear()
    if switch:
        app.session_state[switch] = view
    app.switch_page(f"pages/{page}.py").run()
    app.run()  # a page may choose what it was not told at first
    assert not app.exception, (page, view)
    return shown[-1] if shown else None


def moves(stage: Stage, every: bool, turn: int) -> Iterator[tuple[str, list[str]]]:
    """Handles, each with the values that are tried: all handles and the nearest and farthest value, or one in turn."""
    handles = sorted(one for one in stage.handles.items() if "values" in one[1])
    for at, (key, handle) in enumerate(handles):
        if not every and key != "eps" and (at + turn) % 3:
            continue
        here = handle["values"].index(handle["at"])
        others = [one for one in handle["values"] if one != handle["at"]]
        yield key, [others[max(0, here - 1)], others[-1]] if every else [others[max(0, here - 1)]]


@pytest.mark.parametrize("page", [one for one in dict.fromkeys(page for page, *_ in VIEWS) if one not in STILL])
def test_what_is_drawn_while_a_handle_is_held_is_shown_on_release(
    page: str, every: bool, shown: list[Shown], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "ROUND", 60.0)
    monkeypatch.setattr(view_of_page, "LONGEST", 60.0)
    app, tried, at_once = opened(SMALL if page == "topdown" else RAGGED, **QUICK), 0, 0
    for turn, (_, switch, view) in enumerate(one for one in VIEWS if one[0] == page and one[1] != "td_more"):
        stood = looked_at(app, page, switch, view, shown)
        if stood is None or view in WITHOUT:
            continue
        assert stood.stage.handles, (page, view)
        for key, values in moves(stood.stage, every, turn):
            frames = asked(app, shown, key, values)
            stage = shown[-1]
            for text in values:
                frame, place = frames[text], (page, view, key, text)
                stops = dict(zip(stage.stage.handles[key]["values"], follow.REG[key].stops(), strict=True))
                before = app.session_state[key] if key in app.session_state else follow.REG[key].default
                app.session_state[key] = stops[text]
                app.run()
                released = shown[-1]
                tried += 1
                if frame is not None:
                    at_once += 1
                    drawn = applied(written(stage.figure), frame["figure"])
                    expected = written(released.figure)
                    for one in (drawn, expected):
                        one.get("layout", {}).pop("meta", None)
                    assert drawn or frame["picture"], place
                    assert near(unpack(drawn), unpack(expected)), place
                    assert frame["answer"] == pieces(unbroken(released.answer)), place
                    assert frame["strip"] == pieces(unbroken(app.session_state["_page_line"])), place
                app.session_state[key] = before
                app.run()
    assert at_once >= 0.8 * tried > 0, (page, at_once, tried)


@pytest.mark.parametrize(
    ("page", "view", "key", "text"),
    [("branching", ("", ""), "bra_bins", "2^11"), ("cdf", ("cdf_view", "error"), "cdf_bins", "128"),
     ("multiplicative", ("mul_view", "meaning"), "mul_levels", "10^3")],
)  # fmt: skip
def test_what_is_typed_is_drawn_before_its_field_is_left(
    page: str, view: tuple[str, str], key: str, text: str, shown: list[Shown], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "ROUND", 60.0)
    app = opened(SMALL)
    stood = looked_at(app, page, *view, shown)
    assert stood is not None
    assert stood.stage.handles[key]["typed"]
    frames = asked(app, shown, key, [text, "no number"])
    assert frames["no number"] is None
    drawn = unpack(applied(written(shown[-1].figure), frames[text]["figure"]))
    app.session_state[key] = text
    app.run()
    released = unpack(written(shown[-1].figure))
    for one in (drawn, released):
        one["layout"].pop("meta")
    assert near(drawn, released)
    assert frames[text]["answer"] == pieces(unbroken(shown[-1].answer))


def test_a_difference_that_is_not_sent_is_noticed() -> None:
    old, new = {"data": [{"y": np.arange(40.0)}]}, {"data": [{"y": np.arange(40.0) + 1e-3}]}
    sent = differences(old, new)
    assert near(unpack(applied(written(old), sent)), unpack(written(new)))
    assert not near(unpack(applied(written(old), sent[:0])), unpack(written(new)))


def test_what_is_asked_of_another_figure_is_not_answered(shown: list[Shown]) -> None:
    app = opened(RAGGED)
    stood = looked_at(app, "lab", "lab_view", "epsilon", shown)
    assert stood is not None
    for wrong in (
        {"base": "other"}, {"base": []}, {"handle": "seed"}, {"handle": ["eps"]}, {"handle": None},
        {"values": ["1e9", 3, None]}, {"values": 7}, {"values": {"2": 1}}, {"values": ["2" * 10_000]},
    ):  # fmt: skip
        app.session_state["_values_near"] = {
            "base": stood.stage.base, "handle": "eps", "values": ["2"], **wrong
        }  # fmt: skip
        app.run()
        assert not any((shown[-1].told.get("frames") or {}).values()), wrong


def test_what_no_browser_of_ours_says_of_a_drag_is_not_answered(shown: list[Shown]) -> None:
    app = opened(RAGGED)
    for page, view, drag, good, bad in (
        ("cdf", ("cdf_view", "release"), "brush", "1 2", ("", "1", "1 2 3", "nan 2", "1 inf", "x y")),
        (
            "budget",
            ("bud_view", "custom"),
            "bud_own_bar",
            ", ".join(["0.1"] * RAGGED.tree.n_levels),
            ("-1, 2", "0.9, 0.9, 0.9", "<b>", "1" * 300),
        ),
    ):
        stood = looked_at(app, page, *view, shown)
        assert stood is not None
        assert asked(app, shown, drag, [good])[good] is not None
        for text in bad:
            assert asked(app, shown, drag, [text]).get(text) is None, (drag, text)


def test_strangers_may_ask_for_so_many_figures_a_visit(shown: list[Shown], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "PUBLIC", 3)
    monkeypatch.setattr(uploads, "is_public", lambda: True)
    app = opened(None)
    stood = looked_at(app, "lab", "lab_view", "epsilon", shown)
    assert stood is not None

    def count() -> int:
        return len(asked(app, shown, "eps", stood.stage.handles["eps"]["values"][:2]))

    assert [count(), count(), count()] == [2, 1, 0]
    looked_at(app, "data", "", "", shown)
    looked_at(app, "lab", "lab_view", "epsilon", shown)
    assert count() == 2


def test_the_smallest_budget_follows_the_margins_and_what_is_simulated_is_not_known_meanwhile(
    shown: list[Shown], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "ROUND", 60.0)
    monkeypatch.setattr(view_of_page, "LONGEST", 60.0)
    app = opened(SMALL, bud_targets="0, every:20, random:30")
    stood = looked_at(app, "budget", "bud_view", "targets", shown)
    assert stood is not None and "bud_margins" in stood.stage.handles
    frames = asked(app, shown, "bud_margins", ["1.2", "2"])
    said = {text: "".join(frame["answer"]).replace("\u00a0", " ") for text, frame in frames.items()}
    assert "within 24 %" in said["1.2"] and "within 36 %" in said["1.2"]
    assert "within 40 %" in said["2"] and "within 60 %" in said["2"]
    totals = [float(re.search(r"ε = ([0-9.]+)", one)[1]) for one in said.values()]  # type: ignore[index]
    assert totals[0] > totals[1] > 0
    app.session_state["bud_margins"] = 2.0
    app.run()
    assert "".join(pieces(shown[-1].answer)).replace("\u00a0", " ") == said["2"]
    assert words.NOT_SIMULATED in shown[-1].stage.seen.finding.notes
    card = next(one for one in app.metric if one.label == "Seen in simulation")
    assert (card.value, card.delta) == ("…", "not known yet")


def test_a_search_that_takes_long_moves_on_release(shown: list[Shown], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_of_page, "LONGEST", 0.0)
    app = opened(SMALL, bud_targets="0, every:20, random:30")
    assert looked_at(app, "budget", "bud_view", "targets", shown) is not None
    assert asked(app, shown, "bud_margins", ["1.2", "2"]) == {"1.2": None}
    assert shown[-1].told["few"] == 0
