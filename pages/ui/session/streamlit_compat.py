"""All that is used of Streamlit without its documentation: nothing else here touches what may change unannounced.

Each use says why, and what is lost without it. At the start each is tried: what fails is a line in the log, and what it
is for is left out; the app goes on. Files that lie elsewhere in another version are not found then, so a browser may
refuse Streamlit's own page: pyproject.toml admits the versions on which the whole suite passed.
"""

from __future__ import annotations

import inspect
import logging
import re
import threading
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from streamlit import file_util, runtime
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest
from streamlit.components.v2.types import ComponentRenderer
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.media_file_storage import MediaFileKind, MediaFileStorage
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.common import user_key_from_element_id
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

__all__ = ["ComponentRenderer", "MediaFileKind", "MediaFileStorage", "is_host_allowed"]

_log: Final = logging.getLogger("treedp")
_STATIC: Final = Path(file_util.get_static_dir())
UPLOAD: Final = re.compile(r"/_stcore/upload_file/([^/]+)/[^/]+/?$")
"""Where browsers send files: the id of the session is the part before the last."""


@dataclass(frozen=True)
class Use:
    """A use of what is not documented.

    Parameters
    ----------
    what, why, lost : str
        Names in Streamlit 1.67, reason, and what is lost without it.
    works : function
        Whether it is there as it is used; it may raise.
    """

    what: str
    why: str
    lost: str
    works: Callable[[], object]


def _takes(function: Callable[..., object], *names: str) -> bool:
    return set(names) <= set(inspect.signature(function).parameters)


def _manager() -> Any:
    return runtime.get_instance()


USES: Final = (
    Use(
        "ScriptRunner.start, _run_script_thread, _maybe_handle_execution_control_request, _session_id; "
        "SafeSessionState.on_script_will_rerun",
        "A press must be done whole, and before the next one: see `have_presses_done_in_turn`.",
        "a pin may be lost where its page is left at once",
        lambda: all(callable(getattr(owner, name)) for owner, name in _PATCHED),
    ),
    Use(
        "get_script_run_ctx: session_id",
        "What a session owns is kept under its id, not in a cache that any session may empty.",
        "the app",
        lambda: _takes(get_script_run_ctx, "suppress_warning"),
    ),
    Use(
        "get_script_run_ctx: is_history_navigation, page_script_hash, pages_manager.intended_page_name",
        "Back and Forward bring settings back; an address of no page opens the home page and says so.",
        "Back leaves settings as they are; Streamlit speaks of files in a folder",
        lambda: "page_script_hash" in _context_fields() and "is_history_navigation" in _context_fields(),
    ),
    Use(
        "SessionState._new_widget_state, user_key_from_element_id",
        "A browser whose session ended sends the values of its widgets; one that cannot be read is let go.",
        "settings start afresh after a restart",
        lambda: SessionState()._new_widget_state.states == {} and callable(user_key_from_element_id),
    ),
    Use(
        "Runtime._session_mgr, _session_storage, close_session, is_active_session; AppSession._session_state",
        "A session that nobody returned to is let go also when nobody is connected, or the machine slept.",
        "counts stay in memory longer than is said",
        lambda: (_manager()._session_mgr.get_session_info, _manager()._session_mgr._session_storage.delete),
    ),
    Use(
        "MediaFileManager._storage, add, remove_orphaned_files",
        "A file made on a click stays a minute, for slow browsers; the browser fetches what it keeps of a notebook.",
        "slow browsers find that a file is gone",
        lambda: (_manager().media_file_mgr._storage.delete_file, _manager().media_file_mgr.add),
    ),
    Use(
        "MemoryUploadedFileManager.file_storage, remove_file; the address /_stcore/upload_file",
        "A session may send so much, and what was counted is let go.",
        "uploads stay in memory until their session ends, and the limit is of each file",
        lambda: (_manager().uploaded_file_mgr.file_storage, _manager().uploaded_file_mgr.remove_file),
    ),
    Use(
        "BidiComponentManager.register_from_manifest",
        "Scripts of ours are files, so that no page may run text as code.",
        "keys, dragged rows, and the address bar",
        lambda: _takes(get_bidi_component_manager().register_from_manifest, "manifest", "package_root"),
    ),
    Use(
        "is_host_allowed",
        "Names that are not served are refused on every path.",
        "the app",
        lambda: is_host_allowed("localhost") in (True, False),
    ),
    Use(
        "window.Plotly, .js-plotly-plot, input[type=range] with aria-valuetext, data-test-script-state",
        "A figure follows a handle: the browser draws it in place with the plotly that Streamlit has.",
        "figures move on release",
        lambda: not drawing_file() or b".Plotly=" in (_STATIC / "static" / "js" / drawing_file()).read_bytes(),
    ),
    Use(
        "static/index.html, static/js/PlotlyChart.*.js",
        "The scripts inside Streamlit's page run by their hashes alone; the file that draws figures is fetched early.",
        "the page, where a hash is missing; else a second before the first figure",
        lambda: inline_scripts() and drawing_file(),
    ),
)  # fmt: skip


def check(uses: Sequence[Use] = USES) -> list[Use]:
    """Try every use while the server runs; return what fails, each a line in the log."""
    failed = []
    for one in uses:
        try:
            works = one.works()
        except Exception:
            works = False
        if not works:
            failed.append(one)
            _log.warning("this version of Streamlit has other parts (%s); lost: %s", one.what, one.lost)
    return failed


# ---- the run under way


def _context() -> Any:
    """The context of the page that runs on this thread; None outside of any."""
    return get_script_run_ctx(suppress_warning=True)


def _context_fields() -> set[str]:
    from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

    return set(ScriptRunContext.__dataclass_fields__) | set(dir(ScriptRunContext))


def session_id() -> str:
    """Return the id of the session whose page runs on this thread; "" outside of any."""
    return getattr(_context(), "session_id", "")


def has_travelled() -> bool:
    """Whether this run follows Back or Forward."""
    return bool(getattr(_context(), "is_history_navigation", False))


def page_mark() -> str:
    """Return what tells the page that runs from others."""
    return str(getattr(_context(), "page_script_hash", ""))


def page_asked() -> str:
    """Return the name that the address gives of a page, if it gives one."""
    return str(getattr(getattr(_context(), "pages_manager", None), "intended_page_name", ""))


def ask_for_home() -> None:
    """Have this run open the home page, whatever its address names."""
    with suppress(AttributeError):
        _context().pages_manager.set_script_intent("", "")


def _values_sent() -> Any:
    return _context().session_state._state._new_widget_state


def keys_sent() -> frozenset[str]:
    """Return the keys of the widgets whose values the browser sent with this run."""
    try:
        return frozenset(key for key in map(user_key_from_element_id, _values_sent().states) if key)
    except Exception:
        return frozenset()


def forget_unreadable_values() -> None:
    """Let go of widget values of a type that the widget does not take.

    No page sends them, but where one is sent Streamlit would raise over it in every later run of the session.
    """
    with suppress(AttributeError):
        widgets = _values_sent()
        for name in list(widgets.states):
            try:
                widgets[name]
            except KeyError:  # of a widget not met yet
                continue
            except Exception:
                del widgets.states[name]


# ---- sessions


def is_connected(session: str) -> bool:
    """Whether a tab of a session is connected."""
    return bool(_manager().is_active_session(session))


def close_session(session: str) -> None:
    """Have Streamlit let go of a session, also of one it no longer finds after the machine slept, and empty it.

    The loop that sends messages holds the session it served last until it serves another.
    """
    server = _manager()
    info = server._session_mgr.get_session_info(session)
    server.close_session(session)
    with suppress(KeyError):
        server._session_mgr._session_storage.delete(session)
    if info is not None:
        info.session._session_state = SessionState()
        info.session._fragment_storage = MemoryFragmentStorage()


# ---- files


def wrap_files(wrap: Callable[[MediaFileStorage], MediaFileStorage]) -> None:
    """Put a store around the one that has the files browsers fetch."""
    manager = _manager().media_file_mgr
    manager._storage = wrap(manager._storage)


def remove_orphans() -> None:
    """Let go of the files that no page shows any more."""
    _manager().media_file_mgr.remove_orphaned_files()


def add_file(content: bytes, mime: str, place: str) -> str:
    """Return the address where the browser fetches a file, one at each place of a page."""
    return str(_manager().media_file_mgr.add(content, mime, place))


def upload_sizes(session: str) -> list[int]:
    """Return the bytes of each file that a session has sent and that is here."""
    held = getattr(_manager().uploaded_file_mgr, "file_storage", {})
    return [len(file.data) for file in list(held.get(session, {}).values())]


def free_upload(file_id: str) -> None:
    """Let go of a file that this session sent; without it the file goes when the session does."""
    try:
        context = _context()
        context.uploaded_file_mgr.remove_file(session_id=context.session_id, file_id=file_id)
    except Exception:
        _log.warning("an uploaded file is kept until its session ends")


def inline_scripts() -> list[bytes]:
    """Return the scripts inside Streamlit's page as it is sent."""
    return re.findall(rb"<script>(.*?)</script>", (_STATIC / "index.html").read_bytes(), re.DOTALL)


def drawing_file() -> str:
    """Return the name of Streamlit's file that draws figures, by far its largest; "" where it has another name."""
    return next((one.name for one in (_STATIC / "static" / "js").glob("PlotlyChart.*.js")), "")


def register_scripts(package: str, folders: Sequence[str], root: Path) -> Hashable:
    """Tell Streamlit where scripts of a package lie, as it looks for them in installed packages only.

    It is told once, as it looks at every folder above each time; what is returned stands for who was told.
    """
    manager = get_bidi_component_manager()
    if manager not in _TOLD:
        configs = [ComponentConfig(one, str(Path("static", one))) for one in folders]
        manager.register_from_manifest(ComponentManifest(package, "1", configs), root)
        _TOLD.add(manager)
    return manager


_TOLD: Final[WeakSet[Any]] = WeakSet()

# ---- callbacks

_HERE: Final = threading.local()
_LAST: Final[dict[str, threading.Event]] = {}
"""Of each session that runs: what tells that the callbacks of its last press are done."""
_PATCHED: Final[tuple[tuple[type[Any], str], ...]] = (
    (ScriptRunner, "_maybe_handle_execution_control_request"),
    (ScriptRunner, "start"),
    (ScriptRunner, "_run_script_thread"),
    (SafeSessionState, "on_script_will_rerun"),
)


def have_presses_done_in_turn() -> None:
    """Have callbacks of every session done whole, and in the order of what was pressed; once a process.

    Streamlit begins a thread for each press, and so ends a callback midway, and never begins it again, where the
    browser asks for something else meanwhile: a pin was lost where its page was left at once, and a notebook that is
    being opened would be put in place by half. Nor does a thread wait for the one before it: one that came late put the
    controls of an older message over what the callback of a newer one had set.
    """
    theirs = [getattr(owner, name) for owner, name in _PATCHED if hasattr(owner, name)]
    if len(theirs) < len(_PATCHED) or any(hasattr(one, "__wrapped__") for one in theirs):
        return
    for (owner, name), one, around in zip(_PATCHED, theirs, (_later, _in_turn, _to_the_end, _whole), strict=True):
        setattr(owner, name, wraps(one)(around(one)))


def _later(give_way: Callable[..., None]) -> Callable[[Any], None]:
    def ours(runner: Any) -> None:
        if not getattr(_HERE, "is_in_callbacks", False):
            give_way(runner)

    return ours


def _in_turn(start: Callable[..., None]) -> Callable[[Any], None]:
    def ours(runner: Any) -> None:
        runner.turn = threading.Event()
        runner.turn_before, _LAST[runner._session_id] = _LAST.get(runner._session_id), runner.turn
        try:
            start(runner)
        except BaseException:  # nobody waits for a thread that never was
            runner.turn.set()
            raise

    return ours


def _to_the_end(thread: Callable[..., None]) -> Callable[[Any], None]:
    def ours(runner: Any) -> None:
        if runner.turn_before is not None:
            runner.turn_before.wait()
        runner.turn_before, _HERE.turn = None, runner.turn
        try:
            thread(runner)
        finally:  # also where it had no callback to do
            runner.turn.set()
            if _LAST.get(runner._session_id) is runner.turn:
                del _LAST[runner._session_id]

    return ours


def _whole(dispatch: Callable[..., None]) -> Callable[..., None]:
    def ours(state: Any, *args: Any, **kwargs: Any) -> None:
        _HERE.is_in_callbacks = True
        try:
            dispatch(state, *args, **kwargs)
        finally:
            _HERE.is_in_callbacks = False
            _HERE.turn.set()

    return ours
