"""Pins and cells: kept, made again, compared, saved and opened."""
