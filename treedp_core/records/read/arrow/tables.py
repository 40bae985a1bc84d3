"""Parquet files and tables in memory in batches; a Parquet footer is judged before anything else is read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from treedp_core.checks import InputError, echo
from treedp_core.records.arrays import is_text
from treedp_core.records.read import columns as cells
from treedp_core.records.read.arrow.cells import OUT_OF_RANGE, as_words, is_binary, is_readable
from treedp_core.records.read.file_checks import checked_columns, columns_within_limit, too_large
from treedp_core.records.read.readers import HeldColumns
from treedp_core.records.read.sniff import PREVIEW_ROWS, Preview
from treedp_core.records.read.sources import FileSource, ReadOptions, TableSource
from treedp_core.words import whole

if TYPE_CHECKING:
    import pandas as pd

TableInMemory: TypeAlias = "pa.Table | pd.DataFrame"
FIRST_ROW = 1
MAX_ROWS: Final = 100_000_000
MAX_ROW_GROUP_BYTES: Final = 2 << 30
BATCH_ROWS: Final = 1 << 17
SHOWN_CHARACTERS: Final = 80


def preview_parquet(source: FileSource, options: ReadOptions) -> Preview:
    """Return the preview of a Parquet file from its footer and its first rows."""
    if source.head(4) == b"PARE":
        raise _unreadable("encrypted")
    with _opened(source) as file:
        columns, stored = _checked_footer(file), file.schema_arrow
        flat = [field.name for field in file.schema_arrow if not pa.types.is_nested(field.type)]
    with _opened(source, read_dictionary=flat) as file:
        uses = tuple(cells.use_of(field.type) for field in file.schema_arrow)
        shown, head = _first_rows(file)
        orders = () if head is None else cells.orders_in(stored, head)
        return Preview(source.name, "Parquet", columns, shown, file.metadata.num_rows, uses=uses, orders=orders)


def parquet_batches(
    source: FileSource, preview: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[pa.Array], int]]:
    """Yield (columns, bytes read so far, in proportion to rows) of the chosen columns, labels first.

    Raises
    ------
    InputError
        ``PARQUET_CORRUPT``, ``PARQUET_ENCRYPTED``, ``COLUMN_TYPE``, ``TOO_MANY_ROWS``, ``ROW_GROUP_TOO_LARGE``.
    """
    chosen = [*labels, *numeric]
    with _opened(source) as file:
        stored = dict(zip(_checked_footer(file), file.schema_arrow, strict=True))
        cells.check_types(pa.schema([field.with_name(name) for name, field in stored.items()]), labels, numeric)
        _refuse_dense_row_groups(file)
    own = [stored[name].name for name in chosen]
    with _opened(source, read_dictionary=own) as file:  # text is never written out, however often one entry occurs
        n_rows, done = max(1, file.metadata.num_rows), 0
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=own, use_threads=True):
            batch.validate(full=True)  # a damaged page can hold indices beyond its dictionary
            done += batch.num_rows
            yield [batch.column(name) for name in own], source.size * done // n_rows
    pa.default_memory_pool().release_unused()  # the pages of a row group are large and not needed again


def preview_table(source: TableSource, options: ReadOptions) -> Preview:
    """Return the preview of a pyarrow Table or a pandas DataFrame."""
    table: TableInMemory = source.table
    columns = tuple(checked_columns([str(column) for column in _column_names(table)]))
    if len(table) == 0:
        raise InputError("NO_ROWS", "The table has columns but no rows; expected at least one record.")
    head = as_table(table[:PREVIEW_ROWS], columns, columns)
    _refuse_invalid(head)
    uses = tuple(cells.use_of(field.type) for field in head.schema)
    orders = cells.orders_in(head.schema, head)
    return Preview(source.name, "table in memory", columns, as_text(head), len(table), uses=uses, orders=orders)


def table_batches(
    source: TableSource, preview: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[pa.Array], int]]:
    """Yield (columns, rows read so far) of the chosen columns of a table in memory, labels first."""
    chosen = [*labels, *numeric]
    arrow = as_table(source.table, preview.columns, chosen)
    cells.check_types(arrow.schema, labels, numeric)
    done = 0
    for batch in arrow.to_batches(max_chunksize=BATCH_ROWS):
        _refuse_invalid(batch)
        done += batch.num_rows
        yield [batch.column(j) for j in range(len(chosen))], done


def held_batches(
    held: HeldColumns, preview: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[pa.Array], int]]:
    """Yield (columns, rows read so far) of the chosen columns kept of a file, labels first."""
    chosen = [*labels, *numeric]
    cells.check_types(held.table.schema, labels, numeric)
    done = 0
    for batch in held.table.select(chosen).to_batches(max_chunksize=BATCH_ROWS):
        done += batch.num_rows
        yield [with_own_values(batch.column(j)) for j in range(len(chosen))], done


def with_own_values(array: pa.Array) -> pa.Array:
    """Return a part of a column of codes without the many values that do not occur in it."""
    if not pa.types.is_dictionary(array.type) or len(array.dictionary) <= len(array):
        return array
    codes = array.indices.cast(pa.int32()).dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices, array.dictionary.take(codes.dictionary))


def as_table(table: TableInMemory, columns: Sequence[str], chosen: Sequence[str]) -> pa.Table:
    """Return chosen columns as a pyarrow Table; a column of mixed types is refused."""
    positions = [list(columns).index(name) for name in chosen]
    if isinstance(table, pa.Table):
        return table.select(positions).rename_columns(list(chosen))
    arrays = [_as_array(table.iloc[:, position], name) for name, position in zip(chosen, positions, strict=True)]
    return pa.table(arrays, names=list(chosen))


def _as_array(series: pd.Series[Any], name: str) -> pa.Array:
    try:
        return pa.array(series, from_pandas=True)
    except UnicodeError:
        refusal = InputError("ENCODING", f"Column {echo(name)} holds text that is not valid Unicode.")
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        refusal = InputError(
            "COLUMN_TYPE", f"Column {echo(name)} mixes types; convert it to text (or to whole numbers) first."
        )
    raise refusal  # outside the handlers: their errors quote cells


@contextlib.contextmanager
def _opened(source: FileSource, **options: Any) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file and turn the reader's own errors, which may quote cells, into refusals."""
    stream = source.open()
    refusal: InputError | None = None
    try:
        with pq.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 16, **options) as file:
            yield file
    except InputError:
        raise
    except (MemoryError, pa.ArrowCapacityError):
        refusal = too_large()
    except (pa.ArrowException, OSError, ValueError, UnicodeError, NotImplementedError) as error:
        refusal = _unreadable(str(error))
    finally:
        source.release(stream)
    if (
        refusal is not None
    ):  # outside the handler, so that the reader's own error, which may quote cells, is not chained
        raise refusal


def _refuse_invalid(data: pa.Table | pa.RecordBatch) -> None:
    """Refuse an Arrow table whose bytes are not what its types promise: nothing checked them when it was made."""
    try:
        data.validate(full=True)
        return
    except pa.ArrowInvalid:
        pass  # refused outside the handler: the error may quote cells
    raise InputError("ENCODING", "The table holds text that is not valid UTF-8, or is damaged; make it again.")


def _unreadable(reason: str) -> InputError:
    if "UTF8" in reason or "utf-8" in reason:
        return InputError("ENCODING", "The Parquet file holds text that is not UTF-8; save its text as UTF-8.")
    if "crypt" in reason:
        return InputError("PARQUET_ENCRYPTED", "The Parquet file is encrypted; save it without encryption.")
    return InputError("PARQUET_CORRUPT", "The Parquet file is damaged or cut short; save it again.")


def _checked_footer(file: pq.ParquetFile) -> tuple[str, ...]:
    metadata = file.metadata
    columns_within_limit(metadata.num_columns)
    columns = tuple(checked_columns(file.schema_arrow.names))
    if metadata.num_rows == 0:
        raise InputError("NO_ROWS", "The file has columns but no rows; expected at least one record.")
    if metadata.num_row_groups == 0:
        raise _unreadable("rows promised, no place for them")
    if metadata.num_rows > MAX_ROWS:
        raise InputError(
            "TOO_MANY_ROWS",
            f"The file has {whole(metadata.num_rows)} rows; at most {whole(MAX_ROWS)} are accepted. "
            "Add them up first (GROUP BY the hierarchy columns) and choose the count column.",
        )
    return columns


def _refuse_dense_row_groups(file: pq.ParquetFile) -> None:
    """Refuse by what the footer says a row group unpacks to, for that is what a reader may have to hold.

    The whole group, not its chosen columns: asking pyarrow for the description of one column chunk ends the process
    when that description is encrypted or damaged, as the C++ exception has no way out.
    """
    for group in range(file.metadata.num_row_groups):
        n_bytes = file.metadata.row_group(group).total_byte_size
        if n_bytes > MAX_ROW_GROUP_BYTES:
            raise InputError(
                "ROW_GROUP_TOO_LARGE",
                f"Row group {group + 1} unpacks to {whole(n_bytes)} bytes; at most {whole(MAX_ROW_GROUP_BYTES)} "
                "are accepted. "
                "Save the file with smaller row groups, or only its columns of interest.",
            )


def _first_rows(file: pq.ParquetFile) -> tuple[tuple[tuple[str, ...], ...], pa.RecordBatch | None]:
    """Return the first rows of the columns that can be labels or numbers, and as they are stored.

    Others are shown as an ellipsis.
    """
    light = _light(file)
    if not light:
        return (), None
    batches = file.iter_batches(batch_size=PREVIEW_ROWS, columns=light, row_groups=[0], use_threads=False)
    batch = next(batches, None)
    if batch is None:
        raise _unreadable("rows promised, none there")
    shown = dict(zip(light, zip(*as_text(pa.Table.from_batches([batch]).select(light)), strict=True), strict=True))
    rows = zip(*(shown.get(name, ("…",) * batch.num_rows) for name in file.schema_arrow.names), strict=True)
    return tuple(rows), batch


def _light(file: pq.ParquetFile) -> list[str]:
    """Columns a glance at which is cheap: all plain ones of a small row group, else those of fixed width."""
    group, fields = file.metadata.row_group(0), list(file.schema_arrow)
    if group.total_byte_size < max(1 << 22, 64 * group.num_rows * len(fields)):
        return [field.name for field in fields if not pa.types.is_nested(field.type)]
    return [field.name for field in fields if pa.types.is_primitive(field.type)]


def as_text(table: pa.Table) -> tuple[tuple[str, ...], ...]:
    """Return rows as text, as far as it is shown."""
    return tuple(zip(*([_shown(cell) for cell in _cut(column)] for column in table.columns), strict=True))


def _cut(column: pa.ChunkedArray) -> Iterator[pa.Scalar]:
    """Give the cells of a column, the text in them cut to what is shown before it becomes Python text."""
    for chunk in column.chunks:
        kind = chunk.type
        if pa.types.is_dictionary(kind) and is_text(kind.value_type):
            entries = chunk.dictionary.cast(pa.large_string())
            chunk = pa.DictionaryArray.from_arrays(chunk.indices, pc.utf8_slice_codeunits(entries, 0, SHOWN_CHARACTERS))
        elif is_text(kind):
            chunk = pc.utf8_slice_codeunits(chunk.cast(pa.large_string()), 0, SHOWN_CHARACTERS)
        elif is_readable(kind) and not is_binary(kind):
            chunk = as_words(chunk)
        yield from chunk


def _shown(cell: pa.Scalar) -> str:
    try:
        value = cell.as_py()
    except (OverflowError, ValueError):  # a date or a time that Python has none of
        return "…"
    if isinstance(value, bytes):
        return value[:SHOWN_CHARACTERS].decode("utf-8", "replace")
    shown = "" if value is None else str(value)[:SHOWN_CHARACTERS]
    return "…" if shown.startswith(OUT_OF_RANGE) else shown


def _column_names(table: TableInMemory) -> Sequence[object]:
    return table.column_names if isinstance(table, pa.Table) else list(table.columns)
