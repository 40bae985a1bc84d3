"""Levels made of a column of a file that waits: proposed by its first labels, made by one press, each undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Final, TypeVar

import streamlit as st

from pages.ui.inputs.refusals import refusal_in_passing
from pages.ui.inputs.setting import key_of
from pages.ui.inputs.text import lit, literal_sentence, small_print
from pages.ui.session import uploads
from pages.ui.tables import store
from pages.ui.tables.result import Result, show_state
from pages.ui.tables.upload_slot import Table, read_file
from pages.ui.tables.worker_read import by_worker, say
from treedp_core.checks import InputError
from treedp_core.records import HeldColumns
from treedp_core.records.derive.bands import opened
from treedp_core.records.derive.derivation import DERIVATIONS, MAX_OPTION, Derivation, Derived, derived_of
from treedp_core.records.derive.proposals import Proposal, frequent, joined_with, labels_seen, made_columns, proposals
from treedp_core.records.derive.remarks import of_edges, remarks
from treedp_core.records.derive.roles import counts_in, role_of
from treedp_core.records.derive.shares import MOST_BANDS, bands_of_equal_share
from treedp_core.records.worker_read import read
from treedp_core.registry import generation
from treedp_core.words import MAX_LITERAL, plural, whole

T = TypeVar("T")
MOST_OFFERED: Final = 3
"""Proposals that stand beside each other; the others are among the rules."""
MAKE: Final = "Make levels"
READ_OFF: Final = "Read off the first labels (NOT PRIVATE); the rule that you press is fixed, and public."


def made_of(table: Table) -> dict[str, str]:
    """Return the levels that were made of columns of a table, by their names, and how."""
    made: dict[str, str] = st.session_state.setdefault(
        table.key("derived"), {name: str(how) for name, how in (table.before.get("derive") or {}).items()}
    )
    return made


def grown(table: Table, made: dict[str, str]) -> Table:
    """Return a table as if its file had these levels as well: what is asked of it is asked of them too.

    Where a cell does not fit its rule, that is said, and only the names of the levels are known.
    """
    held = more = table.columns
    if held is not None and made:
        key, work = (held.key, *made.items()), partial(read, made_columns, held, made)
        found = read_file(table.file, "made", key, work)
        more = joined_with(held, found.here()) if found.is_ready else None
        if more is None:
            _say(table, found, made)
    return replace(table, preview=replace(table.preview, columns=(*table.preview.columns, *made)), columns=more)


def _say(table: Table, found: Result[HeldColumns], made: Mapping[str, str]) -> None:
    """Say how the making of levels stands; where a cell does not fit, offer to take away those of its column."""
    show_state(found, "Making levels")
    if found.error is not None:
        st.button(
            f"Take {lit(list(made)[-1], 40)} away again", key=f"{table.file.slot}_take_back", icon=":material/undo:",
            on_click=_undo, args=(_places(table), list(made)[-1]),
            help="The level that was made last. The others stay, and the table is as it was.",
        )  # fmt: skip


def offered(table: Table, made: dict[str, str]) -> None:
    """Offer the levels that columns could be made into, each by one press; all rules are in a window of their own."""
    labels, found = _labels(table), _proposed(table)
    left = [one for one in found if any(level.text not in made.values() for level in one.made)]
    for one in left[:MOST_OFFERED]:
        alike = [two for two in found if two != one and (two.column, two.levels) == (one.column, one.levels)]
        apart = one.tells(alike[0], labels[one.column]) if alike else ""
        st.button(
            f"{lit(one.column, 24)}: {' › '.join(lit(name, 24) for name in one.levels)}"
            + f" ({lit(apart, 40)})" * bool(apart),
            key=f"{table.file.slot}_make_{key_of(one)}", icon=":material/add:", on_click=_make,
            args=(_places(table), one.made, one.column if one.goes_on else ""), help=f"{_told(one)}. {READ_OFF}",
        )  # fmt: skip
    with st.popover(f"{MAKE} ({len(made)})" if made else MAKE, icon=":material/call_split:"):
        with st.container(horizontal=True):
            for name, how in made.items():
                st.button(lit(name, 40) + " (FROM DATA)" * derived_of(how).is_from_data,
                          key=f"{table.file.slot}_undo_{key_of(name, how)}", icon=":material/close:",
                          on_click=_undo, args=(_places(table), name), type="tertiary",
                          help=f"{lit(derived_of(how).told(name))}. Press to take it away again.")  # fmt: skip
                if derived_of(how).is_from_data:
                    st.button(
                        f"The list of {lit(name, 40)} is public", key=f"{table.file.slot}_public_{key_of(name, how)}",
                        on_click=_say_public, args=(_places(table), name), icon=":material/public:",
                        help="The counts chose it, which is NOT PRIVATE, and a plan with it is not handed over. Say so "
                        "only if the same list could have been named without them.",
                    )  # fmt: skip
        _own(table, labels, found)


def _proposed(table: Table) -> Sequence[Proposal]:
    counts = () if table.columns is None else counts_in(table.columns)
    others = {name for name in _labels(table) if role_of(name) in ("unit", "number")}.union(counts)
    of_levels = {name: some for name, some in _labels(table).items() if name not in others}
    return _once(table, "levels proposed", lambda: proposals(of_levels))


def say_what_is_not_proposed(table: Table) -> None:
    """Say of columns that are nearly dates or codes, and of a table of edges, why there is no button for them."""
    dates = {one.column for one in _proposed(table) if one.made[0].derivation == "time"}
    others = {name: some for name, some in _labels(table).items() if name not in dates}
    held = table.columns
    for one in _once(table, "remarks", lambda: [*remarks(others), *([] if held is None else of_edges(held))]):
        small_print(f"{literal_sentence(one)} NOT PRIVATE.")


def _told(one: Proposal) -> str:
    return "; ".join(lit(made.told(made.level)) for made in one.made)


def _labels(table: Table) -> dict[str, list[str]]:
    """Labels of each column: of those in memory, or else of the first rows."""
    held, rows = table.columns, table.preview.rows
    if held is not None:
        return _once(table, "labels seen", lambda: labels_seen(held))
    return {name: [row[j] for row in rows if j < len(row)] for j, name in enumerate(table.preview.columns)}


def _once(table: Table, what: str, compute: Callable[[], T]) -> T:
    """Return what the labels of a table show by the rules there are, worked out once where they are in memory."""
    if table.columns is None:
        return compute()
    return store.remember((what, table.columns.key, generation()), compute)


def _own(table: Table, labels: dict[str, list[str]], found: Sequence[Proposal]) -> None:
    """Ask for a column, a rule and what it is told."""
    columns = list(table.preview.columns)
    first = columns.index(found[0].column) if found else 0
    left, right = st.columns(2)
    at = left.selectbox(
        "Column", range(len(columns)), index=first, key=table.key("derive_column"),
        format_func=columns.__getitem__, help="What levels are made of.",
    )  # fmt: skip
    column = columns[at]
    some = labels.get(column, [])
    rules = list(DERIVATIONS.values())
    suggested = _once(table, f"told to rules {column}", lambda: [one.suggest(some) for one in rules])
    by = right.selectbox(
        "Rule", range(len(rules)), index=next((at for at, fits in enumerate(suggested) if fits), 0),
        key=table.key("derive_rule", column), format_func=lambda at: rules[at].label,
        help="What makes a label of a level of one label of the column; it looks at nothing else.",
    )  # fmt: skip
    one = rules[by]
    options = _options(table, column, one, suggested[by])
    is_open = one.name == "bands" and st.toggle(
        "Open at both ends", key=table.key("derive_open", column),
        help="The first and the last band hold what lies beyond the edges as well. Else that is “(outside)”, a "
        "category of its own, whose rows can be left out by that name once the level is chosen.",
    )  # fmt: skip
    st.button(
        "Make", key=table.key("derive_make"), type="primary", disabled=not options, on_click=_try,
        args=(_places(table), column, one.name, options, suggested[by], is_open),
        help="Add these levels below those that are chosen, but above finer ones of the same column.",
    )  # fmt: skip


def _options(table: Table, column: str, one: Derivation, suggested: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    if suggested:
        chosen = st.pills(
            "Into levels", suggested, selection_mode="multi", key=table.key("derive_options", column, one.name),
            default=suggested if len(suggested) == 1 else None,
            format_func=lambda option: lit(one.names(option, column), MAX_LITERAL), help=READ_OFF,
        )  # fmt: skip
    if one.public_as and table.columns is not None and column in table.columns.distinct:
        least = st.number_input(
            "In at least … rows", 1, value=10, key=table.key("derive_least", column), step=1,
            help="Labels of fewer rows become “(rest)”. The counts choose the list, so it is NOT PRIVATE.",
        )  # fmt: skip
        held = table.columns
        kept = _once(table, f"frequent {column} {least}", lambda: frequent(held, column, least))
        small_print(f"{whole(len(kept))} of {plural(table.columns.distinct[column], 'label')} stay (NOT PRIVATE).")
        return ["\n".join(kept)] if kept else []
    more = []
    if one.name == "bands":
        with st.expander("Bands of equal share, by a public file", icon=":material/public:"):
            more += _of_equal_share(table, column)
    ask = st.text_area if "\n" in one.example else st.text_input
    typed = ask(
        "Or typed" if suggested else "As you say it", key=table.key("derive_told", column, one.name),
        max_chars=MAX_OPTION, placeholder=one.example, help=f"For example {lit(one.example.replace(chr(10), ', '))}.",
    )  # fmt: skip
    more += [typed] if typed.strip() else []
    if more and list(suggested) == chosen and len(chosen) == 1:
        chosen = []  # it stands there unless something else is said
    return [*chosen, *more]


def _of_equal_share(table: Table, column: str) -> list[str]:
    """Ask for a public file, and return bands that hold as many of its numbers each; none while there is no file."""
    file = uploads.uploader(
        "Public file", key=table.key("derive_shares_of", column),
        help="Public or historic records with the column under the same name: the edges are read off them, and then "
        "fixed. Edges read off the records themselves would tell of them.",
    )  # fmt: skip
    if file is None:
        return []
    n = st.number_input(
        "Bands", 2, MOST_BANDS, 4, key=table.key("derive_shares", column), step=1,
        help="They hold about as many of the public numbers each; those at both ends are open.",
    )  # fmt: skip
    content, private = file.getvalue(), "" if table.columns is None else table.columns.source_digest
    work = partial(read, bands_of_equal_share, content, column, n, private=private, name=file.name)
    found = by_worker(f"{table.file.slot}_shares", (column, n, private, file.file_id), work, content, file.file_id)
    if not found.is_ready:
        say(found)
        return []
    small_print(f"Edges by {lit(file.name, 40)}, of which you say that it is public: {lit(found.here())}.")
    return [found.here()]


# What buttons do: they hold keys of the session, and never the table, which would stay in memory with them.


@dataclass(frozen=True)
class _Places:
    """Where a session has the levels that are made and the columns that are chosen of a table, and names of its own."""

    made: str
    chosen: str
    taken: tuple[str, ...]


def _places(table: Table) -> _Places:
    return _Places(table.key("derived"), table.key("columns"), table.preview.columns)


def _try(at: _Places, column: str, name: str, options: Sequence[str], known: Sequence[str], is_open: bool) -> None:
    """Make levels by a rule that was chosen, told what is `known` or what was typed: in a callback.

    Of bands that are open, the first and the last hold what lies beyond.
    """
    one = DERIVATIONS[name]
    try:
        told = [option if option in known else one.typed(option) for option in options]
        _make(at, [Derived(column, name, opened(option) if is_open else option) for option in told], order=known)
    except InputError as error:
        refusal_in_passing(error)


def _make(at: _Places, levels: Sequence[Derived], then: str = "", order: Sequence[str] = ()) -> None:
    """Add levels to the tree, below those that are chosen, and behind them the column `then`: in a callback.

    Of one column, coarse levels stand above fine ones: those that its rule has in an `order`, and the column itself.
    """
    made: dict[str, str] = st.session_state[at.made]
    chosen = list[str](st.session_state.get(at.chosen, ()))
    for level in levels:
        known = next((name for name, how in made.items() if how == level.text), None)
        name = known or _free(level.level, (*at.taken, *made))
        made[name] = level.text
        chosen = [one for one in chosen if one != name]
        finer = [one for one in chosen if one == level.column or _is_finer(made.get(one, ""), level, order)]
        chosen.insert(next((nth for nth, one in enumerate(chosen) if one in finer), len(chosen)), name)
    st.session_state[at.chosen] = chosen + ([then] if then and then not in chosen else [])


def _is_finer(how: str, than: Derived, order: Sequence[str]) -> bool:
    """Whether a level is made of the same column by the same rule, told what stands behind in the order of the rule."""
    if not how or than.option not in order:
        return False
    one = derived_of(how)
    behind = order[order.index(than.option) + 1 :]
    return (one.column, one.derivation) == (than.column, than.derivation) and one.option in behind


def _say_public(at: _Places, name: str) -> None:
    """Take what the counts chose as public: in a callback."""
    made: dict[str, str] = st.session_state[at.made]
    made[name] = derived_of(made[name]).as_public.text


def _undo(at: _Places, name: str) -> None:
    """Take a level away again: in a callback."""
    st.session_state[at.made].pop(name, None)
    st.session_state[at.chosen] = [one for one in st.session_state.get(at.chosen, ()) if one != name]


def _free(name: str, taken: Sequence[str]) -> str:
    """Return a name that no column has yet."""
    return next(one for n in count(1) if (one := name if n == 1 else f"{name} {n}") not in taken)
