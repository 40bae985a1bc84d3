"""CDFs, ranges and quantiles."""
