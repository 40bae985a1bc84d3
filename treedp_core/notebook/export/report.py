"""Cells as a report: one HTML file that opens without a network, its figures alive, and that prints on A4."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from treedp_core.figures.base.export_layout import dressed
from treedp_core.figures.base.image import plotly_js
from treedp_core.notebook.cell import Cell
from treedp_core.notebook.export.cell_summary import as_html, drawable, dress_of, facts, plain, warning
from treedp_core.notebook.export.ipynb import in_html
from treedp_core.notebook.export.program import Section, program_of
from treedp_core.notebook.export.sliders import Handle, controls, frames_of, json_inside
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records.export.tables import IN_NAMES
from treedp_core.words import plural, unbroken

WIDTH: Final = 690
"""Pixels of a figure: what A4 has between its margins."""
HEIGHT: Final = 420
LEAST: Final = 300
MOST: Final = 900
ROWS: Final = 40
"""Rows of a table that are shown."""
SAVED: Final = (900, 600)
"""Pixels of a picture that its buttons save."""
_SHORT: Final = 600
"""Characters of a note that stays on one page with its figure."""
_KIND: Final = ("kind", "private")

STYLE: Final = """
@page { size: A4; margin: 14mm 13mm; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: #1f2328; background: #fff;
  max-width: 690px; margin: 32px auto; padding: 0; }
h1 { font-size: 26px; line-height: 1.2; margin: 0 0 8px; }
h2 { font-size: 19px; margin: 36px 0 4px; break-after: avoid; }
.warning { color: #a33e00; border: 1px solid #d55e00; border-radius: 6px; padding: 8px 12px; font-weight: 600; }
.badges span { font-size: 12px; border: 1px solid #8c959f; border-radius: 10px; padding: 1px 8px; margin-right: 6px; }
.badges .private { color: #a33e00; border-color: #d55e00; font-weight: 600; }
.figure { break-inside: avoid; margin: 8px 0; }
.plot { width: 690px; }
.caption, .facts, .foot, .about { font-size: 12.5px; color: #57606a; }
.note { border-left: 3px solid #d0d7de; padding-left: 12px; }
.keep { break-inside: avoid; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0 12px; margin: 8px 0; }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
pre { font-size: 12px; line-height: 1.4; background: #f6f8fa; padding: 10px; overflow-x: auto; border-radius: 6px; }
table { border-collapse: collapse; font-size: 12.5px; display: block; overflow-x: auto; }
td, th { padding: 2px 10px 2px 0; text-align: left; border-bottom: 1px solid #d0d7de; }
code { background: #f6f8fa; padding: 0 3px; border-radius: 3px; }
button { font: inherit; font-size: 12px; padding: 1px 10px; margin-right: 6px; cursor: pointer; }
.handle p { margin: 2px 0; }
.handle label { font-size: 13px; font-weight: 600; }
.handle input { width: 260px; vertical-align: middle; margin: 0 8px; }
.aloud { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
summary { cursor: pointer; font-size: 13px; color: #57606a; }
@media print { .screen { display: none !important; } body { margin: 0; } h1 { margin-top: 0; }
  section { break-inside: auto; } .warning { break-inside: avoid; } }
"""
SCRIPT: Final = """
const waiting = [...document.querySelectorAll(".figure")];
const CONFIG = {displayModeBar: false};
function draw(box) {
  const source = box.querySelector("script").textContent;
  const plot = box.querySelector(".plot");
  let drawn = JSON.parse(source);
  drawn.layout.uirevision = 1;
  Plotly.newPlot(plot, drawn.data, drawn.layout, CONFIG);
  const sliders = [...box.querySelectorAll("input")];
  const stand = (slider, handle, at) => {
    slider.value = at;
    slider.setAttribute("aria-valuetext", handle.values[at]);
    slider.parentElement.nextElementSibling.textContent = handle.values[at];
  };
  let speaking = 0;
  for (const slider of sliders) {
    slider.oninput = () => {
      const at = Number(slider.value);
      drawn = JSON.parse(source);
      const handles = drawn.handles;
      sliders.forEach((one, nth) => stand(one, handles[nth], one === slider ? at : handles[nth].at));
      for (const [path, ...value] of handles[sliders.indexOf(slider)].frames[at]) {
        const last = path.pop();
        const part = path.reduce((one, name) => one[name], drawn);
        if (value.length) part[last] = value[0];
        else delete part[last];
      }
      drawn.layout.uirevision = 1;
      Plotly.react(plot, drawn.data, drawn.layout, CONFIG);
      plot.setAttribute("aria-label", drawn.alt);
      const section = box.closest("section");
      for (const [name, words] of Object.entries(drawn.words)) section.querySelector("." + name).innerHTML = words;
      clearTimeout(speaking);
      speaking = setTimeout(
        () => (box.querySelector("[role=status]").textContent = section.querySelector(".answer").textContent), 400);
    };
  }
  for (const button of box.querySelectorAll("button")) {
    button.onclick = () => Plotly.downloadImage(
      {data: drawn.data, layout: drawn.saved},
      {format: button.dataset.format, filename: drawn.name, width: drawn.saved.width, height: drawn.saved.height});
  }
}
function next() {
  if (waiting.length) {
    draw(waiting.shift());
    setTimeout(next);
  }
}
addEventListener("beforeprint", () => { while (waiting.length) draw(waiting.shift()); });
next();
"""


def report_of(
    cells: Sequence[Cell],
    title: str,
    size: tuple[int, int] = SAVED,
    handles: Mapping[str, Sequence[Handle]] | None = None,
) -> bytes:
    """Return a report: for each cell its name, note, figure, answer, caption, what it came from, table and code.

    Nothing in it asks for anything elsewhere, and only its own two scripts may run. Its buttons save figures of a
    `size` in px, as pictures with their words inside. Figures follow the `handles` of their cells, by ids.
    """
    sections, by_id = program_of(cells).sections, handles or {}
    parts = "\n".join(_section(number, one, size, by_id.get(one.cell.id, ())) for number, one in enumerate(sections, 1))
    has_figures = any(drawable(cell) for cell in cells)
    scripts = [plotly_js(), SCRIPT] if has_figures else []
    allowed = " ".join(f"'sha256-{_digest(one)}'" for one in scripts) or "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    told = warning(cells)
    head = f"<title>{'NOT PRIVATE: ' if told else ''}{html.escape(title)}</title>"
    mark = f'<meta name="treedp-privacy" content="{html.escape(told)}">' if told else ""
    above = f'<p class="warning">{html.escape(told)}</p>' if told else ""
    foot = f"Made with TreeDP {html.escape(cells[-1].version) if cells else ''}."
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"{head}{mark}<style>{STYLE}</style></head><body>",
            f'<h1>{html.escape(title)}</h1>{above}{parts}<p class="foot">{foot}</p>',
            *(f"<script>{one}</script>" for one in scripts),
            "</body></html>",
        )
    ).encode()


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _section(number: int, section: Section, size: tuple[int, int], handles: Sequence[Handle]) -> str:
    cell, words = section.cell, _words(section.cell)
    badges = "".join(f'<span class="{_KIND[name == NOT_PRIVATE]}">{html.escape(name)}</span>' for name in cell.badges)
    head = [
        f'<h2>{number}. {html.escape(cell.name)}</h2><p class="badges">{badges}</p>',
        f'<p class="warning">{html.escape(plain(cell.label))}</p>' if cell.label else "",
        f'<div class="note">{as_html(cell.note, typed=True)}</div>' if cell.note else "",
    ]
    kept = "keep" if len(cell.note) <= _SHORT else "long"
    parts = [
        f'<section id="cell-{number}"><div class="{kept}">{"".join(head)}{_figure(section, size, handles)}</div>',
        f'<div class="keep"><div class="answer">{words["answer"]}</div>',
        f'<div class="caption">{words["caption"]}</div></div><dl class="facts keep">{words["facts"]}</dl>',
        _table(cell),
        _details("Code", f"<pre>{html.escape(cell.code)}</pre>") if section.code else "",
        "</section>",
    ]
    return "".join(parts)


def _words(cell: Cell) -> dict[str, str]:
    """What stands below a figure, as HTML."""
    told = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in facts(cell))
    return {"answer": as_html(unbroken(cell.answer)), "caption": as_html(unbroken(cell.caption)), "facts": told}


def _drawn(cell: Cell, size: tuple[int, int]) -> dict[str, Any] | None:
    """A figure as it is shown and saved, and its words; None where there is none."""
    figure = drawable(cell)
    if figure is None:
        return None
    layout = figure.get("layout", {})
    height = layout.get("height") or HEIGHT
    shown = layout | {"width": WIDTH, "height": min(MOST, height if height >= LEAST else HEIGHT), "autosize": False}
    saved = dressed(figure, dress_of(cell), *size)["layout"]
    return {"data": figure.get("data", []), "layout": shown, "saved": saved, "alt": plain(cell.alt)}


def _parts(cell: Cell, size: tuple[int, int]) -> dict[str, Any]:
    """All of a cell that a slider moves."""
    return (_drawn(cell, size) or {}) | {"words": _words(cell)}


def _figure(section: Section, size: tuple[int, int], handles: Sequence[Handle]) -> str:
    cell, drawn = section.cell, _drawn(section.cell, size)
    if drawn is None:
        return ""
    name = "-".join(filter(None, ("treedp", IN_NAMES if cell.is_private_only else "", section.name)))
    moved = frames_of(handles, partial(_parts, size=size))
    shown = drawn if not moved else _parts(cell, size) | {"handles": moved}
    alt = html.escape(drawn["alt"], quote=True)
    buttons = "".join(f'<button data-format="{one}">{one.upper()}</button>' for one in ("svg", "png"))
    return (
        f'<div class="figure">{controls(moved)}'
        f'<div class="plot" role="img" aria-label="{alt}" style="height:{drawn["layout"]["height"]}px"></div>'
        f'<p class="screen">{buttons}</p>'
        f'<script type="application/json">{json_inside(shown | {"name": name})}</script></div>'
    )


def _table(cell: Cell) -> str:
    if not cell.columns:
        return ""
    n_rows, table = in_html(cell.columns, ROWS)
    return _details(f"Table, {plural(n_rows, 'row')}", table)


def _details(name: str, inside: str) -> str:
    return f'<details class="screen"><summary>{html.escape(name)}</summary>{inside}</details>'
