"""A program: open the Error lab with a plug-in, as `treedp --plugin own_plugin` starts it, with real worker processes.

It simulates the plug-in's mechanism in a worker, pins the figure, and runs the exported script in a fresh interpreter.
Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from oracles_pages import open_page, press, widget
from treedp_core import cli
from treedp_core.notebook import Notebook
from treedp_core.notebook.export.report import report_of
from treedp_core.notebook.export.script import bundle_of, script_of

os.environ[cli.PLUGINS_VARIABLE] = cli.environment({}, plugins=["own_plugin"])[cli.PLUGINS_VARIABLE]

link = {"source": "generate", "gen_branching": "3,4", "lab_view": "level", "lab_trials": "100"}
app = open_page("lab", lab_mechanisms=["laplace", "wide"], lab_post=["none"], **link)
badges = [part.value for part in app.main.markdown if "-badge[" in str(part.value)]
press(app, "lab_run")
until = time.monotonic() + 60
while time.monotonic() < until and not any("-badge[" in str(one.value) and "simulation" in one.value
                                          for one in app.main.markdown):  # fmt: skip
    time.sleep(0.2)
    app.run()
press(app, "lab_figure_pin")
book: Notebook = app.session_state["_notebook"].notebook
cell = book.cells[0]
script = script_of(book.cells, "Mine")
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "script.py"
    path.write_text(script, encoding="utf-8")
    ran = subprocess.run([sys.executable, str(path)], cwd=folder, capture_output=True, text=True, check=False)
plain = open_page("lab", lab_mechanisms=["laplace"], lab_post=["none"], **link)
print(json.dumps({
    "exceptions": [one.message for one in [*app.exception, *plain.exception]],
    "errors": [one.value for one in app.main.error],
    "badges": badges, "cell": list(cell.badges), "columns": cell.columns,
    "options": widget(app, "lab_mechanisms").options, "help": widget(app, "lab_mechanisms").help,
    "code": cell.code, "script": ran.stdout[-3000:] + ran.stderr[-3000:], "status": ran.returncode,
    "report": report_of(book.cells, "Mine").decode(), "bundle": len(bundle_of(book.cells, "Mine")),
    "plain": [part.value for part in plain.main.markdown if "-badge[" in str(part.value)],
}))  # fmt: skip
