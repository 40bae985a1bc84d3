"""What all figures share: drafts, palette, axes, curves and texts, and how a figure leaves the page."""
