"""The best split of the budget over levels with a proof of how good it is: branch and bound over boxes of amounts.

What is wanted of a split follows from the precisions q of its levels, through functions H(q) that are concave, grow
with q and scale with it: one over a node's variance after least squares, or over a weighted sum of such variances.
(A variance after least squares is the largest of ``2 x_v - x' M x`` over x, with M linear in q, so it is convex, and
homogeneous of order -1; one over such a function has convex upper level sets and order 1, so it is concave.) Hence for
every q0 and q, with h the derivative of H at q0,

    H(q) <= h . q.                                                                                   (tangent)

The precision p(a) of a level that spends a is convex and 0 at 0 for all four laws: a^2 / 2 (Laplace), cosh a - 1
(discrete Laplace), linear (Gaussian), p(a) / a grows (discrete Gaussian). So on a box lo <= a <= hi

    p(a) <= p(lo) + (p(hi) - p(lo)) / (hi - lo) (a - lo)    or, for discrete Gaussian noise, p(hi) a / hi.   (chord)

The relaxation of a box puts the chord into every tangent known. It is a linear programme: the least total T with

    sum of a <= T,   2 (sum of a over levels that cost double) <= T,   h . chord(a) >= 1 for every tangent,   (relaxed)

or, for a fixed T, the largest z with h . chord(a) >= z. Any multipliers >= 0 of its rows bound it from below, and the
bound is computed from them anew, so that nothing rests on the solver's word. A box is cut where chord and precision
differ most; with lo = 0 on one side that decides which levels are measured at all. The least bound over all boxes that
are left, and the best split seen, are the certificate. With linear precisions (Gaussian noise) the chord is exact, and
the first box settles it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import numpy as np

from treedp_core.privacy.rounding import smallest_root
from treedp_core.studies.budget.problem import Problem
from treedp_core.studies.budget.splits.level_chain import BOXES, BOXES_AT_ONCE, LevelChain
from treedp_core.tree import AnyArray, FloatArray, IntArray

Wanted = Callable[[FloatArray], tuple[FloatArray, Callable[[int], FloatArray]]]
"""Precisions (n_levels,), of paid levels > 0 -> values H(q) (n,), and what gives the derivative (n_levels,) of each."""

Tilt = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Logarithms of amounts (n,) -> logarithms of what each H is divided by, (k,), and their derivatives (k, n)."""

GAP: Final = 9e-4
"""Relative distance of bound and best split at which a search ends."""
EFFORT: Final = 4000
"""Linear programmes that a search solves at most: some seconds."""
AT_ONCE: Final = 12
"""The same while a hand moves a target."""
TOUCH: Final = 1e-6
"""Part of the total that stands for nothing where a tangent is taken."""
ROUNDING: Final = 1e-9
"""By how much bounds are lowered for rounding."""
HOMOGENEOUS: Final = {"laplace": 0.5, "gaussian": 1.0}
"""Laws by which one power of the amounts makes any H what is wanted."""
ROUNDS: Final = 6
FIRST_ROUNDS: Final = 60
WORST: Final = 6
FEW: Final = 12
POLISHED: Final = 150
TWICE: Final = 2
NEAR: Final = 1.1


@dataclass(frozen=True, eq=False)
class Certified:
    """The best split found and what is proved of every other.

    Parameters
    ----------
    amounts : (n_levels,)
    value : float
        Its total, or one over the smallest H at the given total.
    lower : float
        No split has less.
    ends : tuple of (n_levels,)
        Local optima seen, by value.
    """

    amounts: FloatArray
    value: float
    lower: float
    ends: tuple[FloatArray, ...]


@dataclass(eq=False)
class Box:
    """Amounts between two ends (n,), over paid levels."""

    low: FloatArray
    high: FloatArray
    rows: IntArray
    cut: int = 0
    where: float = 0.0


@dataclass(eq=False)
class Search:
    """A search for the least total with all H >= 1, or, with a `total`, for the largest smallest H."""

    problem: Problem
    wanted: Wanted
    concave: AnyArray
    homogeneous: bool = True
    total: float | None = None
    gap: float = GAP
    effort: int = EFFORT
    most_polished: int = POLISHED
    steps: int = 0
    chain: LevelChain | None = None
    at_once: bool = False
    best: FloatArray = field(init=False)
    violated: float = field(init=False)
    value: float = field(init=False, default=np.inf)

    def __post_init__(self) -> None:
        problem = self.problem
        self.violated = 0.01 * self.gap
        self.levels = np.flatnonzero(problem.paid)
        self.double = (problem.price[self.levels] == 2).astype(np.float64)
        self.rows = [np.ones(self.levels.size)] + ([2.0 * self.double] if self.double.any() else [])
        self.cuts = np.zeros((0, self.levels.size))
        self.ends: list[tuple[float, FloatArray]] = []
        self.n_polished = 0
        self.seen: dict[bytes, int] = {}
        self.solved = 0

    # ---- splits

    def whole(self, amounts: FloatArray) -> FloatArray:
        """Amounts of paid levels (n,) as amounts of all (n_levels,)."""
        found = np.zeros(self.problem.paid.size)
        found[self.levels] = amounts
        return found

    def charge(self, amounts: FloatArray) -> float:
        """What amounts (n,) cost, in floats."""
        return float(max(row @ amounts for row in self.rows))

    def precisions(self, amounts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Precisions and slopes of amounts (n,), those of paid levels only."""
        q, slope = self.problem.precision.with_slope(self.whole(amounts))
        return q[self.levels], slope[self.levels]

    def at(self, q: FloatArray) -> tuple[FloatArray, Callable[[int], FloatArray]]:
        """Values and tangents at precisions (n,) of paid levels, all > 0."""
        self.problem.watch.check()
        everywhere = np.full(self.problem.paid.size, np.inf)
        everywhere[self.levels] = q
        everywhere[~self.problem.judged] = 0.0
        values, slope = self.wanted(everywhere)
        return values, lambda i: slope(i)[self.levels]

    def floored(self, amounts: FloatArray) -> FloatArray:
        """Amounts (n,) none of which is nothing."""
        return np.asarray(np.maximum(amounts, TOUCH * max(float(amounts.max()), 1e-300)))

    def smallest(self, amounts: FloatArray) -> float:
        """The smallest H of amounts (n,)."""
        return float(self.at(self.precisions(self.floored(amounts))[0])[0].min())

    def fitted(self, amounts: FloatArray) -> FloatArray:
        """Amounts (n,) scaled to what is wanted: to H >= 1, or to the total."""
        if self.total is not None:
            return np.asarray(amounts * (self.total / self.charge(amounts)))
        if self.homogeneous and self.problem.law in HOMOGENEOUS:
            return np.asarray(amounts * self.smallest(amounts) ** -HOMOGENEOUS[self.problem.law])
        low = high = 1.0
        while self.smallest(high * amounts) < 1.0 and high < 1e12:
            low, high = high, 4.0 * high
        while low == high or self.smallest(low * amounts) >= 1.0:
            low, high = low / 4.0, low
            if low < 1e-15:
                break
        return np.asarray(smallest_root(lambda x: -np.log(self.smallest(x * amounts)), low, high, 1e-11) * amounts)

    def value_of(self, amounts: FloatArray) -> float:
        """What is minimised, of fitted amounts (n,)."""
        return self.charge(amounts) if self.total is None else 1.0 / self.smallest(amounts)

    def offer(self, amounts: FloatArray) -> float:
        """Take note of fitted amounts (n,)."""
        value = self.value_of(amounts)
        if value < self.value:
            self.best, self.value = amounts, value
        return value

    def polished(self, start: FloatArray, tilt: Tilt | None = None) -> FloatArray:
        """The end of sequential quadratic programming on logarithms from fitted amounts (n,), fitted again.

        With a `tilt` every H is as much smaller as that says.
        """
        from scipy.optimize import minimize  # slow to import, and only searches need it

        one = _Programme(self, start, tilt)
        found: Any = minimize(
            cast(Any, one.aim), one.begin, jac=cast(Any, lambda x: one.towards), method="SLSQP",
            constraints=cast(Any, {"type": "ineq", "fun": one.room, "jac": one.slopes}),
            options=cast(Any, {"maxiter": 100, "ftol": 1e-8}),
        )  # fmt: skip
        if not np.isfinite(found.x).all():
            return start
        ended = np.where(start > 0, one.amounts(found.x), 0.0)
        return self.fitted(np.where(ended < 4.0 * TOUCH * ended.max(), 0.0, ended))

    def try_from(self, start: FloatArray) -> None:
        """Offer a split (n,), and where descent from it ends if it is not far from the best."""
        begun = self.fitted(start)
        value = self.offer(begun)
        if value <= NEAR * self.value:
            self._descend(begun)

    def _descend(self, start: FloatArray) -> float:
        """Offer where descent ends from fitted amounts (n,), unless one from the same levels was as good a start."""
        start = np.where(start > 0.01 * start.max(), start, 0.0)
        measured = (start > 0).tobytes()
        if self.seen.get(measured, 0) >= TWICE or self.n_polished >= self.most_polished:
            return np.inf
        self.seen[measured] = self.seen.get(measured, 0) + 1
        self.n_polished += 1
        ended = self.polished(start)
        reached = self.offer(ended)
        if not any(np.allclose(ended, end, rtol=1e-3, atol=1e-3 * ended.max()) for _, end in self.ends):
            self.ends.append((reached, ended))
        return reached

    def toggle(self) -> None:
        """Descend from the best split without a level, with one more, or with the next one, as long as that helps."""
        before = np.inf
        while self.value < before * (1.0 - 1e-9):
            before, split = self.value, self.best
            mean = float(split[split > 0].mean())
            measured, others = split >= 0.01 * split.max(), []
            for i in range(split.size):
                other = split.copy()
                other[i] = 0.0 if measured[i] else mean
                others.append(other)
                for j in (i - 1, i + 1):  # what one level gets, to the next
                    if 0 <= j < split.size and measured[i] and not measured[j]:
                        other = split.copy()
                        other[[i, j]] = 0.0, split[i]
                        others.append(other)
            others = [self.fitted(other) for other in others if other.any()]
            for other in sorted(others, key=self.value_of):
                self._descend(other)
                if self.value < before * (1.0 - 1e-9):
                    break

    # ---- bounds

    def chords(self, box: Box) -> tuple[FloatArray, FloatArray]:
        """Value at 0 and slope of the line above the precision between two ends, (n,) each."""
        (low, slope), (high, _) = self.precisions(box.low), self.precisions(box.high)
        if self.problem.law == "discrete_gaussian":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.zeros(low.size), np.where(box.high > 0, high / box.high, 0.0)
        width = box.high - box.low
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.where(width > 0, (high - low) / width, slope)
        rise = np.where(width <= 1e-9 * box.high, self.precisions(box.high)[1], rise)
        return high - rise * box.high, rise

    def relaxed(self, box: Box) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Proved bound of a box, the amounts (n,) it chose, its reduced costs, and weights of precisions."""
        from scipy.optimize import linprog

        self.problem.watch.check()
        self.solved += 1
        n, (base, rise) = self.levels.size, self.chords(box)
        size = float(max(box.high.max(), 1e-300))  # amounts in units of the box, so that no row is out of scale
        cuts = self.cuts[box.rows]
        scaled, at_zero = cuts * rise * size, cuts @ base
        free = 1.0 if self.total is None else 0.0
        heights = np.maximum(np.abs(scaled).max(axis=1, initial=0.0), 1e-300)
        matrix = np.vstack([
            np.column_stack([-scaled / heights[:, None], (1.0 - free) / heights]),
            *(np.append(row, -free) for row in self.rows),
        ])  # fmt: skip
        right = np.concatenate([
            (at_zero - free) / heights, np.full(len(self.rows), 0.0 if free else (self.total or 0.0) / size)
        ])  # fmt: skip
        cost = np.append(np.zeros(n), 1.0 if free else -1.0)
        bounds = [*zip((box.low / size).tolist(), (box.high / size).tolist(), strict=True), (0.0, None)]
        found: Any = linprog(cost, A_ub=matrix, b_ub=right, bounds=bounds, method="highs")
        if found.status == 2:
            return np.inf, box.low, np.zeros(n), np.zeros(n)
        if found.status != 0:
            return self._floor(box), 0.5 * (box.low + box.high), np.zeros(n), np.zeros(n)
        multipliers = np.maximum(-found.ineqlin.marginals, 0.0)
        y, w = multipliers[: heights.size] / heights, multipliers[heights.size :]
        chosen = np.clip(found.x[:n] * size, box.low, box.high)
        bound = self._dual(box, base, rise, y * size if free else y, w if free else w / size, chosen)
        box.rows = box.rows[(multipliers[: heights.size] > 0) | (heights.size <= FEW)]
        return bound

    def _dual(
        self, box: Box, base: FloatArray, rise: FloatArray, y: FloatArray, w: FloatArray, chosen: FloatArray
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """The bound of multipliers of tangents and of prices, whatever they are."""
        weights = y @ self.cuts[box.rows]
        if self.total is None:
            w = w / w.sum() if w.sum() > 0 else np.eye(w.size)[0]
            constant = float(y.sum())
        else:
            y_sum = float(y.sum())
            if y_sum <= 0:
                return self._floor(box), chosen, np.zeros(chosen.size), weights
            y, w, weights = y / y_sum, w / y_sum, weights / y_sum
            constant = -self.total * float(w.sum())
        reduced = w @ np.array(self.rows) - weights * rise
        least = np.minimum(reduced * box.low, reduced * box.high)
        bound = constant - float(weights @ base) + float(least.sum())
        room = ROUNDING * (abs(constant) + float(np.abs(weights * base).sum() + np.abs(least).sum()))
        bound -= room
        if self.total is not None:  # minus the largest H
            bound = 1.0 / -bound if bound < 0 else np.inf
        return bound, chosen, reduced, weights

    def _floor(self, box: Box) -> float:
        return self.charge(box.low) if self.total is None else 0.0

    def cut_at(self, q: FloatArray, wanted: float | None) -> IntArray:
        """Add tangents at precisions (n,) whose function is below `wanted`, or all; which they are."""
        values, tangent = self.at(q)
        short = np.isinf(values) if wanted is None else values >= wanted * (1.0 - self.violated)
        added = [tangent(i) for i in np.flatnonzero(~short & self.concave).tolist()]
        begin = len(self.cuts)
        if added:
            self.cuts = np.vstack([self.cuts, *added])
        return np.arange(begin, begin + len(added))

    def bounded(self, box: Box) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """`relaxed` after tangents where the programme went wrong: those known, then new ones; arrays are (n,)."""
        found = self.relaxed(box)
        for _ in range(ROUNDS if self.solved > 1 else FIRST_ROUNDS):
            bound, chosen, _, _ = found
            if not bound < self.value * (1.0 - self.gap) or self.solved >= self.effort:
                break
            base, rise = self.chords(box)
            z = 1.0 if self.total is None else 1.0 / bound if bound > 0 else np.inf
            relaxed_q = base + rise * chosen
            short = self.cuts @ relaxed_q
            order = np.argsort(short)[:WORST]
            rows = order[short[order] < z * (1.0 - self.violated)]
            if not rows.size:
                rows = self.cut_at(np.maximum(relaxed_q, self.precisions(self.floored(box.high))[0] * 1e-10), z)
            if not rows.size:
                break
            box.rows = np.append(box.rows, rows)
            better = self.relaxed(box)
            found = better if better[0] >= found[0] else (found[0], *better[1:3], better[3])
        return found

    def run(self, starts: Sequence[FloatArray]) -> Certified:
        """Return the best split from starts (n_levels,) on, and the bound."""
        watch, left = self.problem.watch, self.steps - self.steps // 2
        for start in watch.over(starts, self.steps // 2):
            if self.at_once and self.chain is not None:
                self.offer(self.fitted(start[self.levels]))
            else:
                self.try_from(start[self.levels])
        if self.chain is not None:
            lower = self.chain.bound(self._known, self.gap, BOXES_AT_ONCE if self.at_once else BOXES)
            watch.step(left)
        if not (self.at_once and self.chain is not None):
            self.toggle()
        if self.chain is None:
            lower = self._by_boxes(left)
        self.ends.sort(key=lambda end: end[0])
        ends = tuple(self.whole(end) for _, end in self.ends)
        return Certified(self.whole(self.best), self.value, lower, ends)

    def _known(self, split: FloatArray | None) -> float:
        """The best value after a look at a split (n_levels,)."""
        if split is not None:
            self.try_from(split[self.levels])
        return self.value

    def _by_boxes(self, left: int) -> float:
        """A bound of every split; `left` hundredths of the work are told of."""
        watch = self.problem.watch
        for _, end in self.ends[:FEW]:
            self.cut_at(self.precisions(self.floored(end))[0], None)
        high = self.value if self.total is None else self.total
        price = np.maximum(1.0, 2.0 * self.double)
        root = Box(np.zeros(self.levels.size), high / price, np.arange(len(self.cuts)))
        queue: list[tuple[float, int, Box]] = []
        self._push(queue, root, 0)
        number = 1
        while queue:
            bound, _, box = queue[0]
            if bound >= self.value * (1.0 - self.gap) or self.solved >= self.effort:
                break
            heapq.heappop(queue)
            if number % 20 == 1 and left > 1:
                watch.step(1)
                left -= 1
            for part in self._parts(box):
                self._push(queue, part, number)
                number += 1
        watch.step(left)
        lowest = min([bound for bound, _, _ in queue], default=np.inf)
        # boxes were left out by their bounds, and parts of boxes that hold nothing below the best value less the gap
        return float(min(lowest, self.left_out, self.value * (1.0 - self.gap * self.has_shrunk)))

    left_out: float = field(init=False, default=np.inf)
    has_shrunk: bool = field(init=False, default=False)

    def _push(self, queue: list[tuple[float, int, Box]], box: Box, number: int) -> None:
        found = self.bounded(box)
        bound, chosen, reduced, weights = found
        if bound < self.value * (1.0 - self.gap):
            if chosen.any():
                self.try_from(chosen)
            self._shrink(box, bound, reduced)
            self.has_shrunk = True
            base, rise = self.chords(box)
            wrong = weights * (base + rise * chosen - self.precisions(chosen)[0])
            box.cut = int(np.argmax(np.where(box.high - box.low > 1e-9 * box.high.max(), wrong, -1.0)))
            box.where = float(chosen[box.cut])
            heapq.heappush(queue, (bound, number, box))
        else:
            self.left_out = min(self.left_out, bound)

    def _shrink(self, box: Box, bound: float, reduced: FloatArray) -> None:
        """Ends of a box that no better split lies beyond, by the reduced costs."""
        aim = self.value * (1.0 - self.gap)
        if self.total is not None:
            aim, bound = -1.0 / aim, -1.0 / bound if bound > 0 else -np.inf
        room = (aim - bound) * (1.0 + 1e-6)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = np.where(np.abs(reduced) > 1e-12, room / np.abs(reduced), np.inf)
        high = np.where(reduced > 0, np.minimum(box.high, box.low + far), box.high)
        low = np.where(reduced < 0, np.maximum(box.low, box.high - far), box.low)
        box.low, box.high = np.minimum(low, high), np.maximum(low, high)

    def _parts(self, box: Box) -> list[Box]:
        i = box.cut
        low, high = box.low[i], box.high[i]
        at = min(max(box.where, low + 0.2 * (high - low)), high - 0.2 * (high - low))
        left, right = (Box(box.low.copy(), box.high.copy(), box.rows) for _ in range(2))
        left.high[i] = right.low[i] = at
        return [left, right]


class _Programme:
    """A search's problem from a split (n,) on, over the levels it measures.

    Variables are logarithms of what these get, in parts of the charge, and of the total or of the smallest H.
    """

    def __init__(self, search: Search, start: FloatArray, tilt: Tilt | None) -> None:
        self.search, self.tilt = search, tilt
        self.free, self.size, self.floor = np.flatnonzero(start > 0), search.charge(start), search.floored(start)
        self.fixed = search.total is not None
        self.base = float(np.log(search.smallest(start))) if self.fixed else 0.0
        self.towards = np.eye(self.free.size + 1)[-1] * (-1.0 if self.fixed else 1.0)
        self.begin = np.append(np.log(start[self.free] / self.size), 0.0)
        self.seen: dict[bytes, list[tuple[float, FloatArray]]] = {}

    def aim(self, x: FloatArray) -> float:
        """What is minimised."""
        return float(self.towards @ x)

    def amounts(self, x: FloatArray) -> FloatArray:
        """Amounts (n,) at a point; those of levels that are not measured are next to nothing."""
        split = self.floor.copy()
        split[self.free] = self.size * np.exp(np.clip(x[:-1], -25.0, 5.0))
        return split

    def values(self, x: FloatArray) -> list[tuple[float, FloatArray]]:
        """Logarithm of each H and its derivative by the variables that are amounts."""
        key = x.tobytes()
        if key not in self.seen:
            a = self.amounts(x)
            q, slope = self.search.precisions(a)
            found, tangent = self.search.at(q)
            less, by_log = np.zeros(found.size), np.zeros((found.size, a.size))
            if self.tilt is not None:
                less, by_log = self.tilt(np.log(a))
            each = enumerate(found.tolist())
            whole = [(np.log(v) - less[i], tangent(i) * slope * a / v - by_log[i]) for i, v in each]
            self.seen = {key: [(value, by_amount[self.free]) for value, by_amount in whole]}
        return self.seen[key]

    def room(self, x: FloatArray) -> FloatArray:
        """What is to be at least 0: of each H, and of each way to add up the amounts."""
        a = self.amounts(x)
        least, most = (self.base + x[-1], 0.0) if self.fixed else (0.0, x[-1])
        met = [value - least for value, _ in self.values(x)]
        return np.array(met + [most - np.log(row @ a / self.size) for row in self.search.rows])

    def slopes(self, x: FloatArray) -> FloatArray:
        """Derivatives of `room`."""
        a = self.amounts(x)
        of_least, of_most = (-1.0, 0.0) if self.fixed else (0.0, 1.0)
        met = [np.append(by_log, of_least) for _, by_log in self.values(x)]
        return np.array(met + [np.append((-row * a / (row @ a))[self.free], of_most) for row in self.search.rows])
