"""What TreeDP offers and where it comes from: methods, their check by simulation, and what the papers say."""
