"""What every view of every page shows at three settings: the numbers of its figures and tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import plotly.graph_objects as go
import pytest

from golden.numbers import Kept, of_figure, of_table
from oracles_pages import RAGGED, decoded, open_page
from pages.ui import pins
from pages.ui.pins import Shown
from test_pages_contract import VIEWS
from treedp_core.figures.base.draft import Draft
from treedp_core.notebook.code import Ran

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
        seen: dict[str, Shown] = {}
        button = pins.button

        def keep(shown: Shown) -> None:
            seen[shown.key] = shown
            button(shown)

        patch.setattr(pins, "button", keep)
        app = open_page(page, data, **(OWN if own else {}), **{"sample": "geography"} | link | switch)
        assert not app.exception, (page, switch, [one.message for one in app.exception])
        for key, shown in sorted(seen.items()):
            yield key, _numbers(shown)


def _numbers(shown: Shown) -> Kept:
    figure = shown.figure.value if isinstance(shown.figure, Ran) else shown.figure
    figure = figure.figure() if isinstance(figure, Draft) else figure
    drawn = {} if not isinstance(figure, go.Figure) else {"figure": of_figure(decoded(json.loads(figure.to_json())))}
    table = {} if shown.ran is None else {"table": of_table(shown.ran.value)}
    return drawn | table
