"""`python -m treedp_core` is `treedp`."""

from treedp_core.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
