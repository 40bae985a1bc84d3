"""`treedp run`: sweeps and notebooks without a browser; exit statuses, files, executors, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Timer
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from browsing import ROOT
from oracles_pages import dataset
from sample_data.catalogue import count_sample
from test_records_readers import FILE, FIXED_WIDTH
from treedp_core import Experiment, Tree, cli, run
from treedp_core.allocation import ALLOCATIONS
from treedp_core.batch import executors
from treedp_core.batch import run as program
from treedp_core.batch.executors import executor_of
from treedp_core.checks import InputError
from treedp_core.errors.metrics import METRICS
from treedp_core.notebook.cell import Cell, Notebook
from treedp_core.notebook.code import File, Ran, call
from treedp_core.notebook.data_lineage import tables_of
from treedp_core.notebook.export.program import is_ours
from treedp_core.notebook.file.archive import save
from treedp_core.notebook.study import Asked, Study, Table, counted_again, note_of
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.records import Dataset, count_hierarchy, domain_of_values
from treedp_core.records.read import READERS
from treedp_core.registry import CLAIM
from treedp_core.studies.sweep.task import read_task
from treedp_core.views import VIEWS, Tables
from treedp_core.views.cells.view_call import ViewCall
from treedp_core.watch import Watch

MADE: dict[str, Any] = {"made_up": "zipf", "records": 1000, "branching": "3,4", "seed": 7}
GIVEN: dict[str, Any] = {"branching": "2,2", "counts": [3, 0, 20, 7]}
TRIED: dict[str, Any] = {
    "mechanism": ["laplace", "discrete_laplace"], "postprocess": [[], ["least_squares"]], "epsilon": [0.5, 2],
    "trials": 50,
}  # fmt: skip
SCRIPT: dict[str, Any] = {"treedp_sweep": 1, "data": MADE, "experiments": TRIED, "by": "level"}


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    def write(content: dict[str, Any] | bytes) -> str:
        path = tmp_path / "script.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    return write


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# ---- sweeps


def test_a_sweep_gives_the_numbers_of_each_experiment_alone(
    script: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main([script(SCRIPT | {"data": GIVEN})]) == 0
    told = capsys.readouterr()
    found = rows(told.out)
    assert len(found) == 2 * 2 * 2 * 3 and "8 combinations done" in told.err
    tree = Tree.from_branching_factors((2, 2))
    counts = np.array([30, 3, 27, 3, 0, 20, 7])
    for one in found:
        steps = () if one["postprocess"] == "none" else (one["postprocess"],)
        alone = run(
            Experiment(mechanism=one["mechanism"], postprocess=steps, epsilon=float(one["epsilon"]), trials=50), tree,
            counts,
        )  # fmt: skip
        level = ["all", "level 1", "level 2"].index(one["level"])
        assert alone.formula is not None and alone.simulation is not None
        assert float(one["formula"]) == alone.formula.level[level]
        assert float(one["simulation"]) == alone.simulation.level[level]


class Backwards(Executor):
    """Does what it was given last first, once it is asked for a result."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        future.set_result(fn(*args, **kwargs))
        return future


@pytest.mark.parametrize("name", ["threads:3", "processes:2", "test_run:Backwards"])
def test_numbers_are_bit_for_bit_the_same_on_every_executor(
    name: str, script: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = script(SCRIPT)
    assert program.main([path]) == 0
    alone = capsys.readouterr().out
    assert program.main([path, "--executor", name]) == 0
    assert capsys.readouterr().out == alone and len(alone) > 500


class Dies(Backwards):
    """Has lost its process."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(self.error("gone"))
        return future

    error: type[Exception] = BrokenProcessPool


class IsCancelled(Dies):
    """Has lost its scheduler: Dask then cancels what it was given."""

    error = CancelledError


class CannotReach(Dies):
    """Has lost the way to its scheduler."""

    error = ConnectionError


class Killed(Dies):
    """Has lost the worker each time: an error of Dask's own."""

    error = type("KilledWorker", (Exception,), {"__module__": "distributed.scheduler"})


@pytest.mark.parametrize("name", ["Dies", "IsCancelled", "CannotReach", "Killed"])
def test_an_executor_that_ends_is_said_to_have_ended(
    name: str, script: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main([script(SCRIPT), "--executor", f"test_run:{name}"]) == 1
    told = capsys.readouterr()
    assert "ended before" in told.err and told.err.count("\n") == 1 and told.out == ""


def test_what_a_combination_itself_raises_is_not_blamed_on_the_executor(script: Callable[..., str]) -> None:
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(Dies, "error", ZeroDivisionError)
        program.main([script(SCRIPT), "--executor", "test_run:Dies"])


def test_ctrl_c_ends_a_run_and_its_processes_in_a_sentence(script: Callable[..., str]) -> None:
    """As in a terminal, all of them get it: processes would go on with what waits, and be waited for."""
    path = script(SCRIPT | {"experiments": TRIED | {"trials": 20_000}, "data": MADE | {"branching": "8,8,8"}})
    code = "from treedp_core.batch import output, run; output.SAY_SECONDS = 0; run.end_on_interrupt(); run.main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, path, "--executor", "processes:1"], text=True, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as going:  # fmt: skip
        assert going.stderr is not None
        first = going.stderr.readline()  # a combination is done, so its process is there
        os.killpg(going.pid, signal.SIGINT)
        timer = Timer(60, os.killpg, (going.pid, signal.SIGKILL))
        timer.start()
        said = going.stderr.read()
        timer.cancel()
    assert first.startswith("treedp: ") and "%" in first
    assert said.splitlines()[-1] == "treedp: Stopped." and "Traceback" not in said
    assert going.returncode == 130


def test_ctrl_c_in_the_middle_of_a_line_ends_a_run_too() -> None:
    code = """
import io, os, signal, sys
from treedp_core.batch import output, run
class Interrupted(io.RawIOBase):
    def writable(self):
        return True
    def write(self, text):
        signal.raise_signal(signal.SIGINT)
        return len(text)
run.end_on_interrupt()
sys.stderr = io.TextIOWrapper(io.BufferedWriter(Interrupted()))
output.say("half of it is done")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "treedp: Stopped.\n")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("threads:0", "VALUE_RANGE"), ("threads:x", "VALUE_RANGE"), ("processes:", "VALUE_RANGE"),
        ("processes:100000", "VALUE_RANGE"), ("json:loads", "EXECUTOR_UNKNOWN"), ("nothing:x", "EXECUTOR_UNKNOWN"),
        ("processes", "VALUE_RANGE"), ("threads", "VALUE_RANGE"), ("dask://", "EXECUTOR_UNKNOWN"),
        ("builtins:dict", "EXECUTOR_UNKNOWN"), ("a b", "EXECUTOR_UNKNOWN"), ("dask://127.0.0.1:1", "EXECUTOR_"),
    ],
)  # fmt: skip
def test_what_is_no_executor_is_refused_in_a_sentence(name: str, code: str) -> None:
    with pytest.raises(InputError) as refused, executor_of(name):
        pass
    assert refused.value.code.startswith(code) and "\n" not in str(refused.value)
    kind = name.partition(":")[0]
    assert kind not in ("threads", "processes") or f"{kind}:N" in str(refused.value)


def test_a_folder_gets_what_the_app_exports_and_its_script_gives_the_same_table(
    script: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert program.main([script(SCRIPT | {"title": "Two laws"}), "--out", str(out), "--made-by", "9.9"]) == 0
    assert capsys.readouterr().out == ""
    assert {one.name for one in out.iterdir()} == {
        "1-two-laws.csv", "notebook.ipynb", "report.html", "report.md", "script.py"
    }  # fmt: skip
    report = (out / "report.md").read_text(encoding="utf-8")
    assert "Two laws" in report and "Made by: treedp run" in report and "as they are at first" not in report
    tried = "mechanism = laplace, discrete_laplace; postprocess = none, least_squares; epsilon = 0.5, 2; trials = 50"
    assert tried in report and "Tree of 3 levels" in report and "<" not in report
    assert 'role="img" aria-label="Two laws: 8 combinations' in (out / "report.html").read_text(encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "script.py", "again"], cwd=out, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert (out / "again" / "1-two-laws.csv").read_bytes() == (out / "1-two-laws.csv").read_bytes()
    assert program.main([script(SCRIPT), "--out", str(out)]) == 2
    assert "not empty" in capsys.readouterr().err


@pytest.mark.parametrize("data", ["file", "weighted", "counts"])
def test_the_script_of_counts_of_ones_own_reads_them_again_and_has_none_of_them(
    data: str, script: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people = tmp_path / "people.csv"
    people.write_text("sex,age,n\nF,old,7041\nM,young,3\nM,young,2\n", encoding="utf-8")
    lists = {"sex": ["F", "M"], "age": ["old", "young", "x"]}
    asked: dict[str, Any] = {
        "file": {"file": "people.csv", "columns": ["sex", "age"]},
        "weighted": {"file": "people.csv", "columns": ["sex", "age"], "weight": "n", "domain": lists},
        "counts": GIVEN | {"counts": [7041, 0, 20, 7]},
    }
    path = script(SCRIPT | {"title": "Mine", "data": asked[data]})
    out = tmp_path / "out"
    assert program.main([path, "--out", str(out)]) == 0
    code = (out / "script.py").read_text(encoding="utf-8")
    assert "7041" not in code and "unchanged(" in code and ("SCRIPT = 'script.json'" in code) == (data == "counts")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["script.py", "again"])
    exec(code, {})
    tables = {one.name: one.read_bytes() for one in (tmp_path / "again").glob("*.csv")}
    assert tables == {one.name: one.read_bytes() for one in out.glob("*.csv")} and tables
    people.write_text("sex,age,n\nF,old,7040\nM,young,3\n", encoding="utf-8")
    Path(path).write_text(json.dumps(SCRIPT | {"data": GIVEN}), encoding="utf-8")
    with pytest.raises(InputError) as changed:
        exec(code, {})
    assert changed.value.code == "DATA_CHANGED"


def test_errors_that_depend_on_the_counts_of_a_file_say_so(
    script: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "people.csv").write_text("sex,age\nF,old\nM,young\nM,young\n", encoding="utf-8")
    file = {"file": "people.csv", "columns": ["sex", "age"]}
    tried = {"epsilon": [1, 2], "metric": "rmsre"}
    asked = SCRIPT | {"data": file, "experiments": tried, "by": "node", "simulated": False}
    assert program.main([script(asked)]) == 0
    found = rows(capsys.readouterr().out)
    assert found[4]["path"] == "F › old" or "F › old" in [one["path"] for one in found]
    assert all(one["NOT PRIVATE"].startswith("NOT PRIVATE") for one in found)
    assert program.main([script(asked | {"experiments": {"epsilon": [1, 2]}})]) == 0
    assert "NOT PRIVATE" not in capsys.readouterr().out


def test_a_plugin_of_the_command_line_is_swept_in_processes_too(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps(SCRIPT | {"experiments": TRIED | {"mechanism": ["laplace", "wide"]}}), encoding="utf-8"
    )
    command = [sys.executable, "-m", "treedp_core", "run", str(script)]
    env = {"PATH": "", "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    bare = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert bare.returncode == 2 and "Unknown mechanism 'wide'" in bare.stderr and bare.stderr.count("\n") == 1
    command += ["--plugin", "own_plugin", "--executor", "processes:1", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "not reviewed" in report
    assert "load_plugin('own_plugin')" in (tmp_path / "out" / "script.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("what", ["metric", "allocation", "postprocess", "file"])
def test_a_sweep_says_what_nobody_reviewed_whatever_it_is_of(
    script: Callable[..., str], tmp_path: Path, what: str
) -> None:
    own: dict[str, tuple[Any, Any]] = {
        "metric": (METRICS, replace(METRICS["rmse"], name="mine")),
        "allocation": (ALLOCATIONS, replace(ALLOCATIONS["uniform"], name="mine")),
        "postprocess": (POSTPROCESSORS, replace(POSTPROCESSORS["least_squares"], name="mine")),
        "file": (READERS, FIXED_WIDTH),
    }
    entries, entry = own[what]
    (tmp_path / "people.fwf").write_bytes(FILE)
    mine = {} if what == "file" else {what: [["mine"]] if what == "postprocess" else "mine"}
    data = {"file": "people.fwf", "columns": ["region"]} if what == "file" else GIVEN
    asked = SCRIPT | {"data": data, "experiments": {"epsilon": [1], **mine}, "simulated": False}
    entries.register(entry)
    try:
        assert program.main([script(asked), "--out", str(tmp_path / "out")]) == 0
    finally:
        entries.withdraw(entry.name)
    assert f"- A plug-in was used: {CLAIM}" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_a_cluster_loads_the_plugins_first_and_is_left_when_the_sweep_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask is no package of the tests: what is called of it stands here."""
    done: list[Any] = []

    class Client:
        def __init__(self, address: str, timeout: float) -> None:
            done.append(address)

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *error: object) -> None:
            done.append("left")

        def scheduler_info(self) -> dict[str, Any]:
            return {"workers": {"one": {}}}

        def run(self, work: Callable[..., None], *given: Any) -> None:
            work(*given)
            done.append(given)

        def get_executor(self, pure: bool) -> Executor:
            done.append(pure)
            return ThreadPoolExecutor(1)

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    monkeypatch.setattr(executors, "load_plugin", done.append)
    with executor_of("dask://host:1", ("own_plugin",)) as executor:
        assert executor is not None and executor.submit(str, 7).result() == "7"
    assert done == ["tcp://host:1", "own_plugin", (("own_plugin",),), False, "left"]


@pytest.mark.parametrize("comes", [True, False])
def test_a_cluster_without_workers_is_said_and_not_waited_for_without_end(
    comes: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A first call is sent, since there are clusters that have workers only when there is work."""

    class Client:
        def __init__(self, address: str, timeout: float) -> None:
            pass

        def __enter__(self) -> Client:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def scheduler_info(self) -> dict[str, Any]:
            return {"workers": {}}

        def submit(self, work: Callable[..., Any], *given: Any, pure: bool) -> Client:
            return self

        def result(self, timeout: float) -> None:
            assert "no workers yet" in capsys.readouterr().err
            if not comes:
                raise TimeoutError

        def get_executor(self, pure: bool) -> Executor:
            return ThreadPoolExecutor(1)

    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(Client=Client))
    if comes:
        with executor_of("dask://host:1") as executor:
            assert executor is not None
        return
    with pytest.raises(InputError, match="has no workers") as refused, executor_of("dask://host:1"):
        pass
    assert refused.value.code == "EXECUTOR_FAILED"


@pytest.mark.parametrize("is_lost", [True, False])
def test_a_cluster_that_lost_its_workers_is_given_up_in_a_sentence(
    is_lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dask itself waits for another worker without end."""
    here = Event()

    class Stuck(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            assert wait is not is_lost, "it would wait for what nobody does"
            super().shutdown(wait=wait)

    def work() -> int:
        here.wait(30)
        return 7

    monkeypatch.setattr(executors, "WAIT_SECONDS", 2)
    if not is_lost:
        here.set()
    try:
        with executors._Cluster(Stuck(1), "host:1", lambda: not is_lost) as cluster:
            future = cluster.submit(work)
            if not is_lost:
                assert future.result() == 7
                assert isinstance(cluster.submit(int, "x").exception(), ValueError)
                return
            with pytest.raises(InputError, match="'host:1' lost its workers") as lost:
                future.result(timeout=20)
            assert lost.value.code == "EXECUTOR_FAILED"
    finally:
        here.set()


def nested(n: int) -> bytes:
    return b"[" * n + b"]" * n


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "CONFIG_NOT_JSON"), (b"\xff\xfe", "CONFIG_NOT_JSON"), (nested(100_000), "CONFIG_TOO_DEEP"),
        (b" " * 4_000_001, "CONFIG_TOO_LARGE"), (b"[]", "SCRIPT_VERSION"), (b"{}", "SCRIPT_VERSION"),
        (b'{"treedp_sweep": true}', "SCRIPT_VERSION"),
        (b'{"treedp_sweep": 1, "treedp_sweep": 1}', "CONFIG_DUPLICATE_KEY"),
        (SCRIPT | {"treedp_sweep": 2}, "SCRIPT_VERSION"), (SCRIPT | {"more": 1}, "CONFIG_UNKNOWN_KEY"),
        (SCRIPT | {"by": "leaf"}, "SCRIPT_VALUE"), (SCRIPT | {"simulated": 1}, "CONFIG_TYPE"),
        (SCRIPT | {"experiments": {"epsilom": 1}}, "SCRIPT_VALUE"),
        (SCRIPT | {"experiments": {"epsilon": "1"}}, "SCRIPT_VALUE"),
        (SCRIPT | {"experiments": {"epsilon": True}}, "SCRIPT_VALUE"),
        (SCRIPT | {"experiments": {"epsilon": []}}, "SCRIPT_CELLS"),
        (SCRIPT | {"experiments": {"epsilon": [1] * 400, "seed": list(range(400))}}, "SCRIPT_CELLS"),
        (SCRIPT | {"experiments": {"mechanism": {"name": "x"}}}, "SCRIPT_VALUE"),
        (SCRIPT | {"experiments": {"postprocess": [[1]]}}, "SCRIPT_VALUE"),
        (SCRIPT | {"data": {}}, "CONFIG_MISSING_KEY"), (SCRIPT | {"data": MADE | {"records": 1.5}}, "CONFIG_TYPE"),
        (SCRIPT | {"data": MADE | {"branching": "9^9"}}, "TOO_MANY_NODES"),
        (SCRIPT | {"data": GIVEN | {"counts": [1]}}, "COUNTS_SHAPE"),
        (SCRIPT | {"data": GIVEN | {"counts": [-1, 0, 0, 0]}}, "VALUE_RANGE"),
        (SCRIPT | {"data": {"file": "../x.csv", "columns": ["a"]}}, "SCRIPT_FILE"),
        (SCRIPT | {"data": {"file": "/etc/passwd", "columns": ["a"]}}, "SCRIPT_FILE"),
        (SCRIPT | {"data": {"file": "link.csv", "columns": ["a"]}}, "SCRIPT_FILE"),
        (SCRIPT | {"data": {"file": "a\x00.csv", "columns": ["a"]}}, "SCRIPT_FILE"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)  # fmt: skip
def test_a_script_that_is_none_is_refused_in_a_sentence(
    content: Any, code: str, script: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "link.csv").symlink_to("/etc/hostname")
    path = Path(script(content))
    with pytest.raises(InputError) as refused:
        read_task(path.read_bytes(), tmp_path)
    assert refused.value.code == code
    assert program.main([str(path)]) == 2
    told = capsys.readouterr()
    assert told.err.count("\n") == 1 and len(told.err) < 400 and told.out == ""


PEOPLE = "state,city\nOhio,Akron\nOhio,Kent\nUtah,Ogden\nIdaho,Boise\n"
LISTS: dict[str, Any] = {"city": ["Akron", "Kent", "Ogden"], "state": ["Ohio", "Utah"]}


def of_people(domain: Any, *columns: str) -> dict[str, Any]:
    return SCRIPT | {"data": {"file": "people.csv", "columns": columns or ["state", "city"], "domain": domain}}


@pytest.mark.parametrize("names", [["state", "city"], ["city", "state"]])
def test_the_lists_of_a_domain_are_those_of_the_columns_they_name_in_any_order(
    names: list[str], tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    content = of_people({name: LISTS[name] for name in names})
    data = read_task(json.dumps(content).encode("utf-8-sig"), tmp_path).data
    assert data.labels.level_names == ("all", "state", "city") and data.labels.of_level(1).tolist()[:2] == [
        "Ohio",
        "Utah",
    ]
    assert data.counts.tolist() == [4, 2, 1, 1, 1, 1, 0, 0, 0, 1] and data.report.other == 1


@pytest.mark.parametrize(
    ("domain", "named"),
    [
        ({"state": LISTS["state"], "citty": LISTS["city"]}, ["'citty'", "'state', 'city'"]),
        ({"state": LISTS["state"], "city ": LISTS["city"]}, ["'city '", "'state', 'city'"]),
        ({"state": LISTS["state"]}, ["no values for 'city'"]),
        (LISTS | {"sex": ["F"]}, ["'sex'", "'state', 'city'"]),
        (LISTS | {"state": ["Ohio ", "Utah"]}, ["'Ohio'", "'Ohio '", "row 2", "'state'"]),
    ],
)
def test_names_that_are_unknown_misspelt_or_missing_are_refused_by_name(
    domain: Any, named: list[str], script: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE, encoding="utf-8")
    assert program.main([script(of_people(domain))]) == 2
    told = capsys.readouterr()
    assert all(one in told.err for one in named) and told.err.count("\n") == 1 and told.out == "", told.err


@pytest.mark.parametrize("is_public", [True, False])
def test_what_the_reader_notices_is_said_and_stands_in_the_report(
    is_public: bool, script: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE + "ohio,Akron\n", encoding="utf-8")
    out = tmp_path / "out"
    assert program.main([script(of_people(LISTS if is_public else None)), "--out", str(out)]) == 0
    told = capsys.readouterr().err.splitlines()
    expected = "2 records have a category outside the public domain" if is_public else "taken from the data"
    assert sum(one.startswith("treedp: NOT PRIVATE: ") and expected in one for one in told) == 1, told
    for name in ("report.md", "report.html"):
        assert expected in (out / name).read_text(encoding="utf-8")


def test_a_table_on_standard_output_begins_with_its_header_and_a_file_for_excel_with_a_mark(
    script: Callable[..., str], tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = script(b"\xef\xbb\xbf" + json.dumps(SCRIPT).encode())
    assert program.main([path]) == 0
    assert capsysbinary.readouterr().out.startswith(b"mechanism,")
    assert program.main([path, "--out", str(tmp_path / "out")]) == 0
    (table,) = (tmp_path / "out").glob("*.csv")
    assert table.read_bytes().startswith(b"\xef\xbb\xbfmechanism,")


def test_experiments_that_are_refused_end_with_a_sentence(
    script: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in ({"epsilon": -1}, {"mechanism": "magic"}, {"trials": 10**9}, {"mechanism": "gaussian"}):
        assert program.main([script(SCRIPT | {"experiments": wrong})]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert program.main(["nothing.json"]) == 2
    assert "nothing.json" in capsys.readouterr().err


# ---- the command


def test_the_command_becomes_what_runs_the_file(
    monkeypatch: pytest.MonkeyPatch, script: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    became: list[Any] = []
    monkeypatch.setattr(cli, "_become", lambda command, env, *_: became.append((command, env)) or 0)
    monkeypatch.setenv(cli.PUBLIC_VARIABLE, "1")  # what runs without a browser serves nobody
    path = script(SCRIPT)
    assert cli.main(["run", path, "--plugin", "mine", "--executor", "threads:2"]) == 0
    (command, env) = became[0]
    assert command[1:5] == ["-P", "-m", "treedp_core.batch.run", path]
    assert env[cli.PLUGINS_VARIABLE] == "mine" and env["OMP_NUM_THREADS"] and cli.PUBLIC_VARIABLE not in env
    assert cli.main(["run", "--data", "nothing.json", path]) == 0 and became.pop()[0][1:4] == command[1:4]
    assert program.main([path, "--data", path]) == 2
    capsys.readouterr()
    assert cli.main(["run", "nothing.treedp"]) == 2
    assert "nothing.treedp" in capsys.readouterr().err and len(became) == 1


def test_a_program_ends_with_its_status_before_its_interpreter_is_taken_apart() -> None:
    """Else a thread of Arrow's, which still lets go of a file's bytes, aborts one run of seventy."""
    code = """import atexit, sys
from treedp_core.records.exit import end
class Last:
    def __del__(self):
        print("apart")
sys.last = Last()
atexit.register(print, "handled")
print("written")
end(3)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "written\nhandled\n", "")
    for name in ("batch/run.py", "plans/preparation.py"):
        assert (ROOT / "treedp_core" / name).read_text(encoding="utf-8").endswith("    end(main())\n")


def test_code_of_a_notebook_loads_no_package_that_was_not_asked_for() -> None:
    load = "from treedp_core.registry import load_plugin\n\nload_plugin({})\nround(1.5)"
    assert not is_ours(load.format("'os'")) and not is_ours(load.format("name='os'"))
    assert not is_ours("from treedp_core.registry import name_of\n\nname_of('metrics', 'rmse')")
    assert not is_ours("from treedp_core.batch.executors import executor_of\n\nexecutor_of('os:abort')")


# ---- notebooks


OWN = dataset(Tree.from_branching_factors((3, 4)), [0, 1, 2, 3, 5, 8, 13, 21, 0, 0, 40, 100], name="own.csv")


def pinned(view: str, data: Ran[Dataset], *own: Table, **texts: str) -> Cell:
    """The cell of a view of the Error lab, simulated where it has a simulation."""
    entry, settings = VIEWS[f"lab.{view}"], {key: (text,) for key, text in texts.items()}
    inputs, tables = entry.inputs.of_texts(settings), call(Tables, data.named("data")).named("tables")
    work = None if entry.slow is None else entry.slow(inputs, tables.value)
    value = None if work is None else work.on(tables.value)(Watch())
    called = ViewCall(entry, inputs, tables, entry.found(inputs, tables.value, value), work, value)
    return called.cell(
        own, id="0" * 16, name=entry.label, page="lab", view=view, settings=settings, version="0.1.0",
        about=called.finding.provenance.line(),
    )  # fmt: skip


@pytest.fixture(scope="module")
def study() -> Study:
    """Two cells: errors simulated on a sample, and one draw of a data set of one's own."""
    table = Table("upload", OWN, None, datetime.now(UTC))
    first = pinned("epsilon", call(count_sample, "geography"), sample="geography", lab_trials="100")
    second = pinned("draw", counted_again(OWN, None), table, source="upload", eps="0.5", lab_view="draw")
    book = Notebook(cells=(first,)).add(replace(second, id="1" * 16, name="Own data"))
    return Study(notebook=book, tables=(table,), version="0.1.0")


@pytest.fixture
def rerun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:  # fmt: skip
    def go(content: bytes, *words: str) -> tuple[int, str]:
        path = tmp_path / "study.treedp"
        path.write_bytes(content)
        status = program.main([str(path), *words])
        return status, capsys.readouterr().err

    return go


def test_every_cell_of_a_notebook_is_run_again_and_shows_what_it_showed(
    study: Study, rerun: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    status, told = rerun(save(study, with_data=True), "--out", str(tmp_path / "out"))
    assert status == 0 and told.count("the same numbers") == 2, told
    files = {one.name for one in (tmp_path / "out").iterdir()}
    assert {"report.html", "report.md", "script.py", "notebook.ipynb"} < files
    assert len([one for one in files if one.endswith(".csv")]) >= 2
    assert "<input" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8"), "it has simulations"


def test_the_report_of_a_run_follows_epsilon(rerun: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    entry, data = VIEWS["lab.epsilon"], call(count_sample, "geography").named("data")
    tables = call(Tables, data).named("tables")
    called = ViewCall(entry, entry.inputs(), tables, entry.found(entry.inputs(), tables.value))
    cell = called.cell((), id="0" * 16, name="Errors", page="lab", view="epsilon", version="0.1.0",
                       settings={"sample": ("geography",)}, about=called.finding.provenance.line())  # fmt: skip
    study = Study(notebook=Notebook(cells=(cell,)), version="0.1.0")
    assert rerun(save(study, with_data=False), "--out", str(tmp_path / "out"))[0] == 0
    assert "Privacy budget ε <input" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_cells_that_show_other_numbers_or_have_no_data_are_named(
    study: Study, rerun: Callable[..., tuple[int, str]]
) -> None:
    one = study.notebook.cells[0]
    assert one.columns is not None and any(one.columns["simulation"])
    other = {name: values[::-1] for name, values in one.columns.items()}
    wrong = replace(study, notebook=study.notebook.put(replace(one, columns=other)), tables=())
    status, told = rerun(save(wrong, with_data=True))
    assert status == 1, told
    assert "it shows other numbers" in told and "own-data: Its data are not here" in told


def test_a_cell_of_a_plug_in_that_is_not_here_says_how_to_load_it(
    study: Study, rerun: Callable[..., tuple[int, str]]
) -> None:
    one = study.notebook.cells[0]
    theirs = replace(one, settings={**one.settings, "lab_mechanisms": ("twice",)})
    status, told = rerun(save(replace(study, notebook=study.notebook.put(theirs)), with_data=True))
    assert (
        status == 1 and "got 'twice'. What a plug-in adds is there once TreeDP is started with it (--plugin)" in told
    ), told
    assert told.count("--plugin") == 1


def test_files_that_a_notebook_asks_for_are_given_and_checked(
    study: Study, rerun: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    """Categories from a list that the file does not name, so only what the notebook says gives the same counts."""
    file, other = tmp_path / "people.json", tmp_path / "other.csv"
    file.write_text('[{"sex": "F", "n": 3}, {"sex": "M", "n": 4}]', encoding="utf-8")
    other.write_text("sex,n\nF,3\nM,5\n", encoding="utf-8")
    how = call(count_hierarchy, File("people.json"), ["sex"], weight="n",
               domain=call(domain_of_values, {"sex": ["F", "M", "X"]}).named("domain"))  # fmt: skip
    given = count_hierarchy(file, ["sex"], weight="n", domain=domain_of_values({"sex": ["F", "M", "X"]}))
    table = Table("upload", given, how.giving(given), datetime.now(UTC))
    cell = pinned("draw", counted_again(given, table.how), table, source="upload", lab_view="draw")
    content = save(Study(notebook=Notebook("Own", (cell,)), tables=(table,), version="0.1.0"), with_data=False)
    status, told = rerun(content, "--data", str(file), "--out", str(tmp_path / "out"))
    assert status == 0 and "the file has none of its numbers" in told and "the same" not in told, told
    assert any(one.suffix == ".csv" for one in (tmp_path / "out").iterdir())
    status, told = rerun(content)
    assert status == 1 and "Its data are not here; give them with --data" in told
    for wrong in (other, tmp_path / "none.csv"):
        status, told = rerun(content, "--data", str(wrong))
        assert status == 2 and told.count("\n") == 1 and wrong.name in told, told


def test_a_file_that_is_not_the_one_asked_for_is_refused(tmp_path: Path) -> None:
    """Known by its bytes, not by its name; and the same bytes must give the same counts."""
    file = tmp_path / "people.csv"
    file.write_text("sex\nF\nM\n", encoding="utf-8")
    data = count_hierarchy(file, ["sex"], domain=domain_of_values({"sex": ["F", "M"]}))
    listed = call(domain_of_values, {"sex": ["M", "F"]}).named("domain")
    other_order = call(count_hierarchy, File("people.csv"), ["sex"], domain=listed)
    with pytest.raises(InputError) as refused:
        tables_of([Asked("upload", note_of(data, None), other_order)], [file])
    assert refused.value.code == "DATA_CHANGED"
    file.write_text("sex\nF\nF\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        tables_of([Asked("upload", note_of(data, None))], [file])
    assert refused.value.code == "DATA_OTHER"


def test_a_cell_of_no_page_is_named_and_the_others_are_made(
    study: Study, tmp_path: Path, rerun: Callable[..., tuple[int, str]]
) -> None:
    """The program itself, which knows neither Streamlit nor the pages."""
    one = study.notebook.cells[0]
    book = study.notebook.add(replace(one, id="f" * 16, name="Nowhere", page="nowhere"))
    path = tmp_path / "study.treedp"
    content = save(replace(study, notebook=book), with_data=True)
    path.write_bytes(content)
    code = "import sys; sys.modules.update(streamlit=None, pages=None); from treedp_core.batch import run; "
    command = [sys.executable, "-c", f"{code}sys.exit(run.main(sys.argv[1:]))", str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("the same numbers") == 2 and "nowhere: No view of this TreeDP made it" in done.stderr
    assert path.read_bytes() == content, "what it is compared with stays as it is"


def test_a_file_that_is_no_notebook_is_refused(rerun: Callable[..., tuple[int, str]]) -> None:
    status, told = rerun(b"PK no notebook at all")
    assert status == 2 and told.count("\n") == 1, told
