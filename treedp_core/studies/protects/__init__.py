"""The page What ε protects: what an attacker learns about one unit, and how many records of it to count."""
