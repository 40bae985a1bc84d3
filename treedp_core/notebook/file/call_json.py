"""How a file was counted, as JSON: a call of one of six functions with plain arguments. Nothing of it is ever run.

It comes back as the call whose code is shown and whose settings the next count begins with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

from treedp_core.checks import InputError, echo
from treedp_core.notebook import validators
from treedp_core.notebook.code import File, Ran
from treedp_core.records import (
    ReadOptions,
    count_bins,
    count_hierarchy,
    domain_of_leaves,
    domain_of_paths,
    domain_of_values,
    domain_taken_from_the_data,
)
from treedp_core.records.read.layout.options import OPTIONS
from treedp_core.records.recipe import MARKS
from treedp_core.records.strict_json import Json, members

LISTED: Final = (domain_of_values, domain_of_leaves)
"""What makes a domain of lists that stand in the call itself, by the names of columns."""
DOMAINS: Final = (domain_taken_from_the_data, domain_of_paths, *LISTED)
FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    one.__name__: one for one in (count_hierarchy, count_bins, *DOMAINS)
}
MAX_TEXT: Final = 100_000
MAX_OPTION: Final = 400
MAX_ITEMS: Final = 100_000


def written(ran: Ran[Any]) -> dict[str, Any]:
    """Return a call as JSON.

    Raises
    ------
    TypeError
        It is of another function, or has an argument that is not plain.

    >>> written(Ran(domain_of_paths, (File("area.csv"), ["state"]), name="domain"))["args"]
    [{'file': 'area.csv', 'name': 'DATA'}, ['state']]
    """
    name = getattr(ran.function, "__name__", "")
    if FUNCTIONS.get(name) is not ran.function:
        raise TypeError(f"{name} counts no file.")
    return {
        "call": name, "args": [_plain(one) for one in ran.args], "name": ran.name, "about": ran.about,
        "kwargs": {key: _plain(one) for key, one in ran.kwargs.items()},
    }  # fmt: skip


def _plain(value: object) -> Json:
    if isinstance(value, Ran):
        return written(value)
    if isinstance(value, File):
        return {"file": value.path, "name": value.name}
    if isinstance(value, ReadOptions):
        return asdict(value)
    if isinstance(value, tuple):
        return {"tuple": [_plain(one) for one in value]}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {"items": [[_plain(key), _plain(one)] for key, one in value.items()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"A {type(value).__name__} is not plain.")


def read(said: Json) -> Ran[Any]:
    """Return the call that `written` wrote; its value is not there.

    Raises
    ------
    InputError
        ``RECIPE``, and the codes of `strict_json.members`.

    >>> read(written(Ran(domain_taken_from_the_data, name="domain"))).snippet().splitlines()[-1]
    'domain_taken_from_the_data()'
    """
    told = members(said, "How a file was counted", call=str, args=list, kwargs=dict, name=str, about=str)
    function = FUNCTIONS.get(told["call"])
    names = [told["name"], *told["kwargs"]]
    if function is None or not all(one.isidentifier() and one.isascii() and len(one) <= 40 for one in names):
        raise InputError("RECIPE", f"A file was counted by {echo(told['call'])}, which this version does not know.")
    if validators.CONTROL.search(told["about"]) or len(told["about"]) > MAX_TEXT:
        raise _strange()
    values = {key: _value(one) for key, one in told["kwargs"].items()}
    return Ran(function, tuple(map(_value, told["args"])), values, told["name"], told["about"])


def answers(ran: Ran[Any]) -> dict[str, Any]:
    """Return what a count was asked with, "columns" or "numeric" among it, without what is of no such kind.

    >>> answers(Ran(count_bins, (File("area.csv"), "age"), {"lower": 0.0, "upper": "many", "outside": "clamp"}))
    {'numeric': 'age', 'lower': 0.0, 'outside': 'clamp'}
    """
    said = {**dict(zip(("", "columns"), ran.args, strict=False)), **ran.kwargs}
    said["numeric"] = said.get("columns")
    return {key: said[key] for key, fits in _ANSWERS.items() if key in said and fits(said[key])}


def _is_domain(value: object) -> bool:
    if not isinstance(value, Ran) or value.function not in DOMAINS:
        return False
    lists = value.args[0] if value.args else None
    return value.function not in LISTED or (isinstance(lists, dict) and all(map(_are_texts, lists.values())))


def _are_texts(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)


def _are_marks(value: object) -> bool:
    return isinstance(value, dict) and all(one in MARKS for one in value.values())


def _are_left_out(value: object) -> bool:
    return isinstance(value, dict) and all(map(_are_texts, value.values()))


def _is_number(value: object) -> bool:
    return isinstance(value, float) and math.isfinite(value)


def _are_factors(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(type(one) is int for one in value)


_ANSWERS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "columns": _are_texts,
    "numeric": lambda value: isinstance(value, str),
    "domain": _is_domain,
    "weight": lambda value: isinstance(value, str),
    "unit": lambda value: isinstance(value, str),
    "missing": ("category", "other").__contains__,
    "lower": _is_number,
    "upper": _is_number,
    "n_bins": lambda value: type(value) is int,
    "edges": lambda value: isinstance(value, (list, tuple)) and all(map(_is_number, value)),
    "outside": ("other", "clamp").__contains__,
    "branching": _are_factors,
    "marks": _are_marks,
    "left_out": _are_left_out,
    "derive": lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values()),
}


def _value(said: Json) -> object:
    if isinstance(said, list):
        return [_value(one) for one in _few(said)]
    if isinstance(said, str):
        return validators.text("how a file was counted", said, MAX_TEXT, "RECIPE")
    if not isinstance(said, dict):
        return said
    match sorted(said):
        case ["about", "args", "call", "kwargs", "name"]:
            return read(said)
        case ["file", "name"]:
            told = members(said, "A file", file=str, name=str)
            if not (told["name"].isidentifier() and told["name"].isupper() and len(told["name"]) <= 40):
                raise _strange()
            return File(validators.line("the name of a file", told["file"], 400, "RECIPE"), told["name"])
        case names if names == sorted(OPTIONS):
            options = members(said, "Reading options", **dict.fromkeys(said, (str, type(None))))
            if any(one is not None and len(one) > MAX_OPTION for one in options.values()):
                raise _strange()
            return ReadOptions(**options)
        case ["tuple"] if isinstance(said["tuple"], list):
            return tuple(_value(one) for one in _few(said["tuple"]))
        case ["items"] if isinstance(said["items"], list):
            return _mapping(_few(said["items"]))
    raise _strange()


def _mapping(pairs: list[Any]) -> dict[object, object]:
    if any(not isinstance(pair, list) or len(pair) != 2 or isinstance(pair[0], (list, dict)) for pair in pairs):
        raise _strange()
    return {pair[0]: _value(pair[1]) for pair in pairs}


def _few(items: list[Any]) -> list[Any]:
    if len(items) > MAX_ITEMS:
        raise _strange()
    return items


def _strange() -> InputError:
    return InputError("RECIPE", "How a file was counted is not written as TreeDP writes it.")
