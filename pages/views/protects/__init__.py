"""What epsilon protects from."""
