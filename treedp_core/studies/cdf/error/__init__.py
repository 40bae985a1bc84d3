"""The error of CDFs, ranges and node counts on level-uniform trees: exact, before and after least squares.

Rameshwar et al. (Sec. III, IV, Appendix B) and what lies past them: padded trees, Gaussian noise, least squares with
the known total, optimal budgets for all of these, and the smallest error any linear Gaussian mechanism can have.
"""

from treedp_core.studies.cdf.error.bound import cdf_lower_bound
from treedp_core.studies.cdf.error.budgets import optimal_shares
from treedp_core.studies.cdf.error.criterion import Criterion, total_squared_error

__all__ = ["Criterion", "cdf_lower_bound", "optimal_shares", "total_squared_error"]
