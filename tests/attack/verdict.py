"""What an attack found, and how it reads the memory of the server it attacks."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

STEADY_MB: Final = 2.0
LOADED_WITHIN: Final = 90.0


@dataclass
class Verdict:
    """Figures for people, and everything that did harm."""

    figures: list[str] = field(default_factory=list)
    harm: list[str] = field(default_factory=list)

    def tell(self, figure: str) -> None:
        """Note a figure."""
        self.figures.append(figure)

    def hold(self, safe: bool, what: str) -> None:
        """Note what did harm unless it was safe."""
        if not safe:
            self.harm.append(what)


def memory(pid: int) -> float:
    """What a process and its children hold in memory now, in MB (Linux): what they share counts once.

    A worker is forked with all that its parent has, and may not be gone yet when its answer is there: by resident
    memory, such a one counts 130 MB that nobody took. What is mapped of files, such as libraries, holds nothing.
    """
    parts = ("Pss_Anon:", "Pss_Shmem:", "SwapPss:")
    return sum(_of_one(process, "smaps_rollup", *parts) for process in _family(pid)) / 1024


def peak(pid: int) -> float:
    """Resident memory of one process at its peak in MB, as the system counts it; its children are others."""
    return _of_one(pid, "status", "VmHWM:") / 1024


def memory_at_rest(pid: int) -> float:
    """What a server and its children hold in MB once what its workers are forked from has loaded all it needs.

    A server answers before that; what is loaded later would count as kept by whom is measured.
    """
    seen: list[float] = []
    deadline = time.monotonic() + LOADED_WITHIN
    while len(_family(pid)) < 2 or len(seen) < 4 or max(seen[-4:]) - min(seen[-4:]) > STEADY_MB:
        assert time.monotonic() < deadline, f"memory did not come to rest within {LOADED_WITHIN:g} s: {seen[-4:]}"
        time.sleep(0.5)
        seen.append(memory(pid))
    return seen[-1]


def forget_peak(pid: int) -> None:
    """Have the peak counted from now on: it is what the process takes up now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def worked(pid: int) -> float:
    """Seconds of a core that a process, its children and those of them that have ended took so far."""
    return sum(_ticks(process) for process in _family(pid)) / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:  # it ended meanwhile, and its parent has its ticks
        return 0
    return sum(int(ticks) for ticks in stat.rpartition(")")[2].split()[11:15])


def _of_one(pid: int, file: str, *names: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/{file}").read_text().splitlines()
    except OSError:  # it ended meanwhile
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(names))


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [grandchild for child in task.read_text().split() for grandchild in _family(int(child))]
        except OSError:
            continue
    return found


def quantile(values: list[float], part: float) -> float:
    """An observed quantile; inf without observations."""
    return sorted(values)[min(len(values) - 1, int(part * len(values)))] if values else float("inf")
