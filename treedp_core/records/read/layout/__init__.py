"""How a table is laid out in its file: found from its head and its end, shown, and fixed by an option each."""
