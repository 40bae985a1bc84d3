"""How numbers are written: three significant digits, counts in full; of privacy numbers every digit that matters.

Privacy numbers: what was set as it was set, a cost never too small, a budget never too large.

A float stands for its shortest decimal, as Python writes it: 0.1 is one tenth, the number somebody typed, although the
float next to it is larger by 5.6e-18. Beyond that nothing is forgiven: 0.1 + 0.2, a float above 0.3, costs "0.3001".
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import groupby
from statistics import NormalDist
from typing import Final

DIGITS: Final = 4
THIN: Final = "\u202f"
"""Between thousands: a thin space that does not break."""
NAMES: Final = ("Gaussian", "Laplace", "Hamming")
"""First words of labels that keep their capital within a sentence."""
_MOST_SHOWN: Final = 2_000
PLOTLY: Final[Mapping[str, str]] = {
    "whole": ",.0f",
    "estimate": ",.1~f",
    "short": ",.3~r",
    "signed": "+,.3~r",
    "about": ",.2~r",
    "exact": ",.15~g",
    "two places": ".2f",
    "tick": ",~r",
    "percent": ".1%",
    "whole percent": ".0%",
}
"""How plotly writes such numbers: over a figure, and at its axes."""


def hover(field: str, kind: str) -> str:
    """Return a number of a trace for its hover text.

    >>> hover("x", "percent")
    '%{x:.1%}'
    """
    return f"%{{{field}:{PLOTLY[kind]}}}"


MAX_LITERAL: Final = 80
_WORD: Final = r"[^\W_]+(?:_[^\W_]+)*"
"""An underscore between letters is one in Markdown, too."""
_WORDS: Final = re.compile(rf"{_WORD}(?:[ -]{_WORD})*(?: \({_WORD}(?:[ -]{_WORD})*\))?")
NO_MORE: Final = 1e-5
"""What is above the least by no more than this share of it is said to be the least."""
_UP: Final = Context(prec=DIGITS, rounding=ROUND_CEILING)
_MARGIN: Final = Context(prec=3, rounding=ROUND_CEILING)
_BELOW: Final = Context(prec=3, rounding=ROUND_FLOOR)
_DOWN: Final = Context(prec=DIGITS, rounding=ROUND_FLOOR)


def setting_text(x: float) -> str:
    """Return an epsilon, delta or rho that somebody chose, as it was chosen: every digit.

    >>> setting_text(1.0), setting_text(1.00049), setting_text(1e-6), setting_text(0.0)
    ('1', '1.00049', '1e-6', '0')
    """
    return _written(Decimal(repr(float(x))))


def privacy_text(x: float | Fraction) -> str:
    """Return what an epsilon, delta or rho costs, in four digits, never below its exact value.

    >>> privacy_text(4.29321), privacy_text(1.00049), privacy_text(0.3), privacy_text(Fraction(1, 3))
    ('4.294', '1.001', '0.3', '0.3334')
    """
    return _written(_rounded(float_above(x) if isinstance(x, Fraction) else x, _UP))


def rounded_up(costs: Sequence[float], total: float | Fraction) -> str:
    """Return what is said behind costs whose four digits add up to more than those of their total; else nothing.

    >>> rounded_up([1 / 3] * 3, 1.0), rounded_up([0.25] * 4, 1.0)
    (', each rounded up', '')
    """
    shown = sum(Fraction(privacy_text(one)) for one in costs)
    return ", each rounded up" if shown > Fraction(privacy_text(total)) else ""


def budget_text(x: float | Fraction) -> str:
    """Return a budget, or a part of one, that may be spent, in four digits, never above its exact value.

    >>> budget_text(4.29379), budget_text(0.99999), budget_text(0.3), budget_text(Fraction(1, 3))
    ('4.293', '0.9999', '0.3', '0.3333')
    """
    return _written(_rounded(float_below(x) if isinstance(x, Fraction) else x, _DOWN))


def normal_quantile(confidence: float) -> float:
    """Return t with P(|Z| <= t) = confidence for a standard normal Z.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    return NormalDist().inv_cdf((1.0 + confidence) / 2.0)


Z95: Final = normal_quantile(0.95)
"""Standard errors to either side of a 95 % interval."""


def plus_minus(standard_error: float) -> str:
    """Return the half width of a 95 % interval behind a simulated value; trials can be too few to tell it.

    >>> plus_minus(0.5), plus_minus(math.inf)
    (' ± 0.98', ' (too rare to tell)')
    """
    return f" ± {Z95 * standard_error:.2g}" if math.isfinite(standard_error) else " (too rare to tell)"


def float_above(exact: Fraction) -> float:
    """Smallest float that is at least `exact`.

    >>> float_above(Fraction(1, 10)) >= Fraction(1, 10)
    True
    """
    nearest = float(exact)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < exact else nearest


def float_below(exact: Fraction) -> float:
    """Largest float that is at most `exact`.

    >>> float_below(Fraction(1, 3)) <= Fraction(1, 3)
    True
    """
    return -float_above(-exact)


def _rounded(x: float, context: Context) -> Decimal:
    return context.create_decimal(repr(float(x)))


def _written(number: Decimal) -> str:
    if not number.is_finite():
        return "–" if number.is_nan() else "∞"
    plain = number.normalize()
    if plain == 0 or -4 < plain.adjusted() < 6:
        return f"{plain:f}" if plain else "0"
    mantissa, _, exponent = f"{plain:e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def whole(n: int) -> str:
    """Return a whole number with thin separators and a minus sign.

    >>> whole(1234567).replace(THIN, " "), whole(-5)
    ('1 234 567', '−5')
    """
    return f"{n:,}".replace(",", THIN).replace("-", "−")


def fixed(x: float, places: int) -> str:
    """Return a number with so many decimal places, with thin separators and a minus sign.

    >>> fixed(-1234.56, 1).replace(THIN, " "), fixed(-0.01, 1), fixed(math.inf, 1)
    ('−1 234.6', '0.0', '∞')
    """
    if not math.isfinite(x):
        return short(x)
    text = f"{x:,.{places}f}"
    return text.removeprefix("-" if float(text.replace(",", "")) == 0 else "").replace(",", THIN).replace("-", "−")


def megabytes(n_bytes: int) -> str:
    """Return an amount of memory.

    >>> megabytes(737_731), megabytes(64 << 20), megabytes(5)
    ('0.7 MB', '64.0 MB', 'under 0.1 MB')
    """
    size = n_bytes / (1 << 20)
    return "under 0.1 MB" if size < 0.1 else f"{size:.1f} MB"


def halves(x: float) -> str:
    """Return an estimate or a median of counts in full: a whole number, or one with a decimal place.

    >>> halves(12.0), halves(-12.54), halves(math.nan)
    ('12', '−12.5', '–')
    """
    return fixed(x, 0 if x % 1 == 0 else 1)


def short(x: float, digits: int = 3) -> str:
    """Return a number in three significant digits, or so many; infinity as its sign.

    >>> [short(x).replace(THIN, " ") for x in (0.0, 1, 45.28, 0.03126, 12345.6, math.inf, 1e-7)]
    ['0', '1', '45.3', '0.0313', '12 300', '∞', '1e-7']
    >>> short(-14.02), short(1987.25, 5)
    ('−14', '1\u202f987.2')
    """
    if math.isnan(x):
        return "–"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if x < 0:
        return "−" + short(-x, digits)
    rounded = float(f"{x:.{digits}g}")
    size = abs(rounded)
    if size and not 1e-4 <= size < 1e9:
        mantissa, _, exponent = f"{rounded:.{digits}g}".partition("e")
        return f"{mantissa}e{int(exponent or 0)}"
    return f"{rounded:,.10f}".rstrip("0").rstrip(".").replace(",", THIN) or "0"


def alike(values: Iterable[float]) -> list[str]:
    """Return numbers that stand beside each other: where one has decimals, all have three digits, zeros too.

    >>> alike([0.19, 0.344, 2.0, 16.62, 5000.0, 0.0, math.inf]), alike([1.0, 20.0])
    (['0.190', '0.344', '2.00', '16.6', '5\u202f000', '0', '∞'], ['1', '20'])
    """
    texts = [(x, short(x)) for x in values]
    has_decimals = any("." in text for _, text in texts)
    return [_with_zeros(x, text) if has_decimals else text for x, text in texts]


def _with_zeros(x: float, text: str) -> str:
    if not x or not math.isfinite(x) or "e" in text:
        return text
    places = 2 - math.floor(math.log10(abs(float(f"{x:.3g}"))))
    return fixed(x, places) if places > 0 else text


def margin(x: float) -> str:
    """Return the half width of a 95 % interval, rounded up: whole records from 10 on, else three significant digits.

    >>> margin(49.84), margin(0.1234)
    ('50', '0.124')
    """
    if not math.isfinite(x):
        return short(x)
    return whole(math.ceil(x)) if x >= 10 else short(float(Decimal(repr(x)).normalize(_MARGIN)))


def short_below(x: float) -> str:
    """Return a number that nothing falls below, in three significant digits, rounded down.

    >>> short_below(2.3399), short_below(math.inf)
    ('2.33', '∞')
    """
    return short(float(Decimal(repr(x)).normalize(_BELOW))) if math.isfinite(x) else short(x)


def exact(x: float) -> str:
    """Return a number with every digit that it has, thin separators and a minus sign.

    >>> exact(-73.98765), exact(1234567.5).replace(THIN, " "), exact(65.0), exact(0.0001), exact(-1e-7), exact(1e20)
    ('−73.98765', '1 234 567.5', '65', '0.0001', '−1e-7', '1e20')
    >>> exact(math.nan)
    '–'
    """
    if math.isnan(x):
        return "–"
    sign, number = "−" if x < 0 else "", Decimal(repr(abs(float(x)))).normalize()
    if number and not -7 < number.adjusted() < 15:
        return sign + _written(number)
    return f"{sign}{number:,f}".replace(",", THIN)


def bare(x: float, digits: int = 12) -> str:
    """Return a number as one types it, in a link, a file or code: no separators, up to twelve digits, or so many.

    >>> bare(0.1), bare(1234567.0), bare(1 / 3, 15)
    ('0.1', '1234567', '0.333333333333333')
    """
    return f"{x:.{digits}g}"


def signed(x: float) -> str:
    """Return a change in three significant digits, with its sign.

    >>> signed(0.1234), signed(-25.0), signed(0.0)
    ('+0.123', '−25', '0')
    """
    return f"{'+' if x > 0 else ''}{short(x)}"


def percent(part: float) -> str:
    """Return a part in percent, in three significant digits.

    >>> percent(0.0312)
    '3.12 %'
    """
    return f"{short(100 * part)} %"


def percent_above(part: float) -> str:
    """Return a part that is a bound in percent, rounded up to two digits, a thousandth of a percent at least.

    >>> percent_above(0.0302), percent_above(0.0), percent_above(1e-9)
    ('3.1 %', '0.001 %', '0.001 %')
    """
    cents = max(100.0 * part, 1e-3)
    step = 10.0 ** (math.floor(math.log10(cents)) - 1)
    return f"{short(math.ceil(cents / step * (1.0 - 1e-12)) * step)} %"


def unbroken(prose: str) -> str:
    r"""Return prose of which no line ends between a number and its "±", "%" or the letter that it is the value of.

    >>> unbroken("From 18 to 65: 7 293 ± 29 records (0.41 %)"), unbroken("at ε = 1, δ = 1e-6")
    ('From 18 to 65: 7 293\xa0±\xa029 records (0.41\xa0%)', 'at ε\xa0=\xa01, δ\xa0=\xa01e-6')
    """
    return re.sub(r"(?<=±) (?=[\d−])|(?<=\d) (?=[%±])|(?<=\b\w) (?== [\d−])|(?<=\b\w =) (?=[\d−])", "\u00a0", prose)


def percent_set(part: float) -> str:
    """Return a part that somebody chose in percent, every digit.

    >>> percent_set(0.07), percent_set(0.999999)
    ('7 %', '99.9999 %')
    """
    return f"{setting_text(round(100 * part, 10))} %"


def above_least(value: float, least: float = 1.0) -> str:
    """Return in words how far a value is above the least one; within 0.001 % it is the least.

    >>> above_least(0.703777, 0.703529), above_least(3.0, 0.7035), above_least(1.000001)
    ('0.0353 % above the least', '4.26 times the least', 'the least')
    """
    times = value / least
    if times <= 1.0 + NO_MORE:
        return "the least"
    return f"{short(times)} times the least" if times > 2.0 else f"{percent(times - 1.0)} above the least"


def ratio(x: float) -> str:
    """Return a multiple of the least in three significant digits; nearer to 1 with two of what it is above 1.

    >>> ratio(1.0191), ratio(1.00562), ratio(1.3), ratio(16.62), ratio(1.0000001)
    ('1.019', '1.0056', '1.3', '16.6', '1')
    """
    over = x - 1.0
    return short(x, max(3, 2 - math.floor(math.log10(over))) if NO_MORE < over < 1.0 else 3)


def plural(n: int, one: str, many: str = "") -> str:
    """Return a number with its noun.

    >>> plural(1, "level"), plural(3, "leaf", "leaves")
    ('1 level', '3 leaves')
    """
    return with_noun(whole(n), one, many)


def with_noun(shown: str, one: str, many: str = "") -> str:
    """Return a number that is written already, with its noun.

    >>> with_noun("1", "record"), with_noun("0.3", "record"), with_noun("1", "place is", "places are")
    ('1 record', '0.3 records', '1 place is')
    """
    return f"{shown} {one if shown == '1' else many or one + 's'}"


def promise_text(epsilon: float, delta: float) -> str:
    """Return what is promised, rounded up; a delta of 0 is not named.

    >>> promise_text(1.0, 0.0), promise_text(1.0, 1e-6)
    ('ε = 1', 'ε = 1, δ = 1e-6')
    """
    return f"ε = {privacy_text(epsilon)}" + (f", δ = {privacy_text(delta)}" if delta else "")


def lower_first(text: str) -> str:
    """Return a label or sentence for the middle of another: its first letter small, but for a name or an abbreviation.

    >>> lower_first("Least squares"), lower_first("Gaussian, 8 · 8"), lower_first("RMSE of a bin"), lower_first("")
    ('least squares', 'Gaussian, 8 · 8', 'RMSE of a bin', '')
    """
    first = re.match(r"\w*", text)
    word = first[0] if first else ""
    is_name = word in NAMES or any(letter.isupper() or letter.isdigit() for letter in word[1:])
    return text if is_name else text[:1].lower() + text[1:]


def upper_first(text: str) -> str:
    """Return words for the beginning of a sentence: the first letter large, all others as they are.

    >>> upper_first("at ε = 1, RMSE")
    'At ε = 1, RMSE'
    """
    return text[:1].upper() + text[1:]


def fence(text: str, least: int = 1) -> str:
    """Return as many backticks as set off text in Markdown that may hold some itself."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)


def plain(prose: str) -> str:
    r"""Return prose of our own with the characters escaped that Markdown would style.

    >>> plain("a * b")
    'a \\* b'
    """
    return re.sub(r"([\\`*_\[\]<>$~#])", r"\\\1", prose)


def literal(text: str, limit: int = MAX_LITERAL) -> str:
    """Return Markdown that shows a text exactly as it is.

    Words alone are safe as they are. Anything else goes into a code span, whose fence is longer than any run inside:
    escaping is not enough, as Markdown turns a bare address into a link after escapes are resolved.

    >>> [literal(text) for text in ("Income (EUR)", "capital_gain", "_gain_", "a`b", "www.x.org", "")]
    ['Income (EUR)', 'capital_gain', '`_gain_`', '``a`b``', '`www.x.org`', '`` ``']
    """
    if len(text) <= limit and _WORDS.fullmatch(text):
        return text
    one_line = " ".join(text[: limit + 1].split("\n")).replace("\r", " ")
    if len(one_line) > limit:
        one_line = one_line[: limit - 1] + "…"
    ticks = fence(one_line)
    pad = " " if not one_line.strip() or one_line[0] in "` " or one_line[-1] in "` " else ""
    return f"{ticks}{pad}{one_line}{pad}{ticks}" if one_line.strip() else "`` ``"


def powers(factors: Sequence[int], times: str = " by ") -> str:
    """Return branching factors with runs of equal ones as powers, for a title.

    >>> powers((2, 2, 2, 16)), powers(())
    ('2³ by 16', 'one node')
    """
    runs = [(k, len(list(run))) for k, run in groupby(factors)]
    return times.join(f"{k}{str(n).translate(_RAISED) if n > 1 else ''}" for k, n in runs) or "one node"


_RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


__all__ = [
    "DIGITS",
    "THIN",
    "budget_text",
    "fixed",
    "halves",
    "percent",
    "percent_set",
    "plural",
    "plus_minus",
    "powers",
    "privacy_text",
    "rounded_up",
    "setting_text",
    "short",
    "short_below",
    "signed",
    "whole",
]


def card(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a small table in HTML, for notebooks: every text is escaped, and characters that hide are left out.

    >>> card("a < b", [("x", "1")])
    '<p style="max-width:60em">a &lt; b</p><table><tr><th style="text-align:left">x</th><td>1</td></tr></table>'
    """
    head = '<th style="text-align:left">'
    body = "".join(f"<tr>{head}{_safe(name)}</th><td>{_safe(value)}</td></tr>" for name, value in rows)
    return f'<p style="max-width:60em">{_safe(title)}</p><table>{body}</table>'  # a caption is as narrow as its table


def _safe(text: str) -> str:
    return html.escape("".join(one if one.isprintable() else " " for one in text[:_MOST_SHOWN]))
