"""Error curves: what is swept, its cells, and the lines drawn from them."""
