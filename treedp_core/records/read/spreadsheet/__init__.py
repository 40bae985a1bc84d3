"""Workbooks of Excel: their parts, one sheet cell by cell, and numbers as their formats show them."""
