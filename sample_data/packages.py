"""Packages of public registries that samples are derived from, read from a folder or fetched by their own clients."""

from __future__ import annotations

import gzip
import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

_CLIENTS: Final = {
    "pip": (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "{name}=={version}", "-d", "{folder}"),
    "npm": ("npm", "pack", "--silent", "{name}@{version}", "--pack-destination", "{folder}"),
}
"""What fetches a package into a folder."""


@dataclass(frozen=True)
class Package:
    """One version of a package.

    Parameters
    ----------
    client : {"pip", "npm"}
        Which client fetches it.
    name, version : str
    date : str
        When this version was published, as it is said to readers.
    archive : str
        The file that the client makes.
    sha256 : str
        Of that file (hex).
    """

    client: Literal["pip", "npm"]
    name: str
    version: str
    date: str
    archive: str
    sha256: str

    def fetched(self, folder: Path) -> Path:
        """Return where its archive lies in a folder: fetched where it is not there yet, and the very one that is noted.

        Raises
        ------
        ValueError
            For an archive of other bytes.
        """
        path = folder / self.archive
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            given = {"name": self.name, "version": self.version, "folder": str(folder)}
            subprocess.run([part.format(**given) for part in _CLIENTS[self.client]], check=True)
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise ValueError(f"{self.archive} is not the archive of {self.name} {self.version} that is noted here.")
        return path

    def read(self, folder: Path, member: str) -> bytes:
        """Return a file of the package, by how its path in the archive ends."""
        path = self.fetched(folder)
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                return wheel.read(_only(wheel.namelist(), member))
        with tarfile.open(path) as tar:
            file = tar.extractfile(_only(tar.getnames(), member))
            assert file is not None
            return file.read()


def _only(names: list[str], end: str) -> str:
    (found,) = [name for name in names if name.endswith(f"/{end}") or name == end]
    return found


def unzipped(content: bytes) -> bytes:
    """Return the only file of a ZIP archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (name,) = archive.namelist()
        return archive.read(name)


def text_of(path: Path) -> str:
    """Return the text of a sample file; one whose name ends in ``.gz`` is unpacked."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")


def digest_of(path: Path) -> str:
    """Return the SHA-256 (hex) of the text of a sample file, however it was packed."""
    return hashlib.sha256(text_of(path).encode()).hexdigest()


def write(path: Path, text: str) -> None:
    """Write a sample file, packed where its name ends in ``.gz``; one that holds this text already stays as it is.

    Versions of zlib pack the same text in different bytes, so that only the text is compared.
    """
    if path.exists() and text_of(path) == text:
        return
    content = text.encode()
    path.write_bytes(gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content)
