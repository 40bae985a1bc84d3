"""Columns released top-down."""
