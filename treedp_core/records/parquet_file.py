"""A data set as it is stored: a table of its nodes as Parquet, everything else as JSON; and back, checked."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records import unit_rows
from treedp_core.records.dataset import Dataset, DomainSource, ReadReport, TextArray, labels_of
from treedp_core.records.read import text
from treedp_core.records.recipe import as_json, recipe_of
from treedp_core.records.strict_json import Json, members
from treedp_core.records.values import leaf_values
from treedp_core.tree import Tree
from treedp_core.words import whole

NODES: Final = ("parent", "code", "count")
MAX_NOTICES: Final = 50
MAX_NOTICE: Final = 2_000
MAX_LEVELS: Final = 65
MAX_NAME: Final = 1_000
_BATCH: Final = 1 << 16
_BLOCK: Final = 1 << 16
_NO_OVERFLOW: Final = 2.0**62
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_REPORT: Final = (
    "rows", "counted", "blank_labels", "outside_range", "cut", "other", "largest", "units", "clipped", "left_out",
)  # fmt: skip


def nodes_of(data: Dataset) -> bytes:
    """Return the nodes of a data set as a Parquet file: parent, code of the label and TRUE COUNT of each."""
    columns = [data.tree.parent, data.labels.codes.astype(np.int64), data.counts]
    out = io.BytesIO()
    pq.write_table(
        pa.table([pa.array(one, pa.int64()) for one in columns], names=list(NODES)), out, compression="zstd",
        use_dictionary=False, store_schema=False, write_statistics=False,
    )  # fmt: skip
    return out.getvalue()


def about(data: Dataset) -> dict[str, Any]:
    """Return what a data set has besides its nodes, as JSON; the labels of a level are one text, a line each.

    Raises
    ------
    InputError
        ``DATA_STORED`` for a label that cannot be read again.
    """
    report = {name: getattr(data.report, name) for name in _REPORT}
    return {
        "name": data.name,
        "levels": list(data.labels.level_names),
        "level_start": data.tree.level_start.tolist(),
        "labels": [_joined(words) for words in data.labels.vocabularies[1:]],
        "domain": data.domain_source.value,
        "report": {
            **report,
            "notices": [list(one) for one in data.report.notices],
            "totals": [list(one) for one in data.report.totals],
            "recipe": as_json(data.report.recipe),
            "unit_rows": unit_rows.as_json(data.report.unit_rows),
            "values": leaf_values.as_json(data.report.values),
        },
        "source_digest": data.source_digest,
        "fingerprint": data.fingerprint,
    }


def restored(said: Json, nodes: bytes) -> Dataset:
    r"""Return the data set of `about` and `nodes_of`.

    Raises
    ------
    InputError
        ``DATA_STORED``, ``TREE_SHAPE``, ``TOO_MANY_NODES``, and the codes of `strict_json.members`.

    Examples
    --------
    >>> from treedp_core.records import count_hierarchy, domain_of_values
    >>> data = count_hierarchy(b"sex\nF\nM\n", ["sex"], domain=domain_of_values([["F", "M"]]))
    >>> restored(about(data), nodes_of(data)).fingerprint == data.fingerprint
    True
    """
    told = members(
        said, "A data set", name=str, levels=list, level_start=list, labels=list, domain=str, report=dict,
        source_digest=str, fingerprint=str,
    )  # fmt: skip
    words = [_labels(one) for one in told["labels"]]
    parent, code, count = _read(nodes)
    tree = Tree(parent, _level_start(told["level_start"], parent.size))
    names = _names(told["levels"])
    if not len(names) == tree.n_levels == len(words) + 1 or names[0] != "all":
        raise _damaged("its levels have no names or labels")
    codes = [code[tree.level(level)] for level in range(1, tree.n_levels)]
    if code[0] != 0 or any(np.any((one < 0) | (one >= len(two))) for one, two in zip(codes, words, strict=True)):
        raise _damaged("a node has no label")
    if not _adds_up(tree, count):
        raise _damaged("its counts do not add up")
    checks.one_of("the domain", told["domain"], [one.value for one in DomainSource], "DATA_STORED")
    data = Dataset(
        _name(told["name"]), tree, labels_of(tree, codes, words, names[1:]), count, DomainSource(told["domain"]),
        _report(told["report"], tree, count), told["source_digest"],
    )  # fmt: skip
    if data.fingerprint != told["fingerprint"] or len(data.source_digest) not in (0, 64):
        raise _damaged("its fingerprint is another")
    return data


def _read(nodes: bytes) -> list[NDArray[np.int64]]:
    """The three columns, once the footer promises no more than they may be.

    They are filled a piece at a time: whole, pyarrow would hold them twice beside what is returned.
    """
    try:
        file = pq.ParquetFile(io.BytesIO(nodes), page_checksum_verification=False, pre_buffer=False)
        schema, rows = file.schema_arrow, file.metadata.num_rows
        if tuple(schema.names) != NODES or any(kind != pa.int64() for kind in schema.types):
            raise _damaged("its nodes are no table of parents, codes and counts")
        checks.nodes(rows)
        columns, at = [np.empty(rows, np.int64) for _ in NODES], 0
        for batch in file.iter_batches(batch_size=_BATCH, use_threads=False):
            if at + len(batch) > rows or any(column.null_count for column in batch.columns):
                raise _damaged("nodes are missing")
            for column, values in zip(columns, batch.columns, strict=True):
                column[at : at + len(batch)] = values.to_numpy()
            at += len(batch)
    except pa.ArrowException as error:
        raise _damaged("its nodes cannot be read") from error
    except OSError as error:
        raise _damaged("its nodes cannot be read") from error
    if at < rows or rows == 0:
        raise _damaged("nodes are missing")
    if np.any(columns[2] < 0) or np.any(columns[2] > checks.MAX_COUNT):
        raise _damaged("a count is out of range")
    return columns


def _adds_up(tree: Tree, count: NDArray[np.int64]) -> bool:
    """Whether each node that has children counts what they do; asking the tree would leave its tables in memory."""
    if count.sum(dtype=np.float64) > _NO_OVERFLOW:
        return False
    below, has_children = np.zeros_like(count), np.zeros(count.size, dtype=bool)
    np.add.at(below, tree.parent[1:], count[1:])
    has_children[tree.parent[1:]] = True
    return bool(np.array_equal(below[has_children], count[has_children]))


def _level_start(given: list[Any], n_nodes: int) -> NDArray[np.int64]:
    if len(given) > MAX_LEVELS + 1 or any(type(one) is not int or not 0 <= one <= n_nodes for one in given):
        raise _damaged("its levels are no places of nodes")
    return np.array(given, dtype=np.int64)


def _joined(words: TextArray) -> str:
    joined = "\n".join(words)
    if joined.count("\n") != max(0, len(words) - 1):
        raise _damaged("a label has more than one line")
    return joined


def _labels(given: Json) -> TextArray:
    """The labels of a level, a line each."""
    if not isinstance(given, str):
        raise _damaged("its labels are no text")
    n_labels = given.count("\n") + 1
    checks.nodes(n_labels)
    found, at = np.empty(n_labels, dtype=np.dtypes.StringDType()), 0
    for block in _lines(given):
        for one in block:
            _check_word(one)
        found[at : at + len(block)] = block
        at += len(block)
    return found


def _lines(text: str) -> Iterator[list[str]]:
    """The lines of a text, some of them at a time: all at once take ten times as much memory as their text."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start + _BLOCK)
        end = len(text) if end < 0 else end
        yield text[start:end].split("\n")
        start = end + 1


def _names(given: list[Any]) -> list[str]:
    return [_name(one) for one in given]


def _name(one: Json) -> str:
    """What a file or a column is called; it is shown as text only, whatever is in it."""
    if not isinstance(one, str) or len(one) > MAX_NAME or _SURROGATE.search(one):
        raise _damaged("a name is no text")
    return one


def _check_word(one: Json) -> None:
    if not isinstance(one, str):
        raise _damaged("a label is no text")
    trouble = text.problem(one)
    if trouble:
        raise InputError("DATA_STORED", f"A stored label has {trouble[1]}; {text.accepted(trouble[0])}.")


def _report(given: Json, tree: Tree, counts: NDArray[np.int64]) -> ReadReport:
    told = members(
        given, "A report", notices=list, totals=list, recipe=dict, unit_rows=(dict, type(None)),
        values=(dict, type(None)),
        **dict.fromkeys(_REPORT, int),
    )  # fmt: skip
    numbers = {
        name: checks.integer(f"the stored {name}", told[name], low=0, high=checks.MAX_COUNT, code="DATA_STORED")
        for name in _REPORT
    }
    if len(told["notices"]) > MAX_NOTICES:
        raise _damaged(f"it has more than {whole(MAX_NOTICES)} notices")
    recipe = recipe_of(told["recipe"])
    return ReadReport(
        **numbers,
        notices=tuple(map(_notice, told["notices"])),
        totals=tuple(map(_total, told["totals"])),
        recipe=recipe,
        unit_rows=unit_rows.restored(told["unit_rows"], tree.n_levels),
        values=leaf_values.restored(told["values"], tree, counts, recipe.clip),
    )


def _notice(given: Json) -> tuple[str, str]:
    if not isinstance(given, list) or len(given) != 2 or not all(isinstance(one, str) for one in given):
        raise _damaged("a notice is no pair of texts")
    code, sentence = given
    if len(code) > checks.MAX_ECHO or len(sentence) > MAX_NOTICE or _CONTROL.search(code + sentence):
        raise InputError("DATA_STORED", f"A stored notice is no sentence: {echo(sentence)}.")
    return code, sentence


def _total(given: Json) -> tuple[str, str]:
    if not isinstance(given, list) or len(given) != 2:
        raise _damaged("a total is no column and label")
    return _name(given[0]), _name(given[1])


def _damaged(why: str) -> InputError:
    return InputError("DATA_STORED", f"A stored data set is damaged: {why}.")
