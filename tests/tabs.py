"""A browser tab without a browser: speaks the app's websocket protocol, for what a page in Chromium cannot send."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import requests
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileUploaderState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect

COOKIE = "_streamlit_xsrf"
PATIENCE = 120.0


def admitted(url: str, secret: str, kind: str = "class") -> str:
    """The cookie that a class gives to who knows its word, or to its teacher."""
    answer = requests.get(f"{url}/?{kind}={secret}", allow_redirects=False, timeout=PATIENCE)
    assert answer.status_code == 303, answer.status_code
    return "; ".join(f"{name}={value}" for name, value in answer.cookies.items())


class Tab:
    """One session: ``with Tab(server.url, "lab", "eps=2") as tab``; its page has run once.

    ``widgets`` maps the key of a control to its message, ``alerts``, ``texts`` and ``exceptions`` hold what the last
    runs said, ``parts`` the fragments that ask to be run again and again, ``states`` what a browser would send again.
    """

    def __init__(self, url: str, page: str = "", query: str = "", cookie: str = "") -> None:
        self.url, self.page, self.query, self.cookie = url, page, query, cookie
        self.widgets: dict[str, Any] = {}
        self.states: dict[str, WidgetState] = {}
        self.parts: dict[str, float] = {}
        self.alerts: list[str] = []
        self.texts: list[str] = []
        self.exceptions: list[str] = []
        self.session_id = self.script = ""

    def __enter__(self) -> Tab:
        self.connect()
        self.run()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def connect(self, *, as_session: str = "") -> None:
        """Open the websocket, as another session's browser that returns if asked; nothing runs yet."""
        self.xsrf = requests.get(f"{self.url}/_stcore/health", timeout=PATIENCE).cookies.get(COOKIE, "none")
        self.open = ExitStack()
        socket = connect(
            f"{self.url.replace('http', 'ws', 1)}/_stcore/stream",
            subprotocols=["streamlit", self.xsrf, *filter(None, [as_session])],  # type: ignore[list-item]
            origin=self.url,  # type: ignore[arg-type]
            additional_headers={"Cookie": self._cookies()},
            max_size=None,
            open_timeout=PATIENCE,
            ping_interval=None,
        )
        self.socket = self.open.enter_context(socket)

    def _cookies(self) -> str:
        return "; ".join(filter(None, (f"{COOKIE}={self.xsrf}", self.cookie)))

    def close(self) -> None:
        """Close the tab."""
        self.open.close()

    def run(self, *extra: WidgetState, part: str = "") -> None:
        """Run the page, or one part of it, with the kept states and the extra ones; return when it is done."""
        message = BackMsg()
        request = message.rerun_script
        request.query_string, request.page_name, request.fragment_id = self.query, self.page, part
        request.page_script_hash = self.script if part else ""  # what a part has run anew is then this page
        request.widget_states.widgets.extend([*self.states.values(), *extra])
        request.context_info.url = f"{self.url}/{self.page}"
        self.send(message)
        while True:
            how = self.receive("script_finished").script_finished
            ends = {ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_WITH_COMPILE_ERROR}
            if how in ends | ({ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY} if part else set()):
                return

    def send(self, message: BackMsg) -> None:
        """Send any message at all."""
        self.socket.send(message.SerializeToString())

    def receive(self, kind: str) -> ForwardMsg:
        """Take in messages until one of this kind comes, and return it."""
        while True:
            message = ForwardMsg()
            message.ParseFromString(self.socket.recv(timeout=PATIENCE, decode=False))
            self._take(message)
            if message.WhichOneof("type") == kind:
                return message

    def forget_what_was_said(self) -> None:
        """Start listening afresh."""
        self.alerts, self.texts, self.exceptions = [], [], []
        self.parts = {}

    def key(self, start: str) -> str:
        """The last key met that starts like this."""
        return [key for key in self.widgets if key.startswith(start)][-1]

    def state(self, key: str, **value: Any) -> WidgetState:
        """A state for the control with that key, such as ``double_value=1.5``; a list fills an array."""
        state = WidgetState(id=self.widgets[key].id)
        for name, content in value.items():
            if isinstance(content, list):
                getattr(state, name).SetInParent()
                getattr(state, name).data.extend(content)
            else:
                setattr(state, name, content)
        return state

    def keep(self, key: str, **value: Any) -> None:
        """Set a control as a browser does, from the next run on."""
        state = self.state(key, **value)
        self.states[state.id] = state

    def press(self, key: str) -> None:
        """Press a button."""
        self.run(self.state(key, trigger_value=True))

    def until(self, true: Callable[[], bool], within: float = PATIENCE) -> None:
        """Run the parts that refresh themselves, else the page, until something is true."""
        deadline = time.monotonic() + within
        while not true():
            assert time.monotonic() < deadline, f"not within {within:g} s; the page says {self.texts[-5:]}"
            parts = list(self.parts)
            for part in parts:
                self.run(part=part)
            if not parts:
                self.run()
            time.sleep(min(self.parts.values(), default=0.1))

    def settle(self) -> None:
        """Follow the parts that refresh themselves until the page has none: nothing is under way any more."""
        self.until(lambda: not self.parts)

    def put(self, name: str, data: bytes, file_id: str = "") -> int:
        """Send a file to the upload address; the status of the answer."""
        path = f"/_stcore/upload_file/{self.session_id}/{file_id or uuid.uuid4().hex}"
        headers = {"X-Xsrftoken": self.xsrf, "Cookie": self._cookies()}
        answer = requests.put(self.url + path, files={"file": (name, data)}, headers=headers, timeout=PATIENCE)
        return answer.status_code

    def upload(self, key: str, name: str, data: bytes) -> int:
        """Give the uploader with that key a file, as a browser does, from the next run on; the status of the answer."""
        file_id = uuid.uuid4().hex
        status = self.put(name, data, file_id)
        told = FileUploaderState()
        info = told.uploaded_file_info.add()
        info.file_id, info.name, info.size = file_id, name, len(data)
        state = WidgetState(id=self.widgets[key].id)
        state.file_uploader_state_value.CopyFrom(told)
        self.states[state.id] = state
        return status

    def count(self, name: str, data: bytes, columns: Iterable[str], weight: str, *, nth: int = 0) -> None:
        """On the data page: upload a file, the `nth` of this session, choose its columns, and press Count."""
        self.upload(f"upload_{nth}", name, data)
        self.run()
        self.settle()
        self.choose(columns, weight)
        self.press("upload_count")
        self.settle()

    def choose(self, columns: Iterable[str], weight: str) -> None:
        """On the data page: choose the columns of the file that waits."""
        self.keep(self.key("upload_columns"), string_array_value=list(columns))
        self.run()
        self.keep(self.key("upload_weight"), string_value=weight)
        self.run()
        self.forget_what_was_said()

    def download_address(self, key: str) -> str:
        """Press a download button whose file is made on demand; the address of the file."""
        message = BackMsg()
        request = message.backend_operation_request
        request.request_id, request.session_id = uuid.uuid4().hex, self.session_id
        request.deferred_file.file_id = self.widgets[key].deferred_file_id
        self.send(message)
        answer = self.receive("backend_operation_response").backend_operation_response
        assert not answer.error_msg, answer.error_msg
        return str(answer.deferred_file.url)

    def fetch(self, address: str) -> requests.Response:
        """What lies at an address of the app."""
        return requests.get(self.url + address, timeout=PATIENCE)

    def _take(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session_id = message.new_session.initialize.session_id or self.session_id
            if not message.metadata.run.fragment_ids:  # the whole page runs, and names its parts anew
                self.parts = {}
        elif kind == "navigation":
            self.script = message.navigation.page_script_hash
        elif kind == "auto_rerun":
            self.parts[message.auto_rerun.fragment_id] = message.auto_rerun.interval
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self._take_element(message.delta.new_element)
        elif kind == "delta" and message.delta.WhichOneof("type") == "add_block":
            block = message.delta.add_block
            content = getattr(block, block.WhichOneof("type") or "", None)
            if getattr(content, "id", ""):  # a popover or an expander
                self.widgets[content.id.split("-", 2)[-1]] = content

    def _take_element(self, element: Any) -> None:
        kind = element.WhichOneof("type")
        if kind is None:
            return
        content = getattr(element, kind)
        if getattr(content, "id", ""):
            self.widgets[content.id.split("-", 2)[-1]] = content
        if kind == "alert":
            self.alerts.append(content.body)
        elif kind == "exception":
            self.exceptions.append(content.message)
        elif kind in ("markdown", "text", "progress"):
            self.texts.append(content.text if kind == "progress" else content.body)
