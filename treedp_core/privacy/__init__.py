"""Who is protected, how far, how much, and what a release promises."""

from treedp_core.privacy.accounting import Accounting
from treedp_core.privacy.budget import Budget, Currency, budget_from_shares, exact_shares, guarantee
from treedp_core.privacy.conversions import (
    RHO_HIGH,
    epsilon_to_rho,
    gaussian_delta,
    gaussian_sigma,
    rho_to_delta,
    rho_to_epsilon,
    rho_to_epsilon_gaussian,
    rho_to_epsilon_simple,
)
from treedp_core.privacy.promise import Guarantee, Precision, Provenance, Release, delta_warning, fitting_delta
from treedp_core.privacy.unit import ADDED, NeighbouringRelation, ProtectedUnit, Spread

__all__ = [
    "ADDED",
    "RHO_HIGH",
    "Accounting",
    "Budget",
    "Currency",
    "Guarantee",
    "NeighbouringRelation",
    "Precision",
    "ProtectedUnit",
    "Provenance",
    "Release",
    "Spread",
    "budget_from_shares",
    "delta_warning",
    "epsilon_to_rho",
    "exact_shares",
    "fitting_delta",
    "gaussian_delta",
    "gaussian_sigma",
    "guarantee",
    "rho_to_delta",
    "rho_to_epsilon",
    "rho_to_epsilon_gaussian",
    "rho_to_epsilon_simple",
]
