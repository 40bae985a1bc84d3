"""Counts and amounts that a file writes as text: which marks are meant, and what each cell then says."""
