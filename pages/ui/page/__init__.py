"""A page, its views, its address, and the pages that this app has."""
