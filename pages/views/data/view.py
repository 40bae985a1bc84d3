"""The page Data and tree, from the source of the records to the tree that their counts stand on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Final

import streamlit as st

from pages.ui.figure import frame
from pages.ui.figure.frame import found
from pages.ui.inputs.refusals import refusal, refusal_in_passing
from pages.ui.inputs.setting import Setting, control, in_a_row, key_of
from pages.ui.inputs.settings import (
    CONTRIBUTIONS,
    KNOWN_LEVELS,
    MADE_BRANCHING,
    MADE_RECORDS,
    MADE_SEED,
    MADE_SHAPE,
    RELATION,
    SAMPLE,
    SOURCE,
    UNIT,
)
from pages.ui.inputs.text import lit, prose, small_print
from pages.ui.inputs.walk import walk
from pages.ui.page import navigation
from pages.ui.page.page import Told, explain
from pages.ui.page.view import Seen, section, see
from pages.ui.session import uploads
from pages.ui.session.download import download
from pages.ui.tables import session_tables, store
from pages.ui.tables.experiment_inputs import inputs_now
from pages.ui.tables.upload_slot import Candidate, slot_of
from pages.ui.upload import required_tables as asked_for
from pages.ui.upload.table_cards import put_back_offer
from pages.ui.upload.upload import choose_columns, count_without, counted_before, show_count, upload
from pages.views.data.hierarchy import check, form, levels_in_use, show_levels, warn
from sample_data.catalogue import SAMPLES
from treedp_core.checks import InputError
from treedp_core.experiment import prepare
from treedp_core.notebook.export.program import export_name
from treedp_core.notebook.study import WAITING
from treedp_core.privacy import NeighbouringRelation
from treedp_core.records import Dataset, DomainSource
from treedp_core.records.dataset import counts_table, leaves_table
from treedp_core.records.export.columns import credited, labelled, source_line
from treedp_core.records.export.tables import csv_bytes
from treedp_core.studies.budget import NOT_PRIVATE
from treedp_core.views import VIEWS
from treedp_core.views.cells.rerun import SOURCES
from treedp_core.views.data import MAX_BLOCKS, DataInputs
from treedp_core.views.inputs import ReleaseInputs, parameter
from treedp_core.words import plural

# Where the records come from: a sample, the generator, or a file; choosing one puts it in use at once.

# The levels of a table of one's own: pressing one leaves it out, and the table is counted anew at once.


def levels(slot: str) -> None:
    """Show the levels of the table in a slot, where it can be counted by some of them without its file."""
    table = session_tables.of(slot)
    if table is None or table.columns is None:
        return
    used, state = table.data.labels.level_names[1:], slot_of(slot)
    is_known = used == tuple(name for name in state.levels if name in used)  # in their order, too
    made = {} if table.ran is None else table.ran.kwargs.get("derive") or {}
    held, known = {*table.columns.preview.columns, *made}, state.levels if is_known else used
    offered = [name for name in known if name in used or (name in held and table.domain_for((*used, name)))]
    if len(offered) < 2 or not set(used) <= held or table.domain_for(used) is None or state.wants:
        return
    key = f"{slot}_levels_{key_of(*offered)}"
    if state.counting is None or not state.counting.in_place:
        st.session_state[key] = list(used)
    st.pills(
        "Levels", offered, selection_mode="multi", key=key, format_func=lambda name: lit(name, 24),
        on_change=_chosen, args=(slot, key, tuple(offered), tuple(used)),
        help="Press a level to leave it out, once more to have it back: the table is counted anew. Others, and their "
        "order, are chosen under *More*, *Hierarchy*.",
    )  # fmt: skip


def _chosen(slot: str, key: str, offered: tuple[str, ...], used: tuple[str, ...]) -> None:
    """Have the table counted by the levels that are left; it needs one."""
    state, wanted = slot_of(slot), [name for name in offered if name in st.session_state[key]]
    if not wanted:
        refusal_in_passing(InputError("TREE_SHAPE", "A tree needs a level below its root."))
        st.session_state[key] = list(used)
        return
    state.levels = offered
    count_without(slot, wanted if wanted != list(used) else ())


def choose() -> Candidate | None:
    """Show the choice of the source and its controls; return a file that waits to be counted, if there is one."""
    path = store.file_on_this_computer()
    here = [name for name in SOURCES if name != "file" or path is not None]
    offered = uploads.offered(here, session_tables.OWN, SOURCE.value)
    if SOURCE.value not in offered:
        SOURCE.set("upload")
    with in_a_row():
        source = SOURCE.draw(offered=offered)
        if source == "sample":
            with st.container(width=320):
                SAMPLE.draw()
        if source == "generate":
            _generate()
        if source in session_tables.OWN:
            levels(source)
    put_back_offer(*session_tables.OWN, WAITING)
    if source in ("sample", "generate"):
        return None
    show_count(source)
    found = upload(source, asks="tree", path=path if source == "file" else None)
    return found if isinstance(found, Candidate) else None


def is_waited_for() -> bool:
    """Whether a file is the source, none has been counted, and one may be."""
    return SOURCE.value in ("upload", "file") and store.from_file(SOURCE.value) is None and not uploads.is_public()


def about_source() -> None:
    """Say what the sample is, and ask for the seed of generated records."""
    if SOURCE.value == "sample":
        chosen = SAMPLES[SAMPLE.value]
        small_print(f"{chosen.description} {chosen.domain}")
    if SOURCE.value == "generate":
        MADE_SEED.draw()


def _generate() -> None:
    with st.container(width=200):
        shape = MADE_SHAPE.draw()
    with st.container(width=200):
        branching = MADE_BRANCHING.draw()
    with st.container(width=240):
        n_records = MADE_RECORDS.draw()
    try:
        store.generated(shape, n_records, branching, MADE_SEED.value)
    except store.Pending:
        pass  # the head of the page says so
    except InputError as error:
        refusal(error)
        small_print("The data set in use stays as it was.")


# The tree itself, which one walks through by clicking.

# The setting of the page Data and tree: from which node its tree is shown.

NODE: Final = control(parameter(DataInputs, "node"))
SETTINGS: Final[tuple[Setting[Any], ...]] = (NODE,)


def show_tree(seen: Seen[DataInputs]) -> None:
    """Show the tree below the node one has walked to."""
    data = seen.tables.value.data

    def show(root: int) -> str | None:
        return found(see(seen.entry, replace(seen.inputs, node=root), seen.tables), select=True)

    walk(show, data.tree, data.labels, key=NODE.key, of=data.fingerprint, on_leaf=partial(_leaf, data))


def _leaf(data: Dataset, node: int) -> None:
    path = " › ".join(lit(label, 40) for label in data.labels.path(node))
    prose(f"Leaf {path}: {plural(int(data.counts[node]), 'record')} (NOT PRIVATE)")


# Who is protected: the unit, how many records it has at most, and which two data sets must look alike.

_MIRROR: Final = "nbr_here"


def who(asked: bool) -> None:
    """Show and set who is protected; the relation is the one of the sidebar. What was `asked` stands there."""
    tree = store.dataset().tree
    if SOURCE.value == "sample":
        sample = SAMPLES[SAMPLE.value]
        known = f" Known levels: {sample.known_levels}." if sample.known_levels > 1 else ""
        small_print(f"In this sample: {sample.protected}{known}")
    left, right = st.columns(2)
    with left:
        _relation()
    with right:
        if store.is_uploaded() and not asked:
            UNIT.draw()
        if not asked:
            CONTRIBUTIONS.draw()
        if RELATION.value == NeighbouringRelation.REPLACE_UNKNOWN.value:
            KNOWN_LEVELS.draw(offered=range(1, tree.n_levels + 1))
    navigation.link("protects", "What a bound on records leaves out, and the noise it needs", {"pro_view": "bound"})
    if store.is_uploaded():
        navigation.link(
            "protects",
            "Sums of a column: what a clip on its values leaves out, and the noise it needs",
            {"pro_view": "clip"},
        )
    small_print(
        f"{_each()}: {prepare(inputs_now(ReleaseInputs).experiment(store.dataset()), tree).guarantee.sentence()}"
    )


def ask() -> None:
    """Ask of a file what one unit is, and how many records it has at most; until then nothing is said but records."""
    with in_a_row():
        with st.container(width=320):
            UNIT.draw()
        with st.container(width=240):
            CONTRIBUTIONS.draw()
    small_print("Until you say what one unit is, the promise is about records, and about nobody behind them.")


def is_asked() -> bool:
    """Whether a file is in use of which nobody has said yet what one unit is."""
    return store.is_uploaded() and not store.unit()


def _each() -> str:
    """Return whom the promise is to."""
    unit = store.unit()
    return f"For each unit ({lit(unit, 60)})" if unit else "What one unit is has not been said; the promise"


def _relation() -> None:
    """Show the relation a second time, with what each of them says."""
    relations = {relation.value: relation for relation in NeighbouringRelation}
    st.session_state[_MIRROR] = RELATION.value
    st.radio(
        "Two data sets that must be hard to tell apart", list(relations), key=_MIRROR,
        captions=[relation.description for relation in relations.values()], format_func=RELATION.label_of,
        on_change=lambda: RELATION.set(st.session_state[_MIRROR]),
        help="Whatever the data set, a release looks nearly the same for both. Also in the sidebar.",
    )  # fmt: skip


def show() -> Told:
    """Show the page: a file whose columns are to be chosen, else the tree of the data in use."""
    file = choose()
    data, seen = store.dataset(), see(VIEWS["data"], inputs_now(DataInputs))
    if file is not None:  # nothing else is shown beside it
        choose_columns(file, form)
        small_print(f"{lit(data.name, 40)} stays in use until the file is counted.")
        return Told(seen.line(), NOT_PRIVATE)
    show_tree(seen)
    if data.credit:
        small_print(source_line(data.credit))
    if asked := is_asked():
        ask()
    if is_waited_for():
        small_print(f"Until you count a file, {lit(data.name, 40)} stays in use.")
    asked_for.show()
    warn(data)
    return seen.told(more=partial(_more, seen, data, asked))


def _all_counts(data: Dataset) -> bytes:
    told = credited(counts_table(data), data.credit)
    return csv_bytes(labelled(told, f"{NOT_PRIVATE}: exact counts."))


def _more(seen: Seen[DataInputs], data: Dataset, asked: bool) -> None:
    """Who is protected, the hierarchy, what became of every record, and the levels in numbers."""
    explain(
        "The mechanism sees a tree of counts: every node holds how many records lie below it. The tree's shape and "
        "the list of categories must be public; only the counts get noise. Everything on this page is exact: none "
        "of it is a release."
    )
    about_source()
    st.header("Who is protected", anchor=False)
    who(asked)
    st.header("Hierarchy", anchor=False)
    levels_in_use()
    is_private = data.domain_source is DomainSource.FROM_DATA
    download(
        "Leaves, as a domain file", lambda: csv_bytes(credited(leaves_table(data), data.credit)),
        name=f"{export_name('domain', private=is_private)}.csv", mime="text/csv", key="domain_file_of",
        help="Every leaf without its count, to be checked, changed, and given back as the domain file of a count."
        + " Which of them occur is read off the records (NOT PRIVATE) until somebody has." * is_private,
    )  # fmt: skip
    if (again := counted_before(SOURCE.value)) is not None:
        choose_columns(again, form)
    st.header("Check", anchor=False)
    prose(f"{lit(data.name)}: what became of every record.")
    check(data)
    download(
        "All counts", partial(_all_counts, data),
        name=f"{export_name('all counts', private=True)}.csv", mime="text/csv", key="all_counts",
        help="Every node of the tree with its exact count, as CSV (NOT PRIVATE)",
    )  # fmt: skip
    show_levels(data)
    if data.tree.n_nodes > MAX_BLOCKS:
        frame.found(section(seen, "strips"))
