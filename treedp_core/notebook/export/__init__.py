"""How a study leaves the app: scripts, notebooks, reports, bundles, and what each says of a cell."""
