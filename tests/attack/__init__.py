"""Attacks on a running app: hostile files, links, widgets and messages, sessions against each other, load and leaks.

Every attack starts a server of its own on the loopback address, is bounded in count and time, and ends by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .classroom import classroom
from .downloads import downloads
from .files import files
from .leak import leak
from .load import load
from .messages import clear_cache, starve
from .notebooks import notebooks
from .public import links, uploads
from .verdict import Verdict
from .widgets import widgets

ATTACKS: Final[dict[str, Callable[[bool], Verdict]]] = {
    "files": files,
    "notebooks": notebooks,
    "downloads": downloads,
    "uploads": uploads,
    "links": links,
    "clear_cache": clear_cache,
    "starve": starve,
    "widgets": widgets,
    "load": load,
    "classroom": classroom,
    "leak": leak,
}
"""Every attack by name; each takes whether it is to be the short form."""
