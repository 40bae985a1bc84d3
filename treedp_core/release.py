"""What leaves the mechanism: estimates, what is known of their variance, and the privacy promise."""

from __future__ import annotations

from dataclasses import dataclass

from treedp_core.privacy import Guarantee
from treedp_core.tree import AnyArray, FloatArray


@dataclass(frozen=True, eq=False)
class Release:
    """Estimates of all node counts; post-processing maps a `Release` to a `Release` and keeps the guarantee.

    Parameters
    ----------
    estimate : (..., n_nodes)
        Released node values in records, trials in front; nan where a level was not measured.
    variance : (n_nodes,) or None
        Exact error variance of each node in records squared: 0 known exactly, inf not measured; None when unknown
        (for example after a biased post-processor).
    guarantee : Guarantee
        What was promised to whom; unchanged by post-processing.
    """

    estimate: AnyArray
    variance: FloatArray | None
    guarantee: Guarantee
