"""One run with multiplicative error: the labelled tree, step by step, and released against true counts."""

from __future__ import annotations

from functools import partial
from typing import Final

from treedp_core.figures.multiplicative import labelled_tree, thresholds_against
from treedp_core.notebook.comparison.pairs import AnySide
from treedp_core.notebook.comparison.sides import ThresholdSide
from treedp_core.privacy import Provenance as Kind
from treedp_core.privacy.prior_provenance import NOT_PRIVATE
from treedp_core.records import Dataset
from treedp_core.studies.multiplicative import run as study
from treedp_core.studies.multiplicative.blocks import bare, blocks
from treedp_core.studies.multiplicative.run import Run
from treedp_core.studies.multiplicative.simple import SIMPLE, SOURCES, Source, best
from treedp_core.views.entries import Entry, Work
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, UserText, forgetful
from treedp_core.views.multiplicative import words
from treedp_core.views.multiplicative.inputs import RunInputs
from treedp_core.watch import Watch
from treedp_core.words import percent, plural, short, whole

LARGE: Final = 60_000
"""Nodes of a table from which on a run takes long."""
BADGES: Final = ("formula", "simulation", NOT_PRIVATE)
ON_ITS_WAY: Final = "Nothing has been released yet: a run colours the nodes, threshold by threshold."


def simulate(inputs: RunInputs, data: Dataset, watch: Watch | None = None) -> Run:
    """Return the run that inputs ask for: see `treedp_core.studies.multiplicative.run.run`, which refuses."""
    source = inputs.tree(data)
    return study.run(source, inputs.plan, inputs.promise(source, data), watch, clamped=inputs.clamp)


def step_by_step(inputs: RunInputs, tables: Tables, *, slow: Run | None = None, memo: Memo = forgetful) -> Finding:
    """Return the tree after a step of a run.

    Parameters
    ----------
    slow : Run, optional
        The last run: one of other inputs is shown as what it is. Without one a small tree is run, a large one bare.

    Raises
    ------
    InputError
        What `RunInputs.tree` and `simulate` refuse.
    """
    source = _tree(inputs, tables, memo)
    made = _made(inputs, tables, source, slow)
    if made is None:
        return _bare(inputs, source)
    step, settings = min(inputs.step, made.n_steps), words.in_words(made.rule, made.reach is not None, made.settings)
    paths = made.source.paths
    is_other = (made.rule, made.settings, made.reach is not None) != (
        inputs.plan, inputs.promise(source, tables.data), inputs.clamp,
    )  # fmt: skip
    what = (
        "One block a node with its true count and, once it has one, its released value; leaves are equally wide."
        if made.source.is_small
        else "The heaviest branches, one column each, levels downwards; a block is a part of a path, or of what paths "
        "share, that got one value. Empty space has lighter nodes."
    )
    return Finding(
        figure=labelled_tree(blocks(made, step), made.values),
        columns=partial(study.node_table, made),
        answer=f"**Step {whole(step)} of {whole(made.n_steps)}.** {words.step_in_short(made, step)} At the end "
        f"**{percent(made.inside)}** of nodes are within α = {short(made.alpha)} of their count.",
        caption=f"NOT PRIVATE: the true counts and the tests of one simulated run. {what} Colour: released value. "
        f"Orange outlines: this step; thick ones were labelled. {settings}, "
        f"{plural(paths.n_levels, 'level')}, {plural(paths.total, 'record')}, seed {made.settings.seed}. Ghazi et al., "
        f"Algorithms 1 to 4, corrected. {Kind.SIMULATION.sentence(made.guarantee)}",
        alt=f"The tree after step {step} of {made.n_steps}: {words.step_text(made, step)}",
        notes=(f"Shown meanwhile: {settings}.",) if is_other else (),
        badges=BADGES,
        provenance=_provenance(made),
        is_simulated=True,
    )


def _bare(inputs: RunInputs, source: Source) -> Finding:
    """The tree before any run."""
    return Finding(
        figure=labelled_tree(bare(source), []),
        answer=ON_ITS_WAY,
        caption=f"NOT PRIVATE: true counts, {plural(source.paths.n_levels, 'level')}. {ON_ITS_WAY}",
        alt="The tree before any run: no node has a released value.",
        badges=BADGES,
        provenance=Provenance(about=(SOURCES[inputs.source],)),
    )


def against(inputs: RunInputs, tables: Tables, *, slow: Run | None = None, memo: Memo = forgetful) -> Finding:
    """Return released against true counts of a run, beside the best simple rule; it refuses as `step_by_step` does."""
    made = _made(inputs, tables, _tree(inputs, tables, memo), slow)
    if made is None:
        return Finding()
    nodes, rival = made.nodes, best(made.nodes.simple)
    judged = (
        plural(nodes.truth.size, "node")
        if made.source.tree is not None
        else f"both ends of every chain of equal counts and {whole(study.EMPTY_SHOWN)} empty nodes"
    )
    error = "" if made.error is None else f", and lighter by the worst-case error E = {short(made.error)} more"
    return Finding(
        figure=thresholds_against(made, rival),
        columns=partial(study.node_table, made),
        caption=f"NOT PRIVATE: one simulated run on {judged}, at most 400 drawn. Dark band: errors "
        f"that α = {short(made.alpha)} forgives{error}. Squares: {SIMPLE[rival].about}, at the same "
        "promise: the simple rule with the smallest worst case here. Both axes logarithmic with 0. Seed "
        f"{made.settings.seed}.",
        alt=f"{percent(made.inside)} of the nodes' released counts are within α times their true count.",
        badges=BADGES[1:],
        provenance=_provenance(made),
        is_simulated=True,
    )


def rules(inputs: RunInputs, tables: Tables, *, slow: Run | None = None, memo: Memo = forgetful) -> Finding:
    """Return how every rule did in a run, beside its worst case; it refuses as `step_by_step` does."""
    made = _made(inputs, tables, _tree(inputs, tables, memo), slow)
    if made is None:
        return Finding()
    return Finding(
        columns=partial(study.summary, made),
        answer=words.who_wins(made),
        caption=words.how_it_did(made),
        alt="How every rule did",
        badges=BADGES[1:],
        provenance=_provenance(made),
        is_simulated=True,
    )


def rounds(made: Run) -> Finding:
    """Return every round of a run: thresholds, values, and who answered."""
    return Finding(
        columns=lambda: made.rounds,
        alt="Every round of the plan",
        caption="Thresholds and values are public: they follow from α, ε, δ, the number of levels and the bound on "
        "the total. Trees too light to pass are left out of the run, which changes no probability; how many were "
        "tested is therefore NOT PRIVATE, like the other counts on the right.",
    )


def releases(inputs: RunInputs, tables: Tables) -> list[AnySide]:
    """Return the run, to be drawn beside others on the same noise."""
    source = inputs.tree(tables.data)
    return [ThresholdSide("run", source, inputs.plan, inputs.promise(source, tables.data), inputs.clamp)]


def _tree(inputs: RunInputs, tables: Tables, memo: Memo) -> Source:
    """The tree to run on."""
    of = (inputs.source, inputs.deep_levels, inputs.deep_leaves, inputs.deep_records, inputs.made_seed)
    return memo(("multiplicative.tree", tables.fingerprints, of), lambda: inputs.tree(tables.data))


def _made(inputs: RunInputs, tables: Tables, source: Source, slow: Run | None) -> Run | None:
    """The last run, if it is of this tree; else one that takes no time, and none of a large tree."""
    alike = None if slow is None else (slow.source.name, slow.source.paths.n_edges, slow.source.paths.total)
    if alike == (source.name, source.paths.n_edges, source.paths.total):
        return slow
    return None if _is_large(inputs, tables.data) else simulate(inputs.question, tables.data)


def _provenance(made: Run) -> Provenance:
    paths, settings = made.source.paths, made.settings
    counted = (plural(paths.n_levels, "level"), plural(paths.total, "record"))
    return Provenance(
        about=(UserText(made.source.name), *counted, f"α = {short(made.alpha)}"),
        relation=made.guarantee.unit.relation, epsilon=settings.epsilon, delta=settings.delta, seed=settings.seed,
    )  # fmt: skip


def _work(inputs: RunInputs, tables: Tables) -> Work:
    """The run; only that of a large tree takes long."""
    is_quick = not _is_large(inputs, tables.data)
    return Work(simulate, inputs.question, ("data",), lambda: 100, name="made", is_quick=is_quick)


def _is_large(inputs: RunInputs, data: Dataset) -> bool:
    """Whether a run takes long: made-up trees have few edges."""
    return not inputs.is_made_up and data.tree.n_nodes > LARGE


_entry = partial(
    Entry, page="multiplicative", view="run", inputs=RunInputs, apart=RunInputs.apart, slow=_work, start="auto",
    releases=releases,
)  # fmt: skip
ENTRIES = (
    _entry(part="mul_tree", label="Step by step", find=step_by_step),
    _entry(part="mul_against", section="against", find=against),
    _entry(part="mul_summary", section="rules", find=rules),
)
