"""Every control, card, figure and table of every page tells what it is: help, an alternative text, a caption."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app import all_pages
from browsing import ROOT
from pages.ui.notebook.pins import NO_NUMBERS
from treedp_core.studies.methods.terms import TERMS, symbols_in

pytestmark = pytest.mark.usefixtures("own_jobs")

PAGES = all_pages()
HOME = PAGES[0].name
NAMES = [page.name for page in PAGES]
CONTROLS = (
    "button", "checkbox", "download_button", "file_uploader", "multiselect", "number_input", "pills", "radio",
    "segmented_control", "select_slider", "selectbox", "slider", "text_area", "text_input", "toggle", "metric",
)  # fmt: skip
FIGURE = "plotly_chart"
WANTED = {"caption", "Data"}
CSV = b"region,city,people\nNorth,Kiel,3\nNorth,Ulm,4\nSouth,Rome,5\n"
STATES: list[tuple[str, dict[str, str]]] = [
    *((name, {"eps": "16"}) for name in ("classroom", "notebook") if name in NAMES),
    ("data", {"source": "generate"}),
    *((name, {"source": "upload", "level": "Advanced"}) for name in NAMES),
]
"""Besides all views on odd data: see `test_pages_contract.py`."""

App = Callable[..., AppTest]


@pytest.fixture
def app() -> App:
    def start(page: str, link: dict[str, str]) -> AppTest:
        at = AppTest.from_file(str(ROOT / "app.py"), default_timeout=90)
        for key, value in link.items():
            at.query_params[key] = value
        return (at if page == HOME else at.switch_page(f"pages/{page}.py")).run()

    return start


def of(element: Any, name: str) -> Any:
    """A property of an element, wherever this kind of element has it."""
    return getattr(element, name, None) or getattr(element.proto, name, None)


def hides_its_label(element: Any) -> bool:
    """Whether a caption beside the element carries its label, and with it the help."""
    visibility = getattr(element.proto, "label_visibility", None)
    return visibility is not None and visibility.value == visibility.COLLAPSED


def without_help(at: AppTest) -> list[str]:
    """Controls and cards of a page that say nothing about themselves."""
    every = [(kind, element) for kind in CONTROLS for element in at.get(kind) if not hides_its_label(element)]
    return [f"{kind} {of(element, 'label')!r}" for kind, element in every if not of(element, "help")]


def without_text(at: AppTest) -> list[str]:
    """Figures and tables of a page that those who do not see them learn nothing about."""
    shown = [element for kind in (FIGURE, "dataframe") for element in at.get(kind)]
    return [element.type for element in shown if not of(element, "alt")]


def beside_figures(at: AppTest) -> list[set[str]]:
    """What stands behind each figure up to what comes next: a caption or *About*, and *Data*, its numbers as a file.

    Empty axes have no numbers, and their *Pin* says so.
    """
    found: list[set[str]] = []

    def walk(block: Any) -> None:
        last: set[str] = set()
        for child in block.children.values():
            begun = len(found)
            if child.type == FIGURE:
                found.append(set())
            elif hasattr(child, "children"):
                walk(child)
            if len(found) > begun or child.type == "dataframe":
                last = found[-1] if len(found) > begun else set()
            last |= said(child)

    walk(at.main)
    return found


def said(element: Any) -> set[str]:
    """Which of a caption, *About* and *Data* an element is, or holds as the footer of a figure."""
    inside = getattr(element, "children", {}).values()
    popovers = [block for block in inside if block.type == "popover" and block.proto.popover.label == "About"]
    told = element.type == "caption" or any(text.value for block in popovers for text in block.markdown)
    data = any(one.type == "download_button" and one.proto.label == "Data" for one in inside)
    data |= any(one.type == "button" and one.disabled and one.help == NO_NUMBERS for one in inside)
    return ({"caption"} if told else set()) | ({"Data"} if data else set())


def unexplained(at: AppTest) -> list[str]:
    """What figures and tables of a page lack for those who do not see them, or want their numbers."""
    lacking = [f"figure {i} has no {part}" for i, parts in enumerate(beside_figures(at)) for part in WANTED - parts]
    return [*without_text(at), *lacking]


def unnamed(at: AppTest) -> list[str]:
    """Symbols in the words of a page that nothing on it explains: not the heading, no help, no *About*."""
    shown = [*at.main.title, *at.main.header, *at.main.caption, *at.main.markdown, *at.main.latex]
    written = "\n".join(str(one.value) for one in shown)
    told = written + "\n".join(str(of(one, "help") or "") for one in at.main)
    meant = {one.symbol: one.text for one in TERMS.values() if one.symbol}
    return [symbol for symbol in symbols_in(written) if meant[symbol] not in told]


@pytest.mark.parametrize(("page", "link"), STATES, ids=[f"{p} {' '.join(v.values())}".strip() for p, v in STATES])
def test_everything_on_a_page_explains_itself(app: App, page: str, link: dict[str, str]) -> None:
    at = app(page, link)
    assert not at.exception
    assert without_help(at) == []
    assert unexplained(at) == []
    assert unnamed(at) == []


@pytest.mark.parametrize("kind", ["columns", "bins"])
def test_so_does_a_file_before_and_after_it_is_counted(app: App, kind: str) -> None:
    at = app("data", {"source": "upload"})
    at.file_uploader[0].upload("survey.csv", CSV).run()
    if kind == "bins":
        next(control for control in at.segmented_control if control.label == "Levels from").set_value("bins").run()
        column = next(box for box in at.selectbox if box.label == "Numeric column")
        assert column.options[column.value] == "people"
        for bound, value in (("Lower", 0), ("Upper", 10)):
            next(box for box in at.number_input if box.label.startswith(bound)).set_value(value)
        at.run()
    else:
        next(box for box in at.multiselect if box.label.startswith("Columns")).set_value(["region", "city"]).run()
    assert without_help(at) == []
    assert unexplained(at) == []
    at.button(key="upload_count").click().run()
    assert not at.file_uploader
    assert without_help(at) == []
    assert unexplained(at) == []


def test_a_control_without_help_is_found() -> None:
    def page() -> None:
        import streamlit as st

        st.button("Bare")
        st.button("Told", help="What it does.")

    assert without_help(AppTest.from_function(page).run()) == ["button 'Bare'"]


def test_a_figure_without_its_text_or_its_table_is_found() -> None:
    def page() -> None:
        import plotly.graph_objects as go
        import streamlit as st

        with st.container():
            st.plotly_chart(go.Figure(), key="told", alt="Nothing.")
            st.caption("Nothing.")
        with st.container(horizontal=True):
            st.download_button("Data", b"")
        st.plotly_chart(go.Figure(), key="bare")

    found = unexplained(AppTest.from_function(page).run())
    assert sorted(found) == ["figure 1 has no Data", "figure 1 has no caption", "plotly_chart"]
