"""The reading rule for labels: everything is text, kept as written, except Unicode form NFC.

Nothing is parsed: ``NA`` stays "NA", ``00501`` and ``501`` are two labels, ``1.10`` and ``1.1`` too. A label is
refused when a person could not tell it from another one on the screen (control and invisible characters), or when
it is too long. A cell that is empty, or holds only spaces, is blank.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from treedp_core import checks
from treedp_core.records.edges import are_intervals, ends_of_interval
from treedp_core.registry import CLAIM
from treedp_core.words import whole

BLANK: Final = "(blank)"
READ_BY: Final = "READER_NOT_REVIEWED"
"""Code of the notice on data that a plug-in's reader has read."""
OTHER: Final = "(other)"
REST: Final = "(rest)"
"""What a fixed list has no place for."""
OUTSIDE: Final = "(outside)"
"""Numbers beyond the edges of all bands."""
_LAST: Final = (REST, OUTSIDE, BLANK)
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
Notice = tuple[str, str]
_READ_BY: Final = "Read by "

_CONTROL = re.compile("[\x00-\x08\x0a-\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EMOJI = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# Joiners and presentation selectors belong to emoji ("family", "heart"); anywhere else they only make look-alikes.
_INVISIBLE = re.compile(
    f"(?<![{_EMOJI}0-9#*])\ufe0f|(?<![{_EMOJI}\ufe0f])\u200d|\u200d(?![{_EMOJI}])"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def read_by(package: str) -> Notice:
    """Return the notice on data that a plug-in's reader has read."""
    return READ_BY, f"{_READ_BY}{package}, {CLAIM}."


def package_of(sentence: str) -> str:
    """Return the package that the sentence of such a notice names.

    >>> package_of(read_by("own_reader")[1])
    'own_reader'
    """
    return sentence.removeprefix(_READ_BY).partition(",")[0]


def normalise(raw: str) -> str:
    """Return the label a cell stands for: Unicode form NFC; the empty text for a cell without visible characters.

    >>> normalise("e" + chr(0x301)) == chr(0xE9), normalise("  "), normalise(" x")
    (True, '', ' x')
    """
    if raw.isascii():
        return "" if raw.isspace() else raw
    return "" if raw.isspace() else unicodedata.normalize("NFC", raw)


def is_plain(raw: str) -> bool:
    """Whether a cell is a label as it stands, without a closer look: visible ASCII text within the limit.

    >>> is_plain("a b"), is_plain(" "), is_plain(chr(0xE9))
    (True, False, False)
    """
    return raw.isascii() and raw.isprintable() and 0 < len(raw) <= checks.MAX_LABEL and not raw.isspace()


def problem(raw: str) -> Notice | None:
    """Return (code, reason) when a label must be refused, else None.

    >>> problem("<b>$|</b>"), problem("a" + chr(0x200B))
    (None, ('INVISIBLE_CHAR', 'an invisible character (U+200B)'))
    """
    if len(raw) > checks.MAX_LABEL:
        return "LABEL_TOO_LONG", f"{whole(len(raw))} characters"
    if raw.isascii() and raw.isprintable():
        return None
    for code, kind, pattern in (
        ("CONTROL_CHAR", "a control", _CONTROL),
        ("INVISIBLE_CHAR", "an invisible", _INVISIBLE),
    ):
        found = pattern.search(raw)
        if found:
            return code, f"{kind} character (U+{ord(found.group()):04X})"
    return None


def accepted(code: str) -> str:
    """Return what would be accepted instead of a label refused with that code."""
    if code == "LABEL_TOO_LONG":
        return f"labels have at most {checks.MAX_LABEL} characters"
    return "labels are visible text on one line; remove the character from the file"


def look_alikes(column: str, labels: Sequence[str]) -> list[Notice]:
    """Return notices on labels of one column that differ only by spaces or only by capital letters.

    >>> [code for code, _ in look_alikes("city", ["Ulm", "ulm", "Bonn", "Bonn "])]
    ['LABELS_DIFFER_BY_SPACE', 'LABELS_DIFFER_BY_CASE']
    """
    notices = []
    rules: tuple[tuple[str, str, Callable[[str], str]], ...] = (
        ("LABELS_DIFFER_BY_SPACE", "spaces", lambda label: " ".join(label.split())),
        ("LABELS_DIFFER_BY_CASE", "capital letters", str.casefold),
    )
    for code, what, rule in rules:
        pair = _first_clash(labels, rule)
        if pair:
            first, second = map(checks.echo, pair)
            notices.append(
                (code, f"Column {checks.echo(column)} has labels that differ only by {what}: {first} and {second}.")
            )
    return notices


def in_reading_order(labels: Iterable[str]) -> list[str]:
    """Return labels in the order used for a domain taken from the data.

    Numbers by their value, also within labels (what is below a number before it), intervals by their ends, days of the
    week as they follow each other, all else by code point; the rest, what is outside and the blank category come last.

    >>> in_reading_order(["10", "9", "(blank)"]), in_reading_order(["b", "10", "9"])
    (['9', '10', '(blank)'], ['9', '10', 'b'])
    >>> in_reading_order(["unknown", "65+", "10-14", "5-9", "<5"]), in_reading_order(["Ward 10", "Ward 2", "(rest)"])
    (['<5', '5-9', '10-14', '65+', 'unknown'], ['Ward 2', 'Ward 10', '(rest)'])
    >>> in_reading_order(["[18, 65)", "[5, 18)"])
    ['[5, 18)', '[18, 65)']
    >>> (
    ...     in_reading_order(["10-14", "0-4", "5-9"]),
    ...     in_reading_order(["Sunday", "Monday"]),
    ...     in_reading_order(["3", "-5", "0"]),
    ... )
    (['0-4', '5-9', '10-14'], ['Monday', 'Sunday'], ['-5', '0', '3'])
    >>> [len(label) for label in in_reading_order(["7" * 5000, "007", "7"])]
    [3, 1, 5000]
    """
    given = set(labels)
    plain, blank = list(given.difference(_LAST)), [label for label in _LAST if label in given]
    if all(label.isascii() and label.isdecimal() for label in plain):
        return sorted(plain, key=_by_value) + blank
    if are_intervals(plain):
        return sorted(plain, key=lambda label: (ends_of_interval(label), label)) + blank
    if all(map(_DECIMAL.fullmatch, plain)):
        return sorted(plain, key=lambda label: (float(label), label)) + blank
    if set(plain) <= set(DAYS):
        return sorted(plain, key=DAYS.index) + blank
    is_short = len(plain) <= _MANY or all(map(_BEGINS.match, plain))
    return sorted(plain, key=_by_numbers if is_short and _RUNS.search(" ".join(plain)) else None) + blank


_DECIMAL: Final = re.compile(r"[+-]?\d{1,300}(?:\.\d+)?", re.ASCII)
_BELOW: Final = re.compile(r"(?:[<≤]=?|under|below|unter|moins de)\s*(?=\d)", re.ASCII | re.IGNORECASE)
_BEGINS: Final = re.compile(r"\d", re.ASCII)
_RUNS: Final = re.compile(r"(\d+)", re.ASCII)
_MANY: Final = 100_000
"""Labels; of more, those that do not all begin with a number go by code point, which takes less memory."""


def _by_numbers(label: str) -> tuple[str, list[tuple[tuple[int, str], str]], str]:
    """What sorts labels by what they begin with, by the numbers in them, and by what stands between these."""
    below = _BELOW.match(label)
    begin, *parts = _RUNS.split(label[below.end() :] if below else label)
    numbers = [(_by_value(digits)[:2], rest) for digits, rest in zip(parts[::2], parts[1::2], strict=True)]
    if below:
        numbers[0] = numbers[0][0], ""
    return begin, numbers, label


def _by_value(label: str) -> tuple[int, str, str]:
    """What sorts whole numbers by value, however many digits they have: Python makes no number of very many."""
    digits = label.lstrip("0")
    return len(digits), digits, label


def _first_clash(labels: Sequence[str], rule: Callable[[str], str]) -> tuple[str, str] | None:
    keys = [rule(label) for label in labels]
    if len(set(keys)) == len(keys):
        return None
    first: dict[str, str] = {}
    for key, label in zip(keys, labels, strict=True):
        if key in first:
            return first[key], label
        first[key] = label
    return None


# ---- words for totals, as tables of many countries have them


_WORDS: Final = frozenset(
    "total totals subtotal subtotals sum sums all overall world worldwide grand.total sub.total all.ages both.sexes "
    "all.persons all.regions all.states all.countries everyone gesamt insgesamt gesamtsumme gesamtergebnis summe "
    "zwischensumme zusammen alle welt teilergebnis total.général total.general ensemble somme sous-total tous toutes "
    "monde totale somma tutti mondo suma todos todas mundo soma geral totaal samen wereld totalt summa alla "
    "i.alt yhteensä kaikki razem ogółem suma.końcowa celkem součet spolu összesen ukupno skupaj toplam "
    "итого всего сумма всё разом усього σύνολο 合計 総計 计 合计 总计 總計 합계 المجموع total.geral gran.total".replace(
        ".", "\0"
    ).split()
)
_END: Final = re.compile(r"^[\s(\[*–—-]+|(?<![\s)\]:*.–—-])[\s)\]:*.–—-]+$")


def reads_as_total(label: str) -> bool:
    """Whether a label is, begins or ends with a word for a total.

    >>> [reads_as_total(one) for one in ("TOTAL", "Insgesamt:", "Total Ohio", "Ohio total", "Totnes", "All Saints")]
    [True, True, True, True, False, False]
    """
    bare = _END.sub("", label).casefold()
    joined = bare.replace(" ", "\0")
    if joined in _WORDS:
        return True
    first, last = joined.split("\0")[0], joined.split("\0")[-1]
    return first != last and (first in _BEFORE or last in _BEFORE)


_BEFORE: Final = frozenset(("total", "subtotal", "gesamt", "insgesamt", "summe", "totale", "totaal", "sous-total"))
