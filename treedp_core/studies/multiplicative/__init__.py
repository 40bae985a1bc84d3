"""Multiplicative error in numbers: what each mechanism attains, what none can beat, and where the curves cross.

The error is the alpha-RMSE of Ghazi et al. (Definition 1.4), E[max(|error| - alpha count, 0)^2]^(1/2), of the worst
node of the worst data, when one record is added or removed.
"""

from __future__ import annotations

from treedp_core.studies.multiplicative.accuracy import accuracy_table
from treedp_core.studies.multiplicative.curves import Setting

__all__ = ["Setting", "accuracy_table"]
