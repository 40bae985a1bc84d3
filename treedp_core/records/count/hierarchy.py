"""Records with one column per level -> exact counts on a tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.count import counting, paths
from treedp_core.records.count.counting import OUTSIDE_RULES, Words, refuse_outside, with_other_leaf
from treedp_core.records.count.ranked import NOWHERE, Pairs, beside_other, places
from treedp_core.records.count.row_filter import LeftOut, notices, suspected
from treedp_core.records.count.tally import Tally, example_of, read_records, strangers_notice
from treedp_core.records.dataset import Dataset, DomainSource, ReadReport, labels_of, sums_of
from treedp_core.records.derive.derivation import Derived
from treedp_core.records.derive.derived_table import derived_as_pairs, with_derived
from treedp_core.records.domain import Domain, levels_checked
from treedp_core.records.read import text
from treedp_core.records.read.file_checks import in_words
from treedp_core.records.read.readers import Origin
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress, TableReader, open_table, said_of_file
from treedp_core.records.read.units import account_of, bound_of, quota_of
from treedp_core.records.recipe import Recipe, marks_in_order
from treedp_core.records.values.column import value_column
from treedp_core.tree import Tree
from treedp_core.words import plural

if TYPE_CHECKING:
    from treedp_core.records.read.columns import LabelColumn

IntArray = NDArray[np.int64]
MISSING_RULES = ("category", "other")


@in_words
def count_hierarchy(
    origin: Origin,
    columns: Sequence[str],
    *,
    domain: Domain,
    weight: str | None = None,
    unit: str | None = None,
    contributions: int = 1,
    value: str | None = None,
    grid: float = 1.0,
    clip: int = 0,
    missing: str = "category",
    outside: str = "other",
    marks: Mapping[str, str] | None = None,
    left_out: Mapping[str, Collection[str]] | None = None,
    derive: Mapping[str, Derived | str] | None = None,
    name: str | None = None,
    options: ReadOptions | None = None,
    progress: Progress | None = None,
) -> Dataset:
    r"""Return the counts of all records on the tree of a hierarchy of columns.

    Every record adds 1, or its weight, to one leaf. A path ends where all its deeper cells are blank; where the tree
    goes on below that node, and where a cell in the middle is blank, the value is missing.

    Parameters
    ----------
    origin : path, bytes, seekable binary file, pyarrow Table or pandas DataFrame
        The records.
    columns : sequence of str
        Columns of levels 1, 2, ..., at most 16.
    domain : Domain
        Which categories exist: `domain_of_values`, `domain_of_paths`, or `domain_taken_from_the_data` (not private).
    weight : str, optional
        Column of whole numbers >= 0: how many records a row stands for (counts added up elsewhere). The promise is
        then about one record counted, not about one row.
    unit, contributions : str, int, optional
        Column that names whom each row is about, and how many rows of one unit are counted: the first ones in the
        order of the file. Rows without a name are one unit. Protect that many records of a unit. The total moves with
        the number of a unit's counted rows, so "replace one" protects a unit among those with as many; to protect that
        number too, protect by adding or removing one.
    value, grid : str, float, optional
        Column of a value of each row, a number of at least 0, and the public grid to whose multiples values are
        rounded: how often each leaf has which value is kept in the report, and the counts are of rows.
    clip : int, optional
        Counts are sums of values instead, in steps of the grid, each value clipped to at most so many: 1 to 1000.
        Protect them by `treedp_core.privacy.sums.unit_of_sums`.
    missing : {"category", "other"}
        What becomes of a missing value: the category "(blank)", or the record is left out of all categories and
        counted in a leaf "(other)" below the root.
    outside : {"other", "refuse"}
        What becomes of records that a public domain has no place for, and of those left out: counted in a leaf
        "(other)" below the root, which the tree then always has; or the file is refused. Not counting them would tell
        of them wherever the total is public.
    marks : mapping from column to marks, optional
        How the counts of `weight` are written where they are text: a key of `treedp_core.records.recipe.MARKS`, such as
        ",." for 1.500; else they are digits only.
    left_out : mapping from column to labels, optional
        Rows that are no records, such as totals: those with one of these labels in that column of the file, chosen or
        not; "(blank)" stands for blank cells. They are reported, and taken to be nobody's: "replace one" protects a
        record among those that are counted.
    derive : mapping from name to Derived, or to its text, optional
        Levels that the file does not have as columns, each made of one of its columns by a rule of `DERIVATIONS`:
        ``{"month": "born:time:month"}``. They are named like columns from then on. A rule looks at one cell at a time,
        so that what it makes of a record does not depend on any other.
    name : str, optional
        Name to show.
    options : ReadOptions, optional
        Encoding and delimiter of a text file, sheet of a workbook.
    progress : callable, optional
        Called as ``progress(done, total)`` after each batch; raise from it to cancel.

    Returns
    -------
    Dataset
        Tree, labels, counts and a report in which every record is accounted for.

    Raises
    ------
    InputError
        The codes of `inspect`, of labels, of counts and of rows; ``NO_LEVELS``, ``TOO_MANY_LEVELS``,
        ``LEVEL_REPEATED``, ``COUNT_AS_LEVEL``, ``DOMAIN_LEVELS``, ``DOMAIN_COLUMNS``, ``COLUMN_UNKNOWN``,
        ``TOO_MANY_NODES``, ``TOTAL_TOO_LARGE``, ``MARKS``, ``LEFT_OUT``, ``DERIVE``,
        ``VALUE_MISSING``, ``VALUE_NEGATIVE``, ``VALUE_TOO_LARGE``, ``VALUE_GRID``, ``CLIP_RANGE``, ``VALUES_MANY``;
        ``OUTSIDE_DOMAIN`` where records
        that fit no category are to be refused; ``DOMAIN_IS_DATA`` when the records are given as their own public
        domain.

    Examples
    --------
    >>> from treedp_core.records import domain_of_values
    >>> csv = b"region,city\nNorth,Kiel\nNorth,Ulm\nSouth,Ulm\nSouth,Rome\n"
    >>> public = domain_of_values({"region": ["North", "South"], "city": ["Kiel", "Ulm"]})
    >>> data = count_hierarchy(csv, ["region", "city"], domain=public)
    >>> data.counts.tolist(), data.report.other, data.labels.path(5)
    ([4, 2, 1, 1, 1, 1, 0, 1], 1, ('North', 'Ulm'))
    >>> days = b"day\n2024-03-05\n2024-11-30\n2023-03-05\n"
    >>> from treedp_core.records import domain_taken_from_the_data
    >>> data = count_hierarchy(
    ...     days,
    ...     ["year", "month"],
    ...     domain=domain_taken_from_the_data(),
    ...     derive={"year": "day:time:year", "month": "day:time:month"},
    ... )
    >>> data.counts.tolist(), data.labels.path(5)
    ([3, 1, 2, 1, 1, 1], ('2024', '2024-11'))
    """
    from treedp_core.records.read.numbers.marks import checked

    table = with_derived(open_table(origin, name, options), derive)
    weight = None if weight is None else table.column(weight)
    chosen = _checked_choice(table, columns, weight)
    domain = domain.of_columns(chosen)
    valued = value_column(None if value is None else table.column(value), grid, clip, (weight, unit), chosen)
    numbers = [one for one in (weight, valued and valued.name) if one]
    said = checked(marks, numbers)
    out = LeftOut(table, left_out, numbers)
    quota = quota_of(None if unit is None else table.column(unit), contributions, weight, chosen)
    checks.one_of("missing", missing, MISSING_RULES)
    checks.one_of("outside", outside, OUTSIDE_RULES)
    digest = table.digest()
    domain.refuse_own_records(digest)
    tally = read_records(
        table, chosen, weight, domain, missing, progress, quota=quota, out=out, marks=said, value=valued
    )
    if domain.source is DomainSource.FROM_DATA:
        if out.rows == tally.rows:
            raise InputError(
                "NO_RECORDS", f"All {plural(out.rows, 'row')} are left out as no records: leave out fewer labels."
            )
        counted = _on_paths_of_the_data(table.preview.name, tally, missing, dict(table.preview.orders))
    else:
        counted = _on_public_tree(table.preview.name, tally, domain, missing, outside)
    recipe = Recipe(
        weight or "", *bound_of(quota), blanks_out=missing == "other", marks=marks_in_order(said),
        value="" if valued is None else valued.name, grid=0.0 if valued is None else valued.grid,
        left_out=out.as_pairs, derived=derived_as_pairs(table, [*chosen, *out.labels]), **said_of_file(table, options),
    )  # fmt: skip
    report = replace(counted.report, left_out=out.rows, recipe=recipe)
    found = replace(counted, report=report, source_digest=digest)
    totals = suspected(found, [(one.name, label) for one in tally.columns for label in one.unlisted_totals])
    told = (*table.notices, *report.notices, *notices(totals))
    found = replace(found, report=replace(report, notices=told, totals=totals))
    return sums_of(found, clip) if clip else found


def _checked_choice(table: TableReader, columns: Sequence[str], weight: str | None) -> list[str]:
    levels_checked(len(columns))
    chosen = [table.column(column) for column in columns]
    repeated = [column for column in chosen if chosen.count(column) > 1]
    if repeated:
        raise InputError("LEVEL_REPEATED", f"Column {echo(repeated[0])} is chosen twice; choose each column once.")
    if weight in chosen:
        raise InputError("COUNT_AS_LEVEL", f"Column {echo(weight)} holds the counts, so it cannot be a level too.")
    return chosen


def _on_paths_of_the_data(name: str, tally: Tally, missing: str, orders: Mapping[str, Sequence[str]]) -> Dataset:
    """Put the counts on the tree of the paths that occur, its children in the order that the file states of them.

    Where it states none, in reading order.
    """
    codes, sums = tally.counter.paths()
    pairs = None if tally.ranked is None else tally.ranked.pairs()
    tally.release()
    blanks = [column.blank for column in tally.columns]
    length = paths.lengths(codes, blanks)
    alive = np.ones(length.size, dtype=np.bool_)
    if missing == "other":
        for j, blank in enumerate(blanks):
            alive &= (codes[:, j] != blank) | (length <= j)
    vocabularies = [
        _sort_codes(codes, j, column, orders.get(column.name, ())) for j, column in enumerate(tally.columns)
    ]
    order = _order(codes, [len(v) for v in vocabularies])
    codes, length, alive, sums = codes[order], length[order], alive[order], sums[order]
    built = paths.build(codes, length, alive, keep_blank=missing == "category")
    kept = built.leaf_of_path >= 0
    own = np.zeros(built.tree.n_nodes, dtype=np.int64)
    np.add.at(own, built.leaf_of_path[kept], sums[kept])
    tally.other = tally.missing = int(sums[~kept].sum())
    if built.extended is not None and length[built.extended] > 0:
        tally.notices.append(_ragged_notice(codes[built.extended], int(length[built.extended]), vocabularies))
    tree, (level_codes, words) = built.tree, _used_only(built.codes, vocabularies)
    nodes, other = (None if pairs is None else _nodes_of(pairs, tally, built, vocabularies, missing)), NOWHERE
    if missing == "other":
        if nodes is not None:
            nodes, other = beside_other(tree, nodes, level_codes, words)
        tree, own, level_codes, words = with_other_leaf(tree, own, level_codes, words, tally.other)
    found = _dataset(name, tally, tree, own, level_codes, words, source=DomainSource.FROM_DATA)
    return found if pairs is None or nodes is None else _with_units(found, tally, pairs, nodes, other)


def _nodes_of(
    pairs: Pairs, tally: Tally, built: paths.PathTree, vocabularies: Sequence[Sequence[str]], missing: str
) -> IntArray:
    """Return the node of each path of a pair, (n_pairs,), on the tree of the paths within the bound."""
    special = []
    for j, (column, vocabulary) in enumerate(zip(tally.columns, vocabularies, strict=True)):
        place = {label: code for code, label in enumerate(vocabulary)}
        renumbered = np.array([place[label or text.BLANK] for label in column.labels], dtype=np.int32)
        pairs.codes[:, j] = renumbered[pairs.codes[:, j]]
        blank = place[text.BLANK]
        special.append(paths.Special(blank, blank, -1, len(vocabulary)))
    return places(built.tree, built.codes, pairs.codes, special, skip_blank=missing == "other", is_listed=False)


def _with_units(data: Dataset, tally: Tally, pairs: Pairs, nodes: IntArray, other: int) -> Dataset:
    """Have a data set say what bounds on the records of a unit leave out."""
    if tally.quota is None:
        values = pairs.values_on(data.tree, np.maximum(nodes, NOWHERE), other)
        return replace(data, report=replace(data.report, values=values))
    rows = pairs.on(data.tree, np.maximum(nodes, NOWHERE), other, counts=data.counts, bound=tally.quota.contributions)
    return replace(data, report=replace(data.report, unit_rows=rows))


def _on_public_tree(name: str, tally: Tally, domain: Domain, missing: str, outside: str) -> Dataset:
    tree, level_codes = domain.tree, domain.level_codes()
    assert tree is not None
    own = np.zeros(tree.n_nodes, dtype=np.int64)
    leaves = tally.counter.dense() if domain.path_tree is None else None
    if leaves is not None:
        own[tree.level(tree.height)] = leaves
    else:
        codes, sums = tally.counter.paths()
        leaf = paths.find(tree, level_codes, codes, _specials(tally.columns), skip_blank=missing == "other")
        np.add.at(own, leaf[leaf >= 0], sums[leaf >= 0])
        tally.unseen += int(sums[leaf == paths.UNSEEN].sum())
        tally.missing += int(sums[leaf == paths.MISSING].sum())
    domain.refuse_own_records("", own if tally.unseen == tally.missing == 0 else None)
    words: Words = domain.vocabularies
    pairs, nodes, other = None if tally.ranked is None else tally.ranked.pairs(), np.empty(0, np.int64), NOWHERE
    if pairs is not None:
        special = _specials(tally.columns)
        nodes = places(tree, level_codes, pairs.codes, special, skip_blank=missing == "other", is_listed=True)
    if outside == "refuse":
        refuse_outside(tally.unseen + tally.missing, example_of(tally))
    if outside == "other" and not (domain.lists_other and missing == "category"):
        tally.other = tally.unseen + tally.missing
        if pairs is not None:
            nodes, other = beside_other(tree, nodes, level_codes, words)
        tree, own, level_codes, words = with_other_leaf(tree, own, level_codes, words, tally.other)
    found = _dataset(name, tally, tree, own, level_codes, words, source=DomainSource.PUBLIC)
    return found if pairs is None else _with_units(found, tally, pairs, nodes, other)


def _dataset(
    name: str,
    tally: Tally,
    tree: Tree,
    own: IntArray,
    level_codes: Sequence[IntArray],
    vocabularies: Sequence[Sequence[str]],
    *,
    source: DomainSource,
) -> Dataset:
    counts = tree.add_up(own)
    labels = labels_of(tree, level_codes, vocabularies, [column.name for column in tally.columns])
    counting.total_checked(int(counts[0]), 0)
    report = ReadReport(
        rows=tally.rows,
        counted=int(counts[0]),
        blank_labels=_under_blank(tree, level_codes, vocabularies, own),
        other=tally.other,
        largest=tally.largest,
        **account_of(tally.quota),
        notices=tuple(tally.notices + strangers_notice(tally)),
    )
    return Dataset(name, tree, labels, counts, source, report)


def _under_blank(
    tree: Tree, level_codes: Sequence[IntArray], vocabularies: Sequence[Sequence[str]], own: IntArray
) -> int:
    """Return the records on leaves that are, or lie below, a "(blank)" node."""
    if not any(text.BLANK in vocabulary for vocabulary in vocabularies):
        return 0
    below = np.zeros(tree.n_nodes, dtype=np.bool_)
    for level, (codes, vocabulary) in enumerate(zip(level_codes, vocabularies, strict=False)):
        blank = vocabulary.index(text.BLANK) if text.BLANK in vocabulary else -1
        nodes = tree.level(level + 1)
        below[nodes] = below[tree.parent[nodes]] | (codes == blank)
    return int(own[below].sum())


def _sort_codes(codes: NDArray[np.int32], j: int, column: LabelColumn, stated: Sequence[str]) -> list[str]:
    """Renumber one column of codes in order, blanks as the "(blank)" category; return its labels."""
    shown = [label or text.BLANK for label in column.labels]
    # a path that ends where others go on needs the blank category even where no cell is blank in the middle
    here = {*shown, text.BLANK}
    first = [label for label in dict.fromkeys(stated) if label in here]
    ordered = [*first, *text.in_reading_order(here.difference(first))]
    rank = {label: code for code, label in enumerate(ordered)}
    codes[:, j] = np.array([rank[label] for label in shown], dtype=np.int32)[codes[:, j]]
    return ordered


def _order(codes: NDArray[np.int32], sizes: Sequence[int]) -> IntArray:
    """Return the order of the paths: by level 1, then level 2, and so on."""
    key = np.zeros(codes.shape[0], dtype=np.int64)
    product = 1
    for j, size in enumerate(sizes):
        product *= size
        if product > 1 << 62:
            return np.lexsort(codes.T[::-1])
        key = key * size + codes[:, j]
    return np.argsort(key, kind="stable")


def _used_only(
    level_codes: Sequence[IntArray], vocabularies: Sequence[Sequence[str]]
) -> tuple[tuple[IntArray, ...], Words]:
    """Drop labels that no node carries, so that equal trees have equal vocabularies."""
    kept_codes, kept_labels = [], []
    for codes, vocabulary in zip(level_codes, vocabularies, strict=False):
        used = np.zeros(len(vocabulary), dtype=np.bool_)
        used[codes] = True
        kept_codes.append((np.cumsum(used) - 1)[codes])
        kept_labels.append([vocabulary[code] for code in np.flatnonzero(used).tolist()])
    return tuple(kept_codes), tuple(kept_labels)


def _specials(columns: Sequence[LabelColumn]) -> list[paths.Special]:
    def position(column: LabelColumn, label: str) -> int:
        return column.labels.index(label) if label in column.labels else -1

    return [
        paths.Special(column.blank, position(column, text.BLANK), position(column, text.OTHER), column.size)
        for column in columns
    ]


def _ragged_notice(codes: NDArray[np.int32], length: int, vocabularies: Sequence[Sequence[str]]) -> text.Notice:
    shown = " > ".join(vocabularies[j][codes[j]] for j in range(length))
    return (
        "RAGGED_TREE",
        f"Some paths end where others go on, for example {echo(shown)}; their last value counts as missing.",
    )
