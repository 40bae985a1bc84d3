"""What every view of every page shows at three settings: the numbers of its figures and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from golden.numbers import Kept, of_figure, of_table
from oracles_pages import RAGGED, decoded, open_page
from pages.ui.notebook import pins
from pages.ui.page.view import Seen
from test_pages_contract import VIEWS
from treedp_core.views import Finding

STATES: Final[dict[str, dict[str, Any]]] = {
    "as it opens": {},
    "ages, one added or removed": {
        "sample": "ages", "eps": "0.4", "nbr": "add_or_remove_one", "delta": "1e-6", "seed": "3",
    },
    "ragged, unknown columns replaced": {
        "eps": "2.5", "nbr": "replace_unknown", "contributions": "2", "tau": "2", "alpha": "0.1", "seed": "11",
        "delta": "1e-5",
    },
}  # fmt: skip
OWN: Final = {"td_source": "current", "cdf_source": "current", "mul_source": "current"}
PAGES: Final = tuple(dict.fromkeys(page for page, _, _ in VIEWS))


def views(page: str, state: str) -> Kept:
    """The numbers of each view of a page in one of the `STATES`, by view and by the key of figure or table."""
    found: Kept = {}
    own = state.startswith("ragged")
    for here, switch, view in VIEWS:
        if here == page:
            shown = list(_shown(here, {switch: view} if switch else {}, RAGGED if own else None, STATES[state], own))
            found[f"{switch}={view}" if switch else ""] = dict(shown)
    return found


def _shown(page: str, switch: dict[str, str], data: Any, link: dict[str, str], own: bool) -> Iterator[tuple[str, Kept]]:
    with pytest.MonkeyPatch.context() as patch:
        found: dict[str, Seen[Any]] = {}
        button = pins.button

        def keep(seen: Seen[Any]) -> None:
            found[seen.entry.part] = seen
            button(seen)

        patch.setattr(pins, "button", keep)
        app = open_page(page, data, **(OWN if own else {}), **{"sample": "geography"} | link | switch)
        assert not app.exception, (page, switch, [one.message for one in app.exception])
        for key, seen in sorted(found.items()):
            yield key, _numbers(seen.finding)


def _numbers(found: Finding) -> Kept:
    drawn = {} if found.figure is None else {"figure": of_figure(decoded(json.loads(found.figure.to_json())))}
    table = {} if found.is_empty else {"table": of_table(found.table)}
    return drawn | table
