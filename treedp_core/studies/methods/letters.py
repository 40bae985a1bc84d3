"""What the letters of a formula mean: those that its kind of entry uses in a way of its own, and those of all kinds.

Greek letters that every page has, such as ε, are in the glossary of the app.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

GLOSSARY: Final = frozenset(
    map(r"\{}".format, ["varepsilon", "delta", "rho", "alpha", "tau", "sigma", "beta", "eta", "gamma"])
)
"""Letters that the glossary explains."""
TOKEN: Final = re.compile(
    r"\\math(?:bb|cal)\s*\{?[A-Z]\}?|\\operatorname\{[a-z A-Z]+\}|\\(?:text|mathrm|begin|end)\{[^}]*\}"
    r"|\\[A-Za-z]+|[A-Za-z]"
)
_ALL: Final[Mapping[str, str]] = {
    r"\ell": "ℓ: a level; the root is level 0",
    r"\Delta": "Δ₁, Δ₂: how far one unit moves the counts of a level, in all and in Euclidean length",
    r"\operatorname{Var}": "Var: the variance",
    r"\operatorname{tr}": "tr: the sum of a matrix's diagonal",
    r"\mathrm{diag}": "diag: the diagonal of a matrix, or the matrix that has one",
    r"\mathbb E": "𝔼: the mean over the noise",
    r"\mathbb Z": "ℤ: the whole numbers",
    r"\mathcal N": "𝒩(0, σ²): the normal law with variance σ²",
    "Z": "Z: the noise of a count",
    "P": "P: a probability",
    "p": "p(z): how dense noise lies at z",
    "z": "z: a value of the noise",
    "e": "e: 2.718…",
    "N": "N: the number of records",
    "E": "N² E₂: the squared errors of all cumulative counts, added up",
    "K": "K: the number of bins",
    "h": "h: the number of levels below the root",
    "v": "v: a node",
    "u": "u: another node, or a leaf",
    "j": "j: a bin",
    "i": "i: a place in a row",
    "x": "x: a count; x̂: what is made of it",
    "y": "y: a noisy count",
    "n": "n: the children of a node",
    "d": "d: the number of levels",
    "w": "w: a count; ŵ: an estimate of it; w̃: what is released",
    "c": "c: a count that is wanted; ĉ: its estimate",
}
_OF_KIND: Final[Mapping[str, Mapping[str, str]]] = {
    "mechanisms": {"k": "k: a whole number", "a": "a: one over the scale of the noise"},
    "strategies": {
        r"\Theta": "Θ: the weights of the sums that are measured besides the bins",
        r"\mathrm{cover}": "cover(j): the fewest nodes that hold bins 1 to j",
        "P": "P: what is wanted, a row for each cumulative count",
        "G": "G: the products of the columns of P",
        "M": "M: what is measured, a row for each noisy sum of bins",
        "D": "D: a diagonal that makes columns equally long",
        "A": "A: what is measured, a row for each noisy sum of bins",
        "W": "W: what is wanted, a row for each count",
        "X": "X: the products of the columns of A",
        "I": "I: every bin by itself",
        "B": "B: bins in a row that are taken as alike",
        "c": "c: what one more bucket costs in noise; cⱼ: a cumulative count, ĉ its estimate",
        "i": "i: a level",
        "x": "x: the counts of bins; x̄: their mean; x̃: with noise",
        "n": "nᵢ: the children of a node above level i",
    },
    "thresholds": {
        r"\tau": "τᵢ: the threshold of round i; τ: from which count on errors are relative",
        r"\beta": "β: α / (6 + 5 α)",
        "i": "i: a round",
        "j": "j: a round",
        "r": "r: how much larger the next threshold is",
        "q": "q: one over r",
        "M": "Mᵢ: the count that round i gives",
        "v": "vᵢ: the count that round i gives",
        "E": "E: the error aimed at",
        "L": "Lᵢ: the least count that round i gives vᵢ to",
        "U": "Uᵢ: the largest count that is meant to get vᵢ",
    },
    "simple": {"t": "t: the threshold below which 0 is released", "m": "m: the most records of one unit"},
    "marginals": {
        "q": "q: the number of questions; q_S: counts by the columns S, q̂ their estimates",
        "S": "S: some of the columns",
        "X": "Xⱼ: the categories of column j",
        "j": "j: a column",
        "d": "d: the number of columns",
        "c": "c: a cell of the table",
        "m": "m: the most records of one unit",
        "P": "P: the probability of choosing a cell",
    },
    "postprocessors": {
        r"\lambda": "λ: what is added to all of a family, so that it adds up",
        "c": "c: the count of the parent",
        "w": "w: a count",
        "F": "F: the distribution function of the noise",
        "i": "i: a child",
    },
    "fits": {"c": "c: cumulative counts; ĉ: the closest that are possible"},
    "allocations": {
        r"\mathrm{error}": "error: what the chosen metric says of a split",
        "S": "S: how often counts of a level are added",
        "w": "w: the share of a level",
        "T": "T: the number of slices",
        "n": "n_ℓ: the children of a node above level ℓ",
    },
    "finer": {"S": "S: a subtree"},
    "metrics": {"n": "n: the number of nodes; n_ℓ: those of level ℓ"},
    "baselines": {
        r"\lambda": "λ: the scale of the noise, before it is divided by n",
        "b": "b: the children of every node",
        "n": "n: the bins below a node",
        "r": "r: how many of them are at most j",
        "F": "F̂ⱼ: the estimate of a cumulative count",
        "G": "G: a group of bins that are taken as alike",
    },
    "bounds": {
        r"\pi": "π: how much a range counts",
        r"\kappa": "κ: how far noise may tell neighbours apart, between 0 and 1",
        "H": "H: the binary entropy",
        "k": "k: a number of records, or a level",
        "Q": "Q: how precisely sums of bins are measured",
        "G": "G: the wanted ranges, weighted and added up",
        "I": "I: a range, 1 on its bins",
        "t": "t_ℓ: what no noise of level ℓ exceeds",
        "m": "m_ℓ: how many noises of level ℓ were drawn",
        "L": "L: the number of noisy levels",
        "P": "P: a probability",
        "Z": "Z: the noise of a count",
        "X": "Xⱼ: the categories of column j",
        "j": "j: a column",
        "n": "n_ℓ: the children of a node above level ℓ",
        "d": "d: the number of levels, or of columns",
        "a": "a_ℓ: what level ℓ spends",
        "q": "q_ℓ: one over the variance of its noise",
        "s": "s_ℓ: how fast one over a variance after least squares grows with q_ℓ",
    },
}

_OF_PAPER: Final[Mapping[str, tuple[str, ...]]] = {
    "ghazi": (
        "d: the number of levels",
        "k: a number of records",
        "c: how many answers there are before the search stops",
        "R: what noise never exceeds",
        "r: how much larger the next threshold is",
        "M: the most records there can be",
        "Ω(d): at least a constant times d",
        "κ: a number between 0 and 1",
    ),
    "boninsegna": (
        "d: the number of columns",
        "k: a level, or a number of columns",
        "n: the number of records",
        "c: the count of a parent",
        "O(c): at most a constant times c; Õ: but for logarithms",
        "P(…): a probability",
        "e: the base of natural logarithms",
        "Z: the noise of a count",
        "t: an error",
    ),
    "dawson": (
        "d: the number of levels below the root",
        "η: the part of ε that is given out before the search",
        "c: the clip of a value",
    ),
    "rameshwar": (
        "K: the number of bins",
        "Ω(K): how many primes multiply to K",
        "m: how many noisy counts are added up",
        "Γ: the gamma function",
        "nᵢ: the children of a node above level i",
        "i: a level",
        "b: the upper bound of the last bin",
        "L: the most records of one user",
        "h: the number of levels below the root",
        "p: a prime number",
        "t: a number of factors",
        "s: how often 4 goes into t",
        "O(K N): at most a constant times K N",
        "ℓ₁: absolute differences, added up",
    ),
}


def letters_of_paper(paper: str, words: str) -> tuple[str, ...]:
    """Return what the letters mean that a paper's claim has, and no page else.

    >>> letters_of_paper("ghazi", "k records lose k ε.")
    ('k: a number of records',)
    """
    found = set(re.findall(r"(?<![A-Za-z])[A-ZÕΩa-zηκℓ](?![A-Za-z])", words))
    return tuple(one for one in _OF_PAPER[paper] if one[0] in found)


def letters(kind: str, formula: str) -> tuple[str, ...]:
    r"""Return what the letters of a formula mean, in the order in which it has them.

    >>> letters("finer", r"\varepsilon_{S,\ell}")
    ('S: a subtree', 'ℓ: a level; the root is level 0')
    """
    known = {**_ALL, **_OF_KIND.get(kind, {})}
    return tuple(dict.fromkeys(known[one] for one in TOKEN.findall(formula) if one in known))
