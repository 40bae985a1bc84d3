"""Row 2: every view in a real browser against a bare Streamlit page with one slider and one figure of 500 points.

A handle is dragged with the pointer, ε or else the first that the view's figure follows. The browser's own clock says
when the figure of each value was painted; on the bare page a script calls `Plotly.react` on its 500 points in turns.
Then the handle is let go, as is the bare page's slider, and the clock says when each page last changed before it came
to rest; what is asked for the next values is seen by nobody, and is no change. Ratios are those of the same quantile of
both, over as many moves.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
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
Row = tuple[str, str, float | None, float | None, str]
Times = dict[str, float | None]

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
  const seen = ({attributeName, target}) => attributeName !== 'data-test-script-state'
    && (target.nodeType === 1 ? target : target.parentElement)?.closest('body, .st-key-follow')?.matches('body');
  for (const press of ['keydown', 'pointerdown', 'pointerup']) addEventListener(press, clock.reset, true);
  const painted = then => requestAnimationFrame(() => setTimeout(() => then(performance.now())));
  clock.follow = key => {
    const [times, box] = [clock.times = [], document.querySelector(`.st-key-${key}`)];
    let [value, from] = [null, 0];
    new MutationObserver(() => { [value, from] = [clock.stands(key), performance.now()]; })
      .observe(box, {subtree: true, attributeFilter: ['aria-valuetext']});
    new MutationObserver(() => {
      const [of, since] = [value, from];
      if (document.querySelector('[data-follows]')?.dataset.follows === of) painted(at => times.push(at - since));
    }).observe(document.querySelector('.st-key-stage'), {subtree: true, attributeFilter: ['data-follows']});
  };
  clock.stands = key => document.querySelector(`.st-key-${key} input[type=range]`).getAttribute('aria-valuetext');
  clock.drawn = turns => new Promise(async done => {
    const plot = document.querySelector(figures);
    const x = Array.from({length: 500}, (_, at) => at / 50);
    const times = [];
    for (let turn = 0; turn < turns; turn++) {
      const from = performance.now();
      const line = {...plot.data[0], x, y: x.map(one => Math.sin((turn + 2) * one))};
      await window.Plotly.react(plot, [line], {...plot.layout});
      times.push(await new Promise(painted) - from);
      await new Promise(rest => setTimeout(rest, 100));
    }
    done(times);
  });
  clock.track = key => [`div:has(> input[type=range])`, `[data-testid=stSlider]`].flatMap(one => {
    const {x, y, width} = document.querySelector(`.st-key-${key} ${one}`).getBoundingClientRect();
    return [x, y, width];
  });
  new MutationObserver(records => {
    if (records.some(seen)) clock.last = performance.now();
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
            ("default data", {}, 4 if quick else 14, (3.0, 3.0, 5.0)),
            ("a million leaves", MILLION, 2 if quick else 5, (None, None, 10.0)),
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
                pairs.append((ours, released(bare, "turns", turn)))
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
        key = handle(page)
        if key is None:
            yield "2", f"{view}: nothing to drag", None, None, "a figure that follows no handle"
            return
        followed = dragged(page, key, moves)
        floor = bare.evaluate(f"() => clock.drawn({moves})")
        for quantile, target in ((0.5, targets[0]), (0.95, targets[1])):
            name = f"{view}: {key} to figure, p{100 * quantile:.0f}"
            yield "2", name, ratio(followed, floor, quantile), target, told(followed, quantile)
        page.mouse.up()
        quiet = [clock(page)["quiet"]] if rest(page) else []
        quiet += [released(page, key, turn)["quiet"] for turn in range(moves // 2)]
        least = [released(bare, "turns", turn)["quiet"] for turn in range(moves // 2)]
        times = [[one for one in side if one is not None] for side in (quiet, least)]
        yield "2", f"{view}: release to page quiet, p50", ratio(*times, 0.5), targets[2], told(times[0])


def handle(page: Any) -> str | None:
    """The key of ε's slider, or else of the first in the page, that can be dragged."""
    found = "[class*=st-key-]:has(> * [data-testid=stSlider] input:not([disabled]))"
    keys = page.evaluate(
        f"() => [...document.querySelectorAll('{found}')].map(one => /st-key-(\\S+)/.exec(one.className)[1])"
    )
    return next((key for key in ("eps", *keys) if key in keys), None)


def dragged(page: Any, key: str, moves: int) -> list[float]:
    """Drag a handle through its values, once the figures of those near to it had time to come; it stays held."""
    x, y, _, left, _, width = page.evaluate("key => clock.track(key)", key)
    page.evaluate("key => clock.follow(key)", key)
    page.mouse.move(x, y)
    page.wait_for_timeout(4000)
    page.mouse.down()
    for turn in range(moves):
        page.mouse.move(left + (0.1 + 0.8 * turn / moves) * width, y)
        page.wait_for_timeout(300)
    times: list[float] = page.evaluate("() => clock.times")
    return times


def released(page: Any, key: str, turn: int) -> Times:
    """Drag a handle to a place of its own and let it go; the times since then, once the page is at rest."""
    x, y, _, left, _, width = page.evaluate("key => clock.track(key)", key)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(left + (0.15 + 0.13 * (turn % 6)) * width, y)
    page.wait_for_timeout(500)
    page.mouse.up()
    return clock(page) if rest(page) else {"first": None, "quiet": None}


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
