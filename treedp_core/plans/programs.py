"""The programs that plans are handed over as, as templates: see `treedp_core.plans.handover`.

What finds a record's leaf is the same for all libraries, and finds the leaf that counting the file found.
"""

from __future__ import annotations

from string import Template
from typing import Final

FROM_FILE: Final = Template("""\
with opened(DOMAIN_FILE, "leaves") as file:  # one row a leaf: its labels from level 1 down
    try:
        LEAVES = [tuple(row) for row in csv.reader(file)]
    except (UnicodeError, csv.Error):
        LEAVES = []
listed = "".join("\\x1f".join(path) + "\\n" for path in sorted(LEAVES))
if hashlib.sha256(listed.encode()).hexdigest() != $digest:
    sys.exit("The domain file does not list the leaves of the plan.")""")

BY_LABELS: Final = """\
KNOWN = set(LEAVES)
NODES = {path[:level] for path in LEAVES for level in range(len(path) + 1)}
OUTSIDE = ("(other)",)  # the leaf of records that fit nowhere, where the tree has one
while OUTSIDE in NODES and OUTSIDE not in KNOWN:
    OUTSIDE = (f"({OUTSIDE[0]})",)


def leaf_of(row):
    \"\"\"The path of the leaf that a record belongs to; None where the domain has no place for it.\"\"\"
    cells, path, other = [label(row[column]) for column in ASKED], (), False
    while cells and not cells[-1]:
        cells.pop()
    while path not in KNOWN:
        cell = cells[len(path)] if len(path) < len(cells) else ""
        child = (*path, cell or "(blank)")
        if child not in NODES:
            child, other = (*path, "(other)"), True
        if child not in NODES or (BLANKS_OUT and not cell):
            return OUTSIDE if OUTSIDE in KNOWN else None
        path = child
    return path if other or len(cells) <= len(path) else OUTSIDE if OUTSIDE in KNOWN else None"""

BY_NUMBER: Final = """\
NUMBER = re.compile(r"\\s*[+-]?((\\d+\\.?\\d*|\\.\\d+)(e[+-]?\\d+)?|inf(inity)?)\\s*", re.ASCII | re.IGNORECASE)
WITHIN = len(LEAVES) - HAS_OTHER


def leaf_of(row):
    \"\"\"The path of the bin that a record belongs to; None where the domain has no place for it.\"\"\"
    text = row[BINNED] or ""
    if NUMBER.fullmatch(text):
        number = float(text)
        if CUT:
            number = min(max(number, EDGES[0]), EDGES[-1])
        if EDGES[0] <= number <= EDGES[-1]:
            return LEAVES[min(bisect.bisect_right(EDGES, number), WITHIN) - 1]
    return LEAVES[-1] if HAS_OTHER else None"""

IN_A_ROW: Final = Template("""
BINS = dict(zip(LEAVES, itertools.product(*map(range, $branching))))  # the leaves are bins, in this order
LEAVES, by_labels = list(BINS.values()), leaf_of


def leaf_of(row):
    \"\"\"The path of the bin that a record belongs to; None where the domain has no place for it.\"\"\"
    return BINS.get(by_labels(row))""")

RECORDS: Final = Template("""\
RECORDS_FILE, RELEASED_FILE, DOMAIN_FILE = [*sys.argv[1:], None, None, None][:3]
COLUMNS, ASKED = $columns, $asked  # of what is released, and of the file of records


def opened(path, what, mode="r"):
    \"\"\"A file of text; where it cannot be opened, the program ends with a sentence.\"\"\"
    try:
        return open(path, mode, encoding="utf-8-sig" if mode == "r" else "utf-8", newline="")
    except (OSError, TypeError):  # there is none, or none was named
        sys.exit(f"The file of {what} cannot be {'read' if mode == 'r' else 'written'}: {path or 'none is named'}.")


$leaves
# How a row becomes records: the column that says how many, and the one that names its unit, of which the first rows
# count; whether blank cells fit no category, and whether numbers beyond the bounds are cut to them.
WEIGHT, UNIT, MOST, BLANKS_OUT, CUT = $rule


def label(text):
    \"\"\"A cell as it is compared: equal where it looks equal, and blank without a visible character.\"\"\"
    return "" if not text or text.isspace() else unicodedata.normalize("NFC", text)


$find


def read_records():
    \"\"\"The path of the leaf of each row that counts, None for none, and how many records the row is.\"\"\"
    wanted = [*ASKED, *([WEIGHT] if WEIGHT else []), *([UNIT] if UNIT else [])]
    with opened(RECORDS_FILE, "records") as file:
        table, rows, so_far = csv.DictReader(file), [], Counter()
        try:
            for name in wanted:
                if name not in (table.fieldnames or []):
                    sys.exit(f"Expected columns {', '.join(wanted)} in the file of records, got none called {name}.")
            for row in table:
                if UNIT:
                    so_far[label(row[UNIT])] += 1
                    if so_far[label(row[UNIT])] > MOST:
                        continue
                if WEIGHT and not re.fullmatch("[0-9]+", row[WEIGHT] or ""):
                    raise ValueError
                rows.append((leaf_of(row), int(row[WEIGHT]) if WEIGHT else 1))
        except (ValueError, TypeError, csv.Error):
            sys.exit(f"Expected UTF-8 and whole numbers of records in line {table.line_num} of the file of records.")
    return rows
""")

OPENDP: Final = Template('''\
"""A release written by TreeDP from its plan: $promise.

Usage: python release.py RECORDS.csv RELEASED.csv [DOMAIN.csv]
RECORDS.csv: text in UTF-8 with commas and a row of names. DOMAIN.csv: only where the program asks for it.
Needs: pip install opendp
"""

# $protects
# To be seen to, and not covered:
$points

import bisect
import csv
import hashlib
import itertools
import re
import sys
import unicodedata
from collections import Counter

import opendp.prelude as dp

dp.enable_features("contrib")

$records
# Noise of each level, in records: scale b or standard deviation; None published exactly or not measured.
$scales
EXACT = $exact
# How far each level moves in each way that one unit can change.
$cases
PROMISED = $promised  # $symbol of all levels together


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


def counts_of(records):
    """The counts of the nodes of each level, by path."""
    counts = [dict.fromkeys((path[:level] for path in LEAVES if len(path) >= level), 0) for level in range(len(SCALES))]
    for path, n in records:
        for level in range(len(path) + 1 if path is not None else 0):
            counts[level][path[:level]] += n
    for level in EXACT:  # one node that holds all records, whose number is public
        counts[level] = dict.fromkeys(counts[level], sum(n for _, n in records))
    return counts


def main():
    noise = measurements()
    if loss(noise) > PROMISED * (1 + 1e-9):
        sys.exit(f"OpenDP finds a loss of {loss(noise)}, more than the plan promises.")
    counts = counts_of(read_records())
    with opened(RELEASED_FILE, "what is released", "w") as file:
        out = csv.writer(file)
        out.writerow(["level", *COLUMNS, "released"])
        for level, (here, one) in enumerate(zip(counts, noise)):
            if one is not None:
                values = one([$kind(count) for count in here.values()])
            elif level in EXACT:
                values = list(here.values())
            else:
                continue
            for path, value in zip(here, values):
                out.writerow([level, *path, *[""] * (len(COLUMNS) - len(path)), value])


if __name__ == "__main__":
    if RELEASED_FILE is None:
        sys.exit("Usage: python release.py RECORDS.csv RELEASED.csv [DOMAIN.csv]")
    main()
''')

TUMULT: Final = Template('''\
"""A release written by TreeDP from its plan: $promise.

Usage: python release.py RECORDS.csv RELEASED.csv [DOMAIN.csv]
RECORDS.csv: text in UTF-8 with commas and a row of names. DOMAIN.csv: only where the program asks for it.
Needs: pip install tmlt.analytics (and Java, for Spark). Tried with version 0.21; TreeDP's own tests do not run it.
"""

# $protects
# To be seen to, and not covered:
$points

import bisect
import csv
import hashlib
import itertools
import os
import re
import sys
import unicodedata
from collections import Counter

from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType
from tmlt.analytics import (
    AddMaxRows, AddOneRow, CountMechanism, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session,
)

$records
# What each level spends; None published exactly, 0 not measured.
$budgets
TOTAL = $promised  # $symbol of all levels together
LEVELS = [f"level_{level}" for level in range(len(BUDGETS))]


def session_of(records):
    """A session that holds the path of every record's leaf, a column a level, and the budget of all levels."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # else Spark's workers take another Python
    rows = []  # one a record
    for path, n in records:
        rows += [["all", *map(str, path or ()), *[""] * (len(LEVELS) - 1 - len(path or ()))]] * n
    schema = StructType([StructField(name, StringType(), False) for name in LEVELS])
    frame = SparkSession.builder.getOrCreate().createDataFrame(rows, schema)
    return Session.from_dataframe($budget(TOTAL), "records", frame, protected_change=$change)


def main():
    records = read_records()
    session = session_of(records)
    with opened(RELEASED_FILE, "what is released", "w") as file:
        out = csv.writer(file)
        out.writerow(["level", *COLUMNS, "released"])
        for level, budget in enumerate(BUDGETS):
            if budget is None:
                out.writerow([level, *[""] * len(COLUMNS), sum(n for _, n in records)])
            elif budget:
                keys = sorted({("all", *map(str, path[:level])) for path in LEAVES if len(path) >= level})
                nodes = QueryBuilder("records").groupby(KeySet.from_tuples(keys, columns=LEVELS[: level + 1]))
                counted = nodes.count(name="released", mechanism=$mechanism)
                for _, *path, value in session.evaluate(counted, $budget(budget)).collect():
                    out.writerow([level, *path, *[""] * (len(COLUMNS) - level), value])


if __name__ == "__main__":
    if RELEASED_FILE is None:
        sys.exit("Usage: python release.py RECORDS.csv RELEASED.csv [DOMAIN.csv]")
    main()
''')
