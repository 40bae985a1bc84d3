"""The Error lab."""
