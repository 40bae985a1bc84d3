"""`make audit`: the whole audit with its figures; exit 1 on a violation or a planted fault that is not flagged."""

from __future__ import annotations

import argparse
import sys
import time

import assurance
from treedp_core.words import whole as number

from .parts import run_all

DEFAULT_SEED = 1


def main() -> int:
    """Run the audit and print its figures."""
    parser = argparse.ArgumentParser(prog="make audit", description=__doc__)
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="which trees, data sets and budgets are drawn")
    seed = parser.parse_args().seed
    started = time.perf_counter()
    print(f"{'part':<14}{'pairs':>10}{'checks':>12}{'settings':>10}{'tight':>9}{'wrong':>8}{'CPU s':>9}")
    whole = run_all(lambda line: print(line, flush=True), seed)
    total = whole.total
    for line in total.wrong[:50]:
        print(f"VIOLATION  {line}")
    for line in whole.missed:
        print(f"ASLEEP     not flagged: {line}")
    n_faults = len(whole.found) + len(whole.missed)
    print(
        f"\n{total.pairs:,} pairs of neighbours, {total.checks:,} checks of {total.settings:,} settings, "
        f"{total.tight / max(1, total.settings):.1%} of them tight: {len(total.wrong):,} violations.\n"
        f"{len(whole.found):,} of {n_faults:,} planted faults flagged. "
        f"{time.perf_counter() - started:.0f} s, {whole.seconds:.0f} s of one core."
    )
    if seed == DEFAULT_SEED:
        assurance.record(
            "make audit",
            f"{number(total.pairs)} pairs of neighbours, {number(total.checks)} checks of {number(total.settings)} "
            f"settings: {len(total.wrong)} violations; {len(whole.found)} of {n_faults} planted faults flagged",
        )
    return 1 if total.wrong or whole.missed else 0


if __name__ == "__main__":
    sys.exit(main())
