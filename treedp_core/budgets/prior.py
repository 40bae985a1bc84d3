"""What a split of the budget is tuned on, what that costs, and the ledger that says so.

Tuning on the true counts leaks: the split is then a function of the private data (Dawson et al., Section 5). Such a
prior carries its label into every ledger and export. A public prior costs nothing; a noisy one is a release of its
own, charged to the total, and only what it leaves is split.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from treedp_core import postprocess
from treedp_core.allocation import split
from treedp_core.calibration import LAWS
from treedp_core.checks import InputError, echo
from treedp_core.mechanisms import MECHANISMS
from treedp_core.privacy import Currency, ProtectedUnit
from treedp_core.records.dataset import Labels
from treedp_core.registry import lookup
from treedp_core.rounding import float_below
from treedp_core.tree import AnyArray, FloatArray, Tree

NOT_PRIVATE: Final = "NOT PRIVATE"


class PriorKind(enum.Enum):
    """Where the counts that a split is tuned on come from."""

    TRUE_COUNTS = "the true counts"
    PUBLIC = "public or historic counts"
    NOISY = "noisy counts"


@dataclass(frozen=True, eq=False)
class Prior:
    """Counts to tune a split on.

    Parameters
    ----------
    kind : PriorKind
    counts : (n_nodes,)
        At least 0.
    spent : float
        What releasing it cost, in `currency`; 0 unless it is noisy.
    currency : Currency or None
        None when nothing was spent.
    """

    kind: PriorKind
    counts: FloatArray
    spent: float = 0.0
    currency: Currency | None = None

    @property
    def is_private(self) -> bool:
        """Whether a split tuned on it may be published."""
        return self.kind is not PriorKind.TRUE_COUNTS

    @property
    def label(self) -> str:
        """What every screen and export that shows a split tuned on it must say.

        >>> true_counts(Tree.from_branching_factors((2,)), np.array([2, 1, 1])).label
        'NOT PRIVATE: the split was tuned on the true counts.'
        """
        tuned = f"the split was tuned on {self.kind.value}"
        if not self.is_private:
            return f"{NOT_PRIVATE}: {tuned}."
        if self.currency is None:
            return f"{tuned[0].upper()}{tuned[1:]}, which cost no budget."
        return f"{tuned[0].upper()}{tuned[1:]}, released for {_SYMBOL[self.currency]} = {self.spent:g}."


def true_counts(tree: Tree, counts: AnyArray) -> Prior:
    """Return the true counts (n_nodes,) as a prior: an upper limit of what tuning can gain, never to be published.

    Raises
    ------
    InputError
        ``PRIOR_LEAVES``, ``PRIOR_EMPTY``.
    """
    return _prior(tree, PriorKind.TRUE_COUNTS, counts)


def public(tree: Tree, counts: AnyArray) -> Prior:
    """Return public or historic counts (n_nodes,) as a prior; that they are public is the caller's claim.

    Raises
    ------
    InputError
        ``PRIOR_LEAVES``, ``PRIOR_EMPTY``.
    """
    return _prior(tree, PriorKind.PUBLIC, counts)


def public_by_labels(tree: Tree, labels: Labels, prior_tree: Tree, prior_labels: Labels, counts: AnyArray) -> Prior:
    """Return public counts (nodes of `prior_tree`,) of another file as a prior, leaf by leaf by their names.

    Raises
    ------
    InputError
        ``PRIOR_LEAVES`` when the two trees do not have the same leaves; ``PRIOR_EMPTY``.
    """
    if np.array_equal(tree.parent, prior_tree.parent) and all(
        np.array_equal(labels.of_level(level), prior_labels.of_level(level)) for level in range(1, tree.n_levels)
    ):
        return public(tree, counts)
    ours = {labels.path(int(leaf)): i for i, leaf in enumerate(tree.leaves)}
    theirs = {prior_labels.path(int(leaf)): int(leaf) for leaf in prior_tree.leaves}
    if ours.keys() != theirs.keys():
        missing, extra = len(ours.keys() - theirs.keys()), len(theirs.keys() - ours.keys())
        example = min(ours.keys() ^ theirs.keys())
        raise InputError(
            "PRIOR_LEAVES",
            f"Expected a prior with the same leaves as the data: {missing:,} are missing and {extra:,} are not in the "
            f"data, for example {echo(' / '.join(example))}.",
        )
    by_leaf = np.array([counts[theirs[path]] for path in ours])
    return public(tree, tree.counts_of_leaves(by_leaf))


def noisy(
    tree: Tree, counts: AnyArray, unit: ProtectedUnit, law: str, amount: float, rng: np.random.Generator
) -> Prior:
    """Return a noisy release of the counts as a prior: `amount` split equally over the levels, then least squares.

    Parameters
    ----------
    counts : (n_nodes,)
        True counts.
    law : str
        A name in `MECHANISMS`.
    amount : float
        What it costs, in the law's currency; `Ledger` charges it to the total (Dawson et al., Section 6, use
        epsilon = 1).

    Raises
    ------
    InputError
        ``EPS_RANGE``, ``RHO_RANGE``; ``PRIOR_EMPTY`` when all estimates are 0 or less.
    """
    mechanism = lookup(MECHANISMS, law, "mechanism")
    noise = mechanism.plan(tree, split(tree, amount, mechanism.currency, unit, "uniform"), unit)
    function, _ = postprocess.prepare(tree, noise.variance, ("least_squares",))
    estimate = np.maximum(function(np.asarray(counts) + noise.draw(rng)), 0.0)
    return _prior(tree, PriorKind.NOISY, estimate, amount, LAWS[law].currency)


def _prior(
    tree: Tree, kind: PriorKind, counts: AnyArray, spent: float = 0.0, currency: Currency | None = None
) -> Prior:
    values = np.asarray(counts, dtype=np.float64)
    if values.shape != (tree.n_nodes,) or not (np.isfinite(values).all() and (values >= 0).all()):
        raise InputError(
            "PRIOR_LEAVES", f"Expected a prior with one count >= 0 for each of the {tree.n_nodes:,} nodes of the tree."
        )
    if not values.any():
        raise InputError(
            "PRIOR_EMPTY", "Every count of the prior is 0, so it cannot tell levels apart; choose another prior."
        )
    return Prior(kind, values, spent, currency)


@dataclass(frozen=True, eq=False)
class Ledger:
    """Who is protected, what the prior and each level cost, and that it is no more than the total.

    Parameters
    ----------
    unit : ProtectedUnit
    currency : Currency
    total : float
    prior : Prior or None
        None for a split that looks at no counts.
    amounts : tuple of float
        What each level spends (n_levels,); public levels 0.

    Raises
    ------
    InputError
        ``BUDGET_EXCEEDED`` when prior and levels together cost more than the total.
    """

    unit: ProtectedUnit
    currency: Currency
    total: float
    prior: Prior | None
    amounts: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.charged > self.total:
            raise InputError(
                "BUDGET_EXCEEDED",
                f"Prior and levels cost {float(self.charged):g} together, more than the total of {self.total:g}.",
            )

    @property
    def charged(self) -> Fraction:
        """What prior and levels cost together, exactly."""
        spent = Fraction(0) if self.prior is None else Fraction(self.prior.spent)
        public = self.unit.total_is_public
        return spent + self.unit.exact_charge([0.0 if public and i == 0 else a for i, a in enumerate(self.amounts)])

    def sentence(self) -> str:
        """One plain sentence: relation, amount of each level, prior, total; NOT PRIVATE first where that holds.

        >>> from treedp_core.privacy import NeighbouringRelation
        >>> unit = ProtectedUnit(NeighbouringRelation.ADD_OR_REMOVE_ONE)
        >>> print(Ledger(unit, Currency.EPSILON, 1.0, None, (0.25, 0.75)).sentence())
        Protects one record, added or removed (the total is protected too): ε by level 0.25 + 0.75, charged 1 of 1.
        """
        symbol = _SYMBOL[self.currency]
        levels = " + ".join(self._shown(i, amount) for i, amount in enumerate(self.amounts))
        prior = f", for the prior {self.prior.spent:.4g}" if self.prior is not None and self.prior.spent else ""
        told = (
            f"Protects {self.unit.described}: {symbol} by level {levels}{prior}, "
            f"charged {float(self.charged):.4g} of {self.total:.4g}."
        )
        return told if self.prior is None or self.prior.is_private else f"{self.prior.label} {told}"

    def _shown(self, level: int, amount: float) -> str:
        return "public" if self.unit.total_is_public and level == 0 else f"{amount:.4g}"


_SYMBOL: Final = {Currency.EPSILON: "ε", Currency.RHO: "ρ"}


def left_after(total: float, prior: Prior | None, currency: Currency) -> float:
    """Return what a prior leaves of a total, rounded down.

    Raises
    ------
    InputError
        ``BUDGET_EXCEEDED`` when it leaves nothing, or was paid in another currency.
    """
    if prior is None or prior.spent == 0:
        return total
    left = float_below(Fraction(total) - Fraction(prior.spent)) if prior.spent < total else 0.0
    if left <= 0 or prior.currency is not currency:
        raise InputError(
            "BUDGET_EXCEEDED",
            f"Expected a prior that costs less than the total of {total:g} {currency.value}, got {prior.spent:g}.",
        )
    return left
