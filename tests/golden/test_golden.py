"""What is shown and what is drawn stays what it was, to 1e-9, while the house is rebuilt.

The numbers are of an earlier commit: `TREEDP_GOLDEN=write pytest tests/golden` writes them anew, and the commit that
does so names what has changed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from golden.numbers import TOLERANCE, differences
from golden.pages import PAGES, STATES, views
from golden.releases import releases

VALUES: Final = Path(__file__).parent / "values"


def held_to(name: str, found: dict[str, Any]) -> None:
    """Hold numbers to those of the file of that name, or write them there."""
    path = VALUES / f"{name}.json"
    if os.environ.get("TREEDP_GOLDEN") == "write":
        path.write_text(json.dumps(found, sort_keys=True, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")
    wrong = list(differences(json.loads(path.read_text(encoding="utf-8")), json.loads(json.dumps(found))))
    assert not wrong, f"{len(wrong)} differences: {wrong[:12]}"


def test_twenty_releases_have_the_noise_that_they_had() -> None:
    found = releases()
    assert len({name.removesuffix(", before").removesuffix(", after") for name in found}) == 20
    held_to("releases", found)


@pytest.mark.usefixtures("own_jobs")
@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("page", PAGES)
def test_every_view_shows_the_numbers_that_it_showed(page: str, state: str) -> None:
    held_to(f"{page}-{list(STATES).index(state) + 1}", views(page, state))


def test_another_number_is_found() -> None:
    before = {"all": [1.0, 2e6, "nan"], "n": 3}
    for now in ({"all": [1.0, 2e6 * (1 + 3 * TOLERANCE), "nan"], "n": 3}, {"all": [1.0, 2e6, 0.0], "n": 3}, {"n": 3}):
        assert list(differences(before, now))
    assert not list(differences(before, {"all": [1.0 + 1e-10, 2e6, "nan"], "n": 3}))
