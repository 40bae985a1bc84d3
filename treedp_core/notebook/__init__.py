"""A study in cells: kept figures with everything they came from, the code that repeats each, and the file of them.

What leaves the app comes from here too: scripts, notebooks, reports.
"""

from treedp_core.notebook.cell import Cell, DataNote, Notebook
from treedp_core.notebook.validators import table_of

__all__ = ["Cell", "DataNote", "Notebook", "table_of"]
