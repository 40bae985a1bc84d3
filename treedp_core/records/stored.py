"""A data set as it is stored: a table of its nodes as Parquet, everything else as JSON; and back, checked."""

from __future__ import annotations

import io
import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from treedp_core import checks
from treedp_core.checks import InputError, echo
from treedp_core.records.dataset import Dataset, DomainSource, ReadReport, labels_of
from treedp_core.records.read import text
from treedp_core.records.read.strict_json import Json, members
from treedp_core.tree import Tree
from treedp_core.words import whole

NODES: Final = ("parent", "code", "count")
MAX_NOTICES: Final = 50
MAX_NOTICE: Final = 2_000
MAX_LEVELS: Final = 65
MAX_NAME: Final = 1_000
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_REPORT: Final = (
    "rows", "counted", "blank_labels", "outside_range", "cut", "other", "largest", "units", "contributions", "clipped",
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
    """Return what a data set has besides its nodes, as JSON."""
    report = {name: getattr(data.report, name) for name in _REPORT}
    return {
        "name": data.name,
        "levels": list(data.labels.level_names),
        "level_start": data.tree.level_start.tolist(),
        "labels": [list(words) for words in data.labels.vocabularies[1:]],
        "domain": data.domain_source.value,
        "report": {**report, "notices": [list(one) for one in data.report.notices]},
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
    parent, code, count = _read(nodes)
    tree = Tree(parent, _level_start(told["level_start"], parent.size))
    words = [_labels(one) for one in told["labels"]]
    names = _names(told["levels"])
    if not len(names) == tree.n_levels == len(words) + 1 or names[0] != "all":
        raise _damaged("its levels have no names or labels")
    codes = [code[tree.level(level)] for level in range(1, tree.n_levels)]
    if code[0] != 0 or any(np.any((one < 0) | (one >= len(two))) for one, two in zip(codes, words, strict=True)):
        raise _damaged("a node has no label")
    if not np.array_equal(count, _added_up(tree, count)):
        raise _damaged("its counts do not add up")
    checks.one_of("the domain", told["domain"], [one.value for one in DomainSource], "DATA_STORED")
    data = Dataset(
        _name(told["name"]), tree, labels_of(tree, codes, words, names[1:]), count, DomainSource(told["domain"]),
        _report(told["report"]), told["source_digest"],
    )  # fmt: skip
    if data.fingerprint != told["fingerprint"] or len(data.source_digest) not in (0, 64):
        raise _damaged("its fingerprint is another")
    return data


def _read(nodes: bytes) -> list[NDArray[np.int64]]:
    """The three columns, once the footer promises no more than they may be."""
    try:
        file = pq.ParquetFile(io.BytesIO(nodes), page_checksum_verification=False)
        schema, rows = file.schema_arrow, file.metadata.num_rows
        if tuple(schema.names) != NODES or any(kind != pa.int64() for kind in schema.types):
            raise _damaged("its nodes are no table of parents, codes and counts")
        checks.nodes(rows)
        batches = list(file.iter_batches(batch_size=1 << 16))
        table = pa.Table.from_batches(batches, schema)
    except pa.ArrowException as error:
        raise _damaged("its nodes cannot be read") from error
    except OSError as error:
        raise _damaged("its nodes cannot be read") from error
    if len(table) != rows or rows == 0 or any(column.null_count for column in table.columns):
        raise _damaged("nodes are missing")
    columns = [column.to_numpy().astype(np.int64) for column in table.columns]
    if np.any(columns[2] < 0) or np.any(columns[2] > checks.MAX_COUNT):
        raise _damaged("a count is out of range")
    return columns


def _added_up(tree: Tree, count: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(tree.counts_of_leaves(count[tree.leaves]))


def _level_start(given: list[Any], n_nodes: int) -> NDArray[np.int64]:
    if len(given) > MAX_LEVELS + 1 or any(type(one) is not int or not 0 <= one <= n_nodes for one in given):
        raise _damaged("its levels are no places of nodes")
    return np.array(given, dtype=np.int64)


def _labels(given: Json) -> list[str]:
    if not isinstance(given, list) or len(given) > checks.MAX_NODES:
        raise _damaged("its labels are no lists of text")
    return [_word(one) for one in given]


def _names(given: list[Any]) -> list[str]:
    return [_name(one) for one in given]


def _name(one: Json) -> str:
    """What a file or a column is called; it is shown as text only, whatever is in it."""
    if not isinstance(one, str) or len(one) > MAX_NAME or _SURROGATE.search(one):
        raise _damaged("a name is no text")
    return one


def _word(one: Json) -> str:
    if not isinstance(one, str):
        raise _damaged("a label is no text")
    trouble = text.problem(one)
    if trouble:
        raise InputError("DATA_STORED", f"A stored label has {trouble[1]}; {text.accepted(trouble[0])}.")
    return one


def _report(given: Json) -> ReadReport:
    told = members(given, "A report", notices=list, **dict.fromkeys(_REPORT, int))
    numbers = {
        name: checks.integer(f"the stored {name}", told[name], low=0, high=checks.MAX_COUNT, code="DATA_STORED")
        for name in _REPORT
    }
    if len(told["notices"]) > MAX_NOTICES:
        raise _damaged(f"it has more than {whole(MAX_NOTICES)} notices")
    return ReadReport(**numbers, notices=tuple(map(_notice, told["notices"])))


def _notice(given: Json) -> tuple[str, str]:
    if not isinstance(given, list) or len(given) != 2 or not all(isinstance(one, str) for one in given):
        raise _damaged("a notice is no pair of texts")
    code, sentence = given
    if len(code) > checks.MAX_ECHO or len(sentence) > MAX_NOTICE or _CONTROL.search(code + sentence):
        raise InputError("DATA_STORED", f"A stored notice is no sentence: {echo(sentence)}.")
    return code, sentence


def _damaged(why: str) -> InputError:
    return InputError("DATA_STORED", f"A stored data set is damaged: {why}.")
