"""Cumulative counts by matrices: noise on weighted sums of all bins instead of on the nodes of a tree."""
