"""A file of one’s own: what is asked of it, and the tables that it became."""
