"""What happened in a step of a run, in words, on the page Multiplicative error."""

from __future__ import annotations

from pages.ui.text import plural, short, whole
from treedp_core.mechanisms.thresholds.trace import Step
from treedp_core.studies.multiplicative.run import Run


def step_text(made: Run, step: int) -> str:
    """Return what happened in the last of a number of steps, in one or two sentences of ours."""
    plan = made.plan
    if step == 0:
        return (
            f"Start: no node has a value; {plural(len(plan.levels), 'round')} follow, the largest threshold first. "
            f"Nodes that none of them labels get {short(plan.default_value)}."
        )
    if step > made.n_searches:
        return _clamped(made)
    ending = f" Every other node gets the default {short(plan.default_value)}." if step == made.n_searches else ""
    if step == made.n_searches and made.public_total is not None:
        ending += " The root gets the public total."
    if made.story:
        return _told(made.story[step - 1]) + ending
    row = {name: column[step - 1] for name, column in made.rounds.items()}
    return (
        f"Round {step}, threshold {short(row['threshold'])}: of {plural(row['trees tested'], 'tree')} tested, "
        f"{whole(row['answered yes'])} answered yes; {whole(row['passed'])} of {plural(row['nodes tested'], 'node')} "
        f"tested alone passed, and got {short(row['value given'])} with all unlabelled nodes above.{ending}"
    )


def _clamped(made: Run) -> str:
    moved = f"{whole(made.moved)} of {plural(made.nodes.truth.size, 'node')} moved into their interval."
    return (
        f"Clamp: every count is measured once more, with noise of at most R = {short(made.reach or 0.0)}, and what is "
        f"further than R from its measurement moves there, so no error exceeds 2 R. {moved}"
        + ("" if made.source.is_small else " They are not drawn one by one: the picture keeps the rounds' values.")
    )


def _told(one: Step) -> str:
    start = f"Round {one.round + 1}, threshold {short(one.classification_threshold)}: "
    if one.fired is None:
        return f"{start}no level of any remaining tree answered yes."
    told = f"{start}in the tree below node {one.root}, level {one.fired} was the deepest to answer yes; "
    told += f"{whole(len(one.passed))} of {plural(len(one.tested), 'node')} tested alone passed"
    if not one.labelled:
        return f"{told}, so nothing is labelled."
    return f"{told}. {plural(len(one.labelled), 'node')} got {short(one.value)}: what passed and the unlabelled above."
