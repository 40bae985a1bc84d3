"""Two to four cells on shared axes, what differs between them, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.text import lit, plain, prose, small_print
from pages.ui.notebook import book
from pages.ui.page.page import Told
from pages.ui.tables.result import in_background, run_button, show_state
from pages.ui.upload import required_tables
from pages.views.notebook.cell import empty
from treedp_core.checks import InputError
from treedp_core.figures.base.cell_figures import overlaid, redrawn
from treedp_core.notebook import Cell
from treedp_core.notebook.comparison import compare as core
from treedp_core.notebook.comparison.pairs import matched, most_trials, on_common_noise, spread_of
from treedp_core.records.export.columns import Columns
from treedp_core.views.cells.rerun import sides_of
from treedp_core.words import short, whole

KEY: Final = book.COMPARED
SLOT: Final = "nb_same_noise_job"
SAME_NOISE: Final = "Compare on the same noise"
IN_STRIP: Final = 160
"""Characters that the names of the cells have in the strip: about a line."""
FORMULAS: Final = "Every number of these cells is a formula, so their ratios are exact."


def show() -> Told:
    """Show the chosen cells together; at first the last two."""
    cells = book.notebook().cells
    if len(cells) < 2:
        if cells:
            empty("Two cells are needed to compare them, and one is here: pin another figure.")
        else:
            empty()
        return Told("fewer than two cells", "")
    chosen = _chosen(cells)
    try:
        core.checked(chosen)
    except InputError as error:
        refusal(error)
        return Told("choose cells", "")
    _drawing(chosen)
    how = core.other_promises(chosen, book.defaults())
    frame.say(f":red[**Different promises:**] {plain(how)}" if how else _in_words(chosen))
    noise = _same_noise(chosen)
    required_tables.show()
    badges = dict.fromkeys(badge for one in chosen for badge in one.badges)
    each = IN_STRIP // len(chosen)
    names = " · ".join(f"{letter} {lit(one.name, each)}" for letter, one in zip(core.LETTERS, chosen, strict=False))
    return Told(names, ",".join(badges), more=partial(_more, chosen, noise))


def _chosen(cells: Sequence[Cell]) -> list[Cell]:
    names = {one.id: f"{at}. {one.name}" for at, one in enumerate(cells, 1)}
    last = [one.id for one in cells[-2:]]
    chosen = st.session_state.get(KEY, last)
    held = [id for id in chosen if id in names]
    if KEY not in st.session_state or held != chosen:  # of another notebook, or one of them was deleted
        st.session_state[KEY] = held or last
    ids = st.multiselect(
        "Cells to compare, A first", list(names), key=KEY, format_func=names.__getitem__, max_selections=core.MOST,
        persist_state="session",
        help="A is dashed, the others are drawn beside it. Two to four cells.",
    )  # fmt: skip
    by_id = {one.id: one for one in cells}
    return [by_id[id] for id in ids]


def _drawing(cells: Sequence[Cell]) -> None:
    figures = [one.figure for one in cells if one.figure is not None]
    together = overlaid(figures, core.LETTERS) if len(figures) == len(cells) else None
    alt = " and ".join(one.name for one in cells)
    if together is not None:
        frame.chart(frame.dressed(together, on_stage=True), key="nb_together", alt=alt, on_stage=True)
        return
    for at, one in enumerate(cells):
        small_print(f"**{core.LETTERS[at]}** {lit(one.name)}")
        if one.figure is not None:
            frame.chart(
                frame.dressed(redrawn(one.figure)), key=f"nb_beside_{at}", alt=one.alt or one.name, on_stage=False
            )
        elif one.columns is not None:
            frame.plain_table(one.columns, alt=one.alt or one.name)
    small_print(
        "These figures have other axes, so they stand below one another." if figures else
        "These cells came without figures, as the notebook was saved without data: give the files, then run them again."
    )  # fmt: skip


def _same_noise(cells: Sequence[Cell]) -> Columns | None:
    """Offer to simulate the cells anew on the same noise; say by how much their errors differ, and return it."""
    try:
        sides = sides_of(cells, book.sources())
        if not sides:
            if _are_formulas(cells):
                small_print(f"{FORMULAS} No noise has to be drawn for that.")
            return None
        pairs = matched(sides)
        trials = most_trials(pairs)
    except InputError as error:
        refusal(error)
        return None
    key = tuple((letter, *(one.key for one in pair)) for letter, *pair in pairs)
    found = in_background(
        SLOT, key, trials * len(pairs), partial(on_common_noise, pairs, trials=trials), start="button",
        of=tuple(one.id for one in cells), room=1,
    )  # fmt: skip
    run_button(
        found,
        "nb_same_noise",
        label=SAME_NOISE,
        help=f"Simulate every cell {whole(trials)} times on one stream of noise, so that luck cancels in the ratio.",
    )
    show_state(found, "Simulating", "runs", button=SAME_NOISE, other="cells")
    if not found.is_ready:
        return None
    leaks = any(one.reads_counts for _, *pair in pairs for one in pair)
    small_print(
        f"{'NOT PRIVATE: simulated on the true counts. ' if leaks else ''}{pairs[0][1].measure} on the same noise "
        f"(simulation): {spread_of(found.here())}. {whole(trials)} pairs of releases from one stream of noise, seed "
        f"{pairs[0][1].seed}; each row stands under **More**."
    )
    return found.here()


def _are_formulas(cells: Sequence[Cell]) -> bool:
    return all("formula" in one.badges and "simulation" not in one.badges for one in cells)


def _in_words(cells: Sequence[Cell]) -> str:
    """How far apart the cells are, where all promise the same."""
    same = core.same_promise(cells)
    try:
        found = core.ratios(cells)
    except InputError:
        return same
    name = next(name for name in found if "÷" in name and not name.startswith(core.ERROR))
    numbers = [one for one in found[name] if isinstance(one, (int, float))]
    least, most = short(min(numbers)), short(max(numbers))
    spread = least if least == most else f"{least} to {most}"
    what, _, quotient = name.rpartition(", ")
    return f"{same} {quotient} ({plain(what)}): {spread}."


def _more(cells: Sequence[Cell], noise: Columns | None) -> None:
    if noise is not None:
        st.header("On the same noise", anchor=False)
        frame.plain_table(
            noise, alt="How many times the error of A those of the others are, by level, on the same noise",
            formats={"ratio": short, core.ERROR: short}, height="content",
            caption="Ratios of the error named above; the standard error is that of paired draws.",
        )  # fmt: skip
    st.header("What differs", anchor=False)
    differ = book.differing(cells)
    if differ["what"]:
        frame.plain_table(differ, alt="Settings that differ between the cells", width="content")
    else:
        prose("Nothing: the same settings, the same data, the same version.")
    st.header("By how much", anchor=False)
    try:
        found = core.ratios(cells)
    except InputError as error:
        small_print(plain(str(error)))
        return
    frame.plain_table(
        found, alt="How many times the numbers of A those of the others are",
        formats={name: short for name in found if "÷" in name},
        caption="Rows with the same words and the same place on the x axis. "
        + (FORMULAS if _are_formulas(cells) else "Two simulations were drawn independently, so the standard error of "
           "their ratio has both in it."),
    )  # fmt: skip
