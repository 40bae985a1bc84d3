"""The notebook."""
