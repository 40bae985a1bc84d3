"""Pictures of any tree: its blocks, its levels side by side, one level's counts, and how reliable they are."""
