"""Estimates with multiplicative error: the threshold mechanism of Ghazi et al., corrected, on dense and sparse trees."""
