"""Tables in several files: ZIP archives, folders, patterns of names; a folder named like region=North is a column."""

from __future__ import annotations

import glob
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final
from urllib.parse import unquote

from treedp_core.checks import InputError, echo
from treedp_core.records.read.file_checks import columns_within_limit
from treedp_core.records.read.layout.options import FIXED, NAMES, Guess
from treedp_core.records.read.readers import READERS, Batch, reader_of
from treedp_core.records.read.sniff import Preview
from treedp_core.records.read.sources import (
    FREE_UNPACKED_BYTES,
    MAX_UNPACKED_BYTES,
    MAX_UNPACKED_RATIO,
    FileSource,
    FolderSource,
    ReadOptions,
    file_source,
    is_gzip,
)
from treedp_core.records.read.text import normalise
from treedp_core.words import plural, whole

if TYPE_CHECKING:
    import pyarrow as pa

MAX_FILES: Final = 10_000
MAGIC: Final = b"PK\x03\x04"
_DAMAGE: Final = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError)
_OFFICE: Final = ("xl/", "word/", "ppt/", "[Content_Types].xml", "mimetype")
_NOWHERE: Final = "__HIVE_DEFAULT_PARTITION__"
_SHOWN: Final = 8
_OF_LISTS: Final = ("JSON", "JSON lines")
"""Kinds of files that may hold several tables themselves: which of them stands behind a colon, also where none does."""


# ---- archives


class _Unpacking(io.RawIOBase):
    """A file in an archive, unpacked as it is read; it gives no more than the archive says of it."""

    def __init__(self, outer: FileSource, part: str) -> None:
        self._outer, self._stored = outer, outer.open()
        try:
            self._archive = zipfile.ZipFile(self._stored)
            if self._archive.getinfo(part).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError  # of others, a few bytes can ask for much memory
            self._member = self._archive.open(part)
        except (*_DAMAGE, KeyError, ValueError):
            outer.release(self._stored)
            raise _corrupt() from None

    def readable(self) -> bool:
        """Return True: this is an input stream."""
        return True

    def seekable(self) -> bool:
        """Return True, though going back means to unpack again."""
        return True

    def read(self, size: int | None = -1) -> bytes:
        """Return up to `size` bytes."""
        try:
            return self._member.read(-1 if size is None else size)
        except _DAMAGE:
            pass  # refused outside the handler
        raise _corrupt()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        try:
            return self._member.seek(offset, whence)
        except _DAMAGE:
            pass
        raise _corrupt()

    def tell(self) -> int:
        """Return where the next byte is."""
        return self._member.tell()

    def close(self) -> None:
        """Release the archive."""
        if not self.closed:
            self._member.close()
            self._archive.close()
            self._outer.release(self._stored)
        super().close()


@dataclass(frozen=True, eq=False)
class Member(FileSource):
    """A file in an archive; its digest is that of the archive."""

    outer: FileSource
    part: str

    def open(self) -> BinaryIO:
        """Return the file's bytes from the beginning."""
        return _Unpacking(self.outer, self.part)  # type: ignore[return-value]

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the archive as stored."""
        return self.outer.digest()


@dataclass(frozen=True)
class Located:
    """The table that is meant of a source, what to say of how it is read, and what else could be meant."""

    source: FileSource | FolderSource
    options: ReadOptions
    parts: tuple[str, ...] = ()
    part: str = ""
    guess: Guess | None = None

    def told(self, seen: Preview) -> Preview:
        """Return the preview of the table with what was found out of the archive."""
        if not self.part:
            return seen
        inner = f":{seen.options.part or ''}" if seen.kind in _OF_LISTS else ""
        options = replace(seen.options, part=f"{self.part}{inner}")
        notices = (self.guess.notice, *seen.notices) if self.guess else seen.notices
        return replace(seen, parts=self.parts, options=options, notices=notices)


def located(source: FileSource, options: ReadOptions) -> Located:
    """Return the table of an archive; any other file is its own.

    Raises
    ------
    InputError
        ``PART`` for a file that is not in the archive, or none where there are several; ``ZIP_TOO_LARGE``,
        ``ZIP_CORRUPT``, ``NOT_TABULAR``.
    """
    if source.head(len(MAGIC)) != MAGIC:
        return Located(source, options)
    members = _members(source)
    if members is None:
        return Located(source, options)
    if not members:
        raise InputError("NOT_TABULAR", "The ZIP archive has no file with a table; put one in, or take it as it is.")
    said, colon, inner = (options.part or "").partition(":")
    chosen = [name for name in members if said and (name == said or fnmatchcase(name, said))]
    if len(members) == 1 and not chosen:
        chosen, colon, inner, said = list(members), ":", options.part or "", ""
    guess = None
    named = ", ".join(map(echo, list(members)[:_SHOWN]))
    if not chosen and said:
        raise InputError("PART", f"The archive has no file {echo(said)}; its tables are: {named}.")
    if not chosen and options.part is not None:
        raise InputError("PART", f"The archive has several tables: {named}. Say one by the option part.")
    if not chosen and all(_partition(Path(name).parts[:-1]) for name in members):
        said, chosen, guess = "*", list(members), Guess("part", "*", "its folders are named like columns")
    elif not chosen:
        said = next(iter(members))
        chosen, guess = [said], Guess("part", said, f"it is the first of {named}", "perhaps")
    inside = replace(options, part=inner if options.part is not None and (colon or not said) else None)
    if (size := sum(members[name] for name in chosen)) > _most(source):
        raise _too_large(size)
    sources = [_member(source, name, members[name]) for name in chosen]
    parts = tuple(members) if len(members) > 1 else ()
    keys = _keys([Path(name).parts[:-1] for name in chosen])
    if len(sources) == 1 and not keys[0]:
        return Located(sources[0], inside, parts, said, guess)
    return Located(FolderSource(source.name, tuple(zip(sources, keys, strict=True))), inside, parts, said, guess)


def _members(source: FileSource) -> dict[str, int] | None:
    """Return the files with tables in an archive, and their sizes; None for an Office document, or no archive."""
    stream = source.open()
    try:
        with zipfile.ZipFile(stream) as archive:
            found = {one.filename: one.file_size for one in archive.infolist() if not one.is_dir()}
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None
    finally:
        source.release(stream)
    if any(name.startswith(_OFFICE) for name in found) or len(found) > MAX_FILES:
        return None
    shown = {name: size for name, size in found.items() if _is_shown(Path(name).parts)}
    return {name: size for name, size in shown.items() if _is_table(name)} or (shown if len(shown) == 1 else {})


def _member(source: FileSource, name: str, size: int) -> FileSource:
    """Return a file in an archive: unpacked into memory unless it is text, which is read from its beginning only."""
    found = Member(Path(name).name, size, b"", source, name)
    head = found.head(64)
    if is_gzip(head) or (head.startswith(MAGIC) and _members(in_memory(found)) is not None):
        raise InputError("NOT_TABULAR", f"File {echo(name)} of the archive is packed again; unpack it first.")
    if not head or reader_of(found).name in ("CSV", "JSON", "JSON lines"):
        return found
    if size > FREE_UNPACKED_BYTES:
        raise _too_large(size)
    return in_memory(found)


def in_memory(found: Member) -> FileSource:
    """Return a file of an archive in memory, with the archive's digest."""
    if found.size > FREE_UNPACKED_BYTES:
        raise _too_large(found.size)
    return _Unpacked(found.name, found.size, found.head(found.size), found.outer)


@dataclass(frozen=True, eq=False)
class _Unpacked(FileSource):
    """A file of an archive in memory."""

    outer: FileSource

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the archive as stored."""
        return self.outer.digest()


def _most(source: FileSource) -> int:
    """Bytes that files of an archive may unpack to."""
    return max(FREE_UNPACKED_BYTES, min(MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO * source.size))


def _too_large(size: int) -> InputError:
    return InputError(
        "ZIP_TOO_LARGE",
        f"A file of the archive unpacks to {whole(size)} bytes, which is more than is accepted; unpack it first.",
    )


def _corrupt() -> InputError:
    return InputError("ZIP_CORRUPT", "The ZIP archive is damaged, cut short or encrypted; pack it again.")


# ---- folders


def folder_at(place: str, name: str | None) -> FolderSource | None:
    """Return the files of a folder, or of a pattern of names such as "2024-*.csv"; None where it is neither.

    Raises
    ------
    InputError
        ``FOLDER`` where no file has a table, where there are too many, or they are parted by different keys.
    """
    path = Path(place)
    if path.is_dir():
        base, found = path, [one for one in path.rglob("*") if _is_shown(one.relative_to(path).parts)]
    elif glob.has_magic(place) and not path.exists():
        base = Path(*_before_magic(path.parts))
        found = [Path(one) for one in glob.glob(place, recursive=True)]
    else:
        return None
    files = sorted(one for one in found if one.is_file() and (_is_table(one.name) or base != path))
    if not files or len(files) > MAX_FILES:
        raise InputError("FOLDER", f"{plural(len(files), 'file')} with a table found there; expected 1 to {MAX_FILES}.")
    keys = _keys([one.relative_to(base).parts[:-1] for one in files])
    return FolderSource(name or path.name, tuple(zip(map(file_source, files), keys, strict=True)))


def _keys(folders: Sequence[Sequence[str]]) -> list[tuple[tuple[str, str], ...]]:
    """Return the columns that the names of folders are, of each file; they are the same of all."""
    keys = [_partition(parts) for parts in folders]
    if len({tuple(key for key, _ in some) for some in keys}) > 1:
        raise InputError("FOLDER", "Some files are in folders named like key=value and some are not, or by other keys.")
    return keys


def _before_magic(parts: Sequence[str]) -> list[str]:
    return list(parts[: next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))])


def _is_shown(parts: Sequence[str]) -> bool:
    """Whether no part of a path is hidden, or of those that programs write for themselves, such as _SUCCESS."""
    return not any(part.startswith((".", "_", "~")) and "=" not in part for part in parts)


def _is_table(name: str) -> bool:
    return any(reader.is_named(name) for reader in READERS.values())


def _partition(parts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the columns that names of folders are.

    >>> _partition(("leaves", "region=North%20East", "year=2024"))
    (('region', 'North East'), ('year', '2024'))
    """
    pairs = [part.partition("=") for part in parts if "=" in part]
    return tuple((normalise(unquote(key)), "" if value == _NOWHERE else unquote(value)) for key, _, value in pairs)


def preview(source: FolderSource, options: ReadOptions) -> Preview:
    """Return the preview of several files as one table: the columns of the first, and those of its folders."""
    file, keys = source.files[0]
    seen = reader_of(file).preview(file, options)
    more = dict(one for one in keys if one[0] not in seen.columns)
    columns_within_limit(len(seen.columns) + len(more))
    uses = seen.uses or ("any",) * len(seen.columns)
    told = ("FILES", f"Read as one table: {plural(len(source.files), 'file')}, the first of them {echo(file.name)}.")
    return replace(
        seen, name=source.name, columns=(*seen.columns, *more), uses=(*uses, *("any" for _ in more)), n_rows=None,
        rows=tuple((*row, *more.values()) for row in seen.rows), notices=(*seen.notices, told),
    )  # fmt: skip


def batches(source: FolderSource, seen: Preview, labels: Sequence[str], numeric: Sequence[str]) -> Iterator[Batch]:
    """Yield (columns, bytes read so far) of the chosen columns of all files, one after the other, labels first.

    Raises
    ------
    InputError
        The codes of the readers, and ``FOLDER`` for a file of another kind or with other columns.
    """
    done = 0
    for file, keys in source.files:
        try:
            for arrays, read in _batches_of(file, dict(keys), seen, labels, numeric):
                yield arrays, done + min(read, file.size)
        except InputError as error:
            if error.code not in ("NO_ROWS", "FILE_EMPTY"):
                raise InputError(error.code, f"In file {echo(file.name)}: {error}") from None
        done += file.size


def _batches_of(
    file: FileSource, keys: Mapping[str, str], seen: Preview, labels: Sequence[str], numeric: Sequence[str]
) -> Iterator[Batch]:
    reader = reader_of(file)
    fixed = FIXED | {name: one for name in NAMES if (one := getattr(seen.options, name))} | {"part": seen.layout.part}
    own = reader.preview(file, ReadOptions(**fixed))
    there = [one for one in (*labels, *numeric) if one not in keys or one in own.columns]
    missing = [one for one in there if one not in own.columns]
    if own.kind != seen.kind or missing:
        what = f"has no column {echo(missing[0])}" if missing else f"is of another kind, {own.kind}"
        raise InputError("FOLDER", f"it {what}; all files of a folder are one table.")
    some = [one for one in labels if one in there] or [] if there else list(own.columns_for("label")[:1])
    for arrays, read in reader.batches(file, own, some, [one for one in numeric if one in there]):
        by_name = dict(zip([*some, *(one for one in numeric if one in there)], arrays, strict=True))
        n = len(arrays[0])
        yield [by_name[one] if one in there else _same(keys[one], n) for one in (*labels, *numeric)], read


def _same(value: str, n: int) -> pa.Array:
    """Return a column (n,) with one value."""
    import numpy as np
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([value], pa.string()))
