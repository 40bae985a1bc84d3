"""Why a tree: one range, counted in three ways; of no table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treedp_core.figures.base.curves import error_by_length as drawn
from treedp_core.privacy import NeighbouringRelation
from treedp_core.studies.ranges import RECORDS, TREES, Ranges, Way, of_lengths, three_ways
from treedp_core.tree.text import product_text
from treedp_core.views.entries import Entry, alone
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, forgetful
from treedp_core.views.inputs import Inputs, ReleaseInputs, of, parameter
from treedp_core.views.parameters import choice, flag
from treedp_core.words import plural, setting_text, short, whole

# ---- why a tree: the error of ranges by their length, by three ways to count them, and an example of it


EXAMPLE: Final = 256
"""Bins of the example."""
LABEL: Final = "A range over bins, counted in three ways"
WAYS: Final = (
    "Laplace noise, one record replaced, the total public and free. Noise: Rameshwar et al., Lemmas III.1, III.2 and "
    "IV.1; histogram and tree take "
)


@dataclass(frozen=True, kw_only=True)
class ExampleInputs(Inputs):
    """What the example depends on: ε, and the seed of the release in the picture that moves."""

    epsilon: float = of(parameter(ReleaseInputs, "epsilon"))
    seed: int = of(parameter(ReleaseInputs, "seed"))


@dataclass(frozen=True, kw_only=True)
class RangesInputs(ExampleInputs):
    """Over how many bins, and whether histogram and tree weigh all their counts by least squares."""

    bins: str = of(choice("ran_bins", "1024", {str(n): whole(n) for n in TREES}, label="Bins"))
    least_squares: bool = of(flag("ran_least_squares", False))


def error_by_length(inputs: RangesInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return how far ranges of each length are off by three ways, and which is best over all ranges."""
    found = ways(inputs, memo)
    said = answer(found, inputs.epsilon)
    return _finding(found, inputs, said, said)


def example(inputs: ExampleInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the same over a few bins, as it stands below a first screen."""
    said = f"{LABEL}: {plural(EXAMPLE, 'bin')}, ε = {setting_text(inputs.epsilon)}"
    return _finding(ways(inputs, memo), inputs, "", said)


def ways(inputs: ExampleInputs, memo: Memo = forgetful) -> Ranges:
    """Return what is counted, and one release of it: what the picture that moves shows."""
    n_bins, weighs = (int(inputs.bins), inputs.least_squares) if isinstance(inputs, RangesInputs) else (EXAMPLE, False)
    key = ("ranges", n_bins, inputs.epsilon, inputs.seed, weighs)
    return memo(key, lambda: three_ways(n_bins, inputs.epsilon, inputs.seed, least_squares=weighs))


def _finding(found: Ranges, inputs: ExampleInputs, said: str, alt: str) -> Finding:
    columns = of_lengths(found.truth.size, inputs.epsilon, least_squares=found.least_squares)
    return Finding(
        figure=drawn(columns), columns=lambda: columns, answer=said, alt=alt, badges=("formula",),
        caption="Standard deviation of a range by how many bins it holds, over all such ranges (root mean square, "
        f"formula). {how(found)}",
        provenance=Provenance(
            about=(f"{whole(RECORDS)} made-up records",), relation=NeighbouringRelation.REPLACE_ONE, is_fixed=True,
            epsilon=inputs.epsilon, seed=inputs.seed,
        ),
    )  # fmt: skip


def how(found: Ranges) -> str:
    """Return which noise is added, and which counts make a range."""
    weighed = "all their counts, weighed by least squares; noise on every cumulative count leaves nothing to weigh."
    plain = "the fewest noisy counts that make the range, added or taken away."
    return f"{WAYS}{weighed if found.least_squares else plain}"


def answer(found: Ranges, epsilon: float) -> str:
    """Return the error of a range by each way, over all ranges, and which way is best."""
    histogram, prefixes, tree = found.ways
    bins = found.truth.size
    start = (
        f"Over all {plural(found.n_ranges, 'range')} of {whole(bins)} bins at ε = {setting_text(epsilon)}"
        f"{' after least squares' * found.least_squares}, the RMSE of a range is **{short(tree.typical)}** "
        f"with the tree {product_text(TREES[bins])}{_counts(tree)}, {short(histogram.typical)} with the "
        f"histogram{_counts(histogram)}, {short(prefixes.typical)} with noise on every cumulative count. "
    )
    if tree.typical < min(histogram.typical, prefixes.typical):
        why = "With all counts weighed, too," if found.least_squares else "Few counts, each a little noisier:"
        return f"{start}{why} **the tree wins**."
    return f"{start}Over so few bins a second level costs more than it saves: take more bins, and the tree wins."


def _counts(way: Way) -> str:
    return "" if way.least_squares else f" ({short(way.counts_on_average)} noisy counts a range)"


ENTRIES = (
    Entry(page="ranges", part="ran_ranges_figure", inputs=RangesInputs, find=error_by_length, apart=alone),
    *(
        Entry(page=page, section="example", part=part, inputs=ExampleInputs, find=example, apart=alone)
        for page, part in (("start", "start_ranges_figure"), ("lesson", "les_ranges_figure"))
    ),
)
