"""Where bytes come from: a path, bytes or an open binary file, perhaps gzip-compressed, in any text encoding.

Everything below reads forward in small blocks, so memory never depends on the size of a file.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from treedp_core.checks import InputError, echo
from treedp_core.words import whole

SNIFF_BYTES: Final = 1 << 18
BLOCK_BYTES: Final = 1 << 20
MAX_LINE_BYTES: Final = 2 * BLOCK_BYTES  # a row that is no longer than a block always ends within two
MAX_UNPACKED_BYTES: Final = 8 << 30
MAX_UNPACKED_RATIO: Final = 200
FREE_UNPACKED_BYTES: Final = 64 << 20
GZIP_RATIO: Final = 1032  # the most that deflate can pack

_BOMS: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class ReadOptions:
    """How to read a file. None means: find out, from its head and its end; the empty text: as most files have it.

    Parameters
    ----------
    encoding : str or None
        Of a text file: any text codec Python knows, for example "latin-1"; by default UTF-8, unless a byte order mark
        says another.
    delimiter : str or None
        Of a text file: one character between cells; comma, semicolon, tab or bar, by default what parts the header.
    sheet : str or None
        Of a workbook, one that is shown, by default the first one.
    part : str or None
        Of JSON within a wrapper, the list that holds the records, such as "result.items", by default none; "2" for one
        behind what stands first in an array, "{}" for an object whose names are keys of records. Of an archive with
        several tables, one of its files, or a pattern for several; a list of JSON behind a colon, where nothing stands
        for none; it is found out where there is no colon.
    header : str or None
        The row that names the columns, "3", by default the first that is not blank; rows above it are left out. "3-4"
        for two, the upper one of groups of columns; "none" where the first row is a record.
    footer : str or None
        How many of the last lines are no records, by default none; lines without any text are not among them.
    quote : str or None
        Of a text file: one character around cells, by default a quotation mark.
    escape : str or None
        Of a text file: one character before a quotation mark within a cell, by default none, as it is doubled.
    unnamed : {"first", "last"} or None
        Which cell of each row the header has no name for, by default none.
    short : {"blank"} or None
        What stands for cells that a row of a text file lacks at its end, by default nothing: it is refused.
    """

    encoding: str | None = None
    delimiter: str | None = None
    sheet: str | None = None
    part: str | None = None
    header: str | None = None
    footer: str | None = None
    quote: str | None = None
    escape: str | None = None
    unnamed: str | None = None
    short: str | None = None


@dataclass(frozen=True, eq=False)
class FileSource:
    """A file that can be opened more than once; `name` is only ever shown, never used as a path."""

    name: str
    size: int
    origin: Path | bytes | BinaryIO

    def open(self) -> BinaryIO:
        """Return the file's bytes from the beginning (a caller's open file is rewound, and must not be closed)."""
        if isinstance(self.origin, Path):
            try:
                return self.origin.open("rb")
            except OSError as error:
                raise InputError("FILE_UNREADABLE", f"The file cannot be opened: {error.strerror}.") from None
        if isinstance(self.origin, bytes):
            return io.BytesIO(self.origin)
        self.origin.seek(0)
        return self.origin

    def head(self, n_bytes: int = SNIFF_BYTES) -> bytes:
        """Return the first bytes as stored."""
        stream = self.open()
        try:
            return stream.read(n_bytes)
        finally:
            self.release(stream)

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the bytes as stored.

        >>> file_source(b"").digest()[:8]
        'e3b0c442'
        """
        stream, digest = self.open(), hashlib.sha256()
        try:
            while block := stream.read(BLOCK_BYTES):
                digest.update(block)
        finally:
            self.release(stream)
        return digest.hexdigest()

    def release(self, stream: BinaryIO) -> None:
        """Close what `open` returned, unless it is the caller's own file."""
        if stream is not self.origin:
            stream.close()


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table in memory, a pyarrow Table or a pandas DataFrame; its size is its rows."""

    name: str
    table: Any

    @property
    def size(self) -> int:
        """Rows."""
        return len(self.table)

    def digest(self) -> str:
        """Return nothing: it is no file."""
        return ""


@dataclass(frozen=True, eq=False)
class FolderSource:
    """Files that are one table, each with the columns that the names of its folders are: pairs of key and value."""

    name: str
    files: tuple[tuple[FileSource, tuple[tuple[str, str], ...]], ...]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(file.size for file, _ in self.files)

    def digest(self) -> str:
        """Return a SHA-256 (hex) of the files' own and of what their folders say."""
        digest = hashlib.sha256()
        for file, keys in self.files:
            digest.update(repr((file.digest(), keys)).encode())
        return digest.hexdigest()


def file_source(origin: str | os.PathLike[str] | bytes | BinaryIO, name: str | None = None) -> FileSource:
    """Return a source for a path, bytes or a seekable binary file.

    >>> file_source(b"a,b").size
    3
    """
    if isinstance(origin, (bytes, bytearray, memoryview)):
        return FileSource(name or "table", len(origin), bytes(origin))
    if isinstance(origin, (str, os.PathLike)):
        path = Path(origin)
        if not path.is_file():
            raise InputError("FILE_UNREADABLE", f"There is no file {echo(path.name)}.")
        return FileSource(name or path.name, path.stat().st_size, path)
    if isinstance(origin, io.BytesIO):  # an upload: its bytes, not copied, so that no reader moves another's position
        data = origin.getvalue()
        return FileSource(name or str(getattr(origin, "name", "table")), len(data), data)
    if not (hasattr(origin, "read") and hasattr(origin, "seek")):
        raise InputError("SOURCE_TYPE", f"Expected a path, bytes, an open binary file or a table, got {type(origin)}.")
    return FileSource(name or str(getattr(origin, "name", "table")), origin.seek(0, io.SEEK_END), origin)


def encoding_of(head: bytes, chosen: str | None) -> str:
    """Return the codec of a text file from its first bytes, unless one was chosen.

    >>> encoding_of(codecs.BOM_UTF8 + b"a", None), encoding_of(b"a", "LATIN1")
    ('utf-8-sig', 'latin1')
    """
    if chosen:
        try:
            "a".encode(chosen)
            return chosen.lower()
        except (LookupError, UnicodeError, ValueError):
            raise InputError(
                "ENCODING", f"Expected a text encoding such as utf-8 or latin-1, got {echo(chosen)}."
            ) from None
    for bom, name in _BOMS:
        if head.startswith(bom):
            return name
    return "utf-8"


def is_gzip(head: bytes) -> bool:
    """Whether bytes start like a gzip file."""
    return head.startswith(b"\x1f\x8b")


class ByteStream(io.RawIOBase):
    """A source as UTF-8 bytes: unpacked with a bound on what comes out, decoded, byte order mark removed.

    What it notes is of what was read so far; lines are blank only where something follows.
    """

    def __init__(
        self, source: FileSource, encoding: str, *, longest_line: int = MAX_LINE_BYTES, footer: int = 0
    ) -> None:
        self.source = source
        self._longest_line = longest_line
        self.failure: Exception | None = None
        self.has_quotes, self.is_ascii, self.has_blank_lines = False, True, False
        self._raw = source.open()
        packed = is_gzip(source.head(2)) if source.size else False
        if packed:
            _refuse_bomb_by_trailer(source)
        self._raw.seek(0)
        self._unpacked: BinaryIO = gzip.GzipFile(fileobj=self._raw) if packed else self._raw  # type: ignore[assignment]
        self._packed = packed
        self._out = 0
        plain = encoding in ("utf-8", "utf8", "utf-8-sig")
        self._decoder = None if plain else codecs.getincrementaldecoder(encoding)()
        self._at_start = True
        self._pending = b""
        self._footer, self._last = footer, b""  # how many of the last lines stay out, and what may be among them
        self._line = 0  # bytes since the last end of a line
        self._ends = b"\n"  # the last ends of lines, as long as nothing follows

    @property
    def done(self) -> int:
        """Bytes of the stored file read so far."""
        return self._raw.tell() if not self.closed else self.source.size

    def readable(self) -> bool:
        """Return True: this is an input stream."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes of UTF-8 text, empty at the end."""
        try:
            return self._read(BLOCK_BYTES if size is None or size < 0 else size)
        except Exception as error:
            self.failure = error
            raise

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with UTF-8 text and return how much, for text layers on top."""
        block = self.read(len(buffer))
        buffer[: len(block)] = block
        return len(block)

    def close(self) -> None:
        """Release the file."""
        if not self.closed:
            self.source.release(self._raw)
        super().close()

    def _read(self, size: int) -> bytes:
        if self.closed:  # by us, while a reader that reads ahead has not noticed yet
            return b""
        while len(self._pending) < size:  # whole blocks: a row must end within two, and a line feed alone ends all
            block = self._more(size)
            if not block:
                break
            self._pending += block
        piece, self._pending = self._pending[:size], self._pending[size:]
        self._refuse_endless_line(piece)
        self.has_quotes = self.has_quotes or b'"' in piece
        self.is_ascii = self.is_ascii and piece.isascii()
        self._look_for_blank_lines(piece)
        return piece

    def _more(self, size: int) -> bytes:
        """Return the next decoded block of what is not left out, empty only at the end."""
        while block := self._next_block(size):
            if block := self._without_last_lines(block) if self._footer else block:
                return block
        return b""

    def _without_last_lines(self, block: bytes) -> bytes:
        """Return what comes before the last lines of what was read so far."""
        read, at = self._last + block, len(self._last) + len(block)
        for _ in range(self._footer):
            while at and read[at - 1] in b"\r\n":
                at -= 1
            at = max(read.rfind(b"\n", 0, at), read.rfind(b"\r", 0, at)) + 1
        if len(read) - at > (self._footer + 1) * self._longest_line:
            raise row_too_long()
        self._last = read[at:]
        return read[:at]

    def _look_for_blank_lines(self, piece: bytes) -> None:
        body = piece.rstrip(b"\r\n")
        if body and not self.has_blank_lines:
            self.has_blank_lines = _has_blank_line(self._ends + body[:1]) or _has_blank_line(body)
        self._ends = (piece[len(body) :] if body else self._ends + piece)[-3:]

    def _refuse_endless_line(self, piece: bytes) -> None:
        ended = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        self._line = self._line + len(piece) if ended < 0 else len(piece) - ended - 1
        if self._line > self._longest_line:
            raise row_too_long()

    def _next_block(self, size: int) -> bytes:
        """Return the next decoded block, empty only at the end of the file."""
        while True:
            stored = self._read_stored(size)
            block = stored if self._decoder is None else self._decode(stored)
            if self._at_start and block:
                block = block.removeprefix(codecs.BOM_UTF8)
                self._at_start = False
            if block or not stored:
                return block

    def _decode(self, stored: bytes) -> bytes:
        assert self._decoder is not None
        try:
            return self._decoder.decode(stored, final=not stored).encode("utf-8")
        except UnicodeError:
            pass  # refused below, outside this block: the codec's error holds the bytes
        raise InputError("ENCODING", f"The file is not text in its encoding, before byte {whole(self._out + 1)}.")

    def _read_stored(self, size: int) -> bytes:
        if not self._packed:
            block = self._raw.read(size)
        else:
            try:
                block = self._unpacked.read(size)
            except (OSError, EOFError, zlib.error):
                raise InputError("GZIP_CORRUPT", "The gzip file is damaged or cut short; pack it again.") from None
        self._out += len(block)
        if self._packed and self._out > FREE_UNPACKED_BYTES:
            too_dense = self._out > MAX_UNPACKED_RATIO * max(1, self._raw.tell())
            if too_dense or self._out > MAX_UNPACKED_BYTES:
                raise _too_large(self._out)
        return block


def _has_blank_line(piece: bytes) -> bool:
    r"""Whether two ends of lines follow each other.

    >>> [_has_blank_line(piece) for piece in (b"a\nb", b"a\n\nb", b"a\r\nb", b"a\r\n\r\nb", b"a\r\rb")]
    [False, True, False, True, True]
    """
    ends = (b"\n\n", b"\n\r", b"\r\r") if b"\r" in piece else (b"\n\n",)
    pairs = [np.frombuffer(piece, np.uint16, (len(piece) - at) // 2, at) for at in (0, 1) if len(piece) > at + 1]
    # a pair of bytes is sought as one number, as `in` takes ten times as long to find two bytes
    return any(bool((pair == int.from_bytes(end, sys.byteorder)).any()) for end in ends for pair in pairs)


def row_too_long() -> InputError:
    """Return the refusal of a row that does not end within a block."""
    return InputError("ROW_TOO_LONG", f"A row is longer than {whole(BLOCK_BYTES)} bytes; expected shorter cells.")


def _too_large(n_bytes: int) -> InputError:
    return InputError(
        "GZIP_TOO_LARGE",
        f"The gzip file unpacks to {whole(n_bytes)} bytes or more; accepted are at most "
        f"{whole(MAX_UNPACKED_BYTES)} bytes and, "
        f"beyond {whole(FREE_UNPACKED_BYTES)}, at most {MAX_UNPACKED_RATIO} times the packed size. Upload it unpacked.",
    )


def _refuse_bomb_by_trailer(source: FileSource) -> None:
    """Refuse by the size the last gzip member claims; the reading itself catches a file that claims less."""
    stream = source.open()
    try:
        stream.seek(max(0, source.size - 4))
        claimed = int.from_bytes(stream.read(4), "little")
    finally:
        source.release(stream)
    # a claim beyond what the format can do comes from a damaged file, which the reading will find out
    if max(FREE_UNPACKED_BYTES, MAX_UNPACKED_RATIO * source.size) < claimed <= GZIP_RATIO * source.size:
        raise _too_large(claimed)
