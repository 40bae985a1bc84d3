"""The plan of the current settings, or one that another page or a file brought: figure, statement, checklist, files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import controls, frame
from pages.ui.figure.controls import ACCOUNTING_HELP, POST_HELP, SHARES_HELP
from pages.ui.inputs.inactive_settings import Reasons, unspent
from pages.ui.inputs.refusals import refusal
from pages.ui.inputs.setting import Setting, choice, control, in_a_row
from pages.ui.inputs.text import plain, prose, small_print
from pages.ui.page import navigation
from pages.ui.page.page import Told
from pages.ui.page.view import Seen, see
from pages.ui.session import uploads
from pages.ui.session.download import download
from pages.ui.tables import plans, saved_plans, store, tuning_provenance
from pages.ui.tables.experiment_inputs import inputs_now, note_of_delta, usable_delta
from pages.ui.tables.store import unit
from treedp_core.checks import InputError
from treedp_core.errors import METRICS
from treedp_core.mechanisms import THRESHOLDS
from treedp_core.notebook.code import call
from treedp_core.notebook.export.program import export_name
from treedp_core.plans import LIBRARIES, ReleasePlan, not_covered, record_file
from treedp_core.plans.handover import Reason
from treedp_core.plans.together import together
from treedp_core.plans.words import heading, level_table, promise, summary
from treedp_core.views import VIEWS, Tables, labels_of
from treedp_core.views import plan as views
from treedp_core.views.inputs import parameter
from treedp_core.views.plan import NONE, PlanInputs

# What of the sidebar a plan does not use: nothing is drawn, and a plan from elsewhere is as it was made.

_ELSEWHERE: Final = "The plan shown was made elsewhere; its own settings are kept in it."


def ignored(nothing_drawn: Reasons) -> Reasons:
    """Return the settings that the plan shown does not use, and why."""
    own: Reasons = unspent(MECHANISM) | {
        "eps": "", "nbr": "", "alpha": lambda: _of_error("alpha"), "tau": lambda: _of_error("threshold"),
    }  # fmt: skip
    return nothing_drawn | {key: _or_elsewhere(why) for key, why in own.items()}


def _or_elsewhere(why: str | Callable[[], str]) -> Callable[[], str]:
    return lambda: _ELSEWHERE if plans.kept() is not None else why() if callable(why) else why


def _of_error(field: str) -> str:
    metric = TRUE_ERROR.value
    if _is_by_rounds():
        return "" if field == "alpha" else "Thresholds forgive a part α of a count, whatever it is."
    if metric == NONE:
        return "No error here is relative to a count."
    return "" if field in METRICS[metric].uses else f"{METRICS[metric].label} does not depend on it."


# Several releases of the same records, under More on the page Release plan: what they promise together.


def section(plan: ReleasePlan) -> None:
    """Show the plans noted so far for the data in use, and their promise together."""
    st.header("Releases of the same records", anchor=False)
    plans = saved_plans.plans()
    with in_a_row():
        st.button(
            "Note this plan", key="plan_note", icon=":material/playlist_add:", on_click=saved_plans.note, args=(plan,),
            disabled=saved_plans.is_full(),
            help="Adds it to the releases of these data below. A saved notebook has them.",
        )  # fmt: skip
        if plans:
            st.button("Forget them", key="plan_forget", icon=":material/playlist_remove:", on_click=saved_plans.forget,
                      help="Empties the list below.")  # fmt: skip
    if not plans:
        small_print("What is released twice is paid for twice. Note a plan, change the settings and note the next one.")
        return
    frame.plain_table(
        {
            "release": [f"{place}. {one.title[:40]}, {one.released}" for place, one in enumerate(plans, 1)],
            "noise": [one.law.label for one in plans],
            "promises": [promise(one) for one in plans],
        },
        alt="The releases noted so far, each with its promise", width="content", height="content",
    )  # fmt: skip
    try:
        prose(plain(together(plans).sentence()))
    except InputError as error:
        refusal(error)


# Settings of the page Release plan that a link can carry.

LABELS: Final = labels_of("plan")

VIEW: Final = choice(
    "plan_view", "plan", LABELS, label="View",
    help="The document, or a program that publishes what it says.",
)  # fmt: skip
MECHANISM: Final = control(parameter(PlanInputs, "mechanism"), label="Mechanism", look="select", width=170)
BOUND: Final = control(
    parameter(PlanInputs, "public_bound"), low=0, width=230, label="Public bound on the total (records)",
    help="How many records there are at most: a figure that is known from elsewhere, such as a population. It is never "
    "taken from the records. Beyond it the promise holds, and the error does not. 0: none given, or, where records are "
    "replaced, their number, which is public then.",
)  # fmt: skip
RULE: Final = control(
    parameter(PlanInputs, "rule"), label="Rounds", look="select", width=140,
    help="Tuned: smaller errors, certified for empty nodes and for records on one leaf. Provable: an error that is a "
    "theorem for every tree.",
)  # fmt: skip
POST: Final = control(
    parameter(PlanInputs, "postprocess"), label="Post-processing", look="select", width=190, help=POST_HELP
)
ALLOCATION: Final = control(parameter(PlanInputs, "allocation"), label="Budget split", look="select")
SHARES: Final = control(parameter(PlanInputs, "shares"), label="Shares", placeholder="0.2, 0.3, 0.5", help=SHARES_HELP)
TUNED: Final = control(parameter(PlanInputs, "tuned_on"))
TRUE_ERROR: Final = control(
    parameter(PlanInputs, "true_error"), label="Error on the true counts (NOT PRIVATE)", look="select", width=320,
    format=lambda name: "None" if name == NONE else METRICS[name].label,
    help="A plan holds no number that was worked out from the true counts. One that is asked for here is marked, and "
    "no plan with it should leave this computer.",
)  # fmt: skip
ACCOUNTING: Final = control(parameter(PlanInputs, "accounting"), label="Accounting", help=ACCOUNTING_HELP)
LIBRARY: Final = control(
    parameter(PlanInputs, "library"), label="Library",
    help="OpenDP: this project's tests run its programs and compare noise and loss with the plan. Tumult Analytics: "
    "its programs were tried with version 0.21; the tests run them on stand-ins that add no noise.",
)  # fmt: skip

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    VIEW, MECHANISM, BOUND, RULE, POST, ALLOCATION, SHARES, TUNED, TRUE_ERROR, ACCOUNTING, LIBRARY,
)  # fmt: skip


_OPENED: Final = "_plan_opened"
MOST_SHOWN: Final = 60_000
"""Characters of a program that a page shows."""


def show() -> Told:
    """Show what each level costs and how far off its counts may be, with the promise in words."""
    with in_a_row():
        if plans.kept() is None:
            MECHANISM.draw()
            if _is_by_rounds():
                BOUND.draw()
                RULE.draw()
            else:
                controls.pipelines(POST)
                controls.split(ALLOCATION, SHARES)
        else:
            st.button(
                "Plan these settings instead", key="plan_back", icon=":material/undo:", on_click=plans.drop,
                help="Leaves the plan that came from elsewhere, for one of this page's own settings.",
            )  # fmt: skip
        seen = _seen("plan")
        plan = _plan(seen)
        _files(plan)
    frame.found(seen)
    if plan is not None:
        holds, said = views.checked(plan)
        (small_print if holds else st.error)(f"{said} {views.gain(plan)}".rstrip())
    return _told(seen, partial(_more, plan))


def show_handover() -> Told:
    """Show what a program for another library spends level by level, and hand it out."""
    with in_a_row():
        LIBRARY.draw()
        seen = _seen("handover")
        plan = _plan(seen)
        library = next(one for one in LIBRARIES if one.name == seen.found_for.library)
        refused, text = (
            (None, "") if plan is None else views.program_of(seen.found_for, seen.tables.value, memo=store.remember)
        )
        _hand_out(export_name(f"release {library.name}", private=plan is not None and bool(plan.label)), text)
        if text and plan is not None and record_file.misfit(plan, store.dataset()) is None:
            _records(plan)
    frame.found(seen)
    if plan is not None:
        _ways_out(library.refusals(plan) if refused is not None else ())
    return _told(seen, partial(_limits, plan, text))


def _is_by_rounds() -> bool:
    return bool(MECHANISM.value == THRESHOLDS.name)


def _seen(view: str) -> Seen[PlanInputs]:
    """The plan of the settings, or one from elsewhere, as a view shows it."""
    kept, inputs = plans.kept(), inputs_now(PlanInputs)
    if kept is not None:
        return see(VIEWS[f"plan.{view}"], inputs, call(Tables, plan=kept.made).named("tables"))
    return see(VIEWS[f"plan.{view}"], replace(inputs, unit=unit()))


def _plan(seen: Seen[PlanInputs]) -> ReleasePlan | None:
    """The plan that is shown; none where it is refused, and none was shown before."""
    if seen.finding.is_empty:
        return None
    return views.release_plan(seen.found_for, seen.tables.value, memo=store.remember)


def _told(seen: Seen[PlanInputs], more: Callable[[], object]) -> Told:
    kept = plans.kept()
    if kept is None:
        seen.say_state("The plan")
        note_of_delta([MECHANISM.value], "plan_set_delta")
        tuning_provenance.note("plan")
    told = seen.told(more)
    return told if kept is None else told._replace(strip=f"{told.strip} · {kept.source}", data=None)


# ---- files, and a plan from a file


def _files(plan: ReleasePlan | None) -> None:
    """Show, in one popover, the plan's three files, and what opens one."""
    with st.popover("File", icon=":material/description:", help="The plan as a document or as JSON, and back again"):
        if plan is not None:
            name = export_name("plan", private=bool(plan.label))
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


def _more(plan: ReleasePlan | None) -> None:
    is_own = plans.kept() is None
    if is_own and not _is_by_rounds():
        TRUE_ERROR.draw()
        if plan is not None and plan.accounting is not None:
            ACCOUNTING.draw()
    if plan is None:
        return
    if is_own:
        small_print(views.narrower(plan, usable_delta()))
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
    frame.plain_table(level_table(plan), alt=f"What each of the {heading(plan).lower()} is and costs", height="content")
    section(plan)


def _checklist(points: Sequence[str]) -> None:
    prose("  \n".join(f":material/check_box_outline_blank: {plain(point)}" for point in points))


# ---- hand over


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
        name=f"{export_name('prepared', private=True)}.csv", mime="text/csv", key="plan_records",
        help="The records in use as the program reads them: exact counts of the leaves, NOT PRIVATE. Of a file, "
        "`treedp prepare FILE PLAN.json` writes the same.",
    )  # fmt: skip


def _ways_out(reasons: Sequence[Reason]) -> None:
    """Show links to the controls that would change what a program cannot express."""
    for page, place in dict.fromkeys((one.page, one.control) for one in reasons):
        navigation.link(page, f"{navigation.title(page)}: {place}", {"plan_view": "plan"} if page == "plan" else None)


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
