"""A proved bound of the smallest budget on trees with one kind of node a level: dynamic programming along the levels.

Let a node of level l have m_l leaves below it, and its level the precision q_l. Least squares has the information

    L_j = sum over l >= j of m_l q_l

on what sets the children of a level j - 1 apart, and an error on level l has the variance m_l^2 S_l with

    S_l = sum over j <= l of e_j / L_j,    e_j = 1 / m_j - 1 / m_(j-1)    (e_0 = 1 / m_0; no e_0 with a public total).

So a split is a chain L_0 >= L_1 >= ..., a target a limit of one S_l, and the cost the sum of c((L_l - L_(l+1)) / m_l)
with c, the amount for a precision, concave for Laplace noise of both kinds. From the last level with a target on one
level is best, by concavity that one.

Grid. Let L take the values of a geometric grid of ratio r only. Each chain is a mean of such chains: draw one number
uniformly, and round up all L_j that lie by a larger part between their grid points. A rounded chain falls again, its
mean is the chain, so that the mean cost is at most its cost (concavity); the mean of 1 / L_j is at most
k = (1 + r)^2 / (4 r) times what it was, and none is more than r times. Hence for all multipliers >= 0, over chains of
the grid with S_l <= r limit_l,

    least (cost + sum of multiplier_l S_l) - k sum of multiplier_l limit_l  <=  cost of every split within the limits.

The least is found level by level over L_l and an upper end of S_l, both on grids; S is rounded to the side that allows
more, and what a multiplier charges is not rounded. Where levels cost double the cost is max(A, B) >= (1 - w) A + w B,
and w is one more multiplier.

Boxes. The best cost to come and to go say which points of the grid a cheaper chain can touch; a box of chains shrinks
to the cells beside them. What is left is split, at a hole or in the middle, and looked at with a finer grid.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from treedp_core.studies.budget.problem import Problem
from treedp_core.tree import FloatArray, IntArray

POINTS: Final = 64
"""Of the grid of L over all levels at first; of each level in a box less than twice as many."""
SUMS: Final = 48
"""Points of the grid of S of each level."""
ROUNDS: Final = 4
FIRST_ROUNDS: Final = 12
BOXES: Final = 1000
"""Boxes that a search looks at, at most: some seconds."""
BOXES_AT_ONCE: Final = 24
"""The same while a hand moves a target."""
KEPT: Final = 12
MOST_WEIGHT: Final = 1.0 - 1e-6
HOLE: Final = 3
FINEST: Final = 1e-4
"""Step of the grid beyond which a bound hardly grows."""
NEXT_TO_NOTHING: Final = 1e-3
"""Of the least information that is wanted: what is less, below the levels asked about, counts as nothing or as this."""
SLACK: Final = 1e-9
"""By how much limits are raised and bounds lowered for rounding."""
AMOUNTS: Final[dict[str, Callable[[FloatArray], FloatArray]]] = {
    "laplace": lambda q: np.sqrt(2.0 * q),
    "discrete_laplace": lambda q: 2.0 * np.arcsinh(np.sqrt(q / 2.0)),
}
"""What a precision costs at a sensitivity of 1."""


Narrower = Callable[["LevelChain", "Box"], FloatArray]
"""A box of chains -> limits (n,) of their sums S that hold in the box, no larger than its own."""


@dataclass(eq=False)
class Box:
    """Chains between two ends of each level, as exponents of the grid (n,), and the multipliers found for it."""

    step: float
    low: IntArray
    high: IntArray
    multipliers: FloatArray
    weight: float
    chains: list[FloatArray]
    own: FloatArray
    floor: int = 0
    bound: float = 0.0
    alive: list[IntArray] = field(default_factory=list)


class Tables:
    """What the sweeps over a box need: grids of L and S of each level, costs between them, and where sums lead."""

    def __init__(self, chain: LevelChain, box: Box) -> None:
        self.ratio = float(np.exp(box.step))
        self.mean = (1.0 + self.ratio) ** 2 / (4.0 * self.ratio)
        self.own = np.where(chain.asked, box.own, 0.0)
        self.is_empty = not self._shrink(chain, box)
        if self.is_empty:
            return
        e, n = chain.energy, chain.energy.size
        self.L = [chain.informations(j, np.arange(box.low[j], box.high[j] + 1), box) for j in range(n)]
        self.inverse = [1.0 / np.where(one > 0, one, np.inf) for one in self.L]
        self.S = [np.append(a * (b / a) ** (np.arange(SUMS - 1) / (SUMS - 1)), b) for a, b in self.ends]
        self.cost = [chain.cost(j, np.maximum(self.L[j][:, None] - self.L[j + 1], 0.0)) for j in range(n - 1)]
        for j, cost in enumerate(self.cost):
            cost[self.L[j][:, None] < self.L[j + 1] * (1.0 - 1e-12)] = np.inf
        self.cost.append(chain.cost(n - 1, self.L[-1]))
        self.came, self.goes = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        self.too_small, self.too_large = [np.zeros(0, dtype=bool)], [np.zeros(0, dtype=bool)]
        for j in range(1, n):
            rise = e[j] * self.inverse[j]
            before, after = self.S[j][:, None] - rise, self.S[j - 1][:, None] + rise
            self.came.append(np.minimum(np.searchsorted(self.S[j - 1], before * (1.0 + 1e-12)), SUMS - 1))
            self.too_small.append(before < self.S[j - 1][0] * (1.0 - SLACK))
            at = np.searchsorted(self.S[j], after * (1.0 - 1e-12), side="right") - 1
            self.goes.append(np.clip(at, 0, SUMS - 1))
            self.too_large.append(after > self.S[j][-1] * (1.0 + SLACK))

    def _shrink(self, chain: LevelChain, box: Box) -> bool:
        """Ends of L and of S that follow from each other; whether a chain is left."""
        e = chain.energy
        largest = np.minimum.accumulate(box.own[::-1])[::-1] * self.ratio * (1.0 + SLACK)
        for _ in range(3):
            box.high = np.minimum.accumulate(box.high)
            box.low = np.maximum.accumulate(box.low[::-1])[::-1]
            least = np.cumsum(e * np.exp(-box.step * box.high))
            most = np.minimum(np.cumsum(e * np.exp(-box.step * box.low)), largest)
            if (box.low > box.high).any() or (least > most * (1.0 + SLACK)).any():
                return False
            needed = e / np.maximum(most - np.append(0.0, least[:-1]), 1e-300)
            exponents = np.log(np.where(chain.deep, 1.0, needed)) / box.step
            box.low = np.where(chain.deep, box.low, np.maximum(box.low, np.floor(exponents - SLACK).astype(np.int64)))
        self.ends = list(zip(least.tolist(), (np.maximum(most, least) * (1.0 + SLACK)).tolist(), strict=True))
        return bool((box.low <= box.high).all())


class LevelChain:
    """The smallest cost within limits of the variances of the levels, bounded from below.

    Parameters
    ----------
    problem : Problem
        With one variance class a level, and Laplace noise of either kind.
    limits : (n_levels,)
        Largest variance of each level; inf where none is asked for, and at least one is.
    narrower : function, optional
        What limits are in a box. The levels below the last one that is asked about are then looked at one by one.
    """

    def __init__(self, problem: Problem, limits: FloatArray, narrower: Narrower | None = None) -> None:
        tree = problem.tree
        levels = np.flatnonzero(problem.paid)
        last = int(np.flatnonzero(np.isfinite(limits[levels]))[-1])
        levels = levels if narrower else levels[: last + 1]
        self.narrower, self.deep = narrower, np.arange(levels.size) > last
        self.problem, self.levels = problem, levels
        self.leaves = tree.leaf_count[tree.level_start[levels]].astype(np.float64)
        self.above = 0.0 if not problem.unit.total_is_public or problem.first_level else 1.0 / tree.n_leaves
        self.energy = np.diff(1.0 / self.leaves, prepend=self.above)
        self.energy[self.deep] = 0.0
        self.own = limits[levels] / np.square(self.leaves)
        self.asked = np.isfinite(self.own)
        self.largest = np.minimum.accumulate(self.own[::-1])[::-1]
        sensitivity = problem.precision.sensitivity
        # what lies below the last level costs no less
        self.sensitivity = np.append(sensitivity[levels[:-1]], sensitivity[levels[-1] :].min())
        self.double = problem.price[levels] == 2

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether a problem is one that this is about."""
        paid = np.flatnonzero(problem.paid)
        one_class = problem.quotient.n_classes == problem.tree.n_levels
        sizes = problem.tree.level_sizes[problem.judged]
        return problem.law in AMOUNTS and one_class and paid.size >= sizes.size - 1 and bool((np.diff(sizes) > 0).all())

    def informations(self, level: int, exponents: IntArray, box: Box) -> FloatArray:
        """What exponents (n,) of the grid stand for, (n,): below the last target's level the least one for nothing."""
        return np.where(self.deep[level] & (exponents <= box.floor), 0.0, np.exp(box.step * exponents))

    def ends(self, box: Box) -> tuple[FloatArray, FloatArray]:
        """The least and the largest information of each level in a box, (n,) each."""
        low, high = (
            np.where(self.deep & (one <= box.floor), 0.0, np.exp(box.step * one)) for one in (box.low, box.high)
        )
        return low, high

    def sums(self, chain: FloatArray) -> FloatArray:
        """S of each level of a chain (n,), (n,)."""
        return np.cumsum(self.energy / np.where(chain > 0, chain, np.inf))

    def cost(self, level: int, information: FloatArray) -> FloatArray:
        """What information of a level costs by itself, shape of `information`, without what doubles it."""
        return np.asarray(self.sensitivity[level] * AMOUNTS[self.problem.law](information / self.leaves[level]))

    def costs(self, chain: FloatArray) -> FloatArray:
        """What each level of a chain (n,) gets, (n,)."""
        rise = chain - np.append(chain[1:], 0.0)
        return np.array([float(self.cost(j, np.maximum(x, 0.0))) for j, x in enumerate(rise)])

    def amounts(self, chain: FloatArray) -> FloatArray:
        """A split (n_levels,) whose information is a chain's (n,)."""
        split = np.zeros(self.problem.paid.size)
        split[self.levels] = self.costs(chain)
        return split

    def bound(self, best: Callable[[FloatArray | None], float], gap: float, boxes: int, steps: int = 0) -> float:
        """Return a total below which no split keeps to the limits.

        Parameters
        ----------
        best : function
            Takes note of a split (n_levels,) that is worth a look, and returns the smallest total known.
        gap : float
            Relative distance to that at which the search ends.
        boxes : int
            Boxes looked at, at most.
        steps : int
            Hundredths of the work that the watch is told of.
        """
        watch = self.problem.watch.part(steps, of=boxes + 1)
        parts, number, left_out = [self._whole(best(None))], 0, np.inf
        queue: list[tuple[float, int, Box]] = []
        while True:
            for part in parts:
                aim = best(None) * (1.0 - gap)
                tables, sweep = self._solve(part, aim, ROUNDS if number else FIRST_ROUNDS)
                number += 1
                watch.step(1)
                if part.bound < aim:
                    best(self.amounts(sweep.chain))
                    self._cut(part, tables, sweep, best(None) * (1.0 - gap))
                    heapq.heappush(queue, (part.bound, number, part))
                else:
                    left_out = min(left_out, part.bound)
            aim = best(None) * (1.0 - gap)
            if not queue or queue[0][0] >= aim or number >= boxes or queue[0][2].step < FINEST:
                break
            parts = self._parts(heapq.heappop(queue)[2])
        watch.step(boxes + 1 - number)
        # boxes were left out by their bounds, and points that no chain cheaper than the best value less the gap touches
        return float(min(left_out, queue[0][0] if queue else np.inf, best(None) * (1.0 - gap))) * (1.0 - SLACK)

    def _whole(self, total: float) -> Box:
        low = np.maximum.accumulate((self.energy / self.largest)[::-1])[::-1]
        low = np.where(self.deep, NEXT_TO_NOTHING * low[~self.deep].min(), low)
        # a precision is convex in the amount, so that all on one level informs most
        every = self.problem.precision(np.full(self.problem.paid.size, total * (1.0 + SLACK)))[self.problem.paid > 0]
        leaves = self.problem.tree.leaf_count[self.problem.tree.level_start[:-1]][self.problem.paid > 0]
        high = np.maximum.accumulate((every * leaves)[::-1])[::-1][: low.size]
        step = float(np.log(max(high.max() / low.min(), 2.0)) / POINTS)
        multipliers = np.where(self.asked, 0.5 * total / self.asked.sum() / self.own, 0.0)
        lows = np.floor(np.log(low) / step).astype(np.int64)
        return Box(
            step, lows, np.ceil(np.log(high) / step).astype(np.int64), multipliers, 0.5 * bool(self.double.any()), [],
            self.own, int(lows.min()),
        )  # fmt: skip

    def _solve(self, box: Box, aim: float, rounds: int) -> tuple[Tables, Sweep]:
        """Improve the multipliers of a box until its bound reaches the aim, or for so many rounds."""
        if self.narrower is not None:
            box.own = self.narrower(self, box)
        tables, found = Tables(self, box), Sweep()
        if tables.is_empty:
            box.bound = np.inf
            return tables, found
        unit = np.append(np.where(self.asked, aim / np.where(self.asked, self.own, 1.0), 1.0), 1.0)
        at = np.append(box.multipliers, box.weight)
        best, radius = at, 0.5 * unit / self.asked.sum()
        radius[~np.append(self.asked, self.double.any())] = 0.0
        ends = np.array([(one[0] * (1.0 - SLACK), one[-1] * (1.0 + SLACK)) for one in tables.L])
        chains = [one for one in box.chains if ((one >= ends[:, 0]) & (one <= ends[:, 1])).all()]
        cuts = [self._cut_of(one, tables) for one in chains]
        for i in range(rounds):
            self.problem.watch.check()
            sweep = Sweep.down(self, tables, at[:-1], float(at[-1]))
            if not np.isfinite(sweep.bound):
                box.bound = np.inf
                return tables, found
            is_new = sweep.bound > found.bound
            if is_new:
                found, best = sweep, at
            if found.bound >= aim or i == rounds - 1:
                break
            chains.append(sweep.chain)
            cuts.append(self._cut_of(sweep.chain, tables))
            radius = radius * (1.0 if not i else 1.5 if is_new else 0.5)
            most, at = self._most(cuts, best, radius, unit)
            if most - found.bound < 1e-4 * aim:
                break
        box.multipliers, box.weight, box.chains = best[:-1], float(best[-1]), chains[-KEPT:]
        box.bound = max(box.bound, found.bound)
        return tables, found

    @staticmethod
    def _most(
        cuts: list[tuple[float, FloatArray]], best: FloatArray, radius: FloatArray, unit: FloatArray
    ) -> tuple[float, FloatArray]:
        """The most that cuts leave near the best multipliers and weight (n + 1,), and where; -inf if that fails."""
        from scipy.optimize import linprog

        matrix = np.array([np.append(-slope * unit, 1.0) for _, slope in cuts])
        low, high = np.maximum(best - radius, 0.0) / unit, (best + radius) / unit
        high[-1] = min(high[-1], MOST_WEIGHT)
        found: Any = linprog(
            np.append(np.zeros(best.size), -1.0), A_ub=matrix, b_ub=[value for value, _ in cuts],
            bounds=[*zip(low.tolist(), high.tolist(), strict=True), (None, None)], method="highs",
        )  # fmt: skip
        if found.status != 0:
            return -np.inf, best
        return -float(found.fun), np.maximum(found.x[:-1], 0.0) * unit

    def _cut_of(self, chain: FloatArray, tables: Tables) -> tuple[float, FloatArray]:
        """Value and slope, by multipliers and weight (n + 1,), of what one chain makes of the bound at most."""
        each = self.costs(chain)
        beyond = np.where(self.asked, self.sums(chain) - tables.mean * tables.own, 0.0)
        return float(each.sum()), np.append(beyond, 2.0 * float(each[self.double].sum()) - float(each.sum()))

    def _cut(self, box: Box, tables: Tables, sweep: Sweep, aim: float) -> None:
        """Shrink a box to the cells beside the points that a chain cheaper than the aim can touch."""
        box.alive = []
        for j, (come, go) in enumerate(zip(sweep.values, sweep.up(self, tables), strict=True)):
            # sums below a point of the grid are above the one before it
            least = (come + np.vstack([go[:1], go[:-1]])).min(axis=0) - sweep.constant
            alive = np.flatnonzero(least < aim * (1.0 + SLACK))
            if not alive.size:
                box.bound = np.inf
                return
            box.alive.append(alive + box.low[j])
        box.low = np.maximum(box.low, [alive[0] - 1 for alive in box.alive])
        box.high = np.minimum(box.high, [alive[-1] + 1 for alive in box.alive])

    def _parts(self, box: Box) -> list[Box]:
        """A box on a grid twice as fine if it is small, else halves: at its largest hole, or of its longest side."""
        if not np.isfinite(box.bound):
            return []

        def part(low: IntArray, high: IntArray, step: float, floor: int = box.floor) -> Box:
            return Box(
                step, low.copy(), high.copy(), box.multipliers, box.weight, box.chains, box.own, floor, box.bound
            )

        width = box.high - box.low
        if width.max() <= POINTS / 3:
            return [part(2 * box.low, 2 * box.high, box.step / 2.0, 2 * box.floor)]
        holes = [int(np.diff(alive).max(initial=0)) for alive in box.alive]
        level = int(np.argmax(holes))
        if holes[level] > HOLE:
            at = int(np.argmax(np.diff(box.alive[level])))
            below, above = int(box.alive[level][at]) + 1, int(box.alive[level][at + 1]) - 1
        else:
            level = int(np.argmax(width))
            below = above = int(box.low[level] + box.high[level]) // 2
        here = np.arange(width.size) == level
        return [
            part(box.low, np.where(here, below, box.high), box.step),
            part(np.where(here, above, box.low), box.high, box.step),
        ]


@dataclass(eq=False)
class Sweep:
    """The least of cost and what multipliers charge: by level for each upper end of S and each L, and its chain."""

    bound: float = -np.inf
    chain: FloatArray = field(default_factory=lambda: np.zeros(0))
    values: list[FloatArray] = field(default_factory=list)
    charge: FloatArray = field(default_factory=lambda: np.zeros(0))
    price: FloatArray = field(default_factory=lambda: np.zeros(0))
    constant: float = 0.0

    @staticmethod
    def down(chain: LevelChain, tables: Tables, multipliers: FloatArray, weight: float) -> Sweep:
        """From the first level to the last, for multipliers (n,) and a weight."""
        e, n = chain.energy, chain.energy.size
        charge = np.cumsum(multipliers[::-1])[::-1] * e
        price = np.where(chain.double, 1.0 + weight, 1.0 - weight) if chain.double.any() else np.ones(n)
        fits = tables.S[0][:, None] >= e[0] / tables.L[0] * (1.0 - 1e-12)
        value = np.where(fits, charge[0] * tables.inverse[0], np.inf)
        values, choices = [value], []
        for j in range(1, n):
            each = value[:, :, None] + price[j - 1] * tables.cost[j - 1]
            choices.append(each.argmin(axis=1))
            least = np.take_along_axis(each, choices[-1][:, None, :], axis=1)[:, 0, :]
            came = least[tables.came[j], np.arange(tables.L[j].size)]
            value = np.where(tables.too_small[j], np.inf, came + charge[j] * tables.inverse[j])
            values.append(value)
        last = value[-1] + price[-1] * tables.cost[-1]
        at, k = int(last.argmin()), SUMS - 1
        constant = tables.mean * float(multipliers @ tables.own)
        if not np.isfinite(last[at]):
            return Sweep(np.inf)
        places = [at]
        for j in range(n - 1, 0, -1):
            k = int(tables.came[j][k, places[0]])
            places.insert(0, int(choices[j - 1][k, places[0]]))
        found = np.array([one[i] for one, i in zip(tables.L, places, strict=True)])
        return Sweep(float(last[at]) - constant, found, values, charge, price, constant)

    def up(self, chain: LevelChain, tables: Tables) -> list[FloatArray]:
        """What is still to come, by level: (n, k) for n lower ends of S and k points of L."""
        value = np.broadcast_to(self.price[-1] * tables.cost[-1], (SUMS, tables.L[-1].size))
        found = [value]
        for j in range(chain.energy.size - 1, 0, -1):
            goes = value[tables.goes[j], np.arange(tables.L[j].size)] + self.charge[j] * tables.inverse[j]
            goes = np.where(tables.too_large[j], np.inf, goes)
            value = (goes[:, None, :] + self.price[j - 1] * tables.cost[j - 1]).min(axis=2)
            found.insert(0, value)
        return found
