"""What a cell was made of, so that it can be released again beside another one, on the same noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from pages.ui import pins, router, shared, store
from pages.ui.setting import as_in
from pages.ui.settings import REG, get
from sample_data.catalogue import SAMPLES
from treedp_core.allocation.shares import shares_from_text
from treedp_core.experiment import Experiment
from treedp_core.notebook import Cell
from treedp_core.notebook.paired import AnySide, Side
from treedp_core.postprocess.chains import CHAINS
from treedp_core.records import Dataset
from treedp_core.studies.budget.strategies import CUSTOM
from treedp_core.studies.sweep.series import Series, chosen


def sides_of(cells: Sequence[Cell]) -> list[list[AnySide]]:
    """Return what each cell released; nothing where one of them is of no release, of another error, or lost its data.

    Raises
    ------
    InputError
        What the settings of a cell are refused for.
    """
    found = [_sides(one) for one in cells]
    return found if all(found) and len({side.measure for sides in found for side in sides}) == 1 else []


def _sides(cell: Cell) -> list[AnySide]:
    page, values = router.known(cell.page), _values(cell)
    make = PAGES.get(cell.page, None if page is None else page.releases)
    with as_in(values):
        data = _data(cell)
        if make is None or data is None:
            return []
        with store.using(data):
            return make(data)


def _values(cell: Cell) -> dict[str, Any]:
    """The settings of a cell.

    Raises
    ------
    InputError
        This version does not take one of them.
    """
    return {key: REG[key].parse(list(texts)) for key, texts in cell.settings.items() if key in REG}


def _data(cell: Cell) -> Dataset | None:
    """The data set of a cell: one of the session's own, a sample, or the one made up last."""
    if cell.data is not None:
        fingerprint = cell.data.fingerprint
        return next((one for one in pins.own_datasets() if one.fingerprint == fingerprint), None)
    match get("source"):
        case "sample":
            return store.sample(get("sample")) if get("sample") in SAMPLES else None
        case "generate":
            return store.made_before(get("gen_shape"), get("gen_n"), get("gen_branching"), get("gen_seed"))
    return None


# ---- pages of experiments


def _of_lab(data: Dataset) -> list[AnySide]:
    return _simulated(data, "lab", chosen(get("lab_mechanisms"), get("lab_post")), get("lab_allocation"))


def _of_consistency(data: Dataset) -> list[AnySide]:
    return _simulated(data, "con", [Series(get("con_mechanism"), get("con_post"))], get("con_allocation"))


def _of_budget(data: Dataset) -> list[AnySide]:
    """A split of one's own; it is uniform until it has shares."""
    if get("bud_view") != CUSTOM:
        return []
    one = Series(get("bud_mechanism"), "least_squares" if get("bud_least_squares") else "none")
    return _simulated(data, "bud", [one], CUSTOM if get("bud_shares").strip() else "uniform")


def _simulated(data: Dataset, word: str, series: Sequence[Series], split: str) -> list[AnySide]:
    shares = tuple(shares_from_text(get(f"{word}_shares"))) if split == CUSTOM else ()
    names = tuple(data.labels.level_names)
    return [Side(one.label, _experiment(one, data, split, shares), data.tree, data.counts, names) for one in series]


def _experiment(one: Series, data: Dataset, split: str, shares: tuple[float, ...]) -> Experiment:
    delta = shared.slack_of([one.mechanism], data.total)
    return shared.experiment(
        mechanism=one.mechanism, postprocess=CHAINS[one.pipeline].steps, allocation=split, shares=shares, delta=delta
    )


PAGES: Final[Mapping[str, Callable[[Dataset], list[AnySide]]]] = {
    "lab": _of_lab,
    "consistency": _of_consistency,
    "budget": _of_budget,
}
"""What pages of experiments release, by their settings and the data set in use; other pages say it themselves."""
