"""Levels that a column holds without naming them: the year of a date, first digits of a code, the band of a number."""
