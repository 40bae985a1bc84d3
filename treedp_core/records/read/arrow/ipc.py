"""Arrow files (Feather) and Arrow streams in batches; what each message unpacks to is read before anything is."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import pyarrow as pa

from treedp_core.checks import InputError
from treedp_core.records.read import columns as cells
from treedp_core.records.read.arrow import tables
from treedp_core.records.read.arrow.stream import lent
from treedp_core.records.read.arrow.tables import BATCH_ROWS, MAX_ROWS
from treedp_core.records.read.file_checks import checked_columns, columns_within_limit, too_large
from treedp_core.records.read.sniff import PREVIEW_ROWS, Preview
from treedp_core.records.read.sources import FileSource, ReadOptions
from treedp_core.words import whole

MAGIC: Final = b"ARROW1\0\0"
MAX_MESSAGE_BYTES: Final = 512 << 20
"""A message, a batch of rows or the values of a dictionary, has to be in memory whole."""
FREE_MESSAGE_BYTES: Final = 64 << 20
MAX_MESSAGE_RATIO: Final = 4
"""Of a message larger than that: what it unpacks to, against what is stored."""
_DICTIONARY, _BATCH = 2, 3  # kinds of messages


def preview(source: FileSource, options: ReadOptions) -> Preview:
    """Return the preview of an Arrow file from its first batch."""
    n_rows = _checked_rows(source)
    with _opened(source) as reader:
        columns_within_limit(len(reader.schema))
        columns = tuple(checked_columns(reader.schema.names))
        head = next((batch for batch in reader if batch.num_rows), None)
        if head is None:
            raise InputError("NO_ROWS", "The file has columns but no rows; expected at least one record.")
        head.validate(full=True)
        first = head.slice(0, PREVIEW_ROWS)
        plain = [j for j, field in enumerate(reader.schema) if not pa.types.is_nested(field.type)]
        shown = dict(zip(plain, zip(*tables.as_text(pa.table(first).select(plain)), strict=True), strict=True))
        rows = tuple(zip(*(shown.get(j, ("…",) * first.num_rows) for j in range(len(columns))), strict=True))
        uses = tuple(cells.use_of(field.type) for field in reader.schema)
        orders = cells.orders_in(reader.schema, first)
    return Preview(source.name, "Arrow", columns, rows, n_rows, uses=uses, orders=orders)


def batches(
    source: FileSource, seen: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[pa.Array], int]]:
    """Yield (columns, bytes read so far, in proportion to rows) of the chosen columns, labels first.

    Raises
    ------
    InputError
        ``ARROW_CORRUPT``, ``COLUMN_TYPE``, ``TOO_MANY_ROWS``, ``ROW_GROUP_TOO_LARGE``, ``ENCODING``.
    """
    n_rows, done = max(1, _checked_rows(source)), 0
    own = [seen.columns.index(name) for name in (*labels, *numeric)]
    with _opened(source) as reader:
        schema = pa.schema([field.with_name(name) for name, field in zip(seen.columns, reader.schema, strict=True)])
        cells.check_types(schema, labels, numeric)
        for batch in reader:
            batch.validate(full=True)
            for start in range(0, batch.num_rows, BATCH_ROWS):
                part = batch.slice(start, BATCH_ROWS)
                done += part.num_rows
                yield [tables.with_own_values(part.column(j)) for j in own], source.size * done // n_rows


class _Message(NamedTuple):
    """What a message says of itself: its kind, its rows, and the bytes that it unpacks to."""

    kind: int
    rows: int
    n_bytes: int


def _checked_rows(source: FileSource) -> int:
    """Return the rows of all batches, once no message is too large for the memory, unpacked."""
    rows = 0
    with _stream(source) as stream:
        for message in pa.ipc.MessageReader.open_stream(stream):
            told = _told(bytes(message.metadata), message.body)
            stored = 0 if message.body is None else message.body.size
            allowed = min(MAX_MESSAGE_BYTES, max(FREE_MESSAGE_BYTES, MAX_MESSAGE_RATIO * stored))
            if told.n_bytes > allowed:
                raise InputError(
                    "ROW_GROUP_TOO_LARGE",
                    f"A batch of the file unpacks to {whole(told.n_bytes)} bytes; at most {whole(allowed)} "
                    "are accepted. Save the file with smaller batches, or only its columns of interest.",
                )
            rows += told.rows if told.kind == _BATCH else 0
    if rows > MAX_ROWS:
        raise InputError(
            "TOO_MANY_ROWS",
            f"The file has {whole(rows)} rows; at most {whole(MAX_ROWS)} are accepted. Add them up first.",
        )
    return rows


def _told(metadata: bytes, body: pa.Buffer | None) -> _Message:
    """Read the flatbuffer of a message (Arrow's Message.fbs), of which batches of rows and dictionaries have a body."""
    root = _Table(metadata, *struct.unpack_from("<I", metadata, 0))
    kind = root.scalar(1, "<B")
    if kind not in (_DICTIONARY, _BATCH):
        return _Message(kind, 0, 0)
    header = root.table(2)
    batch = header.table(1) if kind == _DICTIONARY else header
    rows, buffers, packed = batch.scalar(0, "<q"), batch.pairs(2), batch.has(3)
    content = memoryview(body) if body is not None else memoryview(b"")
    n_bytes = 0
    for offset, length in buffers:
        known = struct.unpack_from("<q", content, offset)[0] if packed and length >= 8 else length
        n_bytes += length if known == -1 else known  # -1: this one is stored as it is
        if min(offset, length, n_bytes) < 0 or offset + length > len(content):
            raise _corrupt()
    if rows < 0:
        raise _corrupt()
    return _Message(kind, rows, n_bytes)


class _Table:
    """A table in a flatbuffer: fields by number, each perhaps absent."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]

    def has(self, field: int) -> int:
        """Return where a field lies, relative to the table; 0 where it is absent."""
        size = struct.unpack_from("<H", self._data, self._fields)[0]
        place = 4 + 2 * field
        return int(struct.unpack_from("<H", self._data, self._fields + place)[0]) if place < size else 0

    def scalar(self, field: int, kind: str) -> int:
        """Return a number; 0 where it is absent."""
        at = self.has(field)
        return int(struct.unpack_from(kind, self._data, self._at + at)[0]) if at else 0

    def table(self, field: int) -> _Table:
        """Return a table within."""
        at = self._at + self.has(field)
        return _Table(self._data, at + struct.unpack_from("<I", self._data, at)[0])

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """Return a vector of pairs of 64-bit numbers."""
        if not self.has(field):
            return []
        at = self._at + self.has(field)
        start = at + struct.unpack_from("<I", self._data, at)[0]
        n = struct.unpack_from("<I", self._data, start)[0]
        flat = struct.unpack_from(f"<{2 * min(n, len(self._data))}q", self._data, start + 4)
        return list(zip(flat[::2], flat[1::2], strict=True))


@contextmanager
def _stream(source: FileSource) -> Iterator[pa.PythonFile]:
    """Open the messages of a file, and turn errors of the reader, which may quote cells, into refusals."""
    stream, refusal = source.open(), None
    try:
        stream.seek(len(MAGIC) if stream.read(len(MAGIC)).startswith(MAGIC[:6]) else 0)
        with lent(stream) as file:
            yield file
    except InputError:
        raise
    except (MemoryError, pa.ArrowCapacityError):
        refusal = too_large()
    except (pa.ArrowException, OSError, ValueError, struct.error, NotImplementedError, TypeError) as error:
        is_text = "UTF8" in str(error) or "utf-8" in str(error)
        refusal = InputError("ENCODING", "The file holds text that is not UTF-8.") if is_text else _corrupt()
    finally:
        source.release(stream)
    if refusal is not None:
        raise refusal from None  # the reader's own error may quote cells


@contextmanager
def _opened(source: FileSource) -> Iterator[pa.RecordBatchStreamReader]:
    with _stream(source) as stream, pa.ipc.open_stream(stream) as reader:
        yield reader


def _corrupt() -> InputError:
    return InputError("ARROW_CORRUPT", "The Arrow file is damaged or cut short; save it again.")
