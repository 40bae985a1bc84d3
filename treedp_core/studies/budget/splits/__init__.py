"""Splits that an algorithm finds: greedy ones, the best of levels, and budgets finer than one for each level."""
