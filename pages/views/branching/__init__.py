"""How many children a node should have."""
