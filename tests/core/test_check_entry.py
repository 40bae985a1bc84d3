"""`treedp_core.testing.check_entry`: TreeDP's own entries pass it, wrong ones are refused in a sentence."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from treedp_core.allocation import ALLOCATIONS, Allocation
from treedp_core.checks import InputError
from treedp_core.errors import METRICS
from treedp_core.mechanisms import MECHANISMS, LevelNoise, Mechanism
from treedp_core.mechanisms.calibration import LAWS, LevelLaw
from treedp_core.noise import DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.postprocess import POSTPROCESSORS, Postprocessor
from treedp_core.postprocess.chains import CHAINS, Chain
from treedp_core.privacy import Budget, Currency, ProtectedUnit
from treedp_core.records.read.readers import READERS
from treedp_core.registry import Promise
from treedp_core.testing import check_entry
from treedp_core.tree import Tree


def samples() -> dict[str, bytes]:
    table = pa.table({"city": ["Kiel", "Bonn"], "sex": ["F", "M"]})
    stored, arrow = io.BytesIO(), io.BytesIO()
    parquet.write_table(table, stored)
    feather.write_feather(table, arrow, compression="uncompressed")
    return {
        "CSV": b"city,sex\nKiel,F\nBonn,M\n",
        "Parquet": stored.getvalue(),
        "JSON": b'[{"city": "Kiel", "sex": "F"}, {"city": "Bonn", "sex": "M"}]',
        "JSON lines": b'{"city": "Kiel", "sex": "F"}\n{"city": "Bonn", "sex": "M"}\n',
        "Arrow": arrow.getvalue(),
    }


@pytest.mark.statistical
@pytest.mark.parametrize(
    "entries", [MECHANISMS, POSTPROCESSORS, CHAINS, ALLOCATIONS, METRICS], ids=lambda one: next(iter(one))
)
def test_every_entry_of_a_table_passes(entries: Any) -> None:
    """Six standard errors and fixed seeds."""
    for entry in entries.values():
        check_entry(entry)


@pytest.mark.parametrize("name", list(READERS))
def test_every_reader_passes(name: str) -> None:
    check_entry(READERS[name], sample=samples().get(name))


# ---- wrong ones, written from scratch


@dataclass(frozen=True, eq=False)
class Careless(LevelNoise):
    """Draws that are not those of its laws."""

    factor: float = 1.0
    shift: float = 0.0
    wide: bool = False
    frozen: bool = False

    def draw(self, rng: np.random.Generator, trials: int | None = None) -> Any:
        mine = np.random.Generator(np.random.PCG64(7)) if self.frozen else rng
        noise = super().draw(mine, trials) * self.factor + self.shift
        return np.concatenate([noise, noise], axis=-1) if self.wide else noise


def mechanism(scale: float = 1.0, law: Callable[[float], Law] = Laplace, **careless: Any) -> Mechanism:
    """Laplace noise of a factor times the scale that it needs, drawn carelessly."""
    level = LevelLaw("mine", Currency.EPSILON, lambda spent, l1, l2: law(scale * l1 / spent), _precision(scale))

    def plan(tree: Tree, budget: Budget, unit: ProtectedUnit) -> LevelNoise:
        right = MECHANISMS["laplace"].plan(tree, budget, unit)  # refuses what must be refused
        l1 = unit.l1_sensitivity(tree.n_levels)
        laws = [
            None if law is None else level.law(amount, float(by), 1.0)
            for law, amount, by in zip(right.laws, budget.per_level, l1, strict=True)
        ]
        return Careless(tree, tuple(laws), right.exact, **careless)

    return Mechanism("mine", "Mine", "Laplace noise.", level, plan, "violet")


def _precision(scale: float) -> Callable[[Any], tuple[Any, Any]]:
    return lambda x: (np.square(x / scale) / 2.0, x / scale**2)


def postprocessor(step: Callable[[Any], Any], variance: Callable[[Any], Any] | None = None, **said: Any) -> Any:
    def prepare(tree: Any, given: Any, tolerance: Any) -> Any:
        return step, None if variance is None else variance(given)

    words = {"linear": variance is not None, "why_biased": "" if variance is not None else "It is biased."} | said
    return Postprocessor("mine", "Mine", "My own step.", prepare, **words)


def same(x: Any) -> Any:
    return x


def flat(tree: Any, unit: Any, currency: Any, custom: Any, n: int = 3) -> Any:
    return np.ones(n)


def metric(**changes: Any) -> Any:
    return replace(METRICS["max_absolute_error"], name="mine", **changes)


ONCE = iter(range(10**9))
OWN = np.ones(3)
WRONG: dict[str, tuple[Any, str, str]] = {
    "noise 1.1 times too small": (mechanism(1 / 1.1), "ENTRY_PRIVACY", "its noise is too small"),
    "Gaussian noise that promises pure privacy": (
        replace(mechanism(law=Gaussian), name="mine"), "ENTRY_PRIVACY", "too small"
    ),
    "draws 1.1 times too small": (mechanism(factor=1 / 1.1), "ENTRY_NOISE", "0.8"),
    "draws of half a law": (mechanism(law=lambda b: Clipped(b)), "ENTRY_NOISE", ""),
    "draws that are shifted": (mechanism(shift=1.0), "ENTRY_BIASED", "mean is not 0"),
    "draws twice as many": (mechanism(wide=True), "ENTRY_SHAPE", "shape"),
    "draws that ignore the seed": (mechanism(frozen=True), "ENTRY_SEED", "same noise from another seed"),
    "a precision of another law": (
        replace(mechanism(), law=replace(mechanism().law, precision=_precision(2.0))), "ENTRY_NOISE", "precision"
    ),
    "whole numbers that are none": (replace(mechanism(), promises=Promise.INTEGER), "ENTRY_PROMISE", "whole"),
    "a name for no link": (replace(mechanism(), name="My own"), "ENTRY_WORDS", "link"),
    "a plan that fails": (replace(mechanism(), plan=lambda *_: 1 / 0), "ENTRY_FAILED", "ZeroDivisionError"),
    "a step that ends the program": (postprocessor(lambda x: sys.exit(3)), "ENTRY_FAILED", "SystemExit"),
    "one record more, said to be unbiased": (
        postprocessor(lambda x: x + 1, same, promises=Promise.UNBIASED), "ENTRY_BIASED", "without bias"
    ),
    "a cut, said to be linear": (postprocessor(lambda x: np.maximum(x, 0), same), "ENTRY_PROMISE", "linear"),
    "half the variance": (postprocessor(same, lambda v: v / 2), "ENTRY_VARIANCE", "factor of 2"),
    "sums that do not agree": (postprocessor(same, same, promises=Promise.CONSISTENT), "ENTRY_PROMISE", "sums"),
    "another shape": (postprocessor(lambda x: x[..., :1]), "ENTRY_SHAPE", "shape (5, 1)"),
    "other estimates each time": (postprocessor(lambda x: x + next(ONCE)), "ENTRY_SEED", "same release"),
    "trials that look at each other": (
        postprocessor(lambda x: x - x.mean(axis=0) if x.ndim > 1 else x), "ENTRY_SHAPE", "beside it"
    ),
    "changes in place": (postprocessor(lambda x: np.add(x, 1, out=x)), "ENTRY_PROMISE", "changes the estimates"),
    "shares of another shape": (
        Allocation("mine", "Mine", "My own.", partial(flat, n=2)), "ENTRY_SHAPE", "shape (2,)"
    ),
    "shares below 0": (Allocation("mine", "Mine", "My own.", lambda *_: np.array([2.0, -1, 1])), "ENTRY_PROMISE", "0"),
    "shares that are kept": (Allocation("mine", "Mine", "My own.", lambda *_: OWN), "ENTRY_SEED", "again"),
    "an expectation of another loss": (
        metric(expected=METRICS["smoothed_relative_error"].expected), "ENTRY_EXPECTED", "mean of its losses"
    ),
    "a loss that reads the counts in secret": (
        metric(loss=METRICS["smoothed_relative_error"].loss), "ENTRY_USES", "`threshold`"
    ),
    "no expectation of an absolute loss": (metric(expected=None), "ENTRY_EXPECTED", "square"),
    "a reader of everything": (
        replace(READERS["CSV"], name="mine", preview=lambda source, options: None), "ENTRY_ACCEPTS", "no kind"
    ),
    "a chain of nothing": (Chain("mine", "Mine", ("nothing",)), "ENTRY_KIND", "nothing"),
    "no entry at all": (LAWS["laplace"], "ENTRY_KIND", "LevelLaw"),
}  # fmt: skip


class Clipped(Laplace):
    """Noise of the right variance and mean whose tail is another: 0 or far away."""

    def sample(self, rng: np.random.Generator, size: Any) -> Any:
        far = np.sqrt(10 * self.variance)
        return rng.choice([0.0, far, -far], p=[0.9, 0.05, 0.05], size=size)


@pytest.mark.statistical
@pytest.mark.parametrize("what", list(WRONG))
def test_a_wrong_entry_is_refused_in_one_sentence(what: str) -> None:
    entry, code, said = WRONG[what]
    with pytest.raises(InputError) as refused:
        check_entry(entry)
    text = str(refused.value)
    assert (refused.value.code, said in text) == (code, True), text
    assert text.count(". ") == 0 and text.endswith(".") and "\n" not in text


def test_what_is_wrong_here_is_right_without_its_fault() -> None:
    """Else the refusals above could be for another reason."""
    check_entry(mechanism())
    check_entry(postprocessor(same, same, promises=Promise.UNBIASED))
    check_entry(Allocation("mine", "Mine", "My own.", lambda tree, *_: np.ones(tree.n_levels)))
    check_entry(metric())


@pytest.mark.parametrize("scale", [1.0, 1 / 1.001])
def test_one_part_in_a_thousand_is_seen(scale: float) -> None:
    """Laws are compared exactly: the worst neighbour of Laplace noise of scale s L / ε costs ε / s."""
    entry = mechanism(scale)
    if scale == 1.0:
        check_entry(entry)
    else:
        with pytest.raises(InputError, match=r"ε = 0\.5006"):
            check_entry(entry)


def test_whole_noise_that_is_a_little_too_small_is_seen() -> None:
    one = MECHANISMS["discrete_laplace"]
    with pytest.raises(InputError, match="too small"):
        check_entry(replace(one, plan=lambda tree, budget, unit: _less(one.plan(tree, budget, unit))))


def _less(noise: LevelNoise) -> LevelNoise:
    laws = tuple(DiscreteLaplace(law.inverse_scale * 1.01) if isinstance(law, DiscreteLaplace) else law
                 for law in noise.laws)  # fmt: skip
    return replace(noise, laws=laws)
