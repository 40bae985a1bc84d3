"""Row 2: every view in a real browser against a bare Streamlit page with one slider and one figure of 500 points.

A setting is moved from the keyboard, ε or else the first control that draws the view's first figure anew, in turns
with the bare page's slider. The browser's own clock says when the first figure was painted anew and when the page last
changed before it came to rest. Ratios are those of the same quantile of both, over as many moves.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import plotly.graph_objects as go

from browsing import CHROMIUM_ARGUMENTS, NO_CHROMIUM, chromium_path, live_server
from treedp_core.notebook import Cell, Notebook
from treedp_core.notebook.file.archive import save
from treedp_core.notebook.study import Study

IDS = ("2",)
BARE = Path(__file__).parent / "bare_page.py"
MILLION = {"source": "generate", "gen_branching": "100,100,100", "gen_n": "10000000"}
PATIENCE = 120.0
UNMOVED = 10.0  # seconds after which a key that began nothing has moved nothing
MAIN = '[data-testid="stMain"]'
# What can be moved, and the keys that move it; a switch between views is none of them.
CONTROLS: tuple[Control, ...] = (
    (".st-key-eps input[type=range]", ("ArrowRight",)),
    (f"{MAIN} .stSlider input[type=range]", ("ArrowRight",)),
    (f"{MAIN} .stNumberInput input", ("ArrowUp", "Enter")),
    (f"{MAIN} .stButtonGroup:not([class*=_view] *) [aria-checked=false]", ("Enter",)),
)

Row = tuple[str, str, float | None, float | None, str]
Times = dict[str, float | None]
Control = tuple[str, tuple[str, ...]]

# A page's times, in milliseconds since the last key or button was pressed or since it was asked for.
CLOCK = """() => {
  const figures = '[data-testid="stMain"] .js-plotly-plot';
  const clock = window.clock = {from: 0, first: null, last: 0, ran: false};
  clock.reset = () => { Object.assign(clock, {from: performance.now(), first: null, last: 0, ran: false}); };
  clock.rests = () => {
    const app = document.querySelector('[data-testid="stApp"]');
    const idle = app && app.dataset.testScriptState === 'notRunning';
    const waits = document.querySelector('[data-testid="stSkeleton"]');
    return Boolean(idle && clock.ran && !waits && performance.now() - clock.last > 700);
  };
  const drawn = (figure, record) => figure.contains(record.target)
    ? Boolean(figure.querySelector('.main-svg, canvas, svg')) : record.target.contains(figure)
    && [...record.addedNodes].some(node => node.contains(figure) && figure.querySelector('.main-svg, canvas, svg'));
  for (const press of ['keydown', 'pointerdown']) addEventListener(press, clock.reset, true);
  new MutationObserver(records => {
    clock.last = performance.now();
    clock.ran ||= records.some(record => record.attributeName === 'data-test-script-state');
    const figure = document.querySelector(figures);
    if (clock.first === null && figure && records.some(record => drawn(figure, record))) {
      clock.first = 0;
      const from = clock.from;
      requestAnimationFrame(() => setTimeout(() => { if (clock.from === from) clock.first = performance.now(); }));
    }
  }).observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
}"""


def rows(quick: bool) -> Iterator[Row]:
    """A row for each view and measure, as they are measured."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        yield "2", "every view in a browser", None, None, "playwright"
        return
    path = chromium_path()
    if path is None:
        yield "2", "every view in a browser", None, None, NO_CHROMIUM
        return
    with live_server(BARE) as bare, live_server() as app, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(CHROMIUM_ARGUMENTS))
        yield from first_visits(browser, bare.url, app.url, 2 if quick else 7)
        yield from many_cells(browser, bare.url, app.url, 3 if quick else 10)
        for name, data, moves, targets in (
            ("default data", {}, 3 if quick else 10, (2.0, 2.5, 5.0)),
            ("a million leaves", MILLION, 2 if quick else 5, (4.0, None, 10.0)),
        ):
            for view, link in views():
                url = f"{app.url}{address(link | data)}"
                try:
                    yield from moved(browser, bare.url, url, f"{view}, {name}", moves, targets)
                except Exception as error:  # the other views are measured all the same
                    yield "2", f"{view}, {name}", float("nan"), targets[0], str(error).splitlines()[0]


def views() -> Iterator[tuple[str, dict[str, str]]]:
    """Every view: what it is called here, and its link."""
    from app import all_pages

    for page in all_pages():
        switch = next((one for one in page.settings if one.key.endswith("_view") and one.options), None)
        for option in switch.options if switch is not None else ("",):
            yield (
                f"{page.name} {option}".strip(),
                {"": page.name} | ({switch.key: option} if switch is not None else {}),
            )


def address(link: dict[str, str]) -> str:
    """The path and query of a link."""
    return f"/{link['']}?" + "&".join(f"{key}={value}" for key, value in link.items() if key)


def first_visits(browser: Any, bare: str, app: str, visits: int) -> Iterator[Row]:
    """A browser that has nothing of either page, on servers that somebody has visited before."""
    times: dict[str, list[float]] = {bare: [], app: []}
    for turn in range(visits + 1):
        for url in times:
            with opened(browser, url) as page:
                first = clock(page)["first"]
                times[url] += [first] if turn and first is not None else []
    yield "2", "first visit to first figure / bare page", ratio(times[app], times[bare], 0.5), 2.0, told(times[app])


def many_cells(browser: Any, bare_url: str, url: str, moves: int) -> Iterator[Row]:
    """A notebook of 200 cells: until its file is open and one is shown; other cells and Compare over the bare page."""
    with (
        TemporaryDirectory() as folder,
        opened(browser, bare_url) as bare,
        opened(browser, f"{url}/notebook?nb_view=cell") as page,
    ):
        file = Path(folder, "many.treedp")
        file.write_bytes(save(_study(200), with_data=False))
        page.get_by_role("button", name="Save or open").click()
        rest(page)
        began = time.perf_counter()
        page.locator('[data-testid="stPopoverBody"] input[type=file]').set_input_files(file)
        page.locator(f"{MAIN} .js-plotly-plot .main-svg").first.wait_for()
        seconds = time.perf_counter() - began
        yield "2", "200 cells: s until the first is shown", seconds, 2.0, f"{seconds:.1f} s"
        rest(page)
        page.mouse.click(5, 5)
        for name, do in (("another cell", _another), ("Compare and back", _compared)):
            pairs = []
            for turn in range(moves):
                do(page, turn)
                ours = clock(page) if rest(page) else {"first": None, "quiet": None}
                pairs.append((ours, move(bare, *CONTROLS[1])))
            times = [[one["first"] for one in side if one["first"] is not None] for side in zip(*pairs, strict=True)]
            yield "2", f"200 cells: {name}, p50", ratio(times[0], times[1], 0.5), 3.0, told(times[0])


def _study(cells: int) -> Study:
    """A notebook of so many figures, each of 500 points."""
    x = np.linspace(0.0, 10.0, 500)
    made: dict[str, Any] = {"page": "lab", "version": "1", "made": "2026-11-23T15:00:00+00:00", "holds_counts": False}
    figures = (
        json.loads(go.Figure(go.Scatter(x=x.tolist(), y=np.sin(at * x).tolist())).to_json()) for at in range(cells)
    )
    return Study(notebook=Notebook("Many", tuple(
        Cell(id=f"{at:016x}", name=f"Cell {at}", figure=one, **made) for at, one in enumerate(figures)
    )), version="1")  # fmt: skip


def _another(page: Any, turn: int) -> None:
    page.get_by_role("combobox", name="Cell").first.click()
    page.get_by_role("option").nth(turn % 5).click()


def _compared(page: Any, turn: int) -> None:
    page.get_by_text(("Compare", "One cell")[turn % 2], exact=True).first.click()


def moved(
    browser: Any, bare_url: str, url: str, view: str, moves: int, targets: tuple[float | None, ...]
) -> Iterator[Row]:
    """One view: its first figure at the median and late, and the whole page, over those of the bare page."""
    with opened(browser, bare_url) as bare, opened(browser, url) as page:
        if page.locator('[data-testid="stException"]').count():
            raise AssertionError(f"{view} shows an error")
        control, draws = what_moves(page)
        pairs = [(move(page, *control), move(bare, *CONTROLS[1])) for _ in range(moves)] if control else []
    floor, ours = [floor for _, floor in pairs], [own for own, _ in pairs]
    if draws:
        figures = [[one["first"] for one in times if one["first"] is not None] for times in (ours, floor)]
        for quantile, target in ((0.5, targets[0]), (0.9, targets[1])):
            name = f"{view}: first figure, p{100 * quantile:.0f}"
            yield "2", name, ratio(*figures, quantile), target, told(figures[0], quantile)
    if control:
        quiet = [[one["quiet"] for one in times if one["quiet"] is not None] for times in (ours, floor)]
        note = told(quiet[0]) + ("" if draws else "; nothing moved draws its first figure anew")
        yield "2", f"{view}: page quiet, p50", ratio(*quiet, 0.5), targets[2], note


def what_moves(page: Any) -> tuple[Control | None, bool]:
    """The first control that draws the first figure anew, and True; else one that makes the page run, and False."""
    runs = None
    for control in CONTROLS:
        if page.locator(control[0]).count():
            times = move(page, *control)
            if times["first"] is not None:
                return control, True
            runs = runs or (control if times["quiet"] is not None else None)
    return runs, False


def ratio(ours: list[float], floor: list[float], quantile: float) -> float:
    """A quantile of ours over the same of the bare page."""
    return float(np.quantile(ours, quantile) / np.quantile(floor, quantile)) if ours and floor else float("nan")


def told(times: list[float], quantile: float = 0.5) -> str:
    """The time behind a ratio."""
    return f"{np.quantile(times, quantile):.0f} ms" if times else "no figure"


@contextmanager
def opened(browser: Any, url: str) -> Iterator[Any]:
    """A page in a browser session of its own, at rest."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    try:
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.add_init_script(f"({CLOCK})()")
        page.goto(url)
        rest(page)
        yield page
    finally:
        context.close()


def move(page: Any, control: str, keys: Sequence[str]) -> Times:
    """Move a control by one step, to a value not seen before where it has one; the times once the page is at rest."""
    page.locator(control).first.focus()
    for key in keys:
        page.keyboard.press(key)
    return clock(page) if rest(page) else {"first": None, "quiet": None}


def rest(page: Any) -> bool:
    """Wait for a page to come to rest, looking seldom enough not to slow it; False if it never ran."""
    began = time.monotonic()
    while not page.evaluate("() => clock.rests()"):
        waited = time.monotonic() - began
        if waited > UNMOVED and not page.evaluate("() => clock.ran"):
            return False
        assert waited < PATIENCE, f"{page.url} did not come to rest within {PATIENCE:g} s"
        page.wait_for_timeout(100)
    return True


def clock(page: Any) -> Times:
    """Times of a page at rest since the last key, in milliseconds."""
    read = "[clock.first === null ? null : clock.first - clock.from, clock.last - clock.from]"
    first, quiet = json.loads(page.evaluate(f"() => JSON.stringify({read})"))
    return {"first": first, "quiet": quiet}
