"""Widget states that no browser sends: each is answered, and the next run of the page is clean."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

from browsing import live_server
from tabs import Tab

from .verdict import Verdict

PAGES = ("", "data", "lab", "branching", "cdf", "multiplicative", "budget", "consistency", "topdown")
QUERY = "level=Advanced&source=generate&gen_branching=4,4&gen_n=1000"
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
    """Send every hostile value to every control of every page, each in a session of its own."""
    verdict = Verdict()
    with live_server() as server:
        states = [
            (page, key, value)
            for page in (("lab",) if short else PAGES)
            for key, kind in _controls(server.url, page).items()
            for value in HOSTILE.get(kind, ())
        ]
        chosen = list(islice(states, 0, None, 8 if short else 1))
        with ThreadPoolExecutor(2) as people:
            found = list(people.map(lambda state: _one(server.url, *state), chosen))
    for (page, key, value), harm in zip(chosen, found, strict=True):
        verdict.hold(not harm, f"{page or 'start'} {key} {str(value)[:60]}: {harm}")
    n_controls = len({(page, key) for page, key, _ in chosen})
    verdict.tell(f"{len(chosen)} hostile states of {n_controls} controls: {len(verdict.harm)} did harm")
    return verdict


def _controls(url: str, page: str) -> dict[str, str]:
    with Tab(url, page, QUERY) as tab:
        return {key: type(message).__name__ for key, message in tab.widgets.items()}


def _one(url: str, page: str, key: str, value: Value) -> str:
    """What one value did: nothing, or what went wrong in its run that was not caught, or in the run after it."""
    try:
        with Tab(url, page, QUERY) as tab:
            tab.forget_what_was_said()
            tab.run(tab.state(key, **value))
            at_once = list(tab.exceptions)
            tab.forget_what_was_said()
            tab.run()
            later = tab.exceptions + [alert for alert in tab.alerts if "went wrong" in alert]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"the next run says {later[0]}" if later else f"uncaught: {at_once[0]}" if at_once else ""
