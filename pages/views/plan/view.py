"""The plan of the current settings, or one that another page or a file brought: figure, statement, checklist, files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

import streamlit as st

from pages.ui import controls, frame, plans, router, store, tuned, uploads
from pages.ui.exports import download, named
from pages.ui.page import Told
from pages.ui.refusals import refusal
from pages.ui.result import Result, at_once, show_state
from pages.ui.setting import in_a_row
from pages.ui.shared import experiment, note_of_slack, slack, slack_of
from pages.ui.store import unit
from pages.ui.text import plain, prose, small_print
from pages.views.plan import settings as s
from pages.views.plan import together, words
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.figures.plans import plan_levels, spending
from treedp_core.notebook.code import Ran, call
from treedp_core.plans import LIBRARIES, ReleasePlan, not_covered, record_file
from treedp_core.plans.refusals import Reason
from treedp_core.plans.words import level_table, summary
from treedp_core.postprocess.chains import CHAINS

SLOT: Final = "plan"
_OPENED: Final = "_plan_opened"
MOST_SHOWN: Final = 60_000
"""Characters of a program that a page shows."""


class Shown(NamedTuple):
    """The plan that is shown, how it is made, and how that stands; `source` says where one came from elsewhere."""

    made: Ran[ReleasePlan] | None
    state: Result[Ran[ReleasePlan]] | None
    source: str

    @property
    def plan(self) -> ReleasePlan | None:
        """The plan, if there is one."""
        return None if self.made is None else self.made.value


def show() -> Told:
    """Show what each level costs and how far off its counts may be, with the promise in words."""
    with in_a_row():
        shown = _asked()
        _files(shown.plan)
    plan = shown.plan
    if plan is not None:
        label = plan.label
        holds, told = words.checked(plan)
        frame.figure(
            call(plan_levels, shown.made),
            key="plan_levels",
            alt="Cost of each level, and the margin and the expected error of its counts.",
            answer=words.answer(plan, holds=holds),
            caption=words.caption(),
            ran=call(level_table, shown.made),
            label=label,
        )
        (small_print if holds else st.error)(f"{told} {words.gain(plan)}".rstrip())
    return _told(shown, partial(_more, shown))


def show_handover() -> Told:
    """Show what a program for another library spends level by level, and hand it out."""
    with in_a_row():
        s.LIBRARY.draw()
        shown = _current()
        library = next(one for one in LIBRARIES if one.name == s.LIBRARY.value)
        refused, text = _program(shown.plan, library.name)
        plan = shown.plan
        _hand_out(named(f"release {library.name}", private=plan is not None and bool(plan.label)), text)
        if text and plan is not None and record_file.misfit(plan, store.dataset()) is None:
            _records(plan)
    if plan is not None:
        frame.figure(
            call(spending, shown.made),
            key="plan_spending",
            alt="The cost of each level, added up to what is promised.",
            answer=words.handed_over(plan, library.label, refused),
            caption="What one unit can lose on each level, worked out from its scale, added up to what the plan "
            "promises; of the ways a unit can change, the one that costs most. Formula.",
            ran=call(level_table, shown.made),
            label=plan.label,
        )
        _ways_out(library.refusals(plan) if refused is not None else ())
    return _told(shown, partial(_limits, plan, text))


def _told(shown: Shown, more: partial[None]) -> Told:
    if shown.state is not None:
        show_state(shown.state, "The plan")
        note_of_slack([s.MECHANISM.value], "plan_set_delta")
        tuned.note("plan")
    if shown.plan is None:
        return Told("", "formula")
    return Told(words.used(shown.plan, shown.source), words.badges(shown.plan), more=more)


# ---- which plan


def _asked() -> Shown:
    """Show the controls of the plan; one from elsewhere has none but the way back."""
    kept = plans.kept()
    if kept is None:
        s.MECHANISM.draw()
        controls.pipelines(s.POST)
        controls.split(s.ALLOCATION, s.SHARES)
    else:
        st.button(
            "Plan these settings instead", key="plan_back", icon=":material/undo:", on_click=plans.drop,
            help="Leaves the plan that came from elsewhere, for one of this page's own settings.",
        )  # fmt: skip
    return _current()


def _current() -> Shown:
    kept = plans.kept()
    if kept is not None:
        return Shown(kept.made, None, kept.source)
    asked = experiment(
        mechanism=s.MECHANISM.value, postprocess=CHAINS[s.POST.value].steps, allocation=s.ALLOCATION.value,
        delta=slack_of([s.MECHANISM.value]), accounting=tuned.accounting("plan", s.ACCOUNTING.value), **_true_error(),
    )  # fmt: skip
    key = (asked, s.SHARES.value, tuned.in_force("plan"), tuned.tells_epsilon(), s.TRUE_ERROR.value, unit())
    found = at_once(SLOT, key, partial(_made, asked))
    return Shown(found.value, found, "") if found.value is not None else Shown(None, found, "")


def _true_error() -> dict[str, str]:
    return {} if s.TRUE_ERROR.value == s.NONE else {"metric": s.TRUE_ERROR.value}


def _made(asked: Experiment) -> Ran[ReleasePlan]:
    """The plan of the settings.

    Raises
    ------
    InputError
        What making the release ready, and what the shares were tuned on, refuse.
    """
    chosen = replace(asked, shares=controls.shares(s.ALLOCATION, s.SHARES))
    made = plans.of_experiment(chosen, "plan", reads_counts=s.TRUE_ERROR.value != s.NONE)
    made.value.verify()  # a law of somebody else is refused here, not in the figure
    return made


# ---- files, and a plan from a file


def _files(plan: ReleasePlan | None) -> None:
    """Show, in one popover, the plan's three files, and what opens one."""
    with st.popover("File", icon=":material/description:", help="The plan as a document or as JSON, and back again"):
        if plan is not None:
            name = named("plan", private=bool(plan.label))
            for label, suffix, mime, write in (
                ("Markdown", "md", "text/markdown", plan.to_markdown),
                ("HTML", "html", "text/html", plan.to_html),
                ("JSON", "json", "application/json", plan.to_json),
            ):
                download(
                    label, partial(_bytes, write), name=f"{name}.{suffix}",
                    mime=mime, key=f"plan_{suffix}", help=f"The release plan as {label}.",
                )  # fmt: skip
        if not uploads.is_public():
            _open()


def _bytes(write: Callable[[], str]) -> bytes:
    return write().encode("utf-8")


def _open() -> None:
    file = uploads.uploader(
        "Open a plan", key="plan_file", types=("json",), help="A plan that was saved as JSON: it is checked and shown."
    )
    if file is None or st.session_state.get(_OPENED) == file.file_id:
        return
    st.session_state[_OPENED] = file.file_id
    try:
        plan = ReleasePlan.from_json(file.getvalue())
    except InputError as error:
        refusal(error)
        return
    plans.of_file(plan, "from a file")
    st.rerun()


# ---- what stands under More


def _more(shown: Shown) -> None:
    if shown.state is not None:
        s.TRUE_ERROR.draw()
        if shown.plan is not None and shown.plan.accounting is not None:
            s.ACCOUNTING.draw()
    plan = shown.plan
    if plan is None:
        return
    if shown.state is not None:
        small_print(words.narrower(plan, slack()))
    st.header("Accounting statement", anchor=False)
    st.code(plan.sentence(), language=None, wrap_lines=True)
    st.header("Open points", anchor=False)
    _checklist(plan.open_points)
    st.header("What is released", anchor=False)
    rows = summary(plan)
    frame.plain_table(
        {"": [name for name, _ in rows], "what the plan says": [text for _, text in rows]},
        alt="What holds for the whole plan", height="content",
    )  # fmt: skip
    frame.plain_table(level_table(plan), alt="Sensitivity, cost, noise and error of each level", height="content")
    together.section(plan)


def _checklist(points: Sequence[str]) -> None:
    prose("  \n".join(f":material/check_box_outline_blank: {plain(point)}" for point in points))


# ---- hand over


def _program(plan: ReleasePlan | None, library: str) -> tuple[InputError | None, str]:
    """The program of a library, or why there is none."""
    if plan is None:
        return None, ""
    write = next(one for one in LIBRARIES if one.name == library).write
    try:
        return None, write(plan)
    except InputError as error:
        return error, ""


def _hand_out(name: str, text: str) -> None:
    """Show what saves the program, and what shows it."""
    if not text:
        return
    download(
        "Program", text.encode, name=f"{name}.py", mime="text/x-python", key="plan_program",
        help="A Python file that reads records and publishes noisy counts: run it where the records are.",
    )  # fmt: skip
    with st.popover("Read it", icon=":material/code:", help="The program, to be read before it is run"):
        st.code(_beginning(text), language="python", height=480)


def _records(plan: ReleasePlan) -> None:
    """Show what saves the records in use as the program reads them."""
    download(
        "Prepared records", partial(record_file.records_of, plan, store.dataset()),
        name=f"{named('prepared', private=True)}.csv", mime="text/csv", key="plan_records",
        help="The records in use as the program reads them: exact counts of the leaves, NOT PRIVATE. Of a file, "
        "`treedp prepare FILE PLAN.json` writes the same.",
    )  # fmt: skip


def _ways_out(reasons: Sequence[Reason]) -> None:
    """Show links to the controls that would change what a program cannot express."""
    for page, control in dict.fromkeys((one.page, one.control) for one in reasons):
        router.link(page, f"{router.title(page)}: {control}", {"plan_view": "plan"} if page == "plan" else None)


def _beginning(text: str) -> str:
    """A program as it is shown: a browser takes long over the leaves of a large tree."""
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}\n# ... the rest is in the file"


def _limits(plan: ReleasePlan | None, text: str) -> None:
    if plan is None:
        return
    st.header("What no program sees to", anchor=False)
    _checklist(not_covered(plan))
    prose(
        "This app simulates: its noise comes from a seed, and whoever knows that can take it away. A real release is "
        "drawn once, by a library made for it, where the records are, and noted in the ledger of all releases."
    )
    if text:
        st.header("How it is run", anchor=False)
        prose(
            "1. Save the plan as JSON (*Plan*, *File*) and the program beside it.\n"
            "2. `treedp prepare FILE PLAN.json`, or *Prepared records* above, writes the records in the one form that "
            "the program reads: exact counts, NOT PRIVATE.\n"
            "3. `python PROGRAM.py PREPARED.csv RELEASED.csv` draws the noise, does the plan's post-processing, and "
            "writes what may be published."
        )
        st.header("The program", anchor=False)
        st.code(_beginning(text), language="python")
