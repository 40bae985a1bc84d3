"""The hierarchy: of the data in use, or of a file that waits: which of its columns make the tree, and its domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.ui.figure.frame import plain_table, preview
from pages.ui.inputs.setting import key_of
from pages.ui.inputs.settings import CONTRIBUTIONS, SOURCE
from pages.ui.inputs.text import lit, small_print
from pages.ui.page.scripts import sortable
from pages.ui.session import uploads
from pages.ui.tables import session_tables, store
from pages.ui.tables.store import remember
from pages.ui.tables.upload_slot import Table, left_out_asked, suspects
from pages.ui.tables.worker_read import Reading, leaves_listed_in
from pages.ui.upload.bins import KEPT, BinsAsked, counts_offered, unit_asked, warn_of_cut, weight_asked
from pages.ui.upload.upload import Count, count_again, notice
from pages.views.data import derived_levels
from treedp_core import checks
from treedp_core.checks import InputError
from treedp_core.figures.trees.icicle import icicle
from treedp_core.notebook.code import Ran, call
from treedp_core.plans.words import of_rows
from treedp_core.records import (
    Dataset,
    DomainSource,
    HeldColumns,
    count_hierarchy,
    domain_of_leaves,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.dataset import children_table, leaves_table
from treedp_core.records.domain import MOST_LEAVES, Domain
from treedp_core.records.hierarchies import Astray, astray, glimpse, is_grouped, leaves_of, suggested
from treedp_core.studies.data import level_table
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.words import halves, plural, whole

# What was counted, and what the levels of the tree look like: tables of exact numbers.


def check(data: Dataset) -> None:
    """Show what became of every record."""
    report = data.report
    numbers = (
        ("Rows read", report.rows, "Rows of the table, without its header."),
        ("Records counted", report.counted, "Records in the tree; a row with a weight stands for several."),
        ("Units", report.units, "Named by the unit column."),
        ("Left out, beyond the unit’s share", report.clipped, "Rows after the first ones of their unit."),
        ("Left out, no records", report.left_out, "Rows that were named as totals, or as nobody’s."),
        ("Outside the bounds", report.outside_range, "Their value is below the lower or above the upper bound."),
        ("Under “(other)”", report.other, "No category or bin has a place for them; the leaf is always there."),
        ("Under “(blank)”", report.blank_labels, "A chosen cell was empty; they are counted in that category."),
    )
    with st.container(horizontal=True):
        for label, number, about in numbers:
            if number or label in ("Rows read", "Records counted"):
                st.metric(label, whole(number), border=True, width=190, help=about)


def warn(data: Dataset) -> None:
    """Show what a person should look at."""
    if data.domain_source is DomainSource.FROM_DATA:
        taken_from_the_data_warning()
        _say_public(data)
    warn_of_cut(data)
    for code, sentence in data.report.notices:
        notice(code, sentence)
    _count_again(data)
    if not data.total:
        st.info("All counts are 0: relative errors have no meaning here.", icon=":material/info:")


def _can_be_counted_again(data: Dataset) -> bool:
    table = session_tables.of(SOURCE.value)
    return table is not None and table.data is data and table.can_be_counted_again


def _say_public(data: Dataset) -> None:
    """Offer to say that the categories in use are public, as they stand: they are then a list, and fixed."""
    if data.tree.n_leaves > MOST_LEAVES or not _can_be_counted_again(data):
        return
    st.button(
        "These categories are public", key="domain_is_public", icon=":material/public:", on_click=_as_public,
        help=f"Say so only if you could have listed {plural(data.tree.n_leaves, 'leaf', 'leaves')} without the "
        "records, from an official list. The list is then fixed, also for other records, and those that it has no "
        "place for are counted under “(other)”. To check or change it first, take it as a file (*More*, *Hierarchy*).",
    )  # fmt: skip


def _as_public() -> None:
    """Have the table counted with its leaves as they are for a public list: in a callback."""
    table = session_tables.of(SOURCE.value)
    if table is None:
        return
    leaves = {name: column.tolist() for name, column in leaves_table(table.data).items()}
    count_again(SOURCE.value, domain=call(domain_of_leaves, leaves).named("domain"))


def _count_again(data: Dataset) -> None:
    """Offer to leave out what looks like totals."""
    slot, recipe = SOURCE.value, data.report.recipe
    if not _can_be_counted_again(data):
        return
    with st.container(horizontal=True):
        for column, label in data.report.totals:
            named: dict[str, list[str]] = {one: list(labels) for one, labels in recipe.left_out}
            named[column] = [*named.get(column, ()), label]
            st.button(
                f"Leave out {lit(label, 30)} in {lit(column, 30)}", key=f"leave_out_{key_of(column, label)}",
                icon=":material/block:", on_click=count_again, args=(slot,), kwargs={"left_out": named},
                help="These rows look like totals of others, by words or sums in the records (NOT PRIVATE). The table "
                "is counted without them, and code and plan say so.",
            )  # fmt: skip


def show_levels(data: Dataset) -> None:
    """Show what the levels of the tree look like."""
    percent = st.column_config.NumberColumn(format="percent")
    plain_table(
        remember(("level table", data.fingerprint), lambda: level_table(data)),
        alt=f"Nodes, empty share, counts and fan-out of each of {data.tree.n_levels} levels",
        caption="NOT PRIVATE: exact counts. Empty: share of nodes with count 0. Median, largest: records of a node. "
        "Children: fewest, median and most children of a node.",
        formats={"Nodes": whole, "Median": halves, "Largest": whole, "Empty": percent},
        height="content",
    )


KINDS: Final = {"columns": "Columns, one for each level", "bins": "One numeric column, in bins"}
DOMAINS: Final = {
    "data": "Taken from the data", "values": "Listed values", "file": "A domain file",
    "leaves": "Those said to be public",
}  # fmt: skip
_MADE_BY: Final = {
    domain_taken_from_the_data: "data", domain_of_values: "values", domain_of_paths: "file", domain_of_leaves: "leaves",
}  # fmt: skip
"""What makes each of these domains."""
MISSING: Final = {"category": "Their own category “(blank)”", "other": "Count them under “(other)”"}
MAX_NAMED: Final = 16
"""Columns whose number of values is shown."""
MAX_EXCEPTIONS: Final = 3
MAX_GROWN: Final = 80
"""Blocks of the tree that grows with the choice of columns."""
GROWN_HEIGHT: Final = 300
LESS: Final = ", without those that are left out"


def levels_in_use() -> None:
    """Show the hierarchy of the data set in use."""
    data = store.dataset()
    st.markdown(" › ".join(lit(name, 40) for name in data.labels.level_names))
    small_print(f"{plural(data.tree.n_levels, 'level')}; the list of categories is {data.domain_source.value}.")
    if told := of_rows(data.report.recipe):
        small_print(f"How rows became records: {lit('; '.join(told))}.")


def form(table: Table) -> Count | None:
    """Ask which columns of a file make the tree."""
    asked, shown = st.columns([3, 2])
    with asked:
        kind = st.segmented_control(
            "Levels from", list(KINDS), key=table.key("kind"), required=True,
            default="bins" if "numeric" in table.before else "columns",
            format_func=KINDS.__getitem__,
            help="A tree of categories, or the numbers of one column (ages, amounts) in bins of equal width.",
        )  # fmt: skip
    if kind != "bins":
        return _columns(table, asked, shown)
    if (chosen := table.key("columns")) in st.session_state:
        st.session_state[chosen] = st.session_state[chosen]  # for the way back: else what is not drawn is forgotten
    return _bins(table)


def taken_from_the_data_warning() -> None:
    """Warn that the list of categories was read off the records."""
    st.warning(
        "**Not private: the tree itself shows who is in the data.** Its categories are taken from the data, and no "
        "noise on counts hides which of them occur. Use this to explore; for a release list the categories.",
        icon=":material/warning:",
    )


def _columns(table: Table, asked: DeltaGenerator, grown: DeltaGenerator) -> Count | None:
    before = table.before if "domain" in table.before else {}
    made = derived_levels.made_of(table)
    with asked:
        more, chosen = _chosen(table, made, before)
    left, right = st.columns(2)
    with left:
        weight, marks = weight_asked(table)
        missing = st.radio(
            "Missing values", list(MISSING), key=table.key("missing"), format_func=MISSING.__getitem__, horizontal=True,
            index=list(MISSING).index(before.get("missing", "category")),
            help="An empty cell below which every chosen cell is empty too ends the path: that is no missing value.",
        )  # fmt: skip
    with right:
        unit = unit_asked(table)
        how = _domain_asked(table, chosen)
    domain = _domain(table, how, chosen, weight, marks)
    out = left_out_asked(more, chosen, weight, [one for one in made if one not in chosen]) if chosen else {}
    if more.columns is not None and chosen:
        with grown:
            _tree_so_far(more.columns, chosen, out)
    if not chosen or marks is None:
        return None

    def count() -> Reading:
        return table.counted(
            count_hierarchy, chosen, domain=domain(), weight=weight, unit=unit,
            contributions=CONTRIBUTIONS.value, missing=missing,
            marks=marks or None, left_out=out or None,
            derive={name: how for name, how in made.items() if name in (*chosen, *out)} or None,
        )  # fmt: skip

    return count


def _chosen(table: Table, made: dict[str, str], before: Mapping[str, Any]) -> tuple[Table, list[str]]:
    """Ask for the levels; return the table as if its file had those that are made, and what is chosen."""
    with st.container(horizontal=True):
        if table.columns is not None:
            _suggestion(table, table.columns, made)
        derived_levels.offered(table, made)
    derived_levels.say_what_is_not_proposed(table)
    more = derived_levels.grown(table, made)
    chosen = st.multiselect(
        "Columns of the hierarchy, from the top", more.preview.columns, key=table.key("columns"),
        default=None if table.key("columns") in st.session_state
        else [name for name in before.get("columns", ()) if name in more.preview.columns],
        max_selections=checks.MAX_LEVEL_COLUMNS,
        help="From coarse to fine: for example region, state, county. The list below changes their order.",
    )  # fmt: skip
    _levels(table, more.columns, chosen)
    return more, chosen


def _suggestion(table: Table, columns: HeldColumns, made: Mapping[str, str]) -> None:
    """Offer an order of levels that the records suggest, with the counts and without the totals that they show."""
    found = store.remember(("suggested levels", columns.key), lambda: suggested(columns))
    if not found:
        return
    but, chosen = len(_astray(columns, found)), dict[str, object]({table.key("columns"): list(found)})
    told = f"{' › '.join(lit(name, 24) for name in found)}" + f" ({plural(but, 'exception')})" * bool(but)
    weight = next(iter(counts_offered(table)), None)
    if weight is not None and _once_grouped(columns, found):
        told += f", {lit(weight, 24)} as counts"
        chosen[table.key("weight")] = 1 + table.preview.columns.index(weight)
    else:
        weight = None
    totals = () if made else [one for one in suspects(columns, found, weight) if one[0] in found]
    if totals:
        labels = list(dict.fromkeys(label for _, label in totals))
        told += f", without {', '.join(lit(label, 24) for label in labels[:2])}" + " …" * (len(labels) > 2)
        chosen[table.key("left_out", *found)] = list(totals)
    st.button(
        f"From the data: {told}", key=f"{table.file.slot}_suggested", icon=":material/account_tree:",
        on_click=st.session_state.update, args=(chosen,),
        help="Coarse to fine: columns of which each is determined by the next, but for few rows, or those with the "
        "fewest values. Read off the records, so it is not private. All of it is shown below, and can be changed.",
    )  # fmt: skip


def _once_grouped(columns: HeldColumns, chosen: Sequence[str]) -> bool:
    return store.remember(("is grouped", columns.key, *chosen), lambda: is_grouped(columns, chosen))


def _astray(columns: HeldColumns, chosen: Sequence[str]) -> tuple[Astray, ...]:
    return store.remember(("labels astray", columns.key, *chosen), lambda: astray(columns, chosen))


def _exceptions(columns: HeldColumns, chosen: Sequence[str]) -> None:
    """Show which labels lie below several of the level above, where that is rare: they may be errors of the file."""
    if found := _astray(columns, chosen):
        told = [
            f"{lit(one.label, 24)} lies below "
            + " and ".join(f"{lit(label, 24)} ({plural(rows, 'row')})" for label, rows in one.above[:3])
            for one in found[:MAX_EXCEPTIONS]
        ]
        more = f"; {whole(len(found) - MAX_EXCEPTIONS)} more" if len(found) > MAX_EXCEPTIONS else ""
        small_print(
            f"{plural(len(found), 'exception')} (NOT PRIVATE): {'; '.join(told)}{more}. Each row counts where it says."
        )


def _levels(table: Table, columns: HeldColumns | None, chosen: list[str]) -> None:
    """Show the chosen columns, to be put in another order, and how many values and leaves they make."""
    are_kept = columns is not None and set(chosen) <= set(columns.preview.columns)
    notes = _notes(columns, chosen) if columns is not None and are_kept else dict.fromkeys(chosen, "")
    if chosen:
        sortable(
            "Levels from the top", notes, key=table.key("order"),
            on_move=partial(st.session_state.__setitem__, table.key("columns")),
        )  # fmt: skip
    if columns is not None:
        others = [name for name in columns.preview.columns if name not in chosen]
        values = " · ".join(f"{lit(name, 24)} {whole(columns.distinct[name])}" for name in others[:MAX_NAMED])
        values += f" · and {whole(len(others) - MAX_NAMED)} more" if len(others) > MAX_NAMED else ""
        small_print(f"{f'Distinct values: {values}. ' if values else ''}Read off the records (NOT PRIVATE).")
        if are_kept:
            _exceptions(columns, chosen)


def _tree_so_far(columns: HeldColumns, chosen: Sequence[str], out: Mapping[str, Sequence[str]]) -> None:
    """Show the tree that the chosen columns make of the first rows; a refusal is said when they are counted."""
    try:
        data = count_hierarchy(glimpse(columns), chosen, domain=domain_taken_from_the_data(), left_out=out or None)
    except InputError:
        return
    rows = "all rows" if data.report.rows == columns.size else f"the first {plural(data.report.rows, 'row')}"
    fig = icicle(data.tree, data.labels, data.counts, data.counts, max_nodes=MAX_GROWN, colour_title="rows")
    preview(
        fig.update_layout(height=GROWN_HEIGHT), key="tree_so_far",
        alt=f"Tree of {plural(data.tree.n_leaves, 'leaf', 'leaves')} that the chosen columns make of {rows}",
        caption=f"The tree of {rows}, each as one record{LESS if data.report.left_out else ''}.",
        table=partial(children_table, data, 0),
    )  # fmt: skip


def _notes(columns: HeldColumns, chosen: Sequence[str]) -> dict[str, str]:
    """How many values each chosen column has, and how many leaves the tree down to it."""

    def leaves(names: Sequence[str]) -> int:
        return store.remember(("leaves so far", columns.key, *names), lambda: leaves_of(columns, names))

    return {
        name: f"{plural(columns.distinct[name], 'value')} · {plural(leaves(chosen[:level]), 'leaf', 'leaves')} so far"
        for level, name in enumerate(chosen, 1)
    }


def _bins(table: Table) -> Count | None:
    asked = BinsAsked(table, n_bins=64)
    if not asked.is_answered:
        return None
    branching = st.text_input(
        "Branching factors over the bins (optional)", key=table.key("branching"), max_chars=100, placeholder="8,8",
        value=",".join(map(str, table.before.get("branching") or ())),
        help="Their product must be the number of bins; without them all bins hang below the root.",
    )  # fmt: skip
    return lambda: asked.counted(branching_factors_from_text(branching) if branching.strip() else None)


def _domain_asked(table: Table, columns: Sequence[str]) -> str:
    """Ask who says which categories exist; leaves that were said to be public are offered for their own columns."""
    last = table.before.get("domain")
    is_known = last is not None and last.function is domain_of_leaves and set(columns) <= set(last.args[0])
    offered = [one for one in DOMAINS if one != "leaves" or is_known]
    made_by = "" if last is None else _MADE_BY[last.function]
    return st.radio(
        "Which categories exist", offered, key=table.key("domain"), format_func=DOMAINS.__getitem__,
        index=0 if made_by not in offered else offered.index(made_by), horizontal=True,
        help="A private release needs a list of categories that was public before anyone looked at the records.",
    )  # fmt: skip


def _domain(
    table: Table, how: str, columns: Sequence[str], weight: str | None, marks: dict[str, str] | None
) -> Callable[[], Ran[Domain] | Reading]:
    """Ask for the categories where they are listed; return what makes the domain."""
    last = table.before.get("domain")
    if how == "data":
        taken_from_the_data_warning()
        return lambda: call(domain_taken_from_the_data).named("domain")
    small_print(KEPT)
    if how == "leaves" and last is not None:
        leaves = {name: last.args[0][name] for name in columns}
        return lambda: call(domain_of_leaves, leaves).named("domain")
    if how == "values":
        lists = last.args[0] if last is not None and last.function is domain_of_values else {}
        listed = {name: _listed(table, name, lists.get(name, ())).splitlines() for name in columns}
        return lambda: call(domain_of_values, listed).named("domain")
    file = uploads.uploader(
        "Domain file: the leaves that exist, one a row", key=table.file.key("domain_file"),
        help="It has the columns of the hierarchy under the same names.",
    )  # fmt: skip
    return lambda: _domain_of_file(file, columns, weight, marks)


def _listed(table: Table, column: str, before: Sequence[str]) -> str:
    return st.text_area(
        f"Values of {lit(column, 40)}, one a line", key=table.key("values", column), height=120,
        value="\n".join(before),
        help="Add (blank) for records without a value and (other) for values that are not listed; if every column "
        "lists (other), the tree needs no such leaf besides.",
    )  # fmt: skip


def _domain_of_file(
    file: UploadedFile | None, columns: Sequence[str], weight: str | None, marks: dict[str, str] | None
) -> Reading:
    if file is None:
        raise InputError("DOMAIN_MISSING", "Choose a domain file, or another way to say which categories exist.")
    return leaves_listed_in(file, columns or None, weight=weight, marks=marks or None)
