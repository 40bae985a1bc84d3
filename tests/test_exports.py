"""Files that were to go wait a minute for a slow browser, and then go."""

from __future__ import annotations

import pytest
from streamlit.runtime.media_file_storage import MediaFileKind, MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from pages.ui.exports import LINGER_SECONDS, Lingering


def test_a_swept_file_stays_for_a_minute_and_longer_if_asked_for_again() -> None:
    time = [0.0]
    below = MemoryMediaFileStorage("/media")
    store = Lingering(below, lambda: time[0])

    def ask() -> str:
        return store.load_and_get_id(b"table", "text/csv", MediaFileKind.DOWNLOADABLE, "table.csv")

    def is_there() -> bool:
        store.sweep()
        try:
            return below.get_file(name).content == b"table"
        except MediaFileStorageError:
            return False

    name = ask()
    assert store.get_url(name) == f"/media/{name}.csv"
    store.delete_file(name)
    time[0] = LINGER_SECONDS - 1
    assert is_there()
    assert ask() == name
    time[0] = LINGER_SECONDS + 1
    assert is_there()
    store.delete_file(name)
    time[0] = 2 * LINGER_SECONDS
    assert is_there()
    time[0] = 2 * LINGER_SECONDS + 1
    assert not is_there()
    with pytest.raises(MediaFileStorageError):
        store.get_url(name)
