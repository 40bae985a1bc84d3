"""A view as it was called: what keeps it in a cell, and what calls it again."""
