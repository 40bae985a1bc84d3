"""Slow and obvious oracles for figures: node by node, column by column."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np

from treedp_core.figures.base.draft import Draft


def children_lists(parent: list[int]) -> list[list[int]]:
    """The children of each node."""
    below: list[list[int]] = [[] for _ in parent]
    for node, above in enumerate(parent):
        if above >= 0:
            below[above].append(node)
    return below


def leaves_below(parent: list[int]) -> list[list[int]]:
    """For each node, the places of its leaves when the leaves are read from left to right."""
    below, order = children_lists(parent), []

    def walk(node: int) -> None:
        if not below[node]:
            order.append(node)
        for child in below[node]:
            walk(child)

    walk(0)
    places: list[list[int]] = [[] for _ in parent]
    for place, leaf in enumerate(order):
        node = leaf
        while node >= 0:
            places[node].append(place)
            node = parent[node]
    return places


def strips(parent: list[int], level_of: list[int], values: list[float], columns: int, reduce: str) -> np.ndarray:
    """Each level and slice of the leaves: mean or extreme over the nodes with a leaf in the slice, nan without any."""
    places = leaves_below(parent)
    n_leaves = len(places[0])
    grid = np.full((max(level_of) + 1, columns), np.nan)
    for column in range(columns):
        slice_ = set(range(column * n_leaves // columns, (column + 1) * n_leaves // columns))
        for level in range(len(grid)):
            here = [values[v] for v in range(len(parent)) if level_of[v] == level and slice_ & set(places[v])]
            if here:
                grid[level, column] = sum(here) / len(here) if reduce == "mean" else max(here, key=abs)
    return grid


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two #rrggbb colours (WCAG 2.2, relative luminance)."""

    def luminance(colour: str) -> float:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def decoded(figure: Any) -> dict[str, Any]:
    """The figure as the browser gets it, its packed arrays unpacked to lists."""
    unpacked: dict[str, Any] = unpack(json.loads((figure.figure() if isinstance(figure, Draft) else figure).to_json()))
    return unpacked


def unpack(item: Any) -> Any:
    """The same with packed arrays as lists."""
    if isinstance(item, dict) and "bdata" in item:
        flat = np.frombuffer(base64.b64decode(item["bdata"]), dtype=item["dtype"])
        shape = [int(n) for n in str(item.get("shape", len(flat))).split(",")]
        return flat.reshape(shape).tolist()
    if isinstance(item, dict):
        return {key: unpack(value) for key, value in item.items()}
    return [unpack(value) for value in item] if isinstance(item, list) else item


def data_range(axis: dict[str, Any]) -> tuple[float, float]:
    """An axis range in data units."""
    low, high = axis["range"]
    return (math.pow(10, low), math.pow(10, high)) if axis.get("type") == "log" else (low, high)


def near(a: Any, b: Any) -> bool:
    """Whether two figures are the same, numbers to the seven digits in which they are sent."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(near(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(near, a, b))
    if isinstance(a, float) or isinstance(b, float):
        both = a is not None and b is not None and not isinstance(a, str) and not isinstance(b, str)
        same = (np.isnan(a) and np.isnan(b)) or abs(a - b) <= 1e-6 * max(abs(a), abs(b)) if both else False
        return bool(same) or (a is None and np.isnan(b)) or (b is None and np.isnan(a))
    return bool(a == b)
