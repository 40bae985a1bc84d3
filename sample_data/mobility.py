"""SYNTHETIC trips of one day: origin > destination > hours, in a made-up city.

A gravity model: trips fall off with the distance between zones, mornings go to the centre, evenings come back.
"""

from __future__ import annotations

import math
from random import Random

from sample_data.shaping import csv_text, lognormal, scatter

SEED = 20240915
HEADER = ("origin", "destination", "hours", "trips")
N_ZONES = 28
N_TRIPS = 250_000
FALL_OFF_KM = 3.0
RADIUS_KM = 9.0
# hours of the day: share of trips, pull of the destination's jobs (outward in the morning, homeward later)
HOURS = {
    "00-06": (0.04, 0.0),
    "06-09": (0.22, 1.0),
    "09-12": (0.15, 0.5),
    "12-15": (0.17, 0.2),
    "15-18": (0.23, -0.6),
    "18-21": (0.14, -0.4),
    "21-24": (0.05, -0.5),
}


def generate() -> str:
    """The file: one row for each pair of zones and time of day."""
    rng = Random(SEED)
    places = [_place(rng) for _ in range(N_ZONES)]
    people = [lognormal(rng, 0.8) for _ in range(N_ZONES)]
    names = [f"Zone {number:02d}" for number in range(1, N_ZONES + 1)]
    rows, weights = [], []
    for i in range(N_ZONES):
        for j in range(N_ZONES):
            near = people[i] * people[j] * math.exp(-math.dist(places[i], places[j]) / FALL_OFF_KM)
            inward = (math.hypot(*places[i]) - math.hypot(*places[j])) / RADIUS_KM
            for hours, (share, pull) in HOURS.items():
                rows.append((names[i], names[j], hours))
                weights.append(near * share * math.exp(2 * pull * inward))
    counts = scatter(N_TRIPS, weights, rng)
    return csv_text(HEADER, [(*row, count) for row, count in zip(rows, counts, strict=True)])


def _place(rng: Random) -> tuple[float, float]:
    radius, angle = RADIUS_KM * math.sqrt(rng.random()), 2 * math.pi * rng.random()
    return radius * math.cos(angle), radius * math.sin(angle)
