"""Files of the current folder are data: whatever their names are, no process that `treedp` starts runs one of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from browsing import SAFE_ENVIRONMENT, chromium_path, free_port, wait_until_healthy
from tabs import Tab
from treedp_core import cli
from treedp_core.notebook.cell import Notebook
from treedp_core.notebook.file.archive import save
from treedp_core.notebook.study import Study

SHADOWS = (
    "random", "statistics", "json", "numbers", "secrets", "logging", "socket", "argparse", "typing", "zipfile",
    "sitecustomize", "usercustomize", "numpy", "scipy", "pandas", "pyarrow", "plotly", "streamlit", "starlette",
    "openpyxl", "python_calamine", "kaleido", "treedp_core", "pages", "app", "sample_data", "own_plugin",
    "own_executor",
)  # fmt: skip
"""Modules that a file of the current folder could be taken for."""
TRAP = "import os\nwith open(os.environ['TRAP'], 'a') as file:\n    file.write({name!r} + '\\n')\n"
SCRIPT = {
    "treedp_sweep": 1, "data": {"made_up": "zipf", "records": 100, "branching": "2,2", "seed": 7},
    "experiments": {"mechanism": ["laplace", "discrete_laplace"], "trials": 20},
}  # fmt: skip
COMMAND = str(Path(sys.executable).with_name("treedp"))


@pytest.fixture
def downloads(tmp_path: Path) -> Path:
    """A folder with a table, a sweep and a notebook, and with traps beside them, settings of Streamlit among them."""
    folder = tmp_path / "downloads"
    (folder / ".streamlit").mkdir(parents=True)
    for name in SHADOWS:
        (folder / f"{name}.py").write_text(TRAP.format(name=name), encoding="utf-8")
    for name in ("pages", "numpy", "mine"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(TRAP.format(name=name), encoding="utf-8")
    (folder / ".streamlit" / "config.toml").write_text('[server]\nbaseUrlPath = "foreign"\n', encoding="utf-8")
    (folder / ".streamlit" / "secrets.toml").write_text("this is = not [toml", encoding="utf-8")
    (folder / "people.csv").write_text("state,city\nOhio,Akron\nOhio,Kent\n", encoding="utf-8")
    (folder / "sweep.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
    (folder / "study.treedp").write_bytes(save(Study(notebook=Notebook(), version="0.1.0"), with_data=True))
    return folder


def environment(folder: Path) -> Mapping[str, str]:
    """What a person has set, and the file in which every trap leaves its name."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STREAMLIT_", "PYTHON"))}
    return kept | SAFE_ENVIRONMENT | {"TRAP": str(folder.parent / "trapped"), "OMP_NUM_THREADS": "1"}


def trapped(folder: Path) -> set[str]:
    """The names that were imported from the folder."""
    file = folder.parent / "trapped"
    return set(file.read_text().split()) if file.exists() else set()


def treedp(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *words], cwd=folder, env=environment(folder), capture_output=True, text=True, check=False, timeout=300
    )


def test_the_traps_work(downloads: Path) -> None:
    unsafe = [sys.executable, "-c", f"import {', '.join(SHADOWS[:2])}"]
    subprocess.run(unsafe, cwd=downloads, env=environment(downloads), check=True)
    assert trapped(downloads) == set(SHADOWS[:2])


@pytest.fixture
def running(downloads: Path) -> Iterator[str]:
    """The address of the app, started in the folder with the table that lies there."""
    port = free_port()
    process = subprocess.Popen(
        [COMMAND, "people.csv", "--port", str(port)], cwd=downloads, env=environment(downloads), text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", process)
        assert process.stdout is not None
        yield process.stdout.readline().split()[3]
    finally:
        process.terminate()
        process.communicate()


def test_the_app_its_server_and_its_workers_run_none_of_them(running: str, downloads: Path) -> None:
    url, _, query = running.partition("/?")
    key = Key(url, query)
    with Tab(url, "lab", "lab_trials=100", cookie=key.cookie) as tab:
        tab.press("lab_run")
        tab.settle()
        assert not tab.exceptions and any("simulat" in text.lower() for text in tab.texts)
    assert trapped(downloads) == set()


class Key:
    """The cookie of a browser that came by the address that was printed."""

    def __init__(self, url: str, query: str) -> None:
        import requests

        answer = requests.get(f"{url}/?{query}", allow_redirects=False, timeout=60)
        self.cookie = answer.headers["Set-Cookie"].partition(";")[0]


@pytest.mark.parametrize(
    "words",
    [
        ("run", "sweep.json", "--executor", "processes:1", "--out", "found"), ("run", "study.treedp"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_command_and_the_processes_it_starts_run_none_of_them(words: tuple[str, ...], downloads: Path) -> None:
    done = treedp(downloads, *words)
    assert done.returncode == 0, done.stderr
    assert trapped(downloads) == set()
    assert ("found" in words) == (downloads / "found" / "report.md").is_file()


def test_what_a_process_starts_is_told_to_do_so_too_and_an_empty_entry_of_its_path_is_none(tmp_path: Path) -> None:
    """A path made of a variable that was not set, as `PYTHONPATH=$PYTHONPATH:mine`, has the current folder in it."""
    base = {"PYTHONPATH": os.pathsep.join(["", "mine", str(tmp_path)]), "STREAMLIT_SERVER_SSL_CERT_FILE": "mine.pem"}
    env = cli.environment(base | {"PYTHONSAFEPATH": ""})
    assert env["PYTHONSAFEPATH"] == "1" and env["STREAMLIT_SERVER_SSL_CERT_FILE"] == os.path.abspath("mine.pem")
    assert env["PYTHONPATH"].split(os.pathsep) == [os.path.abspath("mine"), str(tmp_path)]


def test_the_module_as_a_program_runs_none_of_them_that_python_has_not_run_before(downloads: Path) -> None:
    """Python itself puts the current folder first, and finds there what it calls `treedp_core`."""
    for name in ("treedp_core", "typing"):  # Python looks for the one itself, and needs the other to look
        (downloads / f"{name}.py").unlink()
    (downloads / "mine" / "__init__.py").rename(downloads / "statistics.py")
    done = subprocess.run(
        [sys.executable, "-m", "treedp_core", "run", "sweep.json"], cwd=downloads, env=environment(downloads),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert trapped(downloads) == set()


@pytest.mark.parametrize(
    ("words", "name"),
    [(("--plugin", "mine"), "'mine'"), (("run", "sweep.json", "--executor", "own_executor:Mine"), "own_executor")],
)
def test_code_of_the_current_folder_must_be_installed_and_the_refusal_says_so(
    words: tuple[str, ...], name: str, downloads: Path
) -> None:
    done = treedp(downloads, *words)
    assert done.returncode == 2 and name in done.stderr and "current folder" in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1 and trapped(downloads) == set()


@pytest.mark.skipif(chromium_path() is None, reason="no Chromium draws figures here")
def test_what_draws_figures_runs_none_of_them(downloads: Path) -> None:
    program = (
        "from treedp_core.figures.base.image import images_of\n"
        "figure = {'data': [], 'layout': {'width': 300, 'height': 200}}\n"
        "print(len(images_of([figure], 'svg')[0]))"
    )
    env = environment(downloads) | {"TREEDP_CHROMIUM": str(chromium_path())}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=downloads, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and int(done.stdout) > 100, done.stderr
    assert trapped(downloads) == set()
