"""`treedp run STUDY.treedp`: every cell of a notebook made anew by its view, without a browser.

The app itself runs, its work in the same workers; nothing of the file is ever run as code.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Final

from streamlit.testing.v1 import AppTest

from pages.ui import again, book, disk, kept
from treedp_core.checks import InputError
from treedp_core.cli import NOTEBOOK_VARIABLE, app_path, load_plugins
from treedp_core.notebook import Cell, Notebook
from treedp_core.notebook.executors import say
from treedp_core.notebook.export.program import slug
from treedp_core.notebook.headless import end_on_interrupt, new_folder, parser, refused, write
from treedp_core.notebook.rebind_data import tables_of
from treedp_core.words import plural

SECONDS: Final = 3600.0
"""How long all cells may take."""
PAUSE: Final = 0.1


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 when every cell was made again and shows what it showed, 1 when one did not, 2 for a bad file."""
    given = parser().parse_args(arguments)
    try:
        load_plugins(os.environ)
        out = None if given.out is None else new_folder(given.out)
        file, data = Path(given.file).absolute(), [Path(one).absolute() for one in given.data]
        with chdir(app_path().parent):  # Streamlit takes settings and secrets from the current folder
            before, after, failed = run_again(file, data)
        if out is not None and after.cells:
            write(out, after.cells, after.title)
    except InputError as error:
        return refused(error)
    wrong = {id: f"{why}{_remedy(why)}" for id, why in failed.items()}
    wrong |= {old.id: why for old, new in zip(before.cells, after.cells, strict=True) if (why := differs(old, new))}
    for cell in before.cells:
        same = "the same numbers" if cell.columns is not None else "made; the file has none of its numbers"
        say(f"{slug(cell.name)}: {wrong.get(cell.id, same)}")
    said = f", {len(wrong)} not as before" if wrong else ""
    say(f"{plural(len(before.cells), 'cell')} run again{said}{f', written to {out}' if out else ''}.")
    return 1 if wrong else 0


def run_again(path: Path, files: Sequence[Path] = ()) -> tuple[Notebook, Notebook, dict[str, str]]:
    """Return a notebook as its file has it and as its pages make it now, and by their ids why cells failed.

    `files` are what a notebook without data asks for.

    Raises
    ------
    InputError
        ``NOTEBOOK_REFUSED`` with the sentence that the app would show; ``RUN_TIME`` when it takes too long; those of
        `regiven.tables_of`.
    """
    os.environ[NOTEBOOK_VARIABLE] = str(path)
    until = time.monotonic() + SECONDS
    app = AppTest.from_file(str(app_path()), default_timeout=SECONDS).run()
    while app.session_state[disk.STATE].opens:
        _wait(app, until)
    if app.error:
        raise InputError("NOTEBOOK_REFUSED", app.error[0].value.splitlines()[0])
    _give(app, files)
    before: Notebook = app.session_state[book.HELD].notebook
    if not before.cells:
        return before, before, {}
    app.switch_page("pages/notebook.py").run()
    app.segmented_control(key="nb_view").set_value("all").run()
    app.button(key="nb_again_all").click().run()
    state, told = None, -1
    while again.RUN in app.session_state:
        state = app.session_state[again.RUN]
        if told != (told := state.done + len(state.failed)):
            say(f"{told} of {plural(len(before.cells), 'cell')}")
        _wait(app, until)
    after: Notebook = app.session_state[book.HELD].notebook
    return before, after, dict(app.session_state[again.LEFT])


def _give(app: AppTest, files: Sequence[Path]) -> None:
    """Put the data sets that the notebook asks for where an upload of them would have."""
    if not files:
        return
    given = tables_of(app.session_state[book.HELD].asked, files)
    app.session_state[kept.FILES], app.session_state[kept.SHELF] = kept.in_places(
        (one.slot, kept.Kept(one.data, one.how, None, one.when)) for one in given
    )
    app.run()


def _wait(app: AppTest, until: float) -> None:
    if time.monotonic() > until:
        raise InputError("RUN_TIME", "The notebook takes longer than an hour; run it in parts.")
    time.sleep(PAUSE)
    app.run()


def _remedy(why: str) -> str:
    """What to do about a cell that was not made."""
    if why.startswith(again.UNKNOWN):
        return "; load a plug-in with --plugin"
    return "; give them with --data" if why == again.NO_DATA else ""


def differs(old: Cell, new: Cell) -> str:
    """Return in which way a cell that was made again is not what it was; nothing where it is.

    All simulations are run, also of cells that were pinned without: only what a cell showed is compared.
    """
    if old.data is not None and (new.data is None or new.data.fingerprint != old.data.fingerprint):
        return f"{again.NO_DATA}; give them with --data"
    if old.columns is None:
        return ""
    if new.columns is None or set(old.columns) - set(new.columns):
        return "it has another table"
    same = all(_same(old.columns[name], new.columns[name]) for name in old.columns)
    return "" if same else "it shows other numbers"


def _same(shown: Sequence[object], now: Sequence[object]) -> bool:
    if len(shown) != len(now):
        return False
    return all(a is None or a == b or (a != a and b != b) for a, b in zip(shown, now, strict=True))


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # pages that run without a browser warn of that
    end_on_interrupt()
    raise SystemExit(main())
