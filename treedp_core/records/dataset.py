"""What counting returns: a tree, its labels, its counts, and a report in which nothing is lost silently."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.privacy.prior_provenance import of_truth
from treedp_core.records.edges import FloatArray, are_intervals, edges_of_labels
from treedp_core.records.read.text import BLANK, OTHER, READ_BY, Notice, package_of
from treedp_core.records.recipe import Recipe
from treedp_core.records.unit_rows import MAX_TOTAL, MOST, UnitRows
from treedp_core.records.values.leaf_values import MOST_VALUES, LeafValues
from treedp_core.tree import AnyArray, Tree
from treedp_core.words import card, whole

IntArray = NDArray[np.int64]
TextArray = np.ndarray[tuple[Any, ...], np.dtypes.StringDType]

MAX_ROWS: Final = 100_000
"""Of a table of nodes."""
STEP: Final = " › "
"""Between the labels of a path."""
BESIDE: Final = (BLANK, OTHER)
"""Labels of leaves that lie beside intervals."""
_BLOCK: Final = 1 << 14  # labels taken out of one text at a time


class DomainSource(enum.Enum):
    """Where the list of categories came from."""

    PUBLIC = "public"
    FROM_DATA = "taken from the data"


@dataclass(frozen=True, eq=False)
class Labels:
    """The names of the nodes of a tree.

    Parameters
    ----------
    codes : (n_nodes,) int32
        Position of each node's label in the vocabulary of its level.
    vocabularies : tuple of (n_labels,) arrays of str
        One per level.
    level_names : tuple of str
        "all" for the root, then one name per level.
    level_start : (n_levels + 1,) int64
        As in the tree.
    parent : (n_nodes,) int64
        As in the tree.
    """

    codes: NDArray[np.int32]
    vocabularies: tuple[TextArray, ...]
    level_names: tuple[str, ...]
    level_start: IntArray
    parent: IntArray

    def __getstate__(self) -> dict[str, Any]:
        """Each vocabulary as one text and the lengths of its labels: labels one by one take ten times as much."""
        packed = tuple(("".join(words), np.strings.str_len(words).astype(np.int32)) for words in self.vocabularies)
        return vars(self) | {"vocabularies": packed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        unpacked = tuple(_apart(text, lengths) for text, lengths in state["vocabularies"])
        self.__dict__.update(state | {"vocabularies": unpacked})

    def label(self, node: int) -> str:
        """Return the label of one node; the root's is "all"."""
        level = int(np.searchsorted(self.level_start, node, side="right")) - 1
        return str(self.vocabularies[level][self.codes[node]])

    def path(self, node: int) -> tuple[str, ...]:
        """Return the labels from level 1 down to a node; the root's path is empty."""
        path: list[str] = []
        while node > 0:
            path.append(self.label(node))
            node = int(self.parent[node])
        return tuple(reversed(path))

    def paths_of(self, nodes: IntArray) -> list[tuple[str, ...]]:
        """Return the `path` of each of many nodes (n,), by way of those above them."""
        is_needed = np.zeros(self.parent.size, dtype=bool)
        is_needed[nodes] = True
        for start, stop in reversed(list(pairwise(self.level_start.tolist()))[1:]):
            is_needed[self.parent[start + np.flatnonzero(is_needed[start:stop])]] = True
        found: dict[int, tuple[str, ...]] = {0: ()}
        for (start, stop), words in list(zip(pairwise(self.level_start.tolist()), self.vocabularies, strict=True))[1:]:
            here = start + np.flatnonzero(is_needed[start:stop])
            labels = words[self.codes[here]].tolist()
            for node, above, label in zip(here.tolist(), self.parent[here].tolist(), labels, strict=True):
                found[node] = (*found[above], label)
        return [found[node] for node in nodes.tolist()]

    def paths(self, nodes: Iterable[int]) -> list[str]:
        """Return the whole path of each of some nodes as one text; the root's is its label."""
        known: dict[int, str] = {}

        def path(node: int) -> str:
            if node not in known:
                above = int(self.parent[node])
                known[node] = f"{path(above)}{STEP}{self.label(node)}" if above > 0 else self.label(node)
            return known[node]

        return [path(int(node)) for node in nodes]

    def found(self, said: str) -> IntArray:
        """Return the nodes whose label has a text in it, (n,), capitals or not, those that are all of it first.

        "south > ulm" finds those with "ulm" that lie below one with "south".
        """
        parts = [part.strip().lower() for part in said.replace(STEP.strip(), ">").split(">") if part.strip()]
        matched = np.zeros(self.parent.size, dtype=np.int64)
        whole, some = list[IntArray](), list[IntArray]()
        for (start, stop), words in list(zip(pairwise(self.level_start.tolist()), self.vocabularies, strict=True))[1:]:
            low, codes = np.strings.lower(words), self.codes[start:stop]
            above = matched[self.parent[start:stop]]
            has = np.array([np.strings.find(low, part) >= 0 for part in parts])
            is_next = np.zeros(above.size, dtype=bool)
            for at in range(len(parts)):
                is_next |= (above == at) & has[at][codes]
            matched[start:stop] = above + is_next
            if parts:
                is_hit = has[-1][codes] & (above >= len(parts) - 1)
                is_all = is_hit & (low == parts[-1])[codes]
                whole.append(start + np.flatnonzero(is_all))
                some.append(start + np.flatnonzero(is_hit & ~is_all))
        return np.concatenate([np.zeros(0, dtype=np.int64), *whole, *some])

    def of_level(self, level: int) -> TextArray:
        """Return the labels of a level, (nodes of the level,) array of str."""
        nodes = slice(int(self.level_start[level]), int(self.level_start[level + 1]))
        return self.vocabularies[level][self.codes[nodes]]


@dataclass(frozen=True)
class ReadReport:
    """What became of every record: each is counted, but for rows beyond the share of their unit or left out.

    Parameters
    ----------
    rows : int
        Rows read. The other figures are in records: a row of weight w is w records, without weights each row is one.
    counted : int
        Records that are in the counts.
    blank_labels : int
        Counted records that stand under a "(blank)" category.
    outside_range : int
        Records whose number lies outside the bounds (counted in the end bins or under "(other)").
    cut : int
        Records whose number was cut to the nearest bound: the counts are those of the column cut to its bounds.
    other : int
        Counted records that no listed category, or no bin, has a place for: they stand under "(other)".
    largest : int
        Most records that one row stands for: what is protected is one record counted, not one row.
    units, clipped : int
        Units that a column names, and the rows beyond the bound of their unit, which were left out; 0 where no column
        names units.
    unit_rows : UnitRows, optional
        What other bounds on the rows of a unit would leave out; None where no column names units, where rows and leaves
        make too many pairs, and where more than 1 000 rows of a unit count.
    values : LeafValues, optional
        How often each leaf has which value; None where no column is a value, and where there are too many of them.
    left_out : int
        Rows left out as no records, such as totals.
    notices : tuple of (code, sentence)
        What a person should know.
    totals : tuple of (column, label)
        Rows that may be totals of others, by a label that they have: proposed from the records.
    recipe : Recipe
        How rows became records.
    """

    rows: int
    counted: int
    blank_labels: int = 0
    outside_range: int = 0
    cut: int = 0
    other: int = 0
    largest: int = 1
    units: int = 0
    clipped: int = 0
    unit_rows: UnitRows | None = None
    values: LeafValues | None = None
    left_out: int = 0
    notices: tuple[Notice, ...] = ()
    totals: tuple[tuple[str, str], ...] = ()
    recipe: Recipe = field(default_factory=Recipe)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Exact counts of records on a tree (private data: never show them as a release).

    Parameters
    ----------
    name : str
        Name to show, as text only.
    tree : Tree
        The public structure.
    labels : Labels
        Names of its nodes.
    counts : (n_nodes,) int64, read-only
        Records below each node; a node's count is the sum of its children's.
    domain_source : DomainSource
        PUBLIC, or FROM_DATA when the list of categories itself depends on the records.
    report : ReadReport
        What became of every record.
    source_digest : str
        SHA-256 (hex) of the bytes of the file it was counted from; empty where there was no file.
    is_made_up : bool
        Whether its records are nobody's, so that another draw of them is public.
    credit : str
        Of published records: source, date and licence, which every copy of their numbers must say.
    """

    name: str
    tree: Tree
    labels: Labels
    counts: IntArray
    domain_source: DomainSource
    report: ReadReport
    source_digest: str = ""
    is_made_up: bool = False
    credit: str = ""

    def __post_init__(self) -> None:
        self.counts.flags.writeable = False

    def __repr__(self) -> str:
        return f"<Dataset {self.name[:60]!r} on {self.tree!r}, exact counts: NOT PRIVATE>"

    def _repr_html_(self) -> str:
        rows = [("levels", " › ".join(self.labels.level_names[1:])), ("categories", self.domain_source.value)]
        return card(f"{self.name[:60]}: exact counts, NOT PRIVATE", [("tree", repr(self.tree)[1:-1]), *rows])

    @property
    def not_reviewed(self) -> str:
        """Who read the file, where that is a plug-in whose reading nobody has reviewed, in a sentence; else nothing."""
        return dict(self.report.notices).get(READ_BY, "")

    @property
    def read_by(self) -> str:
        """That plug-in's package, or nothing."""
        return package_of(self.not_reviewed)

    @property
    def is_public(self) -> bool:
        """Whether its counts are no secret: of records that are nobody's, or that are published."""
        return self.is_made_up or bool(self.credit)

    @property
    def total(self) -> int:
        """Number of records counted."""
        return int(self.counts[0])

    @property
    def other_leaf(self) -> int | None:
        """The leaf "(other)" that closes level 1 and takes the records without a category or bin, if there is one."""
        if self.tree.height == 0:
            return None
        last = self.tree.level(1).stop - 1
        return last if self.tree.is_leaf[last] and self.labels.label(last) == OTHER else None

    @cached_property
    def edges(self) -> FloatArray | None:
        """Edges (n_bins + 1,) of the bins that `interval_leaves` are; None where they are none.

        Labels show the edges of a count of numbers exactly. Categories are bins where their labels all meet end to end.
        """
        level = self.tree.level(self.tree.height)
        labels = map(self.labels.label, range(level.start, level.stop))
        if not are_intervals(islice((label for label in labels if label not in BESIDE), 1)):  # most are not
            return None
        return edges_of_labels(self.labels.vocabularies[-1][self.labels.codes[self.interval_leaves]])

    @property
    def interval_leaves(self) -> IntArray:
        """Leaves (n_bins,) of the last level but "(blank)" and "(other)", which have no place among intervals."""
        last = self.labels.of_level(self.tree.height)
        is_beside = np.logical_or.reduce([last == label for label in BESIDE])
        inside: IntArray = self.tree.level(self.tree.height).start + np.flatnonzero(~is_beside)
        return inside

    def is_same_as(self, other: Dataset) -> bool:
        """Whether two data sets are one: counted from the same bytes, or with equal counts on leaves of equal names.

        What is called public must not be the private data once more, however it was stored or its rows were ordered.
        """
        if self.source_digest and self.source_digest == other.source_digest:
            return True
        if self.fingerprint == other.fingerprint:
            return True
        return self.total == other.total and self._occupied() == other._occupied()

    def _occupied(self) -> dict[tuple[str, ...], int]:
        """Counts of the leaves that hold records, by name."""
        held = self.tree.leaves[self.counts[self.tree.leaves] > 0]
        return dict(zip(self.labels.paths_of(held), self.counts[held].tolist(), strict=True))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 (hex) over tree shape, labels and counts: equal for equal data, however it was stored."""
        digest = hashlib.sha256()
        for array in (self.tree.level_start, self.tree.parent, self.counts, self.labels.codes):
            digest.update(np.ascontiguousarray(array).astype("<i8").tobytes())
        for vocabulary in self.labels.vocabularies:
            for label in vocabulary:
                encoded = label.encode("utf-8")
                digest.update(len(encoded).to_bytes(4, "little") + encoded)
            digest.update(b"\xff\xff\xff\xff")
        return digest.hexdigest()


def unchanged(data: Dataset, fingerprint: str) -> Dataset:
    """Return a data set whose fingerprint begins like this, as it did when a figure was made from it.

    Raises
    ------
    InputError
        ``DATA_CHANGED`` for another one.
    """
    if not data.fingerprint.startswith(fingerprint):
        raise InputError(
            "DATA_CHANGED",
            f"Expected the data that these numbers came from, with a fingerprint of {echo(fingerprint)} …, got "
            f"{echo(data.fingerprint[: len(fingerprint)])} …; it is another file, or its records have changed.",
        )
    return data


def sums_of(data: Dataset, clip: int) -> Dataset:
    r"""Return the same records with the sums of their values as counts, each value clipped to some steps of its grid.

    Parameters
    ----------
    data : Dataset
        Counted with a column of values.
    clip : int
        In steps, 1 to 1000.

    Raises
    ------
    InputError
        ``CLIP_RANGE``; ``VALUES_NONE`` without a column of values, ``VALUES_MANY`` where they are too many to keep.

    Examples
    --------
    >>> from treedp_core.records import count_hierarchy, domain_of_values
    >>> csv = b"shop,paid\na,0.49\na,30\nb,1.2\n"
    >>> data = count_hierarchy(csv, ["shop"], domain=domain_of_values([["a", "b"]]), value="paid", grid=0.5)
    >>> data.counts.tolist(), sums_of(data, 10).counts.tolist()
    ([3, 2, 1, 0], [13, 11, 2, 0])
    """
    checks.integer("the clip in steps of the grid", clip, low=1, high=MOST, code="CLIP_RANGE")
    report = data.report
    if not report.recipe.value:
        raise InputError("VALUES_NONE", "No column of this table is a value: count it again, and name one.")
    if report.values is None:
        raise InputError("VALUES_MANY", too_many())
    counts = report.values.sums(data.tree, clip)
    return replace(data, counts=counts, report=replace(report, recipe=replace(report.recipe, clip=clip)))


def too_many() -> str:
    """Return why values were not kept."""
    return (
        f"Leaves and values of this table make more than {whole(MOST_VALUES)} pairs, or add up to more than "
        f"{whole(MAX_TOTAL)} steps: count it again with a coarser grid."
    )


def labels_of(
    tree: Tree, codes: Sequence[NDArray[Any]], vocabularies: Sequence[Sequence[str] | TextArray], names: Sequence[str]
) -> Labels:
    """Return labels from the codes (n_nodes,) of the nodes of levels 1, 2, ... and their vocabularies."""
    n = tree.n_levels
    joined = np.concatenate([np.zeros(1, dtype=np.int32), *codes]).astype(np.int32, copy=False)
    joined.flags.writeable = False
    words = (text_array(("all",)), *map(text_array, vocabularies))
    return Labels(joined, words[:n], ("all", *names)[:n], tree.level_start, tree.parent)


def text_array(labels: Sequence[str] | TextArray) -> TextArray:
    """Return labels as an array of text, whose short ones take no memory beside it."""
    out = np.empty(len(labels), dtype=np.dtypes.StringDType())
    out[:] = labels
    out.flags.writeable = False
    return out


def _apart(text: str, lengths: NDArray[np.int32]) -> TextArray:
    """Return the labels that stand one after the other in a text."""
    end = np.cumsum(lengths, dtype=np.int64)
    out = np.empty(lengths.size, dtype=np.dtypes.StringDType())
    for first in range(0, lengths.size, _BLOCK):
        block = slice(first, first + _BLOCK)
        out[block] = [text[at - n : at] for at, n in zip(end[block].tolist(), lengths[block].tolist(), strict=True)]
    out.flags.writeable = False
    return out


def family(
    tree: Tree, labels: Labels, node: int, values: Mapping[str, AnyArray], n_children: int = MAX_ROWS
) -> dict[str, list[Any]]:
    """Return values (n_nodes,) of a node and of its first children as columns, by name.

    >>> tree = Tree.from_branching_factors((2,))
    >>> labels = labels_of(tree, [np.array([0, 1], dtype=np.int32)], [["north", "south"]], ["region"])
    >>> family(tree, labels, 0, {"count": np.array([4, 3, 1])}, 1)
    {'role': ['parent', 'child'], 'path': ['all', 'north'], 'count': [4.0, 3.0]}
    """
    children = tree.children(node)
    nodes = [node, *range(children.start, min(children.stop, children.start + n_children))]
    table: dict[str, list[Any]] = {
        "role": ["parent"] + ["child"] * (len(nodes) - 1),
        "path": labels.paths(nodes),
    }
    return table | {name: [float(value[one]) for one in nodes] for name, value in values.items()}


def counts_table(data: Dataset) -> dict[str, Any]:
    """Return every node, in level order, with a column for the label at each level and its exact count.

    Below a node's own level its cells are empty. Columns are arrays (n_nodes,).
    """
    labels, tree = data.labels, data.tree
    spans = list(pairwise(labels.level_start.tolist()))
    table: dict[str, Any] = {"level": np.repeat(np.arange(tree.n_levels), [stop - start for start, stop in spans])}
    for level, (words, (start, stop)) in enumerate(zip(labels.vocabularies, spans, strict=True)):
        column = np.full(tree.n_nodes, "", dtype=object)
        column[start:stop] = words[labels.codes[start:stop]].astype(object)
        for low, high in spans[level + 1 :]:
            column[low:high] = column[labels.parent[low:high]]
        table[f"level {level}: {labels.level_names[level]}"] = column
    return table | {of_truth("count"): data.counts}


def leaves_table(data: Dataset) -> dict[str, Any]:
    """Return the leaves of a tree, a row each, without counts: the form of a domain file.

    Columns have the names of the levels, and are arrays (n_leaves,); below a leaf that lies higher its cells are empty.
    """
    columns = list(counts_table(data).values())[2:-1]
    names = data.labels.level_names[1:]
    return {name: column[data.tree.leaves] for name, column in zip(names, columns, strict=True)}


def children_table(data: Dataset, node: int) -> dict[str, list[Any]]:
    """Return a node's children with their exact counts (at most 100 000 of them)."""
    nodes = range(data.tree.n_nodes)[data.tree.children(node)][:MAX_ROWS]
    return {
        "node": list(nodes),
        "path": data.labels.paths(nodes),
        of_truth("count"): [int(data.counts[one]) for one in nodes],
    }
