"""A plan as a document: Markdown and HTML. What somebody typed is shown as text, never as markup."""

from __future__ import annotations

import html
from typing import Final

from treedp_core.plans import words
from treedp_core.plans.statement import Stated
from treedp_core.plans.verify import does_not_hold, problems
from treedp_core.words import fence

TITLE: Final = "Release plan"
STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;margin:1rem 0;font-size:.9rem;display:block;overflow-x:auto}"
    "th,td{border:1px solid;padding:.25rem .6rem;"
    "text-align:left;vertical-align:top}td:first-child,th+td{overflow-wrap:anywhere;min-width:6em}h2{break-after:avoid}"
    "blockquote{margin:1rem 0;padding:.2rem 1rem;border-left:4px solid}"
    "li{list-style:'☐  '}"
    "@media print{table{display:table}body{max-width:none;margin:0}tr,li,blockquote{break-inside:avoid}}"
)


CHECKED: Final = "Checked: the cost of every level, their total and the promise were worked out again from the scales."


def markdown(plan: Stated) -> str:
    """Return the plan as Markdown; user text stands in code, where nothing is markup."""
    table = words.level_table(plan)
    rows = [list(table), ["---"] * len(table), *map(list, zip(*table.values(), strict=True))]
    body = [f"| {' | '.join(cells)} |" for cells in ([*rows[:2], *([_code(row[0]), *row[1:]] for row in rows[2:])])]
    ticks, wrong = fence(words.sentence(plan), 3), does_not_hold(problems(plan))
    marked = [line for told in (words.label(plan), wrong) if told for line in (told, "")]
    return "\n".join([
        f"# {TITLE}", "", *marked, "## Accounting statement", "",
        f"{ticks}text", words.sentence(plan), ticks, "",
        "## Open points", "", *(f"- [ ] {point}" for point in words.open_points(plan)), "",
        "## What is released", "", "| | |", "| --- | --- |",
        *(f"| {name} | {_code(text) if name in words.TYPED else text} |" for name, text in words.summary(plan)), "",
        "## Levels", "", *body, "", _told(plan), "", wrong or CHECKED, "",
    ])  # fmt: skip


def page(plan: Stated) -> str:
    """Return the plan as one HTML page that needs nothing else, and prints."""
    table = words.level_table(plan)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in zip(*table.values(), strict=True)
    )
    about = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in words.summary(plan)
    )
    points = "".join(f"<li>{html.escape(point)}</li>" for point in words.open_points(plan))
    wrong = does_not_hold(problems(plan))
    marked = "".join(f"<p><strong>{html.escape(line)}</strong></p>" for line in (words.label(plan), wrong) if line)
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{TITLE}</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{STYLE}</style></head><body><h1>{TITLE}</h1>{marked}<h2>Accounting statement</h2>"
        f"<blockquote>{html.escape(words.sentence(plan))}</blockquote><h2>Open points</h2><ul>{points}</ul>"
        f"<h2>What is released</h2><table>{about}</table><h2>Levels</h2><table><tr>{head}</tr>{rows}</table>"
        f"<p>{html.escape(_told(plan))}</p><p>{html.escape(wrong or CHECKED)}</p></body></html>\n"
    )


def _told(plan: Stated) -> str:
    return (
        "Costs, sensitivities, scales and margins are rounded up. Errors are those of the noise; they depend on no "
        "record. A dash: not measured, or not known before the counts are."
    )


def _code(text: str) -> str:
    """A text as code in a cell of a table."""
    one_line = " ".join(text.split()).replace("|", "\\|") or " "
    ticks = fence(one_line)
    pad = " " if "`" in (one_line[0], one_line[-1]) else ""
    return f"{ticks}{pad}{one_line}{pad}{ticks}"
