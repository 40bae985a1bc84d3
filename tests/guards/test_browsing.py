"""When a page of the browser tests is at rest."""

from typing import Any

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from browsing import Traffic


class Socket:
    """A websocket that says what a test has it say."""

    def __init__(self) -> None:
        self.heard: dict[str, Any] = {}

    def on(self, what: str, listener: Any) -> None:
        self.heard[what] = listener


@pytest.fixture
def spoken() -> tuple[Traffic, Socket]:
    traffic, socket = Traffic(), Socket()
    traffic._listen(socket)
    return traffic, socket


def asked(**said: Any) -> bytes:
    message = BackMsg()
    message.rerun_script.SetInParent()
    for name, value in said.items():
        setattr(message.rerun_script, name, value)
    return message.SerializeToString()


def test_a_run_is_owed_until_it_ended(spoken: tuple[Traffic, Socket]) -> None:
    traffic, socket = spoken
    socket.heard["framesent"](asked(fragment_id="part"))
    assert traffic.owed
    for how, is_owed in (("FINISHED_EARLY_FOR_RERUN", True), ("FINISHED_SUCCESSFULLY", False)):
        socket.heard["framereceived"](ForwardMsg(script_finished=how).SerializeToString())
        assert traffic.owed == is_owed


def test_nothing_is_owed_to_a_part_that_asks_by_its_own_clock(spoken: tuple[Traffic, Socket]) -> None:
    """It may be gone, and then the server never answers."""
    traffic, socket = spoken
    socket.heard["framesent"](asked(fragment_id="part", is_auto_rerun=True))
    assert not traffic.owed
