"""What a cell was made of, so that it can be simulated again beside another one: experiments, and the data set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pages.ui import pins, store
from pages.ui.settings import REG
from sample_data.catalogue import SAMPLES
from treedp_core.allocation.shares import shares_from_text
from treedp_core.experiment import Experiment
from treedp_core.notebook import Cell
from treedp_core.notebook.compare import Side
from treedp_core.postprocess.chains import CHAINS
from treedp_core.privacy import NeighbouringRelation, fitting_delta
from treedp_core.records import Dataset
from treedp_core.studies.budget.strategies import CUSTOM
from treedp_core.studies.sweep.series import Series, chosen, needs_delta

WORDS: Final = {"lab": "lab", "consistency": "con", "budget": "bud"}
"""Pages whose figures are of experiments, and what the keys of their settings begin with."""


def sides_of(cells: Sequence[Cell]) -> list[list[Side]]:
    """Return the experiments of each cell; nothing where one of them is of no experiment, or its data are gone.

    Raises
    ------
    InputError
        What the settings of a cell are refused for.
    """
    found = [_sides(one) for one in cells]
    return found if all(found) else []


def _sides(cell: Cell) -> list[Side]:
    data = _data(cell)
    word = WORDS.get(cell.page)
    if data is None or word is None or (word == "bud" and _value(cell, "bud_view") != CUSTOM):
        return []
    return [
        Side(one.label, _experiment(cell, word, one, data), data.tree, data.counts, tuple(data.labels.level_names))
        for one in _series(cell, word)
    ]


def _series(cell: Cell, word: str) -> list[Series]:
    if word == "lab":
        return chosen(_value(cell, "lab_mechanisms"), _value(cell, "lab_post"))
    if word == "bud":
        return [Series(_value(cell, "bud_mechanism"), "least_squares" if _value(cell, "bud_least_squares") else "none")]
    return [Series(_value(cell, "con_mechanism"), _value(cell, "con_post"))]


def _split(cell: Cell, word: str) -> tuple[str, str]:
    """The allocation, and the shares of a custom one; a split of one's own is uniform until it has shares."""
    shares: str = _value(cell, f"{word}_shares")
    if word == "bud":
        return (CUSTOM if shares.strip() else "uniform"), shares
    return _value(cell, f"{word}_allocation"), shares


def _experiment(cell: Cell, word: str, one: Series, data: Dataset) -> Experiment:
    (split, shares), relation, delta = _split(cell, word), _value(cell, "nbr"), _value(cell, "delta")
    is_public = relation == NeighbouringRelation.REPLACE_ONE.value
    found = Experiment(
        mechanism=one.mechanism, postprocess=CHAINS[one.pipeline].steps, allocation=split, epsilon=_value(cell, "eps"),
        delta=delta or (fitting_delta(data.total if is_public else None) if needs_delta(one.mechanism) else 0.0),
        relation=relation, contributions=_value(cell, "contributions"), alpha=_value(cell, "alpha"),
        known_levels=min(_value(cell, "known_levels"), data.tree.n_levels), threshold=_value(cell, "tau"),
        shares=tuple(shares_from_text(shares)) if split == CUSTOM else (),
        seed=_value(cell, "seed"),
    )  # fmt: skip
    return found


def _data(cell: Cell) -> Dataset | None:
    """The data set of a cell: one of the session's own, a sample, or the one made up last."""
    if cell.data is not None:
        fingerprint = cell.data.fingerprint
        return next((one for one in pins.own_datasets() if one.fingerprint == fingerprint), None)
    source = _value(cell, "source")
    if source == "sample":
        name = _value(cell, "sample")
        return store.sample(name) if name in SAMPLES else None
    if source == "generate" and all(_value(cell, key) == REG[key].value for key in ("source", *_MADE)):
        return store.dataset()
    return None


_MADE: Final = ("gen_shape", "gen_n", "gen_branching", "gen_seed")


def _value(cell: Cell, key: str) -> Any:
    """A setting as the cell has it.

    Raises
    ------
    InputError
        This version does not take it.
    """
    return REG[key].parse(list(cell.settings[key])) if key in cell.settings else REG[key].default
