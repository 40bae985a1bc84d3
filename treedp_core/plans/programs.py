"""The programs that plans are handed over as, as templates: see `treedp_core.plans.handover`.

They read one form of file only, that of `treedp_core.plans.record_file`, a line at a time: whatever a line holds, it
changes the count of one leaf or none, and nothing that a program prints, or whether it ends well, depends on it.
"""

from __future__ import annotations

from string import Template
from typing import Final

RECORDS: Final = Template("""\
PREPARED_FILE, RELEASED_FILE = [*sys.argv[1:], None, None][:2]
HEADER = $header  # of the file of records: it is that of this plan alone
MOST = $most  # records of a node; what one more would change stays one
# The leaves: each by its path in the tree.
$leaves
LEAF = $leaf_of_cells
OTHER = $other  # the leaf of records that fit nowhere, where the tree has one


def opened(path, what, mode):
    \"\"\"A file; where it cannot be opened, the program ends with a sentence.\"\"\"
    try:
        return open(path, mode) if "b" in mode else open(path, mode, encoding="utf-8", newline="")
    except (OSError, TypeError, ValueError):  # there is none, or none was named
        sys.exit(f"The file of {what} cannot be {'written' if 'w' in mode else 'read'}: {path or 'none is named'}.")


def cells_of(line):
    \"\"\"The cells of one line; none where it is no row.\"\"\"
    try:
        return next(csv.reader([line.decode("utf-8", "replace").rstrip("\\r\\n")]), [])
    except csv.Error:
        return []


def read_records():
    \"\"\"How many records each leaf holds; those of None fit nowhere.\"\"\"
    held = dict.fromkeys([*LEAVES, None], 0)
    with opened(PREPARED_FILE, "records", "rb") as file:
        if cells_of(file.readline().removeprefix(b"\\xef\\xbb\\xbf")) != HEADER:
            sys.exit("Expected the file that treedp prepare, or Prepared records on the page, made for this very plan.")
        for line in file:
            *cells, records = cells_of(line) or [""]
            if len(cells) + 1 == len(HEADER) and re.fullmatch("[0-9]+", records):
                digits = records.lstrip("0") or "0"
                leaf = LEAF.get(tuple(cells), OTHER)
                held[leaf] = min(held[leaf] + (MOST if len(digits) > 18 else int(digits)), MOST)
    return held


def counts_of(held):
    \"\"\"The counts of the nodes of each level, by path.\"\"\"
    counts = [dict.fromkeys((path[:level] for path in LEAVES if len(path) >= level), 0) for level in range(N_LEVELS)]
    for path in LEAVES:
        for level in range(len(path) + 1):
            counts[level][path[:level]] = min(counts[level][path[:level]] + held[path], MOST)
    for level in EXACT:  # one node that holds all records, whose number is public
        counts[level] = dict.fromkeys(counts[level], min(sum(held.values()), MOST))
    return counts


$after


def write_released(measured):
    \"\"\"Write every node, and say so where the released number of records that fit nowhere is large.\"\"\"
    released = finished(measured)
$certify    with opened(RELEASED_FILE, "what is released", "w") as file:
        out = csv.writer(file)
        out.writerow(["level", *NAMES, "$released"$column])
        for level, here in enumerate(released):
            out.writerows([level, *named(path), value$cell] for path, value in here.items() if value is not None)
    if OTHER:
        outside, everything = released[len(OTHER)][OTHER], released[0][()]
        if everything is None:
            everything = sum(value or 0 for value in released[1].values())
        if outside is not None and outside > max(0.05 * everything, 3 * (DEVIATIONS[len(OTHER)] or 0)):
            print(f"What is released says that about {outside:.0f} of {everything:.0f} $noun fit no category: "
                  "look at what treedp prepare says before this is published.", file=sys.stderr)
""")
"""What all programs share; $after is what follows the noise."""

OF_TREE: Final = """\
NAMES = HEADER[:-1]


def named(path):
    \"\"\"The labels of a node, a column each.\"\"\"
    return [*path, *[""] * (len(NAMES) - len(path))]"""

OF_BINS: Final = """\
NAMES, SPANS = ["first bin", "last bin"], {}
for cells, path in LEAF.items():
    for level in range(len(path) + 1):
        SPANS.setdefault(path[:level], [cells, cells])[1] = cells


def named(path):
    \"\"\"The first and the last bin of a node.\"\"\"
    return [" \u203a ".join(filter(None, cells)) for cells in SPANS[path]]"""

CHILDREN: Final = """\
CHILDREN = {path[:level]: {} for path in LEAVES for level in range(len(path))}  # of each node above the leaves
for path in LEAVES:
    for level in range(len(path)):
        CHILDREN[path[:level]][path[: level + 1]] = None"""

LEAST_SQUARES: Final = """\
def least_squares(measured):
    \"\"\"The best linear unbiased estimates of all nodes; None where the measurements do not determine one.\"\"\"
    best, variance, below = [dict(here) for here in measured], {}, {}
    for level in reversed(range(N_LEVELS)):
        own = math.inf if DEVIATIONS[level] is None else DEVIATIONS[level] ** 2
        for path, value in best[level].items():
            children = CHILDREN.get(path, ())
            sums = sum(best[level + 1][child] for child in children)
            others = sum(variance[child] for child in children) if children else math.inf
            if own == 0 or others == math.inf > own:
                here, mixed = value, own
            elif own == math.inf or others == 0:
                here, mixed = sums, others
            else:
                here, mixed = sums + others / (others + own) * (value - sums), 1 / (1 / own + 1 / others)
            best[level][path], variance[path], below[path] = here, mixed, sums
    known = {(): variance[()] < math.inf}
    for level in range(N_LEVELS - 1):
        for path, value in best[level].items():
            children = CHILDREN.get(path, ())
            unknown = sum(variance[child] == math.inf for child in children)
            total = sum(variance[child] for child in children)
            for child in children:
                if unknown:
                    share = (variance[child] == math.inf) / unknown
                else:
                    share = variance[child] / total if total else 0.0
                best[level + 1][child] += share * (value - below[path])
                known[child] = variance[child] < math.inf or (unknown == 1 and known[path])
    return [{path: value if known[path] else None for path, value in here.items()} for here in best]"""

NON_NEGATIVE: Final = """\
def non_negative(measured):
    \"\"\"Negative counts become 0.\"\"\"
    return [{path: value and max(value, 0) for path, value in here.items()} for here in measured]"""

DESCENT: Final = """\
def descent(measured, rule):
    \"\"\"Families that add up to their parents, from the root down; what was not measured is its children's sum.\"\"\"
    filled = [dict(here) for here in measured]
    for level in reversed(range(N_LEVELS - 1)):
        for path, value in filled[level].items():
            if value is None:
                filled[level][path] = sum(filled[level + 1][child] for child in CHILDREN[path])
    found = [{path: max(round(value), 0) for path, value in filled[0].items()}]
    for level in range(N_LEVELS - 1):
        found.append(dict.fromkeys(filled[level + 1]))
        for path, total in found[level].items():
            if path in CHILDREN:
                children = CHILDREN[path]
                found[level + 1].update(zip(children, rule([filled[level + 1][child] for child in children], total)))
    return found"""

WATER_FILLING: Final = """\
def filled_with_water(noisy, total):
    \"\"\"The whole numbers of at least 0 with this sum that are closest in every convex sense.\"\"\"
    above = [math.ceil(value) for value in noisy]
    so_far = itertools.accumulate(sorted(above, reverse=True))
    level = min(-((upto - total) // k) for k, upto in enumerate(so_far, 1))
    whole = [max(value + level, 0) for value in above]
    order = sorted(range(len(whole)), key=lambda i: (noisy[i] - above[i], noisy[i]))
    for i in [i for i in order if whole[i]][: sum(whole) - total]:
        whole[i] -= 1
    return whole"""

TOP_DOWN_WATER_FILLING: Final = """\
def top_down_water_filling(measured):
    \"\"\"Every family becomes whole counts of at least 0, by water filling.\"\"\"
    return descent(measured, filled_with_water)"""

TOP_DOWN_INTOPT: Final = """\
def int_opt(noisy, total):
    \"\"\"The whole numbers of at least 0 with this sum that the procedure IntOpt ends with.\"\"\"
    x = [round(value) for value in noisy]
    order = sorted(range(len(x)), key=lambda i: x[i])
    shift = -((sum(x) - total) // len(x))
    radius = max(abs(shift), -min(x))
    if sum(max(value - radius, 0) for value in x) <= total:
        y = [max(value + shift, 0) for value in x]
        surplus = sum(y) - total
        for i in order:
            taken = min(y[i] - max(x[i] - radius, 0), surplus)
            y[i], surplus = y[i] - taken, surplus - taken
        return y
    before = [0, *itertools.accumulate(x[i] for i in order)][:-1]
    radius = max(radius + 1, *(-((total - sum(x) + sums) // (len(x) - k)) for k, sums in enumerate(before)))
    y = [max(value - radius + 1, 0) for value in x]
    for i in [i for i in order if x[i] >= radius][: sum(y) - total]:
        y[i] -= 1
    return y


def top_down_intopt(measured):
    \"\"\"Every family becomes whole counts of at least 0, by IntOpt.\"\"\"
    return descent(measured, int_opt)"""

REAL_THEN_ROUND: Final = """\
def simplex(noisy, total):
    \"\"\"The real numbers of at least 0 with this sum that are closest in squared distance.\"\"\"
    so_far = itertools.accumulate(sorted(noisy, reverse=True))
    level = max((upto - total) / k for k, upto in enumerate(so_far, 1))
    return [max(value - level, 0.0) for value in noisy]


def rounded(real, total):
    \"\"\"Floors and ceilings with this sum: the largest fractions are rounded up.\"\"\"
    whole = [math.floor(value) for value in real]
    missing = total - sum(whole)
    if not 0 <= missing <= len(whole):  # only where floats rounded a sum
        return filled_with_water(real, total)
    for i in sorted(range(len(whole)), key=lambda i: whole[i] - real[i])[:missing]:
        whole[i] += 1
    return whole


def real_then_round(measured):
    \"\"\"Every family in real numbers, then each of these to the whole number below or above it.\"\"\"
    return descent(descent(measured, simplex), rounded)"""

STEPS: Final = {
    "least_squares": (CHILDREN, LEAST_SQUARES),
    "non_negative": (NON_NEGATIVE,),
    "top_down_water_filling": (CHILDREN, DESCENT, WATER_FILLING, TOP_DOWN_WATER_FILLING),
    "top_down_intopt": (CHILDREN, DESCENT, TOP_DOWN_INTOPT),
    "real_then_round": (CHILDREN, DESCENT, WATER_FILLING, REAL_THEN_ROUND),
}
"""Post-processing that programs do, each with what it needs, in order."""

CERTIFIED: Final = Template("""\
# With probability 95 %, all at once, no noise of a level is above this.
$reaches


def certified(measured, released):
    \"\"\"What the error of each count is at most: from what is released alone, for all counts at once.\"\"\"
    error, high = [{} for _ in released], {}
    for level, here in enumerate(released):
        for path, value in here.items():
            noisy, low, most = measured[level][path], 0, high.get(path[:-1], math.inf)
            if noisy is not None:
                low = max(noisy - REACHES[level], 0)
                most = max(min(noisy + REACHES[level], most), low)
            high[path] = most
            error[level][path] = max(value - low, most - value)
    return error""")
"""Of whole-number noise and a top-down step: `treedp_core.studies.topdown.certificate` has the proof."""

FINISHED: Final = Template("""\
def finished(measured):
    \"\"\"What is released, from noisy counts by level and path: post-processing reads no records.\"\"\"
    return $steps""")

OPENDP: Final = Template('''\
"""A release written by TreeDP from its plan: $promise.

Usage: python release.py PREPARED.csv RELEASED.csv
PREPARED.csv: the records as treedp prepare writes them for this plan, or the page Release plan. NOT PRIVATE.
Needs: pip install opendp
"""

# $protects
# To be seen to, and not covered:
$points

import csv
import itertools
import math
import re
import sys

import opendp.prelude as dp

dp.enable_features("contrib")

# Noise of each level, in $noun: scale b or standard deviation; None published exactly or not measured.
$scales
EXACT, N_LEVELS = $exact, len(SCALES)
$deviations
# How far each level moves in each way that one unit can change.
$cases
PROMISED = $promised  # $symbol of all levels together

$records

def measurements():
    """The noise of each level, which OpenDP draws; None for a level without noise."""
    space = dp.vector_domain($domain_of_atom), $metric
    return [None if scale is None else $noise(*space, scale=scale) for scale in SCALES]


def loss(noise):
    """What OpenDP says that one unit can lose over all levels."""
    return max(
        sum(one.map($distance(moved)) for one, moved in zip(noise, case) if one is not None and moved)
        for case in CASES
    )


def main():
    noise = measurements()
    if loss(noise) > PROMISED * (1 + 1e-9):
        sys.exit(f"OpenDP finds a loss of {loss(noise)}, more than the plan promises.")
    measured = counts_of(read_records())
    for level, one in enumerate(noise):
        here = measured[level]
        if one is not None:
            measured[level] = dict(zip(here, one([$kind(count) for count in here.values()])))
        elif level not in EXACT:
            measured[level] = dict.fromkeys(here)
    write_released(measured)


if __name__ == "__main__":
    if RELEASED_FILE is None:
        sys.exit("Usage: python release.py PREPARED.csv RELEASED.csv")
    main()
''')

TUMULT: Final = Template('''\
"""A release written by TreeDP from its plan: $promise.

Usage: python release.py PREPARED.csv RELEASED.csv
PREPARED.csv: the records as treedp prepare writes them for this plan, or the page Release plan. NOT PRIVATE.
Needs: pip install tmlt.analytics (and Java, for Spark). Tried with version 0.21; TreeDP's tests run it on stand-ins.
"""

# $protects
# To be seen to, and not covered:
$points

import csv
import itertools
import math
import os
import re
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, explode, lit, sequence
from pyspark.sql.types import LongType, StringType, StructField, StructType
from tmlt.analytics import (
    AddMaxRows, AddOneRow, CountMechanism, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session,
)

# What each level spends; None published exactly, 0 not measured.
$budgets
EXACT, N_LEVELS = $exact, len(BUDGETS)
$deviations
TOTAL = $promised  # $symbol of all levels together
LEVELS = [f"level_{level}" for level in range(N_LEVELS)]
CHUNK = 1_000_000  # rows that Spark makes of one

$records

def session_of(held):
    """A session in which each record is a row, with the path of its leaf, and the budget of all levels."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark's workers take another Python
    rows = []
    for path in LEAVES:
        padded = ["all", *map(str, path), *[""] * (N_LEVELS - 1 - len(path))]
        rows += [[*padded, n] for n in [CHUNK] * (held[path] // CHUNK) + [held[path] % CHUNK] if n]
    fields = [StructField(name, StringType(), False) for name in LEVELS] + [StructField("n", LongType(), False)]
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}  # it would show how it gets on
    frame = SparkSession.builder.config(map=quiet).getOrCreate().createDataFrame(rows, StructType(fields))
    frame = frame.withColumn("n", explode(sequence(lit(1), col("n")))).select(*LEVELS)
    return Session.from_dataframe($budget(TOTAL), "records", frame, protected_change=$change)


def main():
    held = read_records()
    session, measured = session_of(held), counts_of(held)
    for level, budget in enumerate(BUDGETS):
        here = measured[level]
        if budget:
            keys = {("all", *map(str, path)): path for path in here}
            nodes = QueryBuilder("records").groupby(KeySet.from_tuples([*keys], columns=LEVELS[: level + 1]))
            counted = nodes.count(name="released", mechanism=$mechanism)
            noisy = session.evaluate(counted, $budget(budget)).collect()
            found = {keys[tuple(row[:-1])]: row[-1] for row in noisy}
            measured[level] = {path: found[path] for path in here}
        elif level not in EXACT:
            measured[level] = dict.fromkeys(here)
    write_released(measured)


if __name__ == "__main__":
    if RELEASED_FILE is None:
        sys.exit("Usage: python release.py PREPARED.csv RELEASED.csv")
    main()
''')
