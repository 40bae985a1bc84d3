"""CDFs from beginning to end: release, consistency, bands and quantiles, and the paper's experiment on them."""

from treedp_core.studies.cdf.bands import Band, Quantile, band_multiple, quantiles, simultaneous_band
from treedp_core.studies.cdf.experiment import PUBLISHED, SECTION_VI, ConsistencyGain, consistency_gains
from treedp_core.studies.cdf.release import CdfPlan, CdfRelease, CdfSettings, plan_cdf

__all__ = [
    "PUBLISHED",
    "SECTION_VI",
    "Band",
    "CdfPlan",
    "CdfRelease",
    "CdfSettings",
    "ConsistencyGain",
    "Quantile",
    "band_multiple",
    "consistency_gains",
    "plan_cdf",
    "quantiles",
    "simultaneous_band",
]
