"""The data sets of a session, and what is computed of them."""
