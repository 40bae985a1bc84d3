"""TopDown and synthetic data: columns released as whole records, beside the truth, and by every projection."""

from treedp_core.views.topdown.comparisons import rules
from treedp_core.views.topdown.inputs import TopDownInputs
from treedp_core.views.topdown.releases import counts, rows
from treedp_core.views.topdown.view import ENTRIES

__all__ = ["ENTRIES", "TopDownInputs", "counts", "rows", "rules"]
