"""The app's own server, telling a file how much of what was kept of files is still in memory."""

import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from streamlit.web.cli import main

from pages.ui.tables import session_tables, store

told, *arguments = sys.argv[1:]
counted: list[weakref.ref[Any]] = []
put_in_use = store.set_dataset


def noting(data: Any, slot: str, ran: Any, columns: Any) -> None:
    """Note a data set and the columns of its file, and put it in use."""
    counted.extend(weakref.ref(one) for one in (data, columns))
    put_in_use(data, slot, ran, columns)


def tell() -> None:
    """Write `alive of all` again and again."""
    while True:
        Path(told + ".new").write_text(f"{sum(one() is not None for one in counted)} of {len(counted)}")
        Path(told + ".new").replace(told)  # never half a line for the reader
        time.sleep(0.1)


store.set_dataset = noting
session_tables.SECONDS = 3.0  # type: ignore[misc]  # for a table that was removed
session_tables.SECONDS = 3.0
threading.Thread(target=tell, daemon=True).start()
sys.argv = ["streamlit", *arguments]
main()
