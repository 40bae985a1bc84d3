"""The plan of a release by thresholds: its rounds, that they hold, and what is said of them."""
