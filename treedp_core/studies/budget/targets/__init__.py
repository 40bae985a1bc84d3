"""Targets of levels: how they are written, the smallest budget that meets them, and how likely a count is close."""
