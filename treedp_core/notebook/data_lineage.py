"""What a result was made from: which of the user's data sets its call reaches, and whether counts may be in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from fractions import Fraction

import numpy as np

from treedp_core.notebook.code import File, Part, Ran
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset


def own_data(ran: Ran[object] | Part[object] | None, own: Collection[Dataset]) -> Dataset | None:
    """Return the first of the user's data sets that a call works on; several are named in order of what matters."""
    reached = {id(one) for one in _values(ran)} if own else set()
    return next((data for data in own if id(data) in reached), None)


def may_hold_counts(
    ran: Ran[object] | Part[object] | None,
    own: Collection[Dataset],
    *said: str,
    label: str = "",
    public: Collection[Dataset] = (),
) -> bool:
    """Return whether a result may depend on true counts of the user's data, as far as its call tells.

    Only a call that reaches none of the data sets, and all of whose arguments are plain (numbers, words, settings) or
    `public` data sets, is known not to. `said` is what stands beside the result: with a public data set "NOT PRIVATE"
    there is of that, but never in its `label`.

    >>> from treedp_core.notebook.code import call
    >>> may_hold_counts(call(max, 3, 5), []), may_hold_counts(call(sum, np.array([1, 2])), [])
    (False, True)
    """
    if ran is None or NOT_PRIVATE in label or own_data(ran, own) is not None:
        return True
    known = {id(data) for data in public}
    values = list(_values(ran))
    if any(NOT_PRIVATE in text for text in said) and not any(id(one) in known for one in values):
        return True
    return any(isinstance(one, (np.ndarray, Dataset, _Strange)) and id(one) not in known for one in values)


class _Strange:
    """Something of which nothing is known."""


def _values(ran: object) -> Iterator[object]:
    """Everything that a call is made of, each once."""
    waiting, seen = [ran], set[int]()
    kept: list[object] = []  # an id stands for one thing only as long as that is there
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        kept.append(one)
        yield one
        inside = _inside(one)
        if inside is None:
            yield _Strange()
        else:
            waiting += inside


def _inside(one: object) -> list[object] | None:
    """What a thing consists of; None where that is not known."""
    if isinstance(one, Ran):
        given = one.__dict__.get("value")
        known = [given] if isinstance(given, Dataset) else []
        is_bare = not one.args and not one.kwargs and "value" in one.__dict__ and not isinstance(one.function, type)
        return None if is_bare and not known else [*one.args, *one.kwargs.values(), *known]
    if isinstance(one, Part):
        return [one.of]
    if one is None or isinstance(
        one, (bool, int, float, str, range, Enum, Fraction, File, np.generic, np.ndarray, Dataset)
    ):
        return []
    if isinstance(one, Mapping):
        return [*one.keys(), *one.values()]
    if isinstance(one, (list, tuple, set, frozenset)):
        return list(one)
    if is_dataclass(one) and not isinstance(one, type):
        return [getattr(one, field.name) for field in fields(one)]
    return [] if callable(one) else None
