"""Widget states that no browser sends: each is answered, and the next run of the page is clean."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from browsing import live_server
from tabs import Tab

from .verdict import Verdict

PAGES = ("", "data", "lab", "branching", "cdf", "multiplicative", "budget", "consistency", "topdown")
QUERY = "level=Advanced&source=generate&gen_branching=4,4&gen_n=1000"
SECONDS: Final = 300.0
SHORT_SECONDS: Final = 8.0
NAN, INFINITY = float("nan"), float("inf")
Value = dict[str, Any]
HOSTILE: dict[str, tuple[Value, ...]] = {
    "Slider": (
        {"double_array_value": [1e300]},
        {"double_array_value": [NAN]},
        {"double_array_value": [0.0, 1.0, 2.0]},
        {"string_array_value": ["unknown"]},
        {"int_value": 3},
    ),
    "Selectbox": ({"string_value": "unknown"}, {"int_value": 10**6}, {"bool_value": True}),
    "NumberInput": (
        {"double_value": 1e308},
        {"double_value": NAN},
        {"double_value": -INFINITY},
        {"int_value": -(2**62)},
        {"string_value": "many"},
    ),
    "ButtonGroup": ({"int_array_value": [10**6]}, {"string_array_value": ["unknown"]}, {"bool_value": True}),
    "MultiSelect": ({"string_array_value": ["unknown"]}, {"int_array_value": [10**6]}),
    "Radio": ({"int_value": 10**6}, {"string_value": "unknown"}),
    "Checkbox": ({"string_value": "perhaps"}, {"int_value": 2}),
    "TextInput": ({"string_value": "9" * 100_000}, {"string_value": "\0\u202e<b>"}, {"int_value": 2}),
    "PlotlyChart": (
        {"string_value": "{"},
        {"string_value": '{"selection": null}'},
        {"string_value": "[]"},
        {"string_value": '{"selection": {"points": [{"id": ["x"]}]}}'},
    ),
    "FileUploader": ({"string_value": "x"},),
    "Arrow": ({"string_value": '{"selection": {"rows": [1000000]}}'}, {"string_value": "{"}),
    "Dataframe": ({"string_value": '{"selection": {"rows": [1000000]}}'}, {"string_value": "{"}),
}


def widgets(short: bool) -> Verdict:
    """Send the hostile values to the controls of every page, each control in a session of its own, in any order."""
    verdict = Verdict()
    with live_server() as server:
        controls = [
            (page, key, HOSTILE[kind])
            for page in (("lab",) if short else PAGES)
            for key, kind in _controls(server.url, page).items()
            if kind in HOSTILE
        ]
        random.Random(0).shuffle(controls)
        until = time.monotonic() + (SHORT_SECONDS if short else SECONDS)
        with ThreadPoolExecutor(2) as people:
            tried = list(people.map(lambda control: _one(server.url, until, *control), controls))
    for (page, key, _), found in zip(controls, tried, strict=True):
        for value, harm in found:
            verdict.hold(not harm, f"{page or 'start'} {key} {str(value)[:60]}: {harm}")
    n_values = sum(map(len, tried))
    verdict.hold(n_values > 0, "no control was reached in the time that is given")
    n_tried = sum(map(bool, tried))
    verdict.tell(f"{n_values} hostile states of {n_tried} of {len(controls)} controls: {len(verdict.harm)} did harm")
    return verdict


def _controls(url: str, page: str) -> dict[str, str]:
    with Tab(url, page, QUERY) as tab:
        return {key: type(message).__name__ for key, message in tab.widgets.items()}


def _one(url: str, until: float, page: str, key: str, values: tuple[Value, ...]) -> list[tuple[Value, str]]:
    """What each value did to one control before the time is up: nothing (""), or what went wrong."""
    found: list[tuple[Value, str]] = []
    if time.monotonic() > until:
        return found
    try:
        with Tab(url, page, QUERY) as tab:
            for value in values:
                found.append((value, ""))
                found[-1] = value, _harm(tab, key, value)
                if found[-1][1] or time.monotonic() > until:
                    break
    except Exception as error:
        found[-1:] = [(found[-1][0] if found else {}, f"{type(error).__name__}: {error}")]
    return found


def _harm(tab: Tab, key: str, value: Value) -> str:
    """What went wrong and was not caught in the run that a value came with, or in the run after it."""
    tab.forget_what_was_said()
    tab.run(tab.state(key, **value))
    at_once = list(tab.exceptions)
    tab.forget_what_was_said()
    tab.run()
    later = tab.exceptions + [alert for alert in tab.alerts if "went wrong" in alert]
    return f"the next run says {later[0]}" if later else f"uncaught: {at_once[0]}" if at_once else ""
