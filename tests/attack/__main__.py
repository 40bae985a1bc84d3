"""`make attack`: every attack with its figures; exit 1 when one did harm."""

from __future__ import annotations

import argparse
import sys
import time

import assurance

from . import ATTACKS


def main() -> int:
    """Run the attacks, print what each saw, and say what did harm."""
    parser = argparse.ArgumentParser(prog="make attack", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="ATTACK", help=f"of {', '.join(ATTACKS)}; all by default")
    parser.add_argument("--short", action="store_true", help="the small form that the tests run")
    given = parser.parse_args()
    harm, figures = [], []
    for name in given.names or ATTACKS:
        began = time.perf_counter()
        verdict = ATTACKS[name](given.short)
        harm += [f"{name}: {line}" for line in verdict.harm]
        figures += [f"{name}: {figure}" for figure in verdict.figures]
        print(f"{name} ({time.perf_counter() - began:.0f} s): {'HARM' if verdict.harm else 'safe'}", flush=True)
        for figure in verdict.figures:
            print(f"    {figure}", flush=True)
    for line in harm[:50]:
        print(f"HARM  {line}")
    said = f"{len(given.names or ATTACKS)} attacks, {len(harm)} did harm"
    print(f"\n{said}.")
    if not given.names and not given.short:
        assurance.record("make attack", f"{said}. {'; '.join(figures)}")
    return 1 if harm else 0


if __name__ == "__main__":
    sys.exit(main())
