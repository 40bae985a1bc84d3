"""What a worker does with the content of a file: it reports to a watch, and nobody else reads that content."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from treedp_core.checks import InputError
from treedp_core.records.read.column_cache import hold
from treedp_core.records.read.file_checks import too_large
from treedp_core.records.read.readers import HeldColumns, Origin, inspect
from treedp_core.records.read.sniff import Preview
from treedp_core.records.read.sources import ReadOptions
from treedp_core.records.read.table_reader import Progress
from treedp_core.watch import Watch

T = TypeVar("T")

STEPS: Final = 1_000
"""What a watch counts up to while a file is read once."""


class Looked(NamedTuple):
    """What a file looks like, its columns where they fit, and why they cannot be read where further on they cannot."""

    preview: Preview
    columns: HeldColumns | None
    refused: InputError | None = None


def look_at(origin: Origin, *, name: str, options: ReadOptions, limit: int, watch: Watch) -> Looked:
    r"""Return what a file looks like, and its columns where they fit into `limit` bytes, or why they cannot be read.

    Raises
    ------
    InputError
        The codes of `inspect`.

    Examples
    --------
    >>> looked = look_at(b"city\nUlm\n", name="t", options=ReadOptions(), limit=0, watch=Watch())
    >>> looked.preview.columns, looked.columns, looked.refused
    (('city',), None, None)
    """
    preview = inspect(origin, name=name, options=options)
    if not limit:
        return Looked(preview, None)
    try:
        return Looked(preview, hold(origin, name=name, options=options, limit=limit, progress=_told(watch)))
    except InputError as error:
        refused = InputError(error.code, str(error))  # without what led to it, which may hold cells
    return Looked(preview, None, None if refused.code == too_large().code else refused)  # one column may fit


def read(function: Callable[..., T], *given: object, watch: Watch, **how: object) -> T:
    r"""Return `function(*given, **how)`, its progress told to a watch; partials among `how` are called first.

    Raises
    ------
    InputError
        What the functions refuse.

    Examples
    --------
    >>> from treedp_core.records import count_hierarchy, domain_of_paths
    >>> domain = partial(domain_of_paths, b"city\nUlm\nKiel\n")
    >>> read(count_hierarchy, b"city\nUlm\n", ["city"], domain=domain, watch=Watch()).counts.tolist()
    [1, 1, 0, 0]
    """
    called: dict[str, Any] = {name: one() if isinstance(one, partial) else one for name, one in how.items()}
    return function(*given, progress=_told(watch), **called)


def _told(watch: Watch) -> Progress:
    """Return what tells a watch how far a file is read, in steps; it stops the reading where the watch says so."""
    said = 0

    def progress(done: int, total: int) -> None:
        nonlocal said
        now = min(STEPS, STEPS * done // max(1, total))
        watch.step(max(0, now - said))
        said = max(said, now)
        watch.check()

    return progress
