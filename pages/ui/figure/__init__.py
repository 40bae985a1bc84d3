"""A figure with what stands below it, and on its way out."""
