"""A package for `treedp --plugin`: it registers an entry when it is imported."""

from own_noise import WIDE
from treedp_core.mechanisms import MECHANISMS

MECHANISMS.register(WIDE)
