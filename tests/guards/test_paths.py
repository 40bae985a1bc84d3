"""What docs/architecture.md says a value passes on its way is what is called, one within the other."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from browsing import ROOT
from oracles_pages import RAGGED, open_page
from test_pages_data import VISITS, count, uploaded, values

pytestmark = pytest.mark.usefixtures("own_jobs")

MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


def listed(heading: str) -> list[str]:
    """The functions below a heading of the map, as file and name."""
    part = MAP.partition(f"### {heading}\n")[2].partition("\n#")[0]
    return [f"{path}:{name}" for path, name in re.findall(r"^\d+\. `([\w/.]+)` `([\w.<>]+)`", part, re.MULTILINE)]


@contextmanager
def stacks(last: str) -> Iterator[list[list[str]]]:
    """Of each call of a function, all functions of ours that it was called within, the outermost first."""
    found: list[list[str]] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_qualname == last.partition(":")[2]:
            found.append([*within(frame)][::-1])

    threading.setprofile(watch)
    try:
        yield found
    finally:
        threading.setprofile(None)


def within(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(str(ROOT)) and not path.startswith((str(ROOT / "tests"), str(ROOT / ".venv"))):
            yield f"{path.removeprefix(f'{ROOT}/')}:{frame.f_code.co_qualname}"
        frame = frame.f_back


@pytest.mark.parametrize(
    ("heading", "most", "done"),
    [
        ("From a control to a figure", 8, lambda: open_page("lab", RAGGED, eps="1.7")),
        ("From a file to counts", 24, lambda: count(values(uploaded(VISITS, ["place"]), "Values of place", "x\ny"))),
    ],
)
def test_a_value_passes_the_functions_that_the_map_lists(heading: str, most: int, done: Callable[[], Any]) -> None:
    path = listed(heading)
    with stacks(path[-1]) as found:
        done()
    assert found and len(path) <= most
    ends = [one[one.index(path[0]) :] if path[0] in one else one for one in found]
    assert path in ends, ends[-1]
