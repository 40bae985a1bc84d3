"""Settings of the page Data and tree that a link can carry; an uploaded file never is one of them."""

from __future__ import annotations

import os
from typing import Final

from pages.ui.setting import Param, choice, whole, words
from sample_data.catalogue import SAMPLES
from treedp_core import checks
from treedp_core.cli import FILE_VARIABLE
from treedp_core.records.made_up import MAX_RECORDS, MIN_RECORDS, SHAPES, branching_factors_from_text

SOURCES: Final = {"sample": "Sample", "generate": "Generate", "upload": "Upload", "file": "File on this computer"}
RECORDS_GRID: Final = (
    100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000,
)  # fmt: skip

PARAMS: Final[tuple[Param, ...]] = (
    choice("source", "file" if os.environ.get(FILE_VARIABLE) else "sample", SOURCES),
    choice("sample", "geography", SAMPLES),
    choice("gen_shape", "zipf", SHAPES),
    whole("gen_n", 100_000, MIN_RECORDS, MAX_RECORDS, code="RECORDS_RANGE", grid=RECORDS_GRID),
    words("gen_branching", "16,16,16", branching_factors_from_text),
    whole("gen_seed", 7, 0, checks.MAX_SEED, code="SEED_RANGE"),
)
