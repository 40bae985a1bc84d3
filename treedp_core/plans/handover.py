"""A plan handed over: a program for a library that publishes, text only, for the same tree, domain, levels and scales.

Levels are measured one by one. OpenDP has a transformation of b-ary trees, but its map for the L2 distance is too small
for what one record moves over all levels, so that it is not used.

The programs say which levels one unit can move and by how much, let the library work out what that loses, and stop
before anything is drawn where it is more than the plan promises. They read the one form of `record_file`, which is
checked by its names of columns alone: whether they end well, and what they print, depends on no record.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from treedp_core.checks import InputError, echo
from treedp_core.plans import programs, record_file
from treedp_core.plans.statement import Bounded, Categories, NoiseLaw, PlannedLevel, Statement
from treedp_core.plans.verify import problems
from treedp_core.plans.words import from_data, label, noun, open_points, promise, protected, reaches_of_all
from treedp_core.postprocess import POSTPROCESSORS
from treedp_core.privacy import Currency, NeighbouringRelation, Spread
from treedp_core.privacy.rounding import sqrt_above
from treedp_core.privacy.spread import Capacities, level_sensitivities
from treedp_core.records.export.columns import source_line
from treedp_core.words import float_above, plural, whole

# ---- why a plan cannot be handed over, and which control of which page would change that


MOST_NODES: Final = 1_000_000
"""Nodes of a level that a program measures."""


@dataclass(frozen=True)
class Reason:
    """Why a plan cannot be handed over, and where what is in the way was chosen.

    Parameters
    ----------
    sentence : str
    page : str
        Name of the page that has the control.
    control : str
        What the control is called there.
    """

    sentence: str
    page: str
    control: str


def refusals(plan: Statement) -> tuple[Reason, ...]:
    """Return why no program can express a plan; nothing where one can."""
    return (*_about_noise(plan), *_about_steps(plan), *_about_domain(plan))


def _about_noise(plan: Statement) -> Iterator[Reason]:
    if wrong := problems(plan):
        told = f"It does not hold, so that what it promises would not be kept. {wrong[0]}"
        yield Reason(told, "plan", "Plan these settings instead")
    if plan.matrix is not None:
        yield Reason(
            "These programs measure counts of a tree's nodes; this plan's noise is on weighted sums of all bins, by "
            "a matrix that it does not hold: plan a tree, or release it with TreeDP's core.", "cdf", "Tree",
        )  # fmt: skip
    if plan.thresholds is not None:
        yield Reason(
            "These libraries put noise on answers that are known beforehand; thresholds ask in each round what the "
            "answers before left, by one-sided and bounded noise that they do not offer: release them with TreeDP's "
            "core, or choose another mechanism.", "plan", "Mechanism",
        )  # fmt: skip
    if plan.tuned is not None and not plan.tuned.is_private:
        told = "The budget or its split was tuned on the true counts, so that it is not private: choose another."
        yield Reason(told, "plan", "Budget split")
    if plan.true_error is not None:
        told = "The plan states errors on the true counts: make it without them."
        yield Reason(told, "plan", "Error on the true counts (NOT PRIVATE)")


def _about_steps(plan: Statement) -> Iterator[Reason]:
    names = [POSTPROCESSORS[one].label if one in POSTPROCESSORS else one for one in plan.postprocess]
    for name, told in zip(plan.postprocess, names, strict=True):
        if name not in programs.STEPS:
            yield Reason(f"The step “{told}” is not in these programs: choose another.", "plan", "Post-processing")
        elif name == "least_squares" and plan.postprocess[0] != name:
            yield Reason("Least squares weighs measurements, so it must come first.", "plan", "Post-processing")
    descends = any(programs.DESCENT in programs.STEPS.get(one, ()) for one in plan.postprocess)
    if descends and any(one.amount == 0 for one in _with_leaves(plan)):
        yield Reason("Its post-processing needs a noisy count of every leaf: give each such level a share.", "plan",
                     "Budget split")  # fmt: skip


def _with_leaves(plan: Statement) -> Iterator[PlannedLevel]:
    """The levels that have a leaf: nodes below it do not make up for it."""
    depths = {len(path) for path in plan.domain.paths()} | {len(plan.levels) - 1}
    return (one for i, one in enumerate(plan.levels) if i in depths)


def _about_domain(plan: Statement) -> Iterator[Reason]:
    domain = plan.domain
    if plan.weighted and not plan.recipe.weight:
        yield Reason(
            "A row can stand for several records, by a column that the plan does not name: count the file again, and "
            "make the plan from that.", "data", "Counts",
        )  # fmt: skip
    for level in from_data(plan):
        told = f"The counts chose which labels “{level}” keeps: say that the list is public, or name another."
        yield Reason(told, "data", "Make levels")
    if domain.source is Categories.FROM_DATA:
        told = "A domain taken from the data is not public: list the categories from another source."
        yield Reason(told, "data", "Which categories exist")
    elif domain.bins is not None and not domain.bins.is_numeric and not (domain.categories or domain.leaves):
        told = "The plan does not list which leaf each bin is: they are many, or it was made without the data."
        yield Reason(told, "data", "Levels from the top")
    elif not domain.is_listed:
        yield Reason(
            f"A tree of {whole(plan.levels[0].leaves)} leaves is too large to be listed.", "data", "Levels from the top"
        )
    most = max(one.nodes for one in plan.levels)
    if most > MOST_NODES:
        yield Reason(f"A level of {whole(most)} nodes cannot be measured node by node.", "data", "Levels from the top")


def refusals_of_tumult(plan: Statement) -> tuple[Reason, ...]:
    """Return why no program for Tumult Analytics can express a plan; nothing where one can."""
    return (*refusals(plan), *_about_tumult(plan))


def _about_tumult(plan: Statement) -> Iterator[Reason]:
    if plan.law in (NoiseLaw.LAPLACE, NoiseLaw.GAUSSIAN):
        told = f"Tumult Analytics adds whole-number noise to counts, not {plan.law.label} noise."
        yield Reason(told, "plan", "Mechanism")
    if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        told = "Tumult Analytics has no relation in which some columns of a record are known."
        yield Reason(told, "plan", "Neighbouring relation")
    if plan.unit.total_is_public and plan.currency is Currency.RHO:
        told = "Tumult Analytics takes a replaced record for two rows, and so needs √2 times the plan's noise."
        yield Reason(told, "plan", "Mechanism")
    if plan.spread is Spread.DISTINCT:
        told = "Tumult Analytics has no promise that the rows of a unit lie on distinct leaves."
        yield Reason(told, "topdown", "They lie")


@dataclass(frozen=True)
class Library:
    """A table entry: a library that plans are handed over to, the function that writes the program, and why it cannot.

    ``refusals(plan)`` returns a `Reason` for each thing that a program of the library cannot express.
    """

    name: str
    label: str
    write: Callable[[Statement], str]
    refusals: Callable[[Statement], tuple[Reason, ...]]


def not_covered(plan: Statement) -> tuple[str, ...]:
    """Return what no program of a hand over does, a sentence each; then the plan's open points."""
    recipe = plan.recipe
    return (
        "Timing and memory of the program are not hidden.",
        f"The program trusts its file, which has the first {plural(recipe.bound, 'row')} of each unit in column "
        f"{echo(recipe.unit)}."
        if plan.bounded is Bounded.COUNTED
        else "The program trusts its file, in which each value was rounded and clipped before it was added up."
        if plan.is_of_sums
        else f"That no unit has more than {plural(plan.unit.contributions, 'record')} is taken for granted.",
        "The file of records holds exact counts: NOT PRIVATE. What treedp prepare says of it is not private either.",
        "What was released before from the same records is not added up.",
        *open_points(plan),
    )


def opendp_program(plan: Statement) -> str:
    """Return a program for OpenDP that measures every level of the plan: it takes prepared records, and writes a CSV.

    Raises
    ------
    InputError
        ``HANDOVER``, and why the plan cannot be expressed.
    """
    _refuse(refusals(plan))
    discrete = plan.law in (NoiseLaw.DISCRETE_LAPLACE, NoiseLaw.DISCRETE_GAUSSIAN)
    rho = plan.currency is Currency.RHO
    return programs.OPENDP.substitute(
        _common(plan, 2**53 - 1),
        scales=_lines("SCALES", [one.scale for one in plan.levels]),
        kind="int" if discrete else "float",
        domain_of_atom="dp.atom_domain(T=dp.i64)" if discrete else "dp.atom_domain(T=float, nan=False)",
        metric="dp.l2_distance(T=float)" if rho else f"dp.l1_distance(T={'dp.i64' if discrete else 'float'})",
        noise="dp.m.make_gaussian" if rho else "dp.m.make_laplace",
        cases=_lines("CASES", [tuple(case) for case in _cases(plan)]),
        distance=("int" if discrete and not rho else "float"),
    )


def tumult_program(plan: Statement) -> str:
    """Return a program for Tumult Analytics that measures every level of the plan, as `opendp_program`.

    Raises
    ------
    InputError
        ``HANDOVER``, and why the plan cannot be expressed.
    """
    _refuse(refusals_of_tumult(plan))
    rho = plan.currency is Currency.RHO
    rows = plan.unit.contributions * (2 if plan.unit.total_is_public else 1)
    return programs.TUMULT.substitute(
        _common(plan, 10**9),
        budget="RhoZCDPBudget" if rho else "PureDPBudget",
        mechanism="CountMechanism.GAUSSIAN" if rho else "CountMechanism.LAPLACE",
        change="AddOneRow()" if rows == 1 else f"AddMaxRows({rows})",
        budgets=_lines("BUDGETS", [None if one.is_public else one.amount for one in plan.levels]),
    )


def _refuse(reasons: tuple[Reason, ...]) -> None:
    if reasons:
        raise InputError("HANDOVER", " ".join(one.sentence for one in reasons))


LIBRARIES: Final = (
    Library("opendp", "OpenDP", opendp_program, refusals),
    Library("tumult", "Tumult Analytics", tumult_program, refusals_of_tumult),
)
"""What plans are handed over to."""


# ---- the parts of a program


def _common(plan: Statement, most: int) -> dict[str, str]:
    marked = label(plan)
    about = [*filter(None, (marked, source_line(plan.credit))), *open_points(plan), *not_covered(plan)[:4]]
    lines = [line for point in about for line in textwrap.wrap(f"- {point}", 112, subsequent_indent="  ")]
    return {
        "promise": promise(plan),
        "noun": noun(plan),
        "protects": "\n# ".join(textwrap.wrap(f"Protects {protected(plan)}.", 112)),
        "points": "\n".join(f"# {line}" for line in lines),
        "records": _records(plan, most).rstrip() + "\n",
        "exact": repr([i for i, one in enumerate(plan.levels) if one.is_public]),
        "deviations": _lines("DEVIATIONS", [one.deviation for one in plan.levels]),
        "promised": repr(plan.charged if plan.tuned is None else _for_levels(plan)),
        "symbol": "epsilon" if plan.currency is Currency.EPSILON else "rho",
    }


def _for_levels(plan: Statement) -> float:
    assert plan.tuned is not None
    return float_above(Fraction(plan.charged) - Fraction(plan.tuned.spent))


def _records(plan: Statement, most: int) -> str:
    """The lines that read the records and add them up, and those for what follows the noise."""
    bins = plan.domain.bins
    after = [programs.OF_TREE if bins is None else programs.OF_BINS]
    after += dict.fromkeys(part for one in plan.postprocess for part in programs.STEPS[one])
    reaches = reaches_of_all(plan)
    after += [programs.CERTIFIED.substitute(reaches=_lines("REACHES", list(map(round, reaches))))] if reaches else []
    steps = "measured"
    for one in plan.postprocess:
        steps = f"{one}({steps})"
    leaf_of_cells = '{(*path, *[""] * (len(HEADER) - 1 - len(path))): path for path in LEAVES}'
    return programs.RECORDS.substitute(
        header=repr(record_file.header(plan)),
        most=repr(most),
        leaves=_leaves(plan),
        leaf_of_cells=leaf_of_cells if bins is None else "dict(zip(BINS, LEAVES))",
        other=_other(plan),
        released=f"released {noun(plan)}" if plan.is_of_sums else "released",
        noun=noun(plan),
        certify="    error = certified(measured, released)\n" if reaches else "",
        column=', "error at most"' if reaches else "",
        cell=", error[level][path]" if reaches else "",
        after="\n\n\n".join([*after, programs.FINISHED.substitute(steps=steps)]),
    )


def _other(plan: Statement) -> str:
    """The leaf of records that fit nowhere."""
    at = record_file.other(plan)
    return "None" if at is None else f"LEAVES[{at}]"


def _leaves(plan: Statement) -> str:
    """The lines that make LEAVES, the path of each leaf; and BINS, their cells, where these are bins."""
    domain, bins = plan.domain, plan.domain.bins
    if bins is not None:
        beside = ', [("(other)",)]' if bins.has_other else ""
        product = f"itertools.chain(itertools.product(*map(range, {bins.branching!r})){beside})"
        listed = _lines("BINS", list(record_file.cells(plan)))
        return f"{listed}\nLEAVES = list(itertools.islice({product}, {bins.n}))"
    if domain.categories:
        return f"{_lines('CATEGORIES', list(domain.categories))}\nLEAVES = list(itertools.product(*CATEGORIES))"
    return _lines("LEAVES", list(domain.leaves))


def _lines(name: str, values: Sequence[object]) -> str:
    inner = "".join(f"    {value!r},\n" for value in values)
    return f"{name} = [\n{inner}]"


def _cases(plan: Statement) -> Iterator[tuple[float, ...]]:
    """How far each level moves in each way that a unit can change: L1 for epsilon, L2 for rho, rounded up."""
    levels = [Capacities(one.capacities, plan.levels[0].leaves - one.leaves) for one in plan.levels]
    l1, l2 = level_sensitivities(plan.unit, levels, plan.spread)
    rho = plan.currency is Currency.RHO
    here = (l2 if rho else l1).tolist()
    yield tuple(0.0 if one.is_public else moved for one, moved in zip(plan.levels, here, strict=True))
    if plan.unit.relation is NeighbouringRelation.REPLACE_UNKNOWN:
        known = plan.unit.known_levels
        twice = [sqrt_above(2 * Fraction(moved) ** 2) if rho else 2.0 * moved for moved in here]
        yield tuple(0.0 if i < known else moved for i, moved in enumerate(twice))
