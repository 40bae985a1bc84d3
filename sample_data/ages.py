"""SYNTHETIC ages in years, one person a row, shaped like the age pyramid of an ageing country."""

from __future__ import annotations

from random import Random

from sample_data.shaping import csv_text

SEED = 19480210
HEADER = ("age",)
N_PEOPLE = 12_000
# ten-year groups from 0-9 up: people of every 1,000, made up
PEOPLE_PER_THOUSAND = (112, 118, 128, 134, 128, 130, 124, 78, 38, 9, 1)


def generate() -> str:
    """The file: one row a person, in no particular order."""
    rng = Random(SEED)
    return csv_text(HEADER, [(f"{_age(rng):.1f}",) for _ in range(N_PEOPLE)])


def _age(rng: Random) -> float:
    place = rng.random() * sum(PEOPLE_PER_THOUSAND)
    for group, people in enumerate(PEOPLE_PER_THOUSAND):
        if place < people:
            return 10 * group + int(100 * place / people) / 10
        place -= people
    raise AssertionError("The groups cover every draw.")
