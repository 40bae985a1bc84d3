"""Worker processes: what goes there comes back as if computed here, and none outlives its work or the server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import errands
from browsing import ROOT, eventually
from pages.ui.jobs import jobs
from pages.ui.jobs.workers import Limits, Workers, takes
from treedp_core import experiment
from treedp_core.checks import InputError
from treedp_core.experiment import Experiment
from treedp_core.mechanisms import MECHANISMS, of_levels
from treedp_core.mechanisms.calibration import LAWS, LevelLaw
from treedp_core.noise import Laplace
from treedp_core.privacy import Currency, NeighbouringRelation, ProtectedUnit
from treedp_core.studies.budget import Ask, Problem, Target, answer, compare
from treedp_core.studies.budget.prior import true_counts
from treedp_core.tree import Tree
from treedp_core.watch import Cancelled, Watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="work stays on threads where forking is not safe")


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    mine = Workers(["treedp_core.experiment", "errands"])
    yield mine
    mine.close()


def stat(pid: int) -> list[str]:
    """What Linux tells of a process: its state, its parent, … and from place 11 on the time it has computed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["X", "0"]


def is_alive(pid: int) -> bool:
    """Whether a process computes or waits: not when it has ended, also if nobody has asked yet how."""
    return stat(pid)[0] not in "ZX"


def told(path: Path) -> int:
    """The id that a worker wrote, once it is there."""
    eventually(path.exists)
    return int(path.read_text())


def ended(run: Callable[[], Any]) -> tuple[threading.Thread, list[BaseException]]:
    """A thread that runs something, and what it raised."""
    raised: list[BaseException] = []

    def noting() -> None:
        try:
            run()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=noting)
    thread.start()
    return thread, raised


TREE = Tree.from_branching_factors((3, 4))
COUNTS = TREE.counts_of_leaves(np.arange(12))


@pytest.mark.parametrize(
    "chosen",
    [
        Experiment(trials=40),
        Experiment("gaussian", ("least_squares",), delta=1e-6, trials=40, seed=3),
        Experiment("laplace", ("non_negative",), metric="rmsre", trials=40),
    ],
    ids=lambda chosen: chosen.mechanism,
)
def test_the_numbers_are_those_computed_here(workers: Workers, chosen: Experiment) -> None:
    work = partial(experiment.run, chosen, TREE, COUNTS)
    here, there = work(), workers.run(work, Watch())
    assert there.simulation is not None and here.simulation is not None
    for name in ("level", "level_se", "single_runs"):
        assert np.array_equal(getattr(there.simulation, name), getattr(here.simulation, name))
    assert there.simulation.tree == here.simulation.tree and there.budget == here.budget


def test_arrays_and_objects_come_back_as_themselves_and_others_equal(workers: Workers) -> None:
    fixed = np.arange(5.0)
    fixed.setflags(write=False)
    strided = np.arange(10)[::3]
    found = workers.run(partial(errands.echo, TREE, COUNTS, (fixed, strided), {"é": "名"}), Watch())
    assert found[0] is TREE and found[1] is COUNTS and found[2][0] is fixed and found[2][1] is strided
    assert found[3] == {"é": "名"}
    large = partial(experiment.draw_once, Experiment(), Tree.from_branching_factors((50, 40)))
    assert takes(large)


def test_what_can_be_used_before_it_is_done_comes_at_once(workers: Workers) -> None:
    came: list[Any] = []
    assert workers.run(partial(errands.offers), Watch(came.append, offer=came.append)) == "all"
    assert [one for one in came if isinstance(one, str)] == ["some", "more"]
    assert came[:2] == [2, "some"] and sum(one for one in came if not isinstance(one, str)) == 5


def test_a_worker_has_its_own_process_that_steps_back_and_has_no_streamlit(workers: Workers) -> None:
    work = partial(errands.process)
    (first, niceness, modules), (second, *_) = (workers.run(work, Watch()) for _ in range(2))
    assert len({first, second, os.getpid()}) == 3
    assert niceness > os.nice(0)
    assert "treedp_core.experiment" in modules and not {"streamlit", "plotly"} & set(modules)
    eventually(lambda: not is_alive(first) and not is_alive(second))


def test_a_file_is_read_as_fast_as_a_page_is_drawn_and_only_a_long_one_steps_back(workers: Workers) -> None:
    first, later = workers.run(partial(errands.niceness), Watch(), limits=limits(100))
    assert first == os.nice(0) < later


def test_all_steps_are_reported(workers: Workers) -> None:
    done: list[int] = []
    assert workers.run(partial(errands.steps, 10_000), Watch(done.append)) == "all"
    assert sum(done) == 10_000


def test_what_was_refused_is_refused_here(workers: Workers) -> None:
    with pytest.raises(InputError, match=r"^Too many\.$") as refused:
        workers.run(partial(errands.refused), Watch())
    assert refused.value.code == "TRIALS_RANGE"
    with pytest.raises(Cancelled):
        workers.run(partial(errands.stopped), Watch())


@pytest.mark.parametrize("fault", [errands.broken, errands.not_sent, errands.crash])
def test_a_fault_tells_a_sentence_and_nothing_else_and_the_next_work_is_done(
    workers: Workers, fault: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InputError, match="The simulation failed") as failed:
        workers.run(partial(fault), Watch())
    assert "SECRET" not in str(failed.value)
    assert "SECRET" not in "".join(capfd.readouterr())
    assert workers.run(partial(errands.echo, 1), Watch()) == (1,)


@pytest.mark.parametrize("work", [errands.runaway, errands.until_cancelled])
def test_work_that_is_not_wanted_ends_with_its_process(
    workers: Workers, work: Callable[..., Any], tmp_path: Path
) -> None:
    stop = threading.Event()
    watch = Watch(cancelled=stop.is_set)
    running, raised = ended(
        lambda: workers.run(partial(work, str(tmp_path / "id")), watch, is_wanted=lambda: not stop.is_set())
    )
    pid = told(tmp_path / "id")
    assert is_alive(pid)
    stop.set()
    running.join(60)
    assert [type(error) for error in raised] == [Cancelled]
    eventually(lambda: not is_alive(pid))


def limits(megabytes: int, seconds: int = 60) -> Limits:
    return Limits(megabytes << 20, seconds, ("TOO_LARGE", "It wants more."), ("FAULT", "It failed."))


def test_work_that_wants_more_memory_than_it_may_is_refused_and_its_process_is_gone(
    workers: Workers, tmp_path: Path
) -> None:
    told_to = str(tmp_path / "id")
    assert workers.run(partial(errands.fill, told_to, 20 << 20), Watch(), limits=limits(100)) == 20 << 20
    with pytest.raises(InputError, match=r"^It wants more\.$") as refused:
        workers.run(partial(errands.fill, told_to, 200 << 20), Watch(), limits=limits(100))
    assert refused.value.code == "TOO_LARGE"
    eventually(lambda: not is_alive(told(tmp_path / "id")))
    assert workers.run(partial(errands.fill, told_to, 200 << 20), Watch()) == 200 << 20  # others have no limits


def test_work_that_computes_for_longer_than_it_may_is_refused_and_its_process_is_gone(
    workers: Workers, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as refused:
        workers.run(partial(errands.runaway, str(tmp_path / "id")), Watch(), limits=limits(100, seconds=1))
    assert refused.value.code == "TOO_LARGE"
    eventually(lambda: not is_alive(told(tmp_path / "id")))


@pytest.mark.parametrize(
    ("fault", "code"), [(errands.broken, "FAULT"), (errands.crash, "TOO_LARGE"), (errands.refused, "TRIALS_RANGE")]
)
def test_of_work_with_limits_they_say_what_went_wrong(workers: Workers, fault: Callable[..., Any], code: str) -> None:
    with pytest.raises(InputError) as refused:
        workers.run(partial(fault), Watch(), limits=limits(100))
    assert refused.value.code == code


def test_long_bytes_are_sent_beside_the_pickle(workers: Workers) -> None:
    long = bytes(range(256)) * 1_000
    assert workers.run(partial(errands.echo, long, [long, b"short", long[1:]]), Watch()) == (
        long, [long, b"short", long[1:]],
    )  # fmt: skip


def test_where_no_process_can_be_started_a_job_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise OSError("no process SECRET-4711")

    monkeypatch.setattr(subprocess, "Popen", none)
    monkeypatch.setattr(jobs, "WORKERS", Workers(["errands"]))
    work = partial(experiment.run, Experiment(trials=5), TREE, COUNTS)
    for given, code in ((None, "SIMULATION_FAILED"), (limits(100), "FAULT")):
        job = jobs.Job(key="k", total=5, limits=given)
        job.run(work)
        assert job.state == "error" and job.error is not None and job.error.code == code
        assert "SECRET" not in str(job.error)


def test_where_forking_is_not_safe_a_job_is_done_on_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(jobs, "WORKERS", None)
    work = partial(experiment.run, Experiment(trials=5), TREE, COUNTS)
    job = jobs.Job(key="k", total=5, limits=limits(100))
    job.run(work)
    assert job.state == "done" and job.result.budget == work().budget


def test_work_waits_while_its_watch_does(workers: Workers, tmp_path: Path) -> None:
    reported, go_on, stop = threading.Event(), threading.Event(), threading.Event()

    def step(n: int) -> None:
        reported.set()
        go_on.wait()

    running, _ = ended(
        lambda: workers.run(partial(errands.until_cancelled, str(tmp_path / "id")), Watch(step, stop.is_set))
    )
    pid = told(tmp_path / "id")
    reported.wait(60)
    eventually(lambda: stat(pid)[0] == "S")
    before = stat(pid)[11:13]
    assert [workers.run(partial(errands.steps, 100), Watch()) for _ in range(3)] == ["all"] * 3  # time passes
    assert stat(pid)[11:13] == before
    stop.set()
    go_on.set()
    running.join(60)


def test_workers_go_on_when_what_they_are_forked_from_was_killed(tmp_path: Path) -> None:
    mine = Workers(["errands"])
    try:
        running, raised = ended(lambda: mine.run(partial(errands.runaway, str(tmp_path / "id")), Watch()))
        pid = told(tmp_path / "id")
        os.kill(int(stat(pid)[1]), signal.SIGKILL)
        running.join(60)
        assert [getattr(error, "code", "") for error in raised] == ["SIMULATION_FAILED"]
        eventually(lambda: not is_alive(pid))
        assert mine.run(partial(errands.echo, 1), Watch()) == (1,)
    finally:
        mine.close()


SERVER = """
import sys
from functools import partial
import errands
from pages.ui.jobs.workers import Workers
from treedp_core.watch import Watch
Workers(["errands"]).run(partial(errands.runaway, sys.argv[1]), Watch())
"""


def test_no_worker_outlives_a_server_that_is_killed(tmp_path: Path) -> None:
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path / "id")], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        pid = told(tmp_path / "id")
        forker = int(stat(pid)[1])
        assert is_alive(pid) and is_alive(forker)
    finally:
        server.kill()
        server.wait()
    eventually(lambda: not is_alive(pid) and not is_alive(forker))


def test_a_job_of_the_core_is_done_by_a_worker_and_any_other_here(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    class Noting:
        def run(self, work: Any, watch: Watch, is_wanted: Callable[[], bool], limits: Any) -> Any:
            sent.append(work)
            return work(watch=watch)

    monkeypatch.setattr(jobs, "WORKERS", Noting())
    of_core = partial(experiment.run, Experiment(trials=5), TREE, COUNTS)
    for work in (of_core, partial(errands.steps, 3), lambda watch: 1):
        job = jobs.Job(key="k", total=5)
        with suppress(TypeError):
            job.run(work)
    assert sent == [of_core]


def test_a_job_with_an_entry_that_was_added_meanwhile_is_done_here(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers have the tables as they were when what they are forked from started."""
    monkeypatch.setattr(jobs, "WORKERS", workers)
    workers.run(partial(errands.process), Watch())
    law = LevelLaw("twice", Currency.EPSILON, lambda spent, l1, l2: Laplace(2 * l1 / spent), LAWS["laplace"].precision)
    MECHANISMS.register(of_levels(law, "Twice", "Twice the noise.", "violet"))
    try:
        work = partial(experiment.run, Experiment("twice", trials=5), TREE, COUNTS)
        assert not takes(work)
        assert takes(partial(experiment.run, Experiment(trials=5), TREE, COUNTS)), "others stay in processes"
        job = jobs.Job(key="k", total=5)
        job.run(work)
        assert job.state == "done" and job.result.simulation is not None
    finally:
        MECHANISMS.withdraw("twice")
        LAWS.withdraw("twice")
    assert takes(work)


def test_what_is_cancelled_while_a_worker_does_it_is_cancelled(
    workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "WORKERS", workers)
    job = jobs.Job(key="k", total=10**9)
    large = Tree.from_branching_factors((100, 100))
    work = partial(
        experiment.run, Experiment(trials=50_000), large, large.counts_of_leaves(np.ones(10_000, dtype=np.int64))
    )
    thread = threading.Thread(target=job.run, args=(work,))
    thread.start()
    eventually(lambda: job.done > 0)
    job.stop.set()
    thread.join(60)
    assert (job.state, job.result) == ("cancelled", None)


def test_searches_over_splits_can_be_sent(workers: Workers) -> None:
    """A problem, a prior and their targets go there, and what was found comes back."""
    unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
    tree = Tree.from_branching_factors((2,))
    problem = Problem(tree, np.array([40, 20, 20]), "laplace", unit, least_squares=False)
    prior = true_counts(tree, problem.counts)
    work = partial(compare, problem, problem, 1.0, ("optimum",), 20, prior)
    (sent,), (here,) = workers.run(work, Watch()), work()
    assert sent.amounts.tolist() == here.amounts.tolist() and sent.origin is prior and sent.label == here.label
    said = workers.run(partial(answer, problem, (Target(1, Ask.RMSE, 2.0),)), Watch())
    assert said.found.total == pytest.approx(0.5**0.5) and said.seen is not None and said.seen.trials > 0
