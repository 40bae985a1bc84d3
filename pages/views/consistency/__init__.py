"""Noisy counts made to add up."""
