"""JSON in batches: an array of records, or one record after the other; every cell is text, as it is written."""

from __future__ import annotations

import codecs
import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import count
from typing import Any, Final, NamedTuple

from treedp_core.checks import InputError, echo
from treedp_core.records.read.file_checks import checked_columns, encoding_error, refuse_binary
from treedp_core.records.read.layout.options import KEYED, Guess, with_guesses
from treedp_core.records.read.numbers.marks import shown, typed
from treedp_core.records.read.sniff import PREVIEW_ROWS, Layout, Preview, unpacked_head
from treedp_core.records.read.sources import BLOCK_BYTES, SNIFF_BYTES, ByteStream, FileSource, ReadOptions, row_too_long
from treedp_core.words import whole

BATCH_RECORDS: Final = 1 << 13
_ESCAPE: Final = 16  # characters at the end of a piece that may be half a word or half an escape
_NO_CELL: Final = "…"
MAX_NESTED: Final = 8
"""Objects within each other that lists are looked for in, and whose names make one name of a column."""
KEY: Final = "key"
"""What the column of the keys of records is called."""
_GAP: Final = re.compile(r"\s*,?\s*")
_OF_NUMBERS: Final = re.compile(r"[-+.eE0-9]*")
_SPACE: Final = re.compile(r"\s*")

Record = dict[str, object]


def preview(source: FileSource, options: ReadOptions) -> Preview:
    """Return the preview of a JSON file from the records in its first 256 KB."""
    refuse_binary(unpacked_head(source, 512))
    lists, is_keyed = _looked_at(source)
    found = [one for one in lists if one.of == "{"]
    guess = _guess(found, lists, is_keyed) if options.part is None else None
    part = options.part or (guess.value if guess else "")
    names: dict[str, None] = {}
    first: list[Record] = []
    for record, done in _records(source, part):
        names.update(dict.fromkeys(record))
        first.append(record)
        if done > SNIFF_BYTES and len(first) >= PREVIEW_ROWS:
            break
    if not first:
        raise InputError("NO_ROWS", "The file has no records; expected at least one.")
    columns = list(names)
    rows = tuple(tuple(shown(_cell(record.get(name))) for name in columns) for record in first[:PREVIEW_ROWS])
    uses = tuple(
        "none" if any(isinstance(record.get(name), (dict, list)) for record in first) else "any" for name in columns
    )
    if all(use == "none" for use in uses):
        raise InputError("NOT_TABULAR", "The file is JSON, but no array of records with plain values; save it as CSV.")
    kind = "JSON" if part or _is_array(source) else "JSON lines"
    guesses = [guess] if guess else []
    return Preview(
        source.name, kind, tuple(checked_columns(columns)), rows, uses=uses,
        parts=(KEYED, "") if is_keyed else tuple(one.path for one in found),
        notices=tuple(one.notice for one in guesses), options=with_guesses(options, guesses), layout=Layout(part=part),
    )  # fmt: skip


def batches(
    source: FileSource, seen: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[tuple[list[Any], int]]:
    """Yield (columns of text, bytes read so far) of the chosen columns; what a record does not name is blank.

    Raises
    ------
    InputError
        ``JSON_SYNTAX``, ``JSON_RECORD``, ``JSON_REPEATED``, ``ROW_TOO_LONG``, ``ENCODING``, ``COLUMN_TYPE``.
    """
    import pyarrow as pa

    from treedp_core.records.read.text import normalise

    chosen = [*labels, *numeric]
    cells: list[list[str]] = [[] for _ in chosen]
    number, done = 0, 0
    for record, done in _records(source, seen.layout.part):
        number += 1
        named = {normalise(name): value for name, value in record.items()}
        for name, column in zip(chosen, cells, strict=True):
            value = named.get(name)
            if isinstance(value, (dict, list)):
                raise InputError(
                    "COLUMN_TYPE", f"Column {echo(name)} holds a list or an object in record {whole(number)}."
                )
            column.append(_cell(value))
        if number % BATCH_RECORDS == 0:
            yield [pa.array(column, pa.string()) for column in cells], done
            cells = [[] for _ in chosen]
    if number % BATCH_RECORDS:
        yield [pa.array(column, pa.string()) for column in cells], done


def _cell(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else _NO_CELL


def _is_array(source: FileSource) -> bool:
    return unpacked_head(source, 64).removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"[")


class _List(NamedTuple):
    """A list within a file: where it is, what its first value starts with, and how many are among the first bytes."""

    path: str
    of: str
    n: int = 0


def _looked_at(source: FileSource) -> tuple[list[_List], bool]:
    """Return the lists within the one value that a file is, or that the names of that one are keys of records.

    None for a file of several objects, which are its records.
    """
    found = list[_List]()
    try:
        with closing(_Pieces(source)) as read:
            for one in _lists(read, "", 1, is_look=True):
                n = 0
                while read.skip(_GAP) and not read.starts("]") and not read.is_far:
                    read.value(1)
                    n += 1
                found.append(one._replace(n=n))
            found = found if read.is_far or not read.skip(_SPACE) else []
        is_keyed = not any(one.of == "{" for one in found) and not _is_array(source) and _is_keyed(source)
    except InputError:  # reading the records says why
        return [], False
    return found, is_keyed


def _is_keyed(source: FileSource) -> bool:
    """Whether a file is one object, whose values are objects with the same names."""
    names, n = set[frozenset[str]](), 0
    with closing(_Pieces(source)) as read:
        for _, record in _named(read):
            names.add(frozenset(record) if isinstance(record, dict) else frozenset())
            n += 1
            if read.is_far or len(names) > 1:
                break
        is_one = read.is_far or not read.skip(_SPACE)
    return is_one and n > 1 and len(names) == 1 and frozenset() not in names and not any(KEY in one for one in names)


def _named(read: _Pieces) -> Iterator[tuple[str, object]]:
    """Give the names in an object, each with what it names."""
    read.take("{")
    for number in count(1):
        if not read.skip(_GAP) or read.starts("}"):
            break
        name = str(read.value(number))
        read.take(":")
        yield name, read.value(number)
    read.take("}")


def _lists(read: _Pieces, path: str, nested: int, *, is_look: bool = False) -> Iterator[_List]:
    """Give each list within an object, or in an array behind one object, when its first value follows; go on behind it.

    A look ends where much has been read.
    """
    read.skip(_SPACE)
    if read.starts("[") and nested == 1:
        read.take("[")
        read.value(1)
        if read.skip(_GAP) and read.starts("["):
            yield from _values(read, "2", is_look)
            if not (is_look and read.is_far):
                read.take("]")
        return
    read.take("{")
    while read.skip(_GAP) and not read.starts("}"):
        if is_look and read.is_far:
            return
        name = str(read.value(1))
        read.take(":")
        here = f"{path}.{name}" if path else name
        if read.starts("{") and nested < MAX_NESTED:
            yield from _lists(read, here, nested + 1, is_look=is_look)
            if is_look and read.is_far:
                return
        elif read.starts("["):
            yield from _values(read, here, is_look)
            if is_look and read.is_far:
                return
        else:
            read.value(1)
    read.take("}")


def _values(read: _Pieces, path: str, is_look: bool) -> Iterator[_List]:
    read.take("[")
    yield _List(path, read.mark)
    while read.skip(_GAP) and not read.starts("]"):
        if is_look and read.is_far:
            return
        read.value(1)
    read.take("]")


def _guess(found: Sequence[_List], lists: Sequence[_List], is_keyed: bool) -> Guess | None:
    """Return which list is read: the longest of records; one of lists has no names, but may be what is meant."""
    if is_keyed:
        return Guess("part", KEYED, f"all have the same names within; column {echo(KEY)} has their own")
    longest = max(lists, key=lambda one: one.n, default=_List("", ""))
    unnamed = f"rows are {'lists' if longest.of == '[' else 'values'} without names"
    if not found:
        if longest.of == "[" and longest.n > 1:
            raise InputError(
                "NOT_TABULAR", f"Of the list {echo(longest.path)} in the file the {unnamed}; save it as CSV."
            )
        return None
    path, _, n = max(found, key=lambda one: one.n)
    others = ", ".join(echo(one.path) for one in found[:8] if one.path != path)
    is_alone = [one.n for one in found].count(n) == 1
    why = "it is the longest list of records" if is_alone else "it is the first of the longest lists of records"
    why, sure = (f"{why}, beside {others}", "likely") if others else ("it is the only list of records", "sure")
    if longest.n > n:
        why += f", while {echo(longest.path)}, a longer one, is not read: its {unnamed}"
    return Guess("part", path, why, sure if is_alone and longest.n == n else "perhaps")


def _records(source: FileSource, part: str) -> Iterator[tuple[Record, int]]:
    """Give each record, and how many bytes are read; memory holds a block and what is left of the one before."""
    is_array, read, number = bool(part) or _is_array(source), _Pieces(source), 0
    try:
        if part == KEYED:
            for number, (name, value) in enumerate(_named(read), start=1):
                yield _record([(KEY, name), *_flat(_object(value, number)).items()]), read.stream.done
            return
        if part and all((one.path, one.of) != (part, "{") for one in _lists(read, "", 1)):
            raise InputError("PART", f"The file has no list of records {echo(part)}; say another by the option part.")
        if is_array and not part:
            read.skip(re.compile(r"\s*\["))
        while read.skip(_GAP if is_array and number else _SPACE) and not (is_array and read.starts("]")):
            number += 1
            yield read.record(number), read.stream.done
        if is_array and not read.starts("]"):
            raise read.refusal(number + 1)
    finally:
        read.stream.close()


class _Pieces:
    """A JSON text that is read piece by piece."""

    def __init__(self, source: FileSource) -> None:
        self.stream = ByteStream(source, "utf-8", longest_line=sys.maxsize)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._scan = json.JSONDecoder(
            object_pairs_hook=_record, parse_float=typed, parse_int=str, parse_constant=str
        ).raw_decode
        self._text, self._at, self._bytes, self._is_over = "", 0, 0, False
        self._line, self._column = 1, 1  # of the first character of the text

    def skip(self, gap: re.Pattern[str]) -> bool:
        """Go on behind what matches; return whether anything follows."""
        while True:
            found = gap.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return True
            if not self._more():
                return False

    def starts(self, mark: str) -> bool:
        """Whether what follows starts with a mark."""
        return self._text.startswith(mark, self._at)

    @property
    def mark(self) -> str:
        """What follows: a character."""
        return self._text[self._at : self._at + 1]

    def close(self) -> None:
        """Release the file."""
        self.stream.close()

    def take(self, mark: str) -> None:
        """Go on behind a mark, to what follows it."""
        if not self.skip(_SPACE) or not self.starts(mark):
            raise self.refusal(1)
        self._at += 1
        self.skip(_SPACE)

    @property
    def is_far(self) -> bool:
        """Whether more than a first look has been read."""
        return self._bytes > BLOCK_BYTES

    def record(self, number: int) -> Record:
        """Return the record that follows, objects within it as columns of their own."""
        return _flat(_object(self.value(number), number))

    def value(self, number: int) -> object:
        """Return the value that follows, in record `number`."""
        while True:
            try:
                value, end = self._scan(self._text, self._at)
                rest = self._text[end : end + _ESCAPE]
                is_whole = self._text[end - 1] in '}]"' or not _OF_NUMBERS.fullmatch(rest)
                if not is_whole and len(self._text) - self._at > BLOCK_BYTES:
                    raise row_too_long()
                if is_whole or not self._more():
                    break
                continue
            except json.JSONDecodeError as error:  # refused outside the handler: the error holds the text
                refusal = self.refusal(number, error.pos)
                is_cut = error.msg.startswith("Unterminated") or error.pos > len(self._text) - _ESCAPE
            except RecursionError:
                refusal, is_cut = _no_record(number), False
            if is_cut and len(self._text) - self._at > BLOCK_BYTES:
                raise row_too_long()
            if not is_cut or not self._more():
                raise refusal
        self._at = end
        return value

    def refusal(self, number: int, at: int | None = None) -> InputError:
        """Return the refusal of a record that is no JSON, which says where: by default at what follows."""
        line, column = self._place(self._at if at is None else at)
        return InputError(
            "JSON_SYNTAX",
            f"Record {whole(number)} is no JSON at line {whole(line)}, column {whole(column)}, or the file is cut "
            "short; save it again.",
        )

    def _place(self, at: int) -> tuple[int, int]:
        """Line and column in the file of a character of the text."""
        before = self._text.rfind("\n", 0, at)
        column = at - before if before >= 0 else self._column + at
        return self._line + self._text.count("\n", 0, at), column

    def _more(self) -> bool:
        """Read another block, unless the text is over."""
        if self._is_over:
            return False
        block = self.stream.read(BLOCK_BYTES)
        self._bytes += len(block)
        self._is_over = not block
        refusal = None
        try:
            text = self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            refusal = encoding_error(self._bytes - len(block) + error.start)
        if refusal is not None:  # outside the handler: the decoder's own error holds the bytes
            raise refusal
        self._line, self._column = self._place(self._at)
        self._text, self._at = self._text[self._at :] + text, 0
        return bool(text) or not self._is_over


def _record(pairs: list[tuple[str, Any]]) -> Record:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("JSON_REPEATED", f"A record names {echo(twice)} twice; names must differ.")
    return found


def _object(value: object, number: int) -> Record:
    if not isinstance(value, dict):
        raise _no_record(number)
    return value


def _flat(record: Record) -> Record:
    """Return a record whose values are plain or lists: of a feature on a map, its properties.

    >>> _flat({"who": {"town": "Ulm", "born": {"year": "1990"}}, "n": "3"})
    {'who.town': 'Ulm', 'who.born.year': '1990', 'n': '3'}
    """
    properties = record.get("properties")
    if record.get("type") == "Feature" and isinstance(properties, dict):
        record = properties
    if not any(isinstance(value, dict) for value in record.values()):
        return record
    pairs = [pair for name, value in record.items() for pair in _pairs(name, value, 1)]
    return _record(pairs)


def _pairs(name: str, value: object, nested: int) -> list[tuple[str, object]]:
    if not isinstance(value, dict) or nested > MAX_NESTED:
        return [(name, value)]
    return [pair for one, below in value.items() for pair in _pairs(f"{name}.{one}", below, nested + 1)]


def _no_record(number: int) -> InputError:
    return InputError(
        "JSON_RECORD", f"Record {whole(number)} is no object with names and plain values, or it is nested too deeply."
    )
