"""What columns may stand for, by their names and values: whom a row is about, or how many records it stands for."""

from __future__ import annotations

import re
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from treedp_core.records.arrays import is_numeric, is_text
from treedp_core.records.read.readers import HeldColumns


def _words(told: str) -> frozenset[str]:
    return frozenset(told.split())


Role = Literal["unit", "number", "count", ""]

_PEOPLE: Final = _words(
    "person people patient user customer client household respondent subject participant member employee student pupil "
    "worker taxpayer voter passenger driver visitor subscriber resident citizen tourist device vehicle plane tail "
    "account card firm company kunde patient haushalt teilnehmer schüler student mitarbeiter fahrzeug nutzer personal "
    "versicherte bewohner fahrgast betrieb konto usager ménage élève individu salarié abonné personne foyer assuré "
    "cliente paciente usuario hogar persona alumno empleado utente famiglia"
)
_NUMBERS: Final = _words(
    "id ids uid uuid guid key nr no num number nummer numéro numero code hash pseudonym identifier identifiant kennung "
    "name index"
)
_OWN: Final = _words("id uid uuid guid pseudonym identifier identifiant kennung ssn imei matricule nino")
_COUNTS: Final = _words(
    "n count counts weight weights freq frequency population pop residents inhabitants records cases deaths births "
    "trips visits events conversions number anzahl häufigkeit einwohner bevölkerung fälle effectif effectifs nombre "
    "habitants población habitantes frecuencia popolazione abitanti"
)
_ENDS: Final = re.compile(r"(?:id|uid|nr|num|no|number|nummer)$")
_PARTS: Final = re.compile(r"[^\W\d_]+")
_HUMP: Final = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z])")
_WHOLE: Final = r"^\s*(?:\d+|\d{1,3}(?:[\p{Zs}.,'’]\d{3})+)\s*$"
_FEW: Final = 5  # values that a column of units has at least


def role_of(name: str) -> Role:
    """Return what a name says that a column stands for: a unit, the number of a row, or a count of records.

    >>> [role_of(one) for one in ("patient_id", "kundennummer", "tailnum", "CustomerID", "person")]
    ['unit', 'unit', 'unit', 'unit', 'unit']
    >>> [role_of(one) for one in ("id", "visit_id", "key", "population_2021", "patients", "number of trips")]
    ['number', 'number', 'number', 'count', 'count', 'count']
    >>> [role_of(one) for one in ("user type", "age", "population density", "region", "code", "name")]
    ['', '', '', '', '', '']
    """
    words = [one.casefold() for one in _PARTS.findall(_HUMP.sub(" ", name))]
    about = [one for one in words if one not in _NUMBERS]
    if about and all(_is_of_people(one, len(about) < len(words)) for one in about):
        return "unit"
    if words and (words[-1] in _OWN or words[-1] == "key"):
        return "number"
    if words and (words[-1] in _COUNTS or words[-1][:-1] in _PEOPLE or words[0] in ("number", "nombre", "anzahl")):
        return "count"
    return ""


def _is_of_people(word: str, is_numbered: bool) -> bool:
    """Whether a word names one of those whom rows are about, if they are numbered in the plural, too: Kundennummer."""
    stem = _ENDS.sub("", word)
    ends = ("", "n", "en", "s") if is_numbered or stem != word else ("",)
    return word in _OWN - {"id", "uid"} or any(stem.endswith(end) and stem.removesuffix(end) in _PEOPLE for end in ends)


def units_in(held: HeldColumns) -> tuple[str, ...]:
    r"""Return the columns that seem to name units, read off names and values: NOT PRIVATE.

    Of one that only numbers its rows nobody can say whom it is about.

    >>> from treedp_core.records.read.column_cache import hold
    >>> units_in(hold(b"id,patient,ward\n" + b"".join(b"%d,P%d,a\n" % (n, n % 6) for n in range(30))))
    ('patient',)
    """
    roles = {name: role_of(name) for name in held.preview.columns}
    named = [name for name, role in roles.items() if role == "unit" and held.distinct[name] >= _FEW]
    numbered = [
        name for name, role in roles.items() if role == "number" and _FEW <= held.distinct[name] <= held.size // 2
    ]
    return (*named, *numbered)


def counts_in(held: HeldColumns) -> tuple[str, ...]:
    r"""Return the columns that seem to hold how many records a row stands for: whole numbers under such a name.

    >>> from treedp_core.records.read.column_cache import hold
    >>> counts_in(hold(b"city,residents,population\nUlm,120,1.5\nKiel,1 200,2\n"))
    ('residents',)
    """
    return tuple(name for name in held.numbers if role_of(name) == "count" and _is_whole(held.table.column(name)))


def _is_whole(column: pa.ChunkedArray) -> bool:
    """Whether no value that is there is negative, or no whole number."""
    kind = column.type
    values = column.combine_chunks().dictionary if pa.types.is_dictionary(kind) else column
    if is_text(values.type):
        seen = pc.or_(pc.match_substring_regex(values, _WHOLE), pc.match_substring_regex(values, r"^\s*$"))
    elif is_numeric(values.type):
        seen = pc.and_(pc.equal(values, pc.floor(values)), pc.greater_equal(values, 0))
    else:
        return False
    return bool(pc.all(seen, min_count=0).as_py())
