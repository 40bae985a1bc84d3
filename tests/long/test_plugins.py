"""`treedp --plugin PACKAGE`: loaded by the command line alone, in app and workers, and said to be not reviewed."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from browsing import ROOT, free_port
from treedp_core import Experiment, cli, run
from treedp_core.registry import CLAIM
from treedp_core.tree import Tree

WITH_TESTS = os.environ | {
    "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]), "OMP_NUM_THREADS": "1"
}  # fmt: skip


@pytest.fixture(scope="module")
def visit() -> dict[str, Any]:
    """What `contract_plugin.py` found."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "contract_plugin.py")], env=WITH_TESTS, cwd=ROOT, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert not found["exceptions"] and not found["errors"]
    return found


def test_a_plugin_is_offered_as_not_reviewed_and_what_used_it_says_so(visit: dict[str, Any]) -> None:
    assert any("Wide Laplace (not reviewed)" in option for option in visit["options"])
    assert f"From own_plugin, {CLAIM}." in visit["help"]
    assert sum("not reviewed" in badge for badge in visit["badges"]) == 1
    assert not any("not reviewed" in badge for badge in visit["plain"])
    assert "not reviewed" in visit["cell"] and "Wide Laplace (not reviewed)" in visit["columns"]["series"]
    assert html.unescape(visit["report"]).count(CLAIM) and visit["bundle"] > 0


def test_its_simulation_ran_in_a_worker_and_gives_the_numbers_of_its_definition(visit: dict[str, Any]) -> None:
    """Discrete shares of ε = 1 on two noisy levels, replace one: Laplace noise of scale 2 · 2 / 0.5."""
    columns = visit["columns"]
    wide = [i for i, name in enumerate(columns["series"]) if name.startswith("Wide")]
    formula = [columns["formula"][i] for i in wide]
    simulation = [columns["simulation"][i] for i in wide]
    np.testing.assert_allclose(formula[1:], np.sqrt(2) * 8)
    assert None not in simulation and all(
        abs(s / f - 1) < 0.5 for s, f in zip(simulation[1:], formula[1:], strict=True)
    )


def test_its_exported_code_loads_it_and_gives_the_same_numbers(visit: dict[str, Any]) -> None:
    assert "from treedp_core.registry import load_plugin" in visit["code"]
    assert f"load_plugin('own_plugin')  # {CLAIM}" in visit["code"]
    assert visit["status"] == 0, visit["script"]


def test_the_command_hands_over_the_plugins_that_it_was_given_and_no_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.environment({}, plugins=["a", "b.c"])[cli.PLUGINS_VARIABLE] == "a,b.c"
    assert cli.PLUGINS_VARIABLE not in cli.environment({cli.PLUGINS_VARIABLE: "left_over"})
    became: list[Any] = []
    monkeypatch.setattr(cli, "_become", lambda command, env, *_: became.append((command, env)) or 0)
    assert cli.main(["--plugin", "nothing_of_the_kind"]) == 2 and not became
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "nothing_of_the_kind" in error
    assert cli.main(["--port", str(free_port())]) == 0 and cli.PLUGINS_VARIABLE not in became[0][1]


def test_neither_a_link_nor_a_notebook_names_code() -> None:
    """No setting and no member of a file reaches `load_plugin`: only the command line and the app's start call it."""
    callers = {
        path.relative_to(ROOT).as_posix()
        for folder in ("pages", "treedp_core")
        for path in (ROOT / folder).rglob("*.py")
        if "load_plugin(" in path.read_text(encoding="utf-8") or "load_plugins(" in path.read_text(encoding="utf-8")
    }
    assert callers == {
        "pages/ui/jobs/fork_server.py",
        "treedp_core/cli.py",
        "treedp_core/registry.py",
        "treedp_core/notebook/code.py",
        "treedp_core/batch/run.py",  # `treedp run --plugin`
        "treedp_core/batch/executors.py",  # its worker processes
        "treedp_core/plans/preparation.py",  # `treedp prepare --plugin`
    }
    tree = Tree.from_branching_factors((2,))
    with pytest.raises(ValueError, match="Unknown mechanism"):
        run(Experiment(mechanism="wide"), tree, tree.counts_of_leaves(np.ones(2)))
