"""What a row of a table stands for: how many records, and of whom."""

from __future__ import annotations

from typing import Final

from pages.ui.inputs.settings import CONTRIBUTIONS
from pages.ui.tables import session_tables
from pages.ui.tables.marks import marks_asked
from pages.ui.tables.upload_slot import Table
from pages.ui.upload.upload import EACH_ROW
from treedp_core.records import HeldColumns

NO_UNIT: Final = "None: what one unit is will be asked"


def weight_asked(table: Table) -> tuple[str | None, dict[str, str] | None]:
    """Ask for the column of counts, and how they are written; None for what is not answered."""
    column = table.column(
        "Counts", "weight", none=EACH_ROW,
        help="If a database has grouped the records already, choose the column that holds how many a row stands for.",
    )  # fmt: skip
    return column, {} if column is None else marks_asked(table, column, "count_marks")


def unit_asked(table: Table) -> str | None:
    """Ask for the column of units, and how many rows of each are counted, where that is not asked elsewhere."""
    column = table.column(
        "Unit column", "unit", none=NO_UNIT,
        help="A column that says whom a row is about, such as a person's number: of each unit the first rows are "
        "counted, as many as “Records of one unit, at most” says, and the others are left out and reported. How many "
        "of its rows are counted is protected by “add or remove one”, not by “replace one”.",
    )  # fmt: skip
    is_asked_above = isinstance(table.file.origin, HeldColumns) and table.file.slot in session_tables.OWN
    if column is not None and not is_asked_above:
        CONTRIBUTIONS.draw()
    return column
