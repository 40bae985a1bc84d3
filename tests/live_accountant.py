"""What Google's accountant says of 200 random releases: run to write `known_accounting.json` again (some minutes)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FILE = Path(__file__).with_name("known_accounting.json")
N = 200


def release(i: int) -> tuple[list[tuple[str, float, int]], float]:
    """Levels of release i, each (law, parameter, change): alike, of several widths, or of two laws; and its delta."""
    rng = np.random.default_rng([15, i])
    delta, base = float(10 ** rng.uniform(-10, -3)), float(np.exp(rng.uniform(np.log(0.6), np.log(60))))
    levels = []
    for _ in range(int(rng.integers(1, 13))):
        width = base if i % 3 == 0 else base * float(np.exp(rng.uniform(-0.7, 0.7)))
        change = 1 if i % 3 == 0 else int(rng.integers(1, 4))
        laplace = i % 3 == 2 and rng.random() < 0.5
        levels.append(("discrete_laplace", 0.3 / width, change) if laplace else ("discrete_gaussian", width, change))
    return levels, delta


def google(i: int, above: bool) -> float:
    """Epsilon by dp_accounting's composed loss distributions, from above or from below."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    levels, delta = release(i)
    found: Any = None
    for law, parameter, change in levels:
        make: Any = getattr(pld, f"from_{law}_mechanism")
        one = make(parameter, sensitivity=change, value_discretization_interval=1e-4, pessimistic_estimate=above)
        found = one if found is None else found.compose(one)
    return float(found.get_epsilon_for_delta(delta))


if __name__ == "__main__":
    known = [[round(google(i, False), 9), round(google(i, True), 9)] for i in range(N)]
    FILE.write_text(json.dumps(known).replace("], ", "],\n ") + "\n", encoding="utf-8")
