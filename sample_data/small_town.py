"""SYNTHETIC small town: six binary splits, from half to block, with 1 000 residents on 64 blocks.

Small enough to see every count, and so small that noise shows. The counts are one multinomial draw with log-normal
weights, which is what the app's own generator of records draws from this seed.
"""

from __future__ import annotations

import numpy as np

from sample_data.shaping import csv_text

SEED = 7
N_RESIDENTS = 1_000
SPREAD = 1.5
HEADER = ("half", "quarter", "district", "ward", "street", "block", "residents")
SIDES = (("North", "South"), ("West", "East"))


def generate() -> str:
    """The file: one row for each block."""
    rng = np.random.default_rng(SEED)
    weights = np.exp(SPREAD * rng.standard_normal(2**6))
    counts = rng.multinomial(N_RESIDENTS, weights / weights.sum())
    return csv_text(HEADER, [(*_names(block), int(count)) for block, count in enumerate(counts)])


def _names(block: int) -> list[str]:
    """The name of a block and of everything it lies in: North, North West, NW-1, NW-12, NW-121, NW-1212."""
    turns = [(block >> shift) & 1 for shift in reversed(range(6))]
    half, side = SIDES[0][turns[0]], SIDES[1][turns[1]]
    digits = "".join(str(turn + 1) for turn in turns[2:])
    return [half, f"{half} {side}", *(f"{half[0]}{side[0]}-{digits[: n + 1]}" for n in range(4))]
