"""CSV in batches: columns of long text as dictionaries, strict row width, blocks of 1 MB."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.csv as pa_csv

from treedp_core.checks import InputError
from treedp_core.records.read import columns, sources
from treedp_core.records.read.arrow.stream import hold_view, lent
from treedp_core.records.read.file_checks import encoding_error, row_refusal
from treedp_core.records.read.layout import encodings
from treedp_core.records.read.sniff import QUOTE, Preview
from treedp_core.records.read.sources import ByteStream, FileSource
from treedp_core.words import whole

FIRST_ROW = 2  # the header is row 1
_PADDED_ROWS = 1_000


def batches(
    source: FileSource, preview: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[pa.Array], int]]:
    """Yield (columns, bytes read so far): the labels, as text or as dictionaries of text, then the numbers as text.

    Raises
    ------
    InputError
        ``ROW_WIDTH``, ``QUOTE``, ``ROW_TOO_LONG``, ``ENCODING``, ``GZIP_TOO_LARGE``, ``GZIP_CORRUPT``.
    """
    stream = _stream(source, preview)
    refusals: list[InputError] = []
    n_rows, failed = 0, False
    try:
        with lent(_Padded(stream, preview) if preview.layout.is_short else stream) as file:
            for batch in _open(file, source, preview, labels, numeric, refusals):
                n_rows += batch.num_rows
                if not stream.is_ascii:
                    batch.validate(full=True)
                yield list(batch.columns), min(stream.done, source.size)
    except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowCapacityError, OSError, UnicodeError):
        failed = True  # refused below, outside this block: the reader's own error quotes cells and must not be chained
    finally:
        stream.close()
    if failed:
        raise _diagnosis(source, preview, stream, refusals)
    if stream.has_quotes or preview.layout.quote != QUOTE:
        refuse_torn_quotes(source, preview, n_rows)
    if not stream.has_blank_lines:
        preview.leaps[:] = [(0, preview.layout.header + 1)]


class _Padded(io.RawIOBase):
    """The rows of a stream, each with a cell for every column, however early it ends."""

    def __init__(self, stream: ByteStream, preview: Preview) -> None:
        text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8", newline="")
        self._rows = csv.reader(text, **preview.layout.reading(preview.delimiter))
        self._width, self._written = len(preview.columns), io.StringIO(newline="")
        self._writer = csv.writer(self._written, delimiter=preview.delimiter, lineterminator="\n")
        self._pending = b""

    def readable(self) -> bool:
        """Return True: this is an input stream."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes of rows, empty at the end."""
        size = sources.BLOCK_BYTES if size is None or size < 0 else size
        while len(self._pending) < size:
            rows = list(islice(self._rows, _PADDED_ROWS))
            if not rows:
                break
            self._writer.writerows([*row, *[""] * (self._width - len(row))] if row else row for row in rows)
            self._pending += self._written.getvalue().encode("utf-8")
            self._written.seek(0)
            self._written.truncate()
        piece, self._pending = self._pending[:size], self._pending[size:]
        return piece


def _stream(source: FileSource, preview: Preview) -> ByteStream:
    return ByteStream(source, preview.encoding, footer=preview.layout.footer)


def _open(
    file: pa.PythonFile,
    source: FileSource,
    preview: Preview,
    labels: Sequence[str],
    numeric: Sequence[str],
    refusals: list[InputError],
) -> pa_csv.CSVStreamingReader:
    # columns go by position, so no name can confuse the reader
    position = {name: str(j) for j, name in enumerate(preview.columns)}
    types: dict[str, pa.DataType] = {position[name]: _text_type(preview, int(position[name])) for name in labels}
    types |= {position[name]: pa.string() for name in numeric}
    layout = preview.layout

    def refuse(row: pa_csv.InvalidRow) -> str:
        torn = row.text.count(layout.quote) % 2 == 1
        number = None if row.number is None else _row_of(row.number, source, preview)
        refusals.append(row_refusal(number, row.actual_columns, row.expected_columns, torn=torn))
        return "error"

    parsing = pa_csv.ParseOptions(
        delimiter=preview.delimiter,
        quote_char=QUOTE if layout.is_short else layout.quote,
        escape_char=(not layout.is_short and layout.escape) or False,
        newlines_in_values=True,
        ignore_empty_lines=len(preview.columns) > 1,
        invalid_row_handler=refuse,
    )
    hold_view(parsing)
    return pa_csv.open_csv(
        file,
        read_options=pa_csv.ReadOptions(
            use_threads=False,
            block_size=sources.BLOCK_BYTES,
            column_names=list(position.values()),
            skip_rows_after_names=layout.header,
        ),
        parse_options=parsing,
        convert_options=pa_csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[],
            strings_can_be_null=False,
            check_utf8=False,  # `batches` does, from the first byte on that is not ASCII
        ),
    )


def _row_of(number: int, source: FileSource, preview: Preview) -> int:
    """The number of a row that the reader counts without the blank ones."""
    first = preview.layout.header + 1
    *_, at = [one for one in leaps(source, preview) if one[0] <= number - first] or [(0, first)]
    return number - first - at[0] + at[1]


def _text_type(preview: Preview, j: int) -> pa.DataType:
    """Return the fastest type for labels of column j: plain text where the first rows are short."""
    widest = max((len(row[j].encode("utf-8")) for row in preview.rows), default=0)
    return pa.string() if widest <= columns.WIDEST else pa.dictionary(pa.int32(), pa.string())


def _diagnosis(source: FileSource, preview: Preview, stream: ByteStream, refusals: list[InputError]) -> Exception:
    """Return the refusal that explains why the reader stopped; its own text is dropped, for it quotes cells."""
    if stream.failure is not None:
        return stream.failure
    if refusals:
        return refusals[0]
    offset = _first_bad_byte(source, preview.encoding)
    if offset is not None:
        return encoding_error(offset, _encoding_at(source, offset) if preview.encoding == "utf-8" else "")
    try:
        refuse_torn_quotes(source, preview)
    except InputError as refusal:
        return refusal
    return sources.row_too_long()


def _encoding_at(source: FileSource, offset: int) -> str:
    """Return the encoding in which the letters around a byte make sense; nothing for a packed file, or none."""
    if sources.is_gzip(source.head(2)):
        return ""
    stream = source.open()
    try:
        stream.seek(max(0, offset - 100))
        found = encodings.guessed(stream.read(sources.SNIFF_BYTES))
    finally:
        source.release(stream)
    return found[0] if found else ""


def _first_bad_byte(source: FileSource, encoding: str) -> int | None:
    stream = ByteStream(source, encoding)
    decoder, done = codecs.getincrementaldecoder("utf-8")(), 0
    try:
        while True:
            block = stream.read(sources.BLOCK_BYTES)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return done - pending + error.start
            done += len(block)
            if not block:
                return None
    finally:
        stream.close()


def refuse_torn_quotes(source: FileSource, preview: Preview, n_rows: int | None = None) -> None:
    """Refuse a file in which a stray quotation mark swallowed rows (the reader itself would accept that silently).

    A file whose quotation marks pair up and whose lines are as many as its rows is sound; only others are read again,
    row by row.
    """
    quotes, lines = _quotes_and_lines(source, preview)
    if quotes == 0 or (quotes % 2 == 0 and lines - preview.layout.header == n_rows):
        return
    stream = io.TextIOWrapper(io.BufferedReader(_stream(source, preview)), encoding="utf-8", newline="")
    rows = csv.reader(stream, **preview.layout.reading(preview.delimiter), strict=True)
    number, torn = 0, False
    try:
        for _ in rows:
            number += 1
    except csv.Error:
        torn = True
    finally:
        stream.close()
    if torn:
        raise InputError(
            "QUOTE",
            f"Row {whole(number + 1)} has a quotation mark ({preview.layout.quote}) that is not closed, or "
            "text after a closing one.",
        )


def leaps(source: FileSource, preview: Preview) -> list[tuple[int, int]]:
    """Return where the numbers of rows leap, as lines are blank that hold no record: row by row if there are any."""
    noted = _noted(source, preview)
    header = preview.layout.header
    if not noted.has_blank_lines:
        return [(0, header + 1)]
    stream = io.TextIOWrapper(io.BufferedReader(_stream(source, preview)), encoding="utf-8", newline="")
    found, record, expected = list[tuple[int, int]](), -1, FIRST_ROW
    rows: Iterable[object] = csv.reader(stream, **preview.layout.reading(preview.delimiter))
    if not noted.has_quotes and preview.layout.quote == QUOTE:
        rows = (line.strip("\r\n") for line in stream)
    try:
        for number, row in enumerate(rows, start=1):
            if number <= header or (not row and len(preview.columns) > 1):
                continue
            record += 1
            if number != expected:
                found.append((record, number))
            expected = number + 1
    except (csv.Error, UnicodeError, InputError):
        pass  # refused by what reads the records
    finally:
        stream.close()
    return found or [(0, header + 1)]


def _noted(source: FileSource, preview: Preview) -> ByteStream:
    """Return a stream that was read to its end, or to where it is refused, for what it noted."""
    stream = _stream(source, preview)
    try:
        while stream.read(sources.BLOCK_BYTES):
            pass
    except InputError:
        pass  # by what reads the records
    finally:
        stream.close()
    return stream


def _quotes_and_lines(source: FileSource, preview: Preview) -> tuple[int, int]:
    """Count quotation marks, and lines but the blank ones at the end."""
    stream = _stream(source, preview)
    mark = preview.layout.quote.encode()
    quotes = lines = after = 0
    try:
        while block := stream.read(sources.BLOCK_BYTES):
            quotes += block.count(mark)
            body = block.rstrip(b"\r\n")
            if body:
                lines, after = lines + after + body.count(b"\n"), 0
            after += block.count(b"\n", len(body))
    finally:
        stream.close()
    return quotes, lines + 1
