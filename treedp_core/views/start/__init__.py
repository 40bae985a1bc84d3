"""Where to begin: seven made-up counts with noise, what a release tells about you, and the error of the noise laws."""

from treedp_core.views.start.view import ENTRIES, TownInputs, beliefs, error_of_laws, town

__all__ = ["ENTRIES", "TownInputs", "beliefs", "error_of_laws", "town"]
