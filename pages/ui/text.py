"""Words and numbers on the screen: user text shown literally, numbers in three significant digits."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from treedp_core.checks import InputError

THIN: Final = "\u202f"
MAX_SHOWN: Final = 80
_WORD: Final = r"[^\W_]+"
_WORDS: Final = re.compile(rf"{_WORD}(?:[ -]{_WORD})*(?: \({_WORD}(?:[ -]{_WORD})*\))?")
_QUOTED: Final = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")


def lit(text: str, limit: int = MAX_SHOWN) -> str:
    """Return Markdown that shows a text exactly as it is.

    Words alone are safe as they are. Anything else goes into a code span, whose fence is longer than any run inside:
    escaping is not enough, as Markdown turns a bare address into a link after escapes are resolved.

    >>> lit("Income (EUR)"), lit("a`b"), lit("www.x.org"), lit("")
    ('Income (EUR)', '``a`b``', '`www.x.org`', '`` ``')
    """
    if len(text) <= limit and _WORDS.fullmatch(text):
        return text
    one_line = " ".join(text[: limit + 1].split("\n")).replace("\r", " ")
    if len(one_line) > limit:
        one_line = one_line[: limit - 1] + "…"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", one_line)), default=0))
    pad = " " if not one_line.strip() or one_line[0] in "` " or one_line[-1] in "` " else ""
    return f"{fence}{pad}{one_line}{pad}{fence}" if one_line.strip() else "`` ``"


def literal_sentence(sentence: str) -> str:
    """Return Markdown of a sentence of the core, whose quoted values are shown exactly as they are.

    Values stand there as Python writes text, in quotes (`checks.echo`). An apostrophe inside a word opens none.

    >>> literal_sentence("Unknown metric '<b>'; a unit's metric is one of: rmse.")
    "Unknown metric `'<b>'`; a unit's metric is one of: rmse."
    """
    pieces, at = [], 0
    for quoted in _QUOTED.finditer(sentence):
        pieces += [plain(sentence[at : quoted.start()]), lit(quoted.group(), 400)]
        at = quoted.end()
    return "".join([*pieces, plain(sentence[at:])])


def plain(prose: str) -> str:
    r"""Return prose of our own with the characters escaped that Markdown would style.

    >>> plain("a * b")
    'a \\* b'
    """
    return re.sub(r"([\\`*_\[\]<>$~#])", r"\\\1", prose)


def refusal_text(error: InputError) -> str:
    """Return Markdown of a refusal: the sentence, then its stable code."""
    return f"{literal_sentence(str(error))}  \n:small[`{error.code}`]"


def whole(n: int) -> str:
    """Return a whole number with thin separators.

    >>> whole(1234567).replace(THIN, " ")
    '1 234 567'
    """
    return f"{n:,}".replace(",", THIN)


def short(x: float) -> str:
    """Return a number in three significant digits; infinity as its sign.

    >>> [short(x).replace(THIN, " ") for x in (0.0, 1, 45.28, 0.03126, 12345.6, math.inf, 1e-7)]
    ['0', '1', '45.3', '0.0313', '12 300', '∞', '1e-7']
    """
    if math.isnan(x):
        return "–"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    rounded = float(f"{x:.3g}")
    size = abs(rounded)
    if size and not 1e-4 <= size < 1e9:
        mantissa, exponent = f"{rounded:.3g}".split("e") if "e" in f"{rounded:.3g}" else (f"{rounded:.3g}", "0")
        return f"{mantissa}e{int(exponent)}"
    if size >= 100:
        return whole(int(rounded))
    return f"{rounded:.10f}".rstrip("0").rstrip(".") or "0"


def plural(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    >>> plural(1, "level"), plural(3, "leaf", "leaves")
    ('1 level', '3 leaves')
    """
    return f"{whole(n)} {one if n == 1 else many or one + 's'}"


def powers(factors: Sequence[int]) -> str:
    """Return branching factors with runs of equal ones as powers, for a title.

    >>> powers((2, 2, 2, 16)), powers(())
    ('2³ by 16', 'one node')
    """
    runs = [(k, len(list(run))) for k, run in groupby(factors)]
    return " by ".join(f"{k}{str(n).translate(_RAISED) if n > 1 else ''}" for k, n in runs) or "one node"


_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
