"""The outside of a notebook's file: a zip of named members with checksums, and what may be one.

Everything is checked on the directory of the zip before any of it is unpacked, and what is unpacked against its
checksum. Nothing is ever written to disk by a name from it.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, Final

from treedp_core.checks import InputError, echo
from treedp_core.notebook import validators
from treedp_core.records.strict_json import Json, members, parse
from treedp_core.words import megabytes

FORMAT: Final = "TreeDP notebook"
FORMAT_VERSION: Final = 6
"""Of the files that are written and read."""
MANIFEST: Final = "manifest.json"
MAX_FILE: Final = 200 << 20
MAX_TOTAL: Final = 512 << 20
MAX_JSON: Final = 192 << 20
"""Of all JSON together, which takes up several times as much memory when it is read."""
MAX_MEMBERS: Final = 2_000
MAX_DIRECTORY: Final = 1 << 20
MAX_RATIO: Final = 200
SMALL: Final = 1 << 20
"""Members below this size may be packed as tightly as they can."""
_MEMBERS: Final[Mapping[str, int]] = {
    r"manifest\.json": 1 << 20,
    r"settings\.json": 1 << 20,
    r"notebook\.json": 64 << 20,
    r"cells/[0-9a-f]{16}/figure\.json": 16 << 20,
    r"cells/[0-9a-f]{16}/table\.json": 64 << 20,
    r"(cells/[0-9a-f]{16}/|noted/[0-9]{1,2}/)?plan\.json": 32 << 20,
    r"data/[0-9]/about\.json": 192 << 20,
    r"data/[0-9]/nodes\.parquet": 128 << 20,
}
_END: Final = struct.Struct("<4s4H2LH")
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)


def packed(members: Mapping[str, bytes], notice: str, package: str) -> bytes:
    """Return a file of members, equal for equal members, with a manifest that has their sizes and checksums.

    Raises
    ------
    InputError
        ``NOTEBOOK_TOO_LARGE``.
    """
    manifest = {
        "format": FORMAT, "format_version": FORMAT_VERSION, "package": package, "notice": notice,
        "members": {name: hashlib.sha256(content).hexdigest() for name, content in members.items()},
    }  # fmt: skip
    everything = {MANIFEST: written(manifest), **members}
    for name, content in everything.items():
        _admit_size(name, len(content))
    _admit_total({name: len(content) for name, content in everything.items()})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, content in everything.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_STORED if _is_tight(name, content) else zipfile.ZIP_DEFLATED
            file.writestr(info, content, compresslevel=6)
    if out.tell() > MAX_FILE:
        raise _too_large(out.tell(), MAX_FILE)
    return out.getvalue()


def _is_tight(name: str, content: bytes) -> bool:
    """Whether a member is stored as it is: packed already, or so repetitive that it would look like a bomb."""
    if name.endswith(".parquet"):
        return True
    return len(content) > SMALL and len(content) > MAX_RATIO / 2 * len(zlib.compress(content, 6))


def unpacked(content: bytes) -> dict[str, bytes]:
    """Return the members of a file by name, without its manifest.

    Raises
    ------
    InputError
        ``NOTEBOOK_FOREIGN``, ``NOTEBOOK_DAMAGED``, ``NOTEBOOK_TOO_LARGE``, ``CONFIG_VERSION``, and those of
        `strict_json`.

    >>> unpacked(b"region,count")
    Traceback (most recent call last):
    treedp_core.checks.InputError: This file is no TreeDP notebook; choose one that was saved as .treedp.
    """
    if not content.startswith(b"PK\x03\x04"):
        raise InputError("NOTEBOOK_FOREIGN", "This file is no TreeDP notebook; choose one that was saved as .treedp.")
    if len(content) > MAX_FILE:
        raise _too_large(len(content), MAX_FILE)
    _admit_end(content)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            infos = file.infolist()
            names = {info.filename for info in infos}
            if MANIFEST not in names:
                raise InputError("NOTEBOOK_FOREIGN", "This file is a zip, but no TreeDP notebook: it has no manifest.")
            for info in infos:
                _admit(info)
            if len(names) < len(infos):
                raise _damaged("a name occurs twice in it")
            _admit_total({info.filename: info.file_size for info in infos})
            sums = _manifest(file.read(MANIFEST))
            found = {info.filename: file.read(info) for info in infos if info.filename != MANIFEST}
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError, NotImplementedError) as error:
        if isinstance(error, InputError):
            raise
        raise _damaged("it cannot be unpacked") from error
    if {name: hashlib.sha256(one).hexdigest() for name, one in found.items()} != sums:
        raise _damaged("a checksum does not match")
    return found


def written(value: Json) -> bytes:
    """Return JSON in the one form that files have.

    >>> written({"a": [1, None]})
    b'{"a":[1,null]}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def limit_of(name: str) -> int:
    """Return how many bytes a member may have; 0 where it may not be there."""
    return next((most for pattern, most in _MEMBERS.items() if re.fullmatch(pattern, name, re.ASCII)), 0)


def _admit_end(content: bytes) -> None:
    """Refuse a zip whose directory is larger than a notebook's, before it is read."""
    if len(content) < _END.size or content[-_END.size :][:4] != b"PK\x05\x06":
        raise _damaged("its end is missing")
    _, disk, first, here, entries, size, start, comment = _END.unpack(content[-_END.size :])
    if disk or first or comment or here != entries or start + size + _END.size != len(content):
        raise _damaged("its directory is not where it should be")
    if entries > MAX_MEMBERS or size > MAX_DIRECTORY:
        raise InputError("NOTEBOOK_TOO_LARGE", f"This file has more than {MAX_MEMBERS} members.")


def _admit(info: zipfile.ZipInfo) -> None:
    if not limit_of(info.filename) or info.is_dir() or info.external_attr >> 28 not in (0, 8):
        raise InputError("NOTEBOOK_FOREIGN", f"This file holds {echo(info.filename)}, which no TreeDP notebook has.")
    if info.flag_bits & 0x1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError("NOTEBOOK_FOREIGN", "This file is encrypted or packed in a way that no TreeDP notebook is.")
    _admit_size(info.filename, info.file_size)
    if info.file_size > max(SMALL, MAX_RATIO * info.compress_size):
        raise InputError("NOTEBOOK_TOO_LARGE", f"A member of this file unpacks to {megabytes(info.file_size)}.")


def _admit_size(name: str, size: int) -> None:
    if size > limit_of(name):
        raise InputError(
            "NOTEBOOK_TOO_LARGE",
            f"{echo(name)} of this notebook has {megabytes(size)}; at most {megabytes(limit_of(name))} are accepted.",
        )


def _admit_total(sizes: Mapping[str, int]) -> None:
    size, json_size = sum(sizes.values()), sum(size for name, size in sizes.items() if name.endswith(".json"))
    if size > MAX_TOTAL or len(sizes) > MAX_MEMBERS:
        raise _too_large(size, MAX_TOTAL)
    if json_size > MAX_JSON:
        raise _too_large(json_size, MAX_JSON)


def _manifest(content: bytes) -> dict[str, Any]:
    """The checksums of the other members, if this version can read them."""
    said = parse(content, most=limit_of(MANIFEST), what="The manifest")
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise InputError("NOTEBOOK_FOREIGN", "This file is a zip, but its manifest is not that of a TreeDP notebook.")
    version = said.get("format_version")
    if type(version) is not int or version != FORMAT_VERSION:
        made = said.get("package")
        by = f" by TreeDP {echo(made)}" if isinstance(made, str) else ""
        raise InputError(
            "CONFIG_VERSION",
            f"This notebook was saved{by} in format {echo(version)}; this TreeDP reads format "
            f"{FORMAT_VERSION}: open it with the one that saved it.",
        )
    told = members(said, "The manifest", format=str, format_version=int, package=str, notice=str, members=dict)
    validators.text("the notice", told["notice"], validators.MAX_TEXT, "CONFIG_VALUE")
    sums: dict[str, Any] = told["members"]
    return sums


def _too_large(size: int, most: int) -> InputError:
    return InputError(
        "NOTEBOOK_TOO_LARGE", f"This notebook has {megabytes(size)}; at most {megabytes(most)} are accepted."
    )


def _damaged(why: str) -> InputError:
    return InputError("NOTEBOOK_DAMAGED", f"This notebook is damaged: {why}.")
