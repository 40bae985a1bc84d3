"""Settings, their controls and words, and refusals."""
