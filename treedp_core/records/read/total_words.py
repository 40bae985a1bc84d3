"""Words for totals, as tables of many countries have them."""

from __future__ import annotations

import re
from typing import Final

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
_END: Final = re.compile(r"^[\s(\[*–—-]+|[\s)\]:*.–—-]+$")


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
