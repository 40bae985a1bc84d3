"""Choosing the records, and their tree."""
