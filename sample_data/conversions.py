"""SYNTHETIC ad conversions: partner > country > device > product age > delay.

The shape is that of the attribution experiment of Dawson et al.: five attributes, the last a delay in two-day
buckets that is not known before the conversion; few partners hold most conversions and most cells are empty.
Names and numbers are made up.
"""

from __future__ import annotations

import math
from random import Random

from sample_data.shaping import csv_text, lognormal, scatter

SEED = 20230607
HEADER = ("partner", "country", "device", "product_age", "delay", "conversions")
N_PARTNERS = 24
N_CONVERSIONS = 60_000
COUNTRIES = ("DE", "ES", "FR", "IT", "NL", "PL", "SE", "UK")
DEVICES = {"desktop": 0.45, "mobile": 0.48, "tablet": 0.07}
PRODUCT_AGES = {"0-1 months": 0.5, "2-5 months": 0.3, "6-12 months": 0.15, "over a year": 0.05}
DELAYS = tuple(f"days {day:02d}-{day + 1:02d}" for day in range(0, 30, 2))
DECAY_IN_BUCKETS = 2.2


def generate() -> str:
    """The file: one row a leaf of the public domain, also where nothing converted."""
    rng = Random(SEED)
    leaves: list[tuple[str, ...]] = []
    weights: list[float] = []
    for number in range(1, N_PARTNERS + 1):
        for country, share in _countries(rng):
            for device, by_device in DEVICES.items():
                for age, by_age in PRODUCT_AGES.items():
                    size = number**-1.1 * share * by_device * by_age * lognormal(rng, 1.0)
                    leaves += [(f"Partner {number:02d}", country, device, age, delay) for delay in DELAYS]
                    weights += [size * math.exp(-k / DECAY_IN_BUCKETS) for k in range(len(DELAYS))]
    counts = scatter(N_CONVERSIONS, weights, rng)
    return csv_text(HEADER, [(*leaf, count) for leaf, count in zip(leaves, counts, strict=True)])


def _countries(rng: Random) -> list[tuple[str, float]]:
    """The countries a partner sells in, with its uneven shares: home markets large, the others small."""
    shares = {country: lognormal(rng, 1.2) for country in COUNTRIES if rng.random() < 0.6}
    return list(shares.items()) or [("FR", 1.0)]
