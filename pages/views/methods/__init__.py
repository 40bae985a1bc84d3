"""What TreeDP offers, and where it comes from."""
