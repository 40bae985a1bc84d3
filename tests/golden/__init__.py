"""What every view shows, in numbers, while the house is rebuilt: `python -m golden` writes it, a test compares."""
