"""Settings of the Branching factor page that a link can carry."""

from __future__ import annotations

from typing import Any, Final

from pages.ui.setting import Setting, choice, flag, words
from treedp_core.studies.branching.question import BUDGETS, NOISES, POSTS, WORKLOADS, bins_from_text

SETTINGS: Final[tuple[Setting[Any], ...]] = (
    words("bra_bins", "2^20", bins_from_text),
    choice("bra_noise", "laplace", NOISES),
    choice("bra_workload", "cdf", WORKLOADS),
    choice("bra_post", "none", POSTS),
    choice("bra_budgets", "equal", BUDGETS),
    flag("bra_padded", True),
)
