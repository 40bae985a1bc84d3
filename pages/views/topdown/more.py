"""What stands under *More* on every view of the page TopDown: the budget, and one section of six."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.figure.controls import level_picker
from pages.ui.inputs.setting import in_a_row
from pages.ui.inputs.settings import RELATION
from pages.ui.inputs.text import found_cards, prose, small_print
from pages.ui.inputs.walk import walk
from pages.ui.page.page import explain
from pages.ui.page.view import Seen, see
from pages.ui.session.download import download
from pages.ui.tables import plans, tuning_provenance
from pages.ui.tables.experiment_inputs import inputs_now
from pages.ui.tables.result import run_button
from pages.ui.tables.store import remember, unit_of
from pages.views.topdown import settings as s
from treedp_core.notebook.code import Ran, call
from treedp_core.plans import ReleasePlan
from treedp_core.privacy import NeighbouringRelation, Provenance
from treedp_core.records import Dataset
from treedp_core.records.export import synthetic
from treedp_core.studies.topdown import Drawn, Subject, allocations_for, some_orders, tables
from treedp_core.studies.topdown.release_spec import RULES
from treedp_core.views import VIEWS
from treedp_core.views.inputs import ReleaseInputs
from treedp_core.views.topdown import TopDownInputs, comparisons, promise, releases
from treedp_core.views.topdown.inputs import Made
from treedp_core.views.topdown.words import cut
from treedp_core.words import percent, plural, privacy_text, short, whole

Here = Seen[TopDownInputs]
Write = Callable[..., bytes]
FILES: Final = (
    ("Contingency table", "contingency", synthetic.contingency_csv, synthetic.contingency_parquet),
    ("One row a record", "records", synthetic.records_csv, synthetic.records_parquet),
)
RIGHT: Final = partial(st.column_config.TextColumn, alignment="right")
LEVELS: Final = {
    "cells": (whole, RIGHT(help="Possible nodes of the level: public.")),
    "share of ρ": percent,
    "ρ": privacy_text,
    "σ (records)": (short, RIGHT(help="Of the discrete Gaussian noise.")),
    "bound": (short, RIGHT("Theorem 1 (records)", help="No node of the level has a larger error, with the chosen "
                           "probability.")),
    "by exact tails": (short, RIGHT("by exact tails (records)", help="The same sum, with the exact tails of "
                                    "the noise instead of an inequality: own derivation.")),
    "factor 2": st.column_config.TextColumn(help="Whether σ < 0.9743, where the printed inequality needs a "
                                            "factor 2 inside its logarithm."),
}  # fmt: skip
CERTIFICATE: Final = {
    "noises": (whole, RIGHT("noises looked at", help="Counts of the level whose noise enters: those that were drawn "
                            "where nothing but the projection follows, else all.")),
    "none above": (short, RIGHT("none above (records)", help="By exact tails: no noise of the level is larger, on no "
                                "level, with the chosen probability.")),
    "certificate": (short, RIGHT("error at most (records)", help="Of every count of the level: noise, and how far the "
                                 "count was moved. All levels at once.")),
    "Theorem 1": (short, RIGHT("Theorem 1 (records)", help="Before anything was drawn; each level by itself.")),
    "by exact tails": LEVELS["by exact tails"],
}  # fmt: skip


def more(view: str, seen: Here, what: Subject | None) -> None:
    """Show the controls that no row has, and the chosen section, of what the view shows."""
    if view == "rules":
        s.TRIALS.draw()
        if seen.result.value is not None:
            _every_rule(seen)
    _budget(view, what, seen.tables.value.data)
    show, learnt = SECTIONS[s.SECTION.draw(bare=True)]
    if seen.result.value is not None:
        show(replace(seen, inputs=seen.found_for), view)
    if learnt:
        explain(learnt)


def _budget(view: str, what: Subject | None, data: Dataset) -> None:
    with in_a_row():
        if view == "counts":
            s.SOURCE.draw()
        if s.SOURCE.value == "sparse":
            s.PEOPLE.draw()
        elif TopDownInputs(source=s.SOURCE.value).is_as_it_is(data):
            s.PRODUCT.draw()
        s.RHO.draw()
        allowed = s.ALLOCATION.options if what is None else allocations_for(what)
        if s.ALLOCATION.draw(offered=allowed) == "custom":
            s.SHARES.draw()
        s.UNIT.draw()
        if inputs_now(ReleaseInputs).protected(data) > 1:
            s.SPREAD.draw()
        if not s.RHO.value.strip():
            s.ACCOUNTING.draw()
        s.CONFIDENCE.draw()


def _see(seen: Here, name: str, **changed: Any) -> Here:
    """What a section finds of what the view shows."""
    return see(VIEWS[f"topdown.{name}"], replace(seen.inputs, **changed))


def _every_rule(seen: Here) -> None:
    every = seen.of(comparisons.every_measure)
    if every.is_empty:
        return
    prose(every.answer)
    frame.found_table(every)
    for note in every.notes:
        prose(note)
    frame.found(_see(replace(seen, inputs=seen.found_for), "rules.bias"))


# ---- one release


def _release(seen: Here, view: str) -> None:
    """Show the plan of a release level by level, and one release beside the truth."""
    st.header("Levels", anchor=False)
    frame.found(_see(seen, "levels"), formats=LEVELS, width="content", height="content")
    plans.button("td", partial(_planned, seen), "from TopDown")
    one_level = _see(seen, "one_level")
    made: Made[Drawn] | None = one_level.value
    if made is None:
        return
    st.header("What this release says of its own errors", anchor=False)
    frame.found(_see(seen, "certificate"), formats=CERTIFICATE, width="content", height="content")
    st.header("One release beside the truth", anchor=False)
    found_cards(one_level.of(releases.beside_truth), flow=True)
    if view != "counts":
        level_picker(s.LEVEL, [cut(name) for name in made.subject.level_names])
    frame.found(one_level)
    for column, name in zip(st.columns(2), ("under_bound", "wrong_nodes"), strict=True):
        with column:
            frame.found(_see(seen, name))
    frame.found(_see(seen, "bias"))
    _trees(seen, made)


def _planned(seen: Here) -> Ran[ReleasePlan]:
    """The plan of what is released here, of which the table that the columns come from knows more."""
    inputs, data = seen.inputs.question, seen.tables.get("data")
    subject = call(TopDownInputs.subject, inputs, data).named("subject")
    ready = call(TopDownInputs.plan, inputs, subject, data).named("ready")
    rule = RULES[inputs.wanted(subject.value, data.value).rule]
    counted = next(iter(seen.tables.args), None)
    more: dict[str, Any] = {} if counted is None else {"counted": counted, "whom": unit_of(counted.value)}
    more |= tuning_provenance.of_plan(inputs.origin)
    return call(ReleasePlan.of, ready, subject, steps=rule.steps, **more).named("plan")


def _trees(seen: Here, made: Made[Drawn]) -> None:
    """Show the tree before and after the projection; of a sparse release only what is there, after it."""
    st.header("The tree, before and after", anchor=False)
    if made.found.picture is None:
        small_print("This release is too large to be drawn as a tree.")
        return
    tree, labels, *_ = made.found.picture
    pairs = {"tree_before": "Before: as measured", "tree_after": "After: projected"}
    if made.found.noisy is None:
        del pairs["tree_before"]

    def show(root: int) -> str | None:
        clicked = None
        for column, (name, title) in zip(st.columns(len(pairs)), pairs.items(), strict=True):
            with column:
                prose(f"**{title}**")
                clicked = frame.found(_see(seen, name, node=root), select=True) or clicked
        return clicked

    walk(show, tree, labels, key=s.NODE.key, of=made.subject.fingerprint)


def _records(seen: Here, view: str) -> None:
    """Show the released records, and offer them as files."""
    release = _see(seen, "one_level")
    made: Made[Drawn] | None = release.value
    if made is None:
        return
    table = made.found.table
    if table is None:
        st.info(
            f"{RULES[made.wanted.rule].label} gives counts that are not whole, so they are no records. Choose another "
            "projection.", icon=":material/table_rows:",
        )  # fmt: skip
        return
    prose(
        f"{plural(table.total, 'synthetic record')} on {plural(table.n_leaves, 'leaf', 'leaves')}. Every count of "
        "every level is a count of these records, so all hierarchical queries agree by construction."
    )
    st.warning(
        "A simulated release with simulation-grade noise: it shows what a release would look like. For a real one the "
        "noise must come from a secure source of randomness, drawn once, without the seed being known.",
        icon=":material/casino:",
    )  # fmt: skip
    for column, (title, kind, *writers) in zip(st.columns(2), FILES, strict=True):
        with column:
            st.header(title, anchor=False)
            frame.found_table(releases.synthetic_rows(made, by_record=kind == "records"))
            if kind == "records" and table.total > synthetic.MAX_ROWS:
                small_print(
                    f":material/info: {whole(table.total)} rows are more than the {whole(synthetic.MAX_ROWS)} of one "
                    "file; take the contingency table."
                )
            else:
                _files(release, made, kind, *writers)


def _files(seen: Here, made: Made[Drawn], kind: str, as_csv: Write, as_parquet: Write) -> None:
    """Offer a table as CSV and Parquet; the files are written when they are asked for."""
    assert seen.work is not None
    again = seen.work.code(seen.tables).giving(made)
    certificate = call(Drawn.certificate, again.get("found"), seen.inputs.confidence).named("certificate")
    columns = call(tables.columns_of, again.get("subject"), certificate).named("columns")
    told = replace(columns.value, credit=seen.tables.value.credit)
    csv, parquet = ("CSV", "text/csv", as_csv), ("Parquet", "application/vnd.apache.parquet", as_parquet)
    with st.container(horizontal=True, vertical_alignment="center"):
        for label, mime, write in (csv, parquet):
            ending = label.lower()
            download(
                label, partial(write, made.found.table, told, Provenance.SIMULATION),
                name=f"treedp-simulation-synthetic-{kind}.{ending}", mime=mime, key=f"td_{kind}_{ending}",
                help="Simulated release, simulation-grade noise. In CSV, text that a spreadsheet would run as a "
                "formula gets a leading apostrophe.",
            )  # fmt: skip
        frame.code_popover(f"td_{kind}", call(as_csv, again.get("found.table"), columns, Provenance.SIMULATION))


# ---- repeated releases


def _repeated(seen: Here, view: str, what: str) -> Here | None:
    """Show what begins repeated releases, and how far they are; return what they found, if there are any."""
    found = _see(seen, what)
    with in_a_row():
        if view != "rules":
            s.TRIALS.draw()
        if found.slow is not None:
            run_button(found.slow, f"td_{what}_run", help=f"Release again and again, to compare the {what}.")
    found.say_state("Releasing again and again", "runs")
    if found.finding.is_empty:
        st.info(f"Press **Run** to compare the {what}.", icon=":material/play_arrow:")
    return None if found.finding.is_empty else found


def _orders(seen: Here, view: str) -> None:
    subject = seen.inputs.subject(seen.tables.value.data)
    if not subject.has_orders:
        st.info(
            "The order can be chosen where the levels are columns of which every combination is a leaf, two or more of "
            "them. Choose the trips, or all combinations of the columns.", icon=":material/swap_vert:",
        )  # fmt: skip
        return
    n_orders = len(some_orders(len(subject.columns)))
    prose(
        "Which attribute first? The first column's counts bear one level's noise and projection, the last one's all "
        f"of them. {n_orders} orders are simulated at the same promise, with equal shares."
    )
    if (found := _repeated(seen, view, "orders")) is not None:
        s.ORDER_MEASURE.draw()
        frame.found(found)
        frame.found_table(found.of(comparisons.errors_of_columns))


def _marginals(seen: Here, view: str) -> None:
    if not seen.inputs.subject(seen.tables.value.data).has_marginals:
        st.info(
            "Marginals are compared where the levels are columns of which every combination is a leaf, few enough to "
            "lay out. Choose the trips, or all combinations of the columns.", icon=":material/table:",
        )  # fmt: skip
        return
    s.MARGINALS.draw()
    if (found := _repeated(seen, view, "marginals")) is not None:
        frame.found(found)
        frame.found_table(found.of(comparisons.every_marginal), height="content")


# ---- the promise


def _accounting(seen: Here, view: str) -> None:
    """Show what ρ promises, by the standard conversion and the tight ones, and what the difference is worth."""
    found = promise.conversions(seen.inputs, seen.tables.value, memo=remember)
    found_cards(found)
    for sentence in (found.answer, *found.notes):
        prose(sentence)
    for column, name in zip(st.columns(2), ("epsilon", "noise"), strict=True):
        with column:
            frame.found(_see(seen, name))
    st.header("Who is protected, and what it costs", anchor=False)
    relations = _see(seen, "relations")
    frame.found(relations, width="content", formats={name: short for name in relations.finding.table if name[0] == "σ"})


def _sensitivity(seen: Here, view: str) -> None:
    """Show the change of every level over all neighbours of a small tree, beside the formula."""
    s.SMALL.draw()
    relation = NeighbouringRelation(RELATION.value)
    prose(f"{relation.label}: {relation.description} (Set in the sidebar.)")
    found = see(VIEWS["topdown.sensitivity"], inputs_now(TopDownInputs))
    found.say_state("Trying all neighbours")
    changes = ("L1 enumerated", "L1 formula", "L2 enumerated", "L2 formula")
    frame.found(found, formats=dict.fromkeys(changes, short), width="content")


SECTIONS: Final[dict[str, tuple[Callable[[Here, str], None], str]]] = {
    "release": (_release, ""),
    "records": (
        _records,
        "Whole, non-negative counts that add up are records: any tool can read them, and every table made from them "
        "agrees with every other. They are no better than the counts, and small counts are the worst of them.",
    ),
    "orders": (
        _orders,
        "A column near the root keeps its own counts almost exact; near the leaves they gather the noise of many "
        "cells. Put first what must be right, unless one column of many categories would scatter everything below it.",
    ),
    "marginals": (
        _marginals,
        "Counts by the first columns are what a top-down release is made for. Any other table is a sum over cells, "
        "whose noise adds up; where few tables are asked for, each is better measured by itself, but then they "
        "disagree.",
    ),
    "accounting": (
        _accounting,
        "The same noise promises more than the standard conversion says, most of all for small ρ. Protecting who is "
        "in the data at all measures one level more, but with less noise for each record.",
    ),
    "sensitivity": (
        _sensitivity,
        "Noise is calibrated to a claim about all neighbours. On a small tree all of them can be tried.",
    ),
}
