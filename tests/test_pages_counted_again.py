"""The code for an uploaded file repeats the count that ran, options and all, where the file lies under its name."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pages.ui.upload import Candidate, Table
from treedp_core.notebook.code import Ran, call
from treedp_core.records import ReadOptions, count_bins, count_hierarchy, domain_of_values, inspect
from treedp_core.watch import Watch

TEXT = "who;region;city;age;n\na;North;Kiel;3;2\na;North;Ulm;12;5\nb;South;Rome;99;1\nc;South;;7;4\nc;South;;7;4\n"
OPTIONS = ReadOptions("latin-1", ";")
DOMAIN = call(domain_of_values, {"region": ["North", "South"], "city": ["Kiel", "Ulm", "Rome", "(blank)"]})
ASKED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "weights": (count_hierarchy, ["region", "city"], {"weight": "n", "missing": "category"}),
    "units": (count_hierarchy, ["region", "city"], {"unit": "who", "contributions": 1, "missing": "category"}),
    "bins": (count_bins, "age", {"lower": 0.0, "upper": 20.0, "n_bins": 4, "branching": (2, 2), "weight": "n",
                                 "outside": "clamp"}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ASKED)
def test_the_code_counts_the_file_as_it_was_counted(kind: str, tmp_path: Path) -> None:
    function, column, how = ASKED[kind]
    domain: dict[str, Ran[Any]] = {"domain": DOMAIN.named("domain")} if function is count_hierarchy else {}
    file = Candidate(io.BytesIO(TEXT.encode()), "people.csv", "upload")
    reading = Table(file, inspect(file.origin, options=OPTIONS), OPTIONS).counted(function, column, **domain, **how)
    ran = reading.ran.giving(reading.work(watch=Watch()))
    (tmp_path / "people.csv").write_text(TEXT)
    code = call(tuple, ran.get("counts")).snippet()
    program = f"from contract_snippets import last_value\nprint(*last_value({code!r}))"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(count) for count in ran.value.counts.tolist()]
