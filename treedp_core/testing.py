"""Whether an entry of a table keeps what it promises: the contract that every entry of TreeDP's own passes.

A check that an entry passes is no proof: noise is compared on small trees with every neighbour of a data set, and
estimates with a few thousand seeded draws.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

import numpy as np

from treedp_core.allocation import Allocation, split
from treedp_core.checks import InputError, echo
from treedp_core.errors import Metric, Tolerance
from treedp_core.mechanisms import MECHANISMS, LevelNoise, Mechanism
from treedp_core.noise import DiscreteLaplace, Gaussian, Laplace, Law
from treedp_core.postprocess import POSTPROCESSORS, Postprocessor
from treedp_core.postprocess.chains import Chain
from treedp_core.privacy import ADDED, Budget, Currency, NeighbouringRelation, ProtectedUnit, budget_from_shares
from treedp_core.privacy.conversions import epsilon_to_rho
from treedp_core.records.read.readers import Reader
from treedp_core.records.read.sources import ReadOptions, file_source
from treedp_core.registry import Named, Promise
from treedp_core.tree import AnyArray, FloatArray, Tree
from treedp_core.watch import generator
from treedp_core.words import privacy_text, setting_text, short

TREES: Final = (
    Tree.from_branching_factors((2, 2)),
    Tree.from_child_counts([np.array([3]), np.array([2, 0, 4])]),
)
UNITS: Final = tuple(ProtectedUnit(relation) for relation in NeighbouringRelation)
EPSILONS: Final = (0.5, 2.0)
DELTA: Final = 1e-6
ORDERS: Final = (1.5, 2.0, 8.0)
"""Orders of Rényi's divergence at which concentrated privacy is checked."""
TRIALS: Final = 20_000
FEW: Final = 500
SIX: Final = 6.0
"""Standard errors: what is right is refused less than once in 10^7 checks."""
CLOSE: Final = 1e-6
_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")
_JUNK: Final = b"\x00\xff\xfe\x01no table\x00" * 40


def check_entry(entry: Named, *, sample: bytes | None = None) -> None:
    """Refuse an entry of a table that does not keep what it promises; say nothing of one that does.

    Parameters
    ----------
    entry : Mechanism, Postprocessor, Chain, Allocation, Metric or Reader
    sample : bytes, optional
        A small file of a reader's kind, with at least one row.

    Raises
    ------
    InputError
        ``ENTRY_KIND``, ``ENTRY_WORDS``, ``ENTRY_SHAPE``, ``ENTRY_SEED``, ``ENTRY_PRIVACY``, ``ENTRY_NOISE``,
        ``ENTRY_BIASED``, ``ENTRY_VARIANCE``, ``ENTRY_PROMISE``, ``ENTRY_USES``, ``ENTRY_EXPECTED``,
        ``ENTRY_ACCEPTS``, ``ENTRY_FAILED``: one sentence each.

    >>> check_entry(MECHANISMS["discrete_laplace"])
    >>> check_entry(replace(MECHANISMS["laplace"], help=""))
    Traceback (most recent call last):
    treedp_core.checks.InputError: The mechanism 'laplace' has no help that ends with a full stop.
    """
    kinds: dict[type, tuple[str, Callable[..., None] | None]] = {
        Mechanism: ("mechanism", _mechanism),
        Postprocessor: ("post-processor", _postprocessor),
        Chain: ("chain", _chain),
        Allocation: ("allocation", _allocation),
        Metric: ("metric", _metric),
        Reader: ("reader", partial(_reader, sample)),
    }
    kind, check = next((found for of, found in kinds.items() if isinstance(entry, of)), ("", None))
    if check is None:
        raise InputError("ENTRY_KIND", f"A {type(entry).__name__} is an entry of no table.")
    refuse = _Refusals(f"The {kind} {echo(entry.name)}")
    try:
        check(entry, refuse)
    except InputError as error:
        if error.code.startswith("ENTRY_"):
            raise
        raise InputError("ENTRY_FAILED", f"{refuse.who} refuses what it must take: {error}") from error
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise InputError("ENTRY_FAILED", f"{refuse.who} cannot be used: {said}.") from error


class _Refusals:
    """Refuses with a sentence that begins with whom it is about."""

    def __init__(self, who: str) -> None:
        self.who = who

    def __call__(self, wrong: bool | np.bool_, code: str, what: str) -> None:
        if wrong:
            raise InputError(f"ENTRY_{code}", f"{self.who} {what}.")

    def words(self, entry: Mechanism | Postprocessor | Allocation | Metric) -> None:
        self(_NAME.fullmatch(entry.name) is None, "WORDS", "has a name that no link can carry: a-z, 0-9 and _ can")
        self(not entry.label.strip(), "WORDS", "has no label")
        self(not entry.help.endswith("."), "WORDS", "has no help that ends with a full stop")
        said = vars(entry.card)
        cut = [name for name, text in said.items() if name != "formula" and text and not text.endswith(".")]
        self(bool(cut), "WORDS", f"states `{cut[0] if cut else ''}` without a full stop")
        formula = entry.card.formula
        broken = "$" in formula or formula.count("{") != formula.count("}")
        self(broken, "WORDS", "states a formula that is no LaTeX of one line, without dollars")


# ---- mechanisms


def _mechanism(entry: Mechanism, refuse: _Refusals) -> None:
    refuse.words(entry)
    for tree in TREES:
        for unit in UNITS:
            for epsilon in EPSILONS:
                total = epsilon
                if entry.currency is Currency.RHO:
                    total = epsilon_to_rho(epsilon, DELTA, entry.continuous_gaussian)
                budget = split(tree, total, entry.currency, unit, "uniform")
                noise = entry.plan(tree, budget, unit)
                _shapes_of_noise(noise, tree, refuse)
                _privacy(noise, tree, unit, total, entry.currency, refuse)
                _precision(entry, budget, refuse)
    _draws(noise, Promise.INTEGER in entry.promises, refuse)
    _refuses_budgets(entry, refuse)


def _shapes_of_noise(noise: LevelNoise, tree: Tree, refuse: _Refusals) -> None:
    laws, exact = len(noise.laws), len(noise.exact)
    refuse(laws != tree.n_levels or exact != laws, "SHAPE", f"plans {laws} levels of noise for {tree.n_levels} levels")
    one, some, again = (noise.draw(generator("check: a draw"), n) for n in (None, 3, 3))
    for found, shape in ((one, (tree.n_nodes,)), (some, (3, tree.n_nodes))):
        refuse(np.shape(found) != shape, "SHAPE", f"draws noise of shape {np.shape(found)} where {shape} is asked for")
    refuse(not np.array_equal(some, again), "SEED", "draws other noise from the same seed")
    other = noise.draw(generator("check: another draw"), 3)
    drawn = any(law is not None for law in noise.laws)
    refuse(drawn and np.array_equal(some, other), "SEED", "draws the same noise from another seed")


def _privacy(
    noise: LevelNoise, tree: Tree, unit: ProtectedUnit, total: float, currency: Currency, refuse: _Refusals
) -> None:
    """Every neighbour on a small tree: what the noise of all nodes together gives away of the change."""
    level_of = np.repeat(np.arange(tree.n_levels), tree.level_sizes)
    known: dict[tuple[int, int], FloatArray] = {}
    for change in _changes(tree, unit):
        loss = np.zeros(1 if currency is Currency.EPSILON else len(ORDERS))
        for node in np.flatnonzero(change):
            level, by = int(level_of[node]), int(abs(change[node]))
            law = noise.laws[level]
            refuse(law is None and noise.exact[level], "PRIVACY", f"publishes level {level} exactly, which is private")
            if law is not None:
                if (level, by) not in known:
                    known[level, by] = _lost(law, by, currency)
                loss += known[level, by]
        spent = float(loss.max()) if currency is Currency.EPSILON else float((loss / ORDERS).max())
        name = "ε" if currency is Currency.EPSILON else "ρ"
        refuse(
            spent > total * (1 + CLOSE), "PRIVACY",
            f"promises {name} = {setting_text(total)} ({unit.relation.label.lower()}) but one record changes "
            f"its output by {name} = {privacy_text(spent)}: its noise is too small",
        )  # fmt: skip


def _changes(tree: Tree, unit: ProtectedUnit) -> Iterator[AnyArray]:
    """Every change (n_nodes,) of the counts that one unit of one record can make."""
    paths = {}
    for leaf in tree.leaves.tolist():
        paths[leaf] = np.zeros(tree.n_nodes, dtype=np.int64)
        paths[leaf][tree.ancestors(leaf)] = paths[leaf][leaf] = 1
    if unit.relation is not NeighbouringRelation.REPLACE_ONE:
        yield from paths.values()
    if unit.relation is NeighbouringRelation.ADD_OR_REMOVE_ONE:
        return
    known = unit.known_levels if unit.relation is NeighbouringRelation.REPLACE_UNKNOWN else 0
    for a, path in paths.items():
        for b, other in paths.items():
            if a != b and list(tree.ancestors(a))[:known] == list(tree.ancestors(b))[:known]:
                yield path - other


def _lost(law: Law, by: int, currency: Currency) -> FloatArray:
    """What noise gives away of a count that changes by so much: the largest log odds (1,), or divergences (n,)."""
    edges, step = _edges(law, by)
    mass = _masses(law, edges)
    before, after = mass[step:], mass[:-step]
    if currency is Currency.EPSILON:
        seen = np.maximum(before, after) > 1e-12
        with np.errstate(divide="ignore"):
            return np.array([np.abs(np.log(before[seen]) - np.log(after[seen])).max()])
    both = (before > 1e-200) & (after > 1e-200)
    p, q = np.log(before[both]), np.log(after[both])
    return np.array([np.log(np.exp(a * p + (1 - a) * q).sum()) / (a - 1) for a in ORDERS])


def _edges(law: Law, by: int) -> tuple[FloatArray, int]:
    """Edges of events of which `by` spans a whole number: single whole numbers, or short intervals that meet at 0."""
    reach = law.reach(1e-13) + by
    if law.integer:
        return np.arange(-np.ceil(reach), np.ceil(reach) + 2).astype(np.float64) - 0.5, by
    step = int(np.ceil(40 * by / min(law.reach(0.5), by)))
    n = int(np.ceil(reach / by * step))
    return np.asarray(np.arange(-n, n + 1) * (by / step), dtype=np.float64), step


def _masses(law: Law, edges: FloatArray) -> FloatArray:
    """Probabilities of the events between edges, (n_edges - 1,), from the tail on their side of 0."""
    low, high = edges[:-1], edges[1:]
    near, far = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    across = (low < 0) & (high > 0)
    return np.where(across, 1.0 - law.tail(far), (law.tail(near) - law.tail(far)) / 2.0)


def _precision(entry: Mechanism, budget: Budget, refuse: _Refusals) -> None:
    """The formula over arrays is that of the law."""
    for amount in {one for one in budget.per_level if 0 < one < np.inf}:
        stated, slope = (float(one[0]) for one in entry.law.precision(np.array([amount])))
        law = entry.law.law(amount, 1.0, 1.0)
        more, less = (float(entry.law.precision(np.array([amount * part]))[0][0]) for part in (1.0001, 0.9999))
        right = abs(stated * law.variance - 1) < CLOSE and abs((more - less) / (2e-4 * amount) / slope - 1) < 1e-3
        refuse(not right, "NOISE", "has a `precision` that is not one over its law's variance, with its derivative")


def _draws(noise: LevelNoise, whole: bool, refuse: _Refusals) -> None:
    """Draws follow the law that they are said to follow: mean, variance and tail."""
    drawn = noise.draw(generator("check: variance"), TRIALS)
    refuse(whole and drawn.dtype.kind != "i", "PROMISE", "promises whole numbers and draws others")
    for level, law in enumerate(noise.laws):
        if law is None:
            continue
        some = drawn[:, noise.tree.level(level)].astype(float).ravel()
        deviation = np.sqrt(law.variance)
        refuse(abs(some.mean()) > SIX * deviation / np.sqrt(some.size), "BIASED", "draws noise whose mean is not 0")
        ratio = some.var() / law.variance
        refuse(
            abs(ratio - 1) > SIX * np.sqrt(8 / some.size), "NOISE",
            f"draws noise of {short(ratio)} times the variance of the law that it states",
        )  # fmt: skip
        for miss in (0.5, 0.1, 0.01):
            t = law.reach(miss)
            stated = float(law.tail(t))
            spread = np.sqrt(stated * (1 - stated) / some.size)
            seen = float((np.abs(some) > t).mean())
            refuse(
                abs(seen - stated) > SIX * spread, "NOISE", f"draws |noise| above {short(t, 4)} too often or too seldom"
            )


def _refuses_budgets(entry: Mechanism, refuse: _Refusals) -> None:
    tree, unit = TREES[0], ADDED
    for amounts, what in (
        ((0.1,) * (tree.n_levels - 1), "a budget with fewer levels than the tree"),
        ((np.inf,) * tree.n_levels, "to publish private levels exactly"),
    ):
        try:
            entry.plan(tree, Budget(entry.currency, amounts), unit)
        except InputError:
            continue
        refuse(True, "ACCEPTS", f"accepts {what}; it must raise InputError")


# ---- post-processors


def _postprocessor(entry: Postprocessor, refuse: _Refusals) -> None:
    refuse.words(entry)
    for tree in TREES:
        counts = tree.counts_of_leaves(np.arange(tree.n_leaves) * 2)
        unit = ADDED
        noise = MECHANISMS["discrete_laplace"].plan(tree, split(tree, 1.0, Currency.EPSILON, unit, "uniform"), unit)
        function, variance = entry.prepare(tree, noise.variance, Tolerance())
        is_told = Promise.UNBIASED in entry.promises or variance is not None
        drawn = noise.draw(generator("check: claimed variance"), TRIALS if is_told else FEW)
        _shapes_of_steps(function, counts + drawn[:5], refuse)
        found = function(counts + drawn)
        _promised(entry.promises, tree, found[:FEW], refuse)
        _variance(entry, function, variance, found, counts, drawn, refuse=refuse)
        for name in {one.name for one in fields(Tolerance)} - set(entry.uses):
            other = replace(Tolerance(), **{name: {"alpha": 0.4, "threshold": 77.0}[name]})
            same = entry.prepare(tree, noise.variance, other)[0](counts + drawn[:5])
            refuse(not np.array_equal(same, found[:5]), "USES", f"depends on `{name}`, which its `uses` does not name")


def _shapes_of_steps(function: Callable[[AnyArray], AnyArray], given: AnyArray, refuse: _Refusals) -> None:
    before = given.copy()
    many, one, again = function(given), function(given[0]), function(given)
    refuse(not np.array_equal(given, before), "PROMISE", "changes the estimates it is given")
    for found, shape in ((many, given.shape), (one, given[0].shape)):
        refuse(np.shape(found) != shape, "SHAPE", f"makes estimates of shape {np.shape(found)} from shape {shape}")
    refuse(not np.array_equal(many, again), "SEED", "makes other estimates of the same release")
    refuse(not np.allclose(many[0], one), "SHAPE", "treats a release otherwise when others stand beside it")
    refuse(not np.isfinite(many).all(), "PROMISE", "makes estimates that are no numbers")


def _promised(promises: Promise, tree: Tree, found: AnyArray, refuse: _Refusals) -> None:
    sums = np.stack([tree.add_up(np.where(tree.is_leaf, one, 0)) for one in found])
    consistent, whole = np.allclose(sums, found, atol=1e-6), (found == np.round(found)).all()
    refuse(Promise.CONSISTENT in promises and not consistent, "PROMISE", "promises sums that agree; they do not")
    refuse(Promise.NON_NEGATIVE in promises and (found < 0).any(), "PROMISE", "promises counts of at least 0")
    refuse(Promise.INTEGER in promises and not whole, "PROMISE", "promises whole counts and makes others")


def _variance(
    entry: Postprocessor, function: Callable[[AnyArray], AnyArray], variance: FloatArray | None, found: AnyArray,
    counts: AnyArray, drawn: AnyArray, *, refuse: _Refusals,
) -> None:  # fmt: skip
    """What it says of bias and variance, against draws."""
    error = found - counts
    spread = error.std(axis=0)
    off = np.abs(error.mean(axis=0)) > SIX * spread / np.sqrt(len(error)) + 1e-9
    unbiased = Promise.UNBIASED in entry.promises
    refuse(unbiased and off.any(), "BIASED", "promises estimates without bias, and their mean is not the true count")
    refuse(entry.linear is not (variance is not None), "VARIANCE", "must state a variance exactly if it is linear")
    if variance is None:
        return
    refuse(np.shape(variance) != counts.shape, "SHAPE", f"states variances of shape {np.shape(variance)}")
    alike = np.allclose(function(drawn[:50]), error[:50], atol=1e-6)
    refuse(not alike, "PROMISE", "is said to be linear, and its errors depend on the true counts")
    ratio = error.var(axis=0)[variance > 0] / variance[variance > 0]
    refuse(
        (np.abs(ratio - 1) > SIX * np.sqrt(8 / TRIALS)).any() or (spread[variance == 0] > 1e-9).any(), "VARIANCE",
        f"states variances that draws exceed or miss by up to a factor of {short(max(ratio.max(), 1 / ratio.min()))}",
    )  # fmt: skip


def _chain(entry: Chain, refuse: _Refusals) -> None:
    unknown = [step for step in entry.steps if step not in POSTPROCESSORS]
    refuse(bool(unknown), "KIND", f"has a step {echo(unknown[0] if unknown else '')} that is no post-processor")
    refuse(len(set(entry.steps)) != len(entry.steps), "KIND", "has a step twice")
    refuse(not entry.label.strip(), "WORDS", "has no label")


# ---- allocations, metrics, readers


def _allocation(entry: Allocation, refuse: _Refusals) -> None:
    refuse.words(entry)
    for tree in TREES:
        for unit in UNITS:
            for currency in Currency:
                given = tuple([0.5 / tree.n_levels] * tree.n_levels)
                shares = entry.shares(tree, unit, currency, given)
                shape = np.shape(shares)
                refuse(np.asarray(shares).dtype.kind not in "iuf", "SHAPE", "gives shares that are no real numbers")
                refuse(shape != (tree.n_levels,), "SHAPE", f"gives shares of shape {shape} for {tree.n_levels} levels")
                wrong = not np.isfinite(shares).all() or (shares < 0).any() or not shares.any()
                refuse(wrong, "PROMISE", "gives shares that are not all at least 0, or none above 0")
                spent = budget_from_shares(shares.copy(), 1.0, currency, unit)
                refuse(unit.charge(spent.per_level) > 1.0, "PRIVACY", "spends more than there is")
                before = shares.copy()
                shares[:] = -1.0
                again = entry.shares(tree, unit, currency, given)
                refuse(not np.array_equal(before, again), "SEED", "gives other shares when it is asked again")
    alike = [Tree.from_branching_factors(one) for one in ((2, 3), (5, 2))]
    first, second = (entry.shares(tree, UNITS[0], Currency.EPSILON, (0.2, 0.3, 0.5)) for tree in alike)
    same = np.allclose(first / first.sum(), second / second.sum())
    refuse(not entry.needs_tree and not same, "USES", "depends on more than the number of levels; set `needs_tree`")


def _metric(entry: Metric, refuse: _Refusals) -> None:
    refuse.words(entry)
    said = dict.fromkeys(("value", "percent", "nodes", "threshold", "slack"), "")
    entry.sentence.format(**said)
    rng, tolerance = generator("check: errors"), Tolerance()
    counts, errors = np.array([0.0, 3.0, 12.0, 60.0]), rng.normal(0, 20, (50, 4))
    loss = entry.loss(errors, counts, tolerance)
    refuse(np.shape(loss) != errors.shape, "SHAPE", f"makes losses of shape {np.shape(loss)} from {errors.shape}")
    refuse(
        bool((loss < 0).any() or not np.isfinite(loss).all()), "PROMISE", "has losses below 0 or that are no numbers"
    )
    refuse(entry.loss(np.zeros((1, 4)), counts, tolerance).any(), "PROMISE", "has a loss where there is no error")
    names = {one.name for one in fields(Tolerance)}
    refuse(not set(entry.uses) <= names, "USES", f"uses what no tolerance has; there are {', '.join(sorted(names))}")
    for name in names - set(entry.uses):
        other = replace(tolerance, **{name: {"alpha": 0.4, "threshold": 77.0}[name]})
        same = np.array_equal(entry.loss(errors, counts, other), loss)
        refuse(not same, "USES", f"depends on `{name}`, which its `uses` does not name")
    reads = not np.array_equal(entry.loss(errors, counts[::-1], tolerance), loss)
    refuse(reads and not entry.reads_counts, "USES", "reads the true counts, and its `uses` does not say so")
    if entry.expected is None:
        twice = entry.loss(2 * errors, counts, tolerance)
        refuse(not np.allclose(twice, 4 * loss), "EXPECTED", "has no `expected`, and is not proportional to the square")
        return
    laws: tuple[Law, ...] = (Laplace(8.0), Gaussian(6.0), DiscreteLaplace(0.2))
    for law in laws:
        known = np.asarray(entry.expected(law, counts, tolerance))
        refuse(known.shape != counts.shape, "SHAPE", f"has expected losses of shape {known.shape} for {counts.shape}")
        some = entry.loss(law.sample(rng, (TRIALS, counts.size)).astype(float), counts, tolerance)
        off = np.abs(some.mean(axis=0) - known) > SIX * some.std(axis=0) / np.sqrt(TRIALS) + 1e-9
        refuse(off.any(), "EXPECTED", f"has an `expected` that is not the mean of its losses ({law.label} noise)")


def _reader(sample: bytes | None, entry: Reader[Any], refuse: _Refusals) -> None:
    refuse(not entry.suffixes, "WORDS", "names no ending of files")
    for head in (b"", _JUNK[:64], b"a,b\n1,2\n"):
        refuse(type(entry.starts(head)) is not bool, "SHAPE", "must answer `starts` with True or False")
    try:
        entry.preview(file_source(_JUNK, f"junk.{entry.suffixes[0]}"), ReadOptions())
    except InputError:
        pass
    else:
        refuse(True, "ACCEPTS", "takes a file of no kind; it must raise InputError")
    if sample is None:
        return
    refuse(not entry.starts(sample[:64]), "PROMISE", "does not know its own file by the first bytes")
    source = file_source(sample, f"sample.{entry.suffixes[0]}")
    preview = entry.preview(source, ReadOptions())
    columns = list(preview.columns)
    for arrays, read in entry.batches(source, preview, columns, ()):
        lengths = {len(one) for one in arrays}
        refuse(len(arrays) != len(columns) or len(lengths) > 1, "SHAPE", "gives columns that are not equally long")
        refuse(not 0 <= read <= max(len(sample), source.size), "SHAPE", "says that it read more than there is")
