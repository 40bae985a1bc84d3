"""A study in cells: the code that repeats a result, and what leaves the app: scripts, notebooks, reports."""
