"""An entry of the table of views: what a view is called, what it takes, and what of it may take long."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Final, Literal, Protocol, TypeVar

from treedp_core.notebook.cell import NOT_REVIEWED
from treedp_core.notebook.code import Ran, call
from treedp_core.notebook.comparison.pairs import AnySide
from treedp_core.records import Dataset
from treedp_core.studies.cdf.matrices.plan import SEARCHES, seek
from treedp_core.studies.cdf.matrices.workload import Wanted
from treedp_core.views.finding import Finding, Memo, Tables, forgetful, no_table
from treedp_core.views.inputs import Inputs
from treedp_core.watch import Watch

AnyInputs = TypeVar("AnyInputs", bound=Inputs)
ON_ITS_WAY: Final = "BUSY"
"""The code with which a view refuses until what takes long of it is there: its last finding stands meanwhile."""
FromFile = Callable[[str], Dataset | None]
"""Where a session keeps a file -> what was counted from it, if there is one."""

MATRICES: Final = 3
"""How many a session keeps: of 1 024 bins each takes 4 MB, and 8 MB more once it is used."""


@dataclass(frozen=True)
class Work:
    """What of a view may take long.

    Parameters
    ----------
    function : function
        ``function(question, *parts, watch)``, public and of the core, so that a process of its own can run it.
    question : hashable
        All that its value depends on besides the tables.
    parts : tuple of str
        What it takes of the tables, such as "data.counts".
    steps : function
        What its watch counts up to; it may refuse the work.
    name : str
        What code calls its value.
    is_quick : bool
        Whether it is done at once all the same, as it takes no time for these inputs and tables.
    is_exact : bool
        Whether a value for another question is of no use to the view, so that it is not passed on.
    slot : str
        What it is kept under where several views show the same value; by default each keeps its own.
    room : int
        How many values are kept; by default more of a small tree.
    is_shared : bool
        Whether every session may have a value that one of them found: it holds nothing private.
    at_once : function, optional
        As `function`, without what is simulated: what a figure that follows a handle is drawn from, and what stands
        until the whole is there.
    """

    function: Callable[..., Any]
    question: Hashable
    parts: tuple[str, ...]
    steps: Callable[[], int]
    name: str = "simulation"
    is_quick: bool = False
    is_exact: bool = False
    slot: str = ""
    room: int = 0
    is_shared: bool = False
    at_once: Callable[..., Any] | None = None

    def on(self, tables: Tables) -> partial[Any]:
        """Return the work on some tables: a function of a watch."""
        return partial(self.function, self.question, *(reduce(getattr, one.split("."), tables) for one in self.parts))

    def without_simulation(self) -> Work | None:
        """Return the work that is done at once, where there is such a one."""
        return None if self.at_once is None else replace(self, function=self.at_once, at_once=None)

    def code(self, tables: Ran[Tables]) -> Ran[Any]:
        """Return the call that does it."""
        watch = call(Watch).named("watch")
        return call(self.function, self.question, *map(tables.get, self.parts), watch).named(self.name)


def search_of_matrix(strategy: str, wanted: Wanted, by_pairs: bool, *, is_own: bool = False) -> Work:
    """Return the search for a matrix, kept once for all views and sessions that ask the same: see `matrices.plan.seek`.

    One of a user's own ranges (`is_own`) reaches no other session.
    """
    return Work(
        seek, (strategy, wanted, by_pairs), (), lambda: SEARCHES[strategy].steps, name="matrix", is_exact=True,
        slot="matrix", room=MATRICES, is_shared=not is_own,
    )  # fmt: skip


def of_no_table() -> Ran[Tables]:
    """Return the call that makes the tables of a view that is of none: its argument says that it holds nothing."""
    return call(Tables, prior=None).named("tables")


def alone(inputs: AnyInputs, data: Dataset) -> AnyInputs:
    """Return the inputs as they are: `apart` of a view that is of no table."""
    return inputs


class View(Protocol):
    """A view: a pure function of inputs and tables; one that may take long takes what came of that as `slow`."""

    def __call__(self, inputs: Any, tables: Tables, /, *, memo: Memo = ...) -> Finding:
        """Return what it finds."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A view in the table of views.

    Parameters
    ----------
    page, view, part : str
        Where it is shown: page, position of the page's switch (nothing where it has none or for all), and the key of
        its figure there.
    section : str
        What stands under *More*, or beside the view's main figure: its name.
    label : str
        What the switch calls it.
    question : str
        What it answers; nothing for the page's own question.
    inputs : type
        What it takes.
    find : function
        The view.
    slow : function, optional
        Inputs and tables -> what of it may take long, passed to the view once it is there; None where nothing does. A
        view that can say nothing without it refuses with the code `ON_ITS_WAY`.
    start : {"button", "auto"}
        Whether what takes long waits for its button: then the view stands without it, too.
    releases : function, optional
        Inputs and tables -> what was released, to be drawn in pairs on the same noise.
    sample : function, optional
        Inputs -> the name of the sample that it is of, whatever table is in use; nothing where it is of none.
    apart : function, optional
        Inputs, the table in use and, if there is one, the sample -> the inputs that say by themselves what the view
        would take of the table in use, such as δ: then it is of the sample, else of no table (`Tables()`). None where
        it is of the table in use. It refuses nothing.
    prior : function, optional
        Inputs, the table in use, what a session counted from files, and a memo -> the file that a prior is counted
        from, if there is one that goes with the table.
    """

    page: str
    view: str = ""
    part: str = ""
    section: str = ""
    label: str = ""
    question: str = ""
    inputs: type[Inputs]
    find: Callable[..., Finding]
    slow: Callable[[Any, Tables], Work | None] | None = None
    start: Literal["button", "auto"] = "button"
    releases: Callable[[Any, Tables], list[AnySide]] | None = None
    sample: Callable[[Any], str] | None = None
    apart: Callable[..., Inputs | None] | None = None
    prior: Callable[[Any, Dataset, FromFile, Memo], Dataset | None] | None = None

    @property
    def name(self) -> str:
        """What the table knows it by."""
        return ".".join(filter(None, (self.page, self.view, self.section)))

    def sample_of(self, inputs: Inputs) -> str:
        """Return the name of the sample that it is of with such inputs; nothing where it is of none."""
        return "" if self.sample is None else self.sample(inputs)

    def is_of_table(self, inputs: Inputs) -> bool:
        """Whether the view is of the table in use with such inputs."""
        return not self.sample_of(inputs) and (self.apart is None or self.apart(inputs, no_table()) is None)

    def found(self, inputs: Inputs, tables: Tables, slow: Any = None, memo: Memo = forgetful) -> Finding:
        """Return what it finds, with the source of published records.

        It says so where an entry that was not reviewed had a part in it.
        """
        more = {} if self.slow is None else {"slow": slow}
        finding = self.find(inputs, tables, memo=memo, **more)
        if tables.credit:
            finding = replace(finding, credit=tables.credit)
        if NOT_REVIEWED in finding.badges or (inputs.is_reviewed and not tables.data.not_reviewed):
            return finding
        return replace(finding, badges=(*finding.badges, NOT_REVIEWED))

    def code(self, inputs: Inputs, tables: Ran[Tables], slow: Ran[Any] | None = None) -> Ran[Finding]:
        """Return the call of it, whose code repeats what it finds."""
        more = {} if slow is None else {"slow": slow}
        return call(self.find, inputs, tables, **more).named("finding")
