"""What leaves the mechanism: estimates, what is known of their variance, and the privacy promise."""

from __future__ import annotations

from dataclasses import dataclass

from treedp_core.checks import InputError
from treedp_core.noise import Law
from treedp_core.privacy import Guarantee, Precision, Provenance
from treedp_core.tree import AnyArray, FloatArray
from treedp_core.words import card, whole


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
    provenance : Provenance
        Whether it is a simulation; unchanged by post-processing.
    laws : tuple of Law or None
        Of the noise of each level, None without noise; () where errors have no known laws, as after post-processing.

    Raises
    ------
    InputError
        ``RELEASE_PRECISION`` for continuous noise that is not a simulation.
    """

    estimate: AnyArray
    variance: FloatArray | None
    guarantee: Guarantee
    provenance: Provenance
    laws: tuple[Law | None, ...] = ()

    def __post_init__(self) -> None:
        refuse_floats(self.guarantee, self.provenance)

    def sentence(self) -> str:
        """Return the promise in one sentence; a simulation says so first."""
        return self.provenance.sentence(self.guarantee)

    def __repr__(self) -> str:
        return f"<Release {self.estimate.shape}. {self.sentence()}>"

    def _repr_html_(self) -> str:
        known = "stated for every node" if self.variance is not None else "not known"
        shape = " × ".join(whole(n) for n in self.estimate.shape)
        return card(self.sentence(), [("estimates", shape), ("variance", known), ("noise", self.provenance.value)])


def refuse_floats(guarantee: Guarantee, provenance: Provenance) -> None:
    """Refuse to call continuous noise a release: its promise holds for real numbers, and floats are none.

    Raises
    ------
    InputError
        ``RELEASE_PRECISION``.
    """
    if provenance is Provenance.RELEASE and guarantee.precision is Precision.IDEAL:
        raise InputError(
            "RELEASE_PRECISION",
            "Continuous noise keeps its promise in exact arithmetic only, so it is for simulations; choose a discrete "
            "law for a release.",
        )
