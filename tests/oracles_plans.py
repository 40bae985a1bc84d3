"""What a threshold plan proves, checked from the plan alone, and trees that attack it."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from treedp_core.mechanisms.thresholds.plan_types import Plan

LOG_QUANTILES = np.log((np.arange(20_000) + 0.5) / 20_000)


def lemma_rounds_hold(
    alpha: float,
    tau: float,
    eta: float,
    epsilon: float,
    delta: float,
    d: int,
    total: float,
    rounds: list[dict[str, float]],
) -> dict[int, bool]:
    """Conditions (2) to (6) of Ghazi et al., Lemma 4.6, for rounds i = 1, ..., l from the lowest threshold up.

    `rounds` hold M, tau, alpha, eta, eps, delta; the result says for each numbered condition whether it holds.
    """
    tiny = 1e-9
    holds = {2: True, 4: True, 5: True}
    for i, one in enumerate(rounds):
        a, e = one["alpha"], one["eps"]
        needed = math.sqrt(2 * one["M"] / (a * e)) * max(
            math.sqrt(48 * math.log(2 * d / one["eta"])),
            math.sqrt(6 * math.log(1 + (math.exp(e / 2) - 1) / one["delta"])),
        )
        holds[2] &= one["tau"] >= needed * (1 - tiny)
        above = rounds[i - 1]["M"] if i else alpha * tau
        holds[4] &= above >= (1 + a) * one["tau"] * (1 - tiny)
        holds[5] &= (1 - a) * one["tau"] <= one["M"] * (1 + tiny)
        holds[5] &= one["M"] <= (1 + alpha) * (1 - a) * one["tau"] * (1 + tiny)
    holds[3] = sum(one["eta"] for one in rounds) <= eta
    holds[4] &= rounds[-1]["M"] >= total * (1 - tiny)
    holds[6] = sum(one["eps"] for one in rounds) <= epsilon and sum(one["delta"] for one in rounds) <= delta
    return holds


def proven_error(plan: Plan) -> float:
    """Worst-case alpha-RMSE that a plan with one-sided test noise proves, from its numbers alone.

    U_0 = 2 E / (1 - alpha) and U_i = min((v_i + E) / (1 - alpha), U_(i-1) + L_i). A round fails when its threshold
    noise reaches U_(i-1) - T, or when, for the best split T - theta = A + C, a query noise reaches A or the pass noise
    falls below -C. The first failure costs at most (1 - alpha) U_i. On the whole numbers the pass threshold may be
    higher by 1 and the tail of the pass noise is at most e^(-t C); that covers the reals.
    """
    e, alpha = plan.default_value, plan.alpha
    upper, square = 2 * e / (1 - alpha), e**2
    for one in reversed(plan.levels):
        lightest = one.pass_threshold - one.pass_bound
        assert one.value <= (1 + alpha) * lightest + e + 1e-12 * one.value
        room, between = upper - one.classification_threshold, one.classification_threshold - one.pass_threshold
        assert room > 0 and between > 0 and one.cut_off == 1 and one.test_law == "exponential"
        split = np.linspace(0, between, 2001)
        queries = plan.n_levels * np.exp(-one.query_epsilon * split)
        passing = np.minimum(1.0, np.exp(-one.pass_epsilon * (between - 1 - split)))
        failure = math.exp(-one.threshold_epsilon * room) + float((queries + passing).min())
        upper = min((one.value + e) / (1 - alpha), upper + lightest)
        square += failure * ((1 - alpha) * min(upper, plan.max_total)) ** 2
    assert upper >= plan.max_total
    return math.sqrt(square)


def chain_alpha_rmse(plan: Plan, weight: float, below: int) -> float:
    """alpha-RMSE of a node with `below` nodes under it, on a path whose nodes all have one weight, continuous noise.

    Round by round: the mean over the threshold noise, by the midpoint rule on its quantiles, of the chance that one of
    below + 1 queries reaches the threshold, times the chance that the node which did then passes.
    """
    left, square = 1.0, 0.0
    for one in plan.levels:
        gap = one.classification_threshold - LOG_QUANTILES / one.threshold_epsilon - weight
        miss = -np.expm1(-one.query_epsilon * np.maximum(gap, 0.0))
        fires = float(-np.expm1((below + 1) * np.log(np.maximum(miss, 1e-300))).mean())
        t, bound, over = one.pass_epsilon, one.pass_bound, one.pass_threshold - weight
        beyond = max(0.0, (math.exp(-t * abs(over)) - math.exp(-t * bound)) / (2 * (1 - math.exp(-t * bound))))
        labels = fires * (beyond if over >= 0 else 1 - beyond)
        square += left * labels * max(abs(one.value - weight) - plan.alpha * weight, 0.0) ** 2
        left *= 1 - labels
    return math.sqrt(square + left * max(abs(plan.default_value - weight) - plan.alpha * weight, 0.0) ** 2)


def star(branches: list[tuple[int, int]], n_levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Leaf codes and counts of branches (level at which it leaves the first path, records)."""
    codes = np.zeros((len(branches), n_levels - 1), dtype=np.int64)
    for i, (level, _) in enumerate(branches):
        codes[i, min(level, n_levels - 2) :] = i + 1
    return codes, np.array([records for _, records in branches])


def attacking_trees(
    n_levels: int, total: int, lowest: float, rng: np.random.Generator, n_random: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Chains, equal splits, heavy paths with a lighter branch, and random branches, around the thresholds."""
    weights = np.unique(np.round(np.geomspace(0.5 * lowest, total, 24)).astype(int)).tolist()
    for w in weights:
        yield star([(0, w)], n_levels)
    for w in weights[::3]:
        for m in (2, 5):
            if m * w <= total:
                yield star([(n_levels // 2, w)] * m, n_levels)
        for light in weights[::5]:
            if light < w and light + w <= total:
                yield star([(n_levels - 3, w), (1, light)], n_levels)
                yield star([(1, w), (n_levels - 3, light)], n_levels)
    for _ in range(n_random):
        m = int(rng.integers(2, 6))
        records = np.exp(rng.uniform(math.log(0.3 * lowest), math.log(total / m), m)).astype(int) + 1
        yield star(list(zip(rng.integers(0, n_levels - 2, m).tolist(), records.tolist(), strict=True)), n_levels)


# --- what rounds lose together, outcome by outcome -------------------------------------------------------------------


def delta_together(rounds: list[tuple[float, float, float, bool]], epsilon: float) -> float:
    """Delta at epsilon of rounds (a, b, t, one-sided test) whose every part answers as loudly as its bounds allow.

    A part whose loss is -m or M has P(M) = (e^m - 1) / (e^m - e^-M). All outcomes of half of the parts are listed, and
    each is paired with the sorted ones of the other half. Above 2^17 in a half, losses are rounded to epsilon / 2^17:
    of a hundred parts by less than a ten-thousandth of epsilon in all.
    """
    return max(_one_way(rounds, epsilon, more) for more in (False, True))


def _one_way(rounds: list[tuple[float, float, float, bool]], epsilon: float, more: bool) -> float:
    parts = []
    for a, b, t, one_sided in rounds:
        low, high = (b if one_sided else a + b), a + b
        parts += [(high, low) if more else (low, high), (t, t)]
    (x, p), (y, q) = _outcomes(parts[::2], epsilon), _outcomes(parts[1::2], epsilon)
    order = np.argsort(y)
    y, q = y[order], q[order]
    above, tilted = (np.append(np.cumsum(z[::-1])[::-1], 0.0) for z in (q, q * np.exp(-y)))
    first = np.searchsorted(y, epsilon - x)
    return float(p @ (above[first] - np.exp(epsilon - x) * tilted[first]))


def _outcomes(parts: list[tuple[float, float]], epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    loss, mass, unit = np.zeros(1), np.ones(1), epsilon / 2**17
    for m, most in parts:
        p = math.expm1(m) / (math.exp(m) - math.exp(-most))
        loss, mass = np.concatenate([loss - m, loss + most]), np.concatenate([(1 - p) * mass, p * mass])
        if loss.size > 1 << 17:
            at = np.round(loss / unit).astype(np.int64)
            mass = np.bincount(at - at.min(), mass)
            loss = unit * np.arange(at.min(), at.min() + mass.size)
    return loss, mass


def most_moved_by_distinct_records(sizes: list[int], elsewhere: int, m: int) -> tuple[int, int]:
    """What m records on distinct leaves, replaced, move nodes with so many leaves: L1, and the square of L2.

    By every change of every node, all that are possible: `best` has the most squares for each sum of losses and gains.
    """
    best = {(0, 0): 0}
    for size in sizes:
        wider: dict[tuple[int, int], int] = {}
        for (lost, won), square in best.items():
            for change in range(-size, size + 1):
                sums = lost + max(-change, 0), won + max(change, 0)
                if max(sums) <= m:
                    wider[sums] = max(wider.get(sums, 0), square + change**2)
        best = wider
    can = {sums: square for sums, square in best.items() if abs(sums[0] - sums[1]) <= elsewhere}
    return max(map(sum, can)), max(can.values())
