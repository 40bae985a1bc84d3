"""The Error lab: controls, the figure of a view, cards, how far from optimal, and ε for a wanted error."""

from __future__ import annotations

import math
from functools import partial

import streamlit as st

from pages.ui import controls, frame, plans, tuned
from pages.ui.page import Told
from pages.ui.result import at_once, run_button, show_state
from pages.ui.setting import in_a_row
from pages.ui.shared import note_of_slack
from pages.ui.store import dataset, used
from pages.ui.text import prose, small_print
from pages.views.lab import settings as s
from pages.views.lab import words
from pages.views.lab.shown import Shown, asked, used_for
from treedp_core.errors import METRICS
from treedp_core.experiment import draw_once
from treedp_core.figures.draw import MAX_POINTS
from treedp_core.figures.sweep import draw_figure, line_figure
from treedp_core.mechanisms import MECHANISMS
from treedp_core.notebook.code import call, given
from treedp_core.studies.sweep.lines import Line, computed, off_by
from treedp_core.studies.sweep.series import DRAW, Series
from treedp_core.studies.sweep.split import distance_from_optimum, target_table
from treedp_core.studies.sweep.tables import draw_table, line_table
from treedp_core.words import Z95, plural, plus_minus, privacy_text, setting_text, short

CARDS_A_ROW = 4


def show(view: str) -> Told:
    """Show a view of the lab."""
    with in_a_row():
        s.COMPARED.draw()
        controls.pipelines(s.POST, offered=s.OFTEN)
        place = st.container(width="content", horizontal=True)
    shown = asked(view)
    if view != DRAW:
        with place:
            run_button(
                shown.simulation, "lab_run", disabled=not shown.question.series,
                help="Simulate releases in the background and add them as markers.",
            )  # fmt: skip
        _figure(shown)
    elif shown.lines:
        with place:
            one, level = _draw_controls(shown)
        _one_draw(shown, one, level)
    note_of_slack(s.COMPARED.value, "lab_set_delta")
    show_state(shown.simulation, "Simulating", "runs")
    tuned.note("lab")
    badges = words.badges(shown.lines, shown.base, view, tuned.label("lab"))
    return Told(used_for(shown), badges, more=partial(_more, shown))


def _more(shown: Shown) -> None:
    with in_a_row():
        s.METRIC.draw()
        controls.split(s.ALLOCATION, s.SHARES)
        controls.accounting(s.ACCOUNTING, s.COMPARED.value)
        s.TRIALS.draw()
    _cards(shown)
    first = shown.lines[0].series.of(shown.base) if shown.lines else None
    controls.split_by_level(first, dataset(), key="lab_split_table", label=tuned.label("lab"))
    if first is not None:
        plans.button("lab", partial(plans.of_experiment, first, "lab"), "from the Error lab")
    if shown.lines and shown.view != DRAW:
        _values(shown)
    _target(shown)


def _figure(shown: Shown) -> None:
    data, base, drawn = dataset(), shown.base, shown.lines
    source, found = used(), shown.simulation.value
    again = call(
        computed, shown.question, source.get("tree"), source.get("counts"),
        **({} if found is None else {"asked": found.question}),
    ).named("lines")  # fmt: skip
    frame.figure(
        call(line_figure, shown.question, again.giving(drawn), source.get("labels.level_names")),
        key="lab_figure",
        alt=words.plain_line(drawn, base, data.tree) or "Empty axes: nothing to draw.",
        answer=words.answer(drawn, base, data.tree) or _no_answer(bool(drawn)),
        caption=words.caption(drawn, base, shown.view, data.tree),
        ran=call(line_table, shown.view, again, source.get("labels.level_names")) if drawn else None,
        label=tuned.label("lab"),
    )
    notes = (words.stale_note(drawn), words.without_formula(drawn), words.other_metric(found, base))
    for text in filter(None, notes):
        small_print(f":material/info: {text}")


def _no_answer(has_lines: bool) -> str:
    """What to do where nothing is compared yet."""
    if has_lines:
        return "No formula is known for what is compared: press **Run**."
    if s.COMPARED.value and s.POST.value:
        return "These settings are refused: see below."
    post = "Pick at least one post-processing; “None” shows the noise as it is."
    return "Pick at least one mechanism." if s.POST.value else post


def _values(shown: Shown) -> None:
    with st.expander("Values", key="lab_values", on_change="rerun") as values:
        if values.open:
            table = line_table(shown.view, shown.lines, dataset().labels.level_names)
            frame.plain_table(table, alt="The values behind the figure")


def _draw_controls(shown: Shown) -> tuple[Series, int]:
    """Choose the series and the level of one draw."""
    number = controls.level_picker(s.SERIES, [one.series.label for one in shown.lines])
    data = dataset()
    names = zip(data.labels.level_names, data.tree.level_sizes, strict=True)
    level = controls.level_picker(s.LEVEL, [f"{i}: {name} ({plural(n, 'node')})" for i, (name, n) in enumerate(names)])
    return shown.lines[number].series, level


def _one_draw(shown: Shown, one: Series, level: int) -> None:
    data = dataset()
    settings = one.of(shown.base)
    releases = at_once("lab_draw", settings, lambda: draw_once(settings, data.tree, data.counts)).here()
    if math.isnan(releases[1].estimate[data.tree.level_start[level]]):
        st.info("This level is not measured, and this post-processing does not derive it.", icon=":material/block:")
        return
    source = used()
    tree, counts = source.get("tree"), source.get("counts")
    n_nodes = int(data.tree.level_sizes[level])
    thinned = (
        f"; {MAX_POINTS} of {plural(n_nodes, 'node')}, evenly spaced in the ranking" if n_nodes > MAX_POINTS else ""
    )
    again = given(releases, draw_once, settings, tree, counts).named("releases")
    frame.figure(
        call(draw_figure, one, again, counts, tree, level, source.get("labels")),
        key="lab_draw",
        alt=f"True and released counts of one simulated release with {one.label} on level {level}.",
        answer=words.draw_line(*off_by(releases[1], data.counts, data.tree, level), one.label, n_nodes),
        caption="NOT PRIVATE: one simulated release beside the true counts. Grey line: true counts; markers: released; "
        f"band: true count ± {short(Z95)} standard deviations of the noise before post-processing{thinned}. Seed "
        f"{settings.seed}.",
        ran=call(draw_table, again, counts, tree, level, source.get("labels")),
        simulated=True,
        label=tuned.label("lab"),
    )


def _cards(shown: Shown) -> None:
    """Each series' value for the whole tree at your epsilon, and how it compares with the best."""
    if not shown.lines:
        return
    data, base = dataset(), shown.base
    best = min((line.whole.value for line in shown.lines if math.isfinite(line.whole.value)), default=math.nan)
    st.header(f"{METRICS[base.metric].title} at your ε = {setting_text(base.epsilon)}", anchor=False)
    for start in range(0, len(shown.lines), CARDS_A_ROW):
        row = shown.lines[start : start + CARDS_A_ROW]
        for column, line in zip(st.columns(CARDS_A_ROW), row, strict=False):
            with column.container(border=True, height="stretch", gap="xsmall"):
                _card(line, best)
    prose(words.plain_line(shown.lines, base, data.tree))
    told = at_once("lab_optimum", shown.question, lambda: _optimum(shown)).here()
    for sentence in told:
        prose(sentence)


def _card(line: Line, best: float) -> None:
    value = line.whole.value
    known = not math.isnan(value)
    error = plus_minus(line.whole.standard_error) if line.whole.source == "simulation" else ""
    small_print(line.series.label, help=f"Whole tree, {line.whole.source or 'simulation only'}.")
    st.metric(
        line.series.label,
        f"{short(value)}{error}" if known else "press Run",
        words.ratio(value, best) if known else "no closed form",
        delta_arrow="off", delta_color="off", label_visibility="collapsed",
    )  # fmt: skip


def _optimum(shown: Shown) -> list[str]:
    """How far Gaussian series are from the least error any unbiased Gaussian mechanism can have, in words."""
    gaussian = [one for one in shown.question.series if MECHANISMS[one.mechanism].continuous_gaussian]
    apart = [distance_from_optimum(one.of(shown.base), dataset().tree) for one in gaussian]
    return [words.optimum(one.label, by) for one, by in zip(gaussian, apart, strict=True) if by is not None]


def _target(shown: Shown) -> None:
    """Ask for a wanted error, and answer with the smallest epsilon that reaches it."""
    st.header("From a wanted error to ε", anchor=False)
    data, base = dataset(), shown.base
    wanted = s.TARGET.draw(label=f"Target {METRICS[base.metric].title}")
    if not wanted or not shown.lines:
        return
    with st.spinner("Searching …"):
        found = at_once(
            "lab_target", (wanted, shown.question),
            lambda: target_table(shown.question.series, base, data.tree, data.counts, wanted),
        )  # fmt: skip
    show_state(found, "Searching")
    if found.value is None:
        return
    frame.plain_table(
        {
            "series": [one.label for one, _, _ in found.value],
            "smallest ε": [privacy_text(least) if least is not None else "–" for _, least, _ in found.value],
            "note": [why for _, _, why in found.value],
        },
        alt="Smallest epsilon for the target error, for each series",
        caption=words.sought(base),
        width="content",
    )
