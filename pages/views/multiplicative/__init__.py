"""Multiplicative error."""
