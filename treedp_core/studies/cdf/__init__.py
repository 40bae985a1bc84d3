"""CDFs from beginning to end: release, consistency, bands and quantiles, and the paper's experiment on them."""

from treedp_core.studies.cdf.experiment import PUBLISHED, SECTION_VI, ConsistencyGain, consistency_gains
from treedp_core.studies.cdf.plan import plan_cdf
from treedp_core.studies.cdf.quantile import quantiles
from treedp_core.studies.cdf.release import CdfSettings

__all__ = ["PUBLISHED", "SECTION_VI", "CdfSettings", "ConsistencyGain", "consistency_gains", "plan_cdf", "quantiles"]
