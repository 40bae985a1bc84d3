"""The page What ε protects: beliefs, tests and bounds on the left, the levels on the right."""
