"""The page What ε protects: settings and layout of its views."""
