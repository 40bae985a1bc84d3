"""What is said of a run with multiplicative error, in plain words; labels of the data never appear here."""

from __future__ import annotations

import math

from treedp_core.experiment import Experiment
from treedp_core.mechanisms.thresholds.trace import Step
from treedp_core.studies.multiplicative.run import PLANS, Run
from treedp_core.studies.multiplicative.simple import SIMPLE, best
from treedp_core.words import percent, plural, privacy_text, short, whole


def in_words(plan: str, clamped: bool, settings: Experiment) -> str:
    """Return the settings of a run in a few words."""
    return (
        f"{PLANS[plan]} plan{', clamp' if clamped else ''}, α = {short(settings.alpha)}, "
        f"ε = {privacy_text(settings.epsilon)}"
    )


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
    asked = f"Round {step}, threshold {short(row['threshold'])}: of {plural(row['trees tested'], 'tree')} tested, "
    if not row["answered yes"]:
        return f"{asked}none answered yes, so no node got a value.{ending}"
    got = f"passed, and got {short(row['value given'])} with all unlabelled nodes above"
    passed = f"{whole(row['passed'])} of {plural(row['nodes tested'], 'node')} tested alone"
    return f"{asked}{whole(row['answered yes'])} answered yes; {passed} {got if row['passed'] else 'passed'}.{ending}"


def _clamped(made: Run) -> str:
    moved = f"{whole(made.moved)} of {plural(made.nodes.truth.size, 'node')} moved into their interval."
    return (
        f"Clamp: every count is measured once more, with noise of at most R = {short(made.reach or 0.0)}, and what is "
        f"further than R from its measurement moves there, so no error exceeds 2 R. {moved}"
        + ("" if made.source.is_small else " They are not drawn one by one: the picture keeps the rounds' values.")
    )


def step_in_short(made: Run, step: int) -> str:
    """Return what happened in a step, in one short sentence."""
    if step == 0:
        return "No node has a value yet."
    if step > made.n_searches:
        return f"The clamp moved {whole(made.moved)} of {plural(made.nodes.truth.size, 'node')}."
    if not made.story:
        row = {name: column[step - 1] for name, column in made.rounds.items()}
        named = f"{plural(row['nodes labelled'], 'node')} got {short(row['value given'])}"
        return f"Threshold {short(row['threshold'])}: {named if row['nodes labelled'] else 'no node got a value'}."
    one = made.story[step - 1]
    below = f"Threshold {short(one.classification_threshold)}: "
    if one.fired is None:
        return f"{below}no level of any tree that is left answered yes, so nothing gets a value."
    if not one.labelled:
        return f"{below}level {one.fired} below node {one.root} answered yes, but no node passed its own test."
    named = plural(len(one.labelled), "node")
    return f"{below}level {one.fired} answered yes; {named} on the lit path got {short(one.value)}."


def _told(one: Step) -> str:
    if one.fired is not None:
        return one.sentence()
    return (
        f"Round {one.round + 1}, threshold {short(one.classification_threshold)}: no level of any remaining tree "
        "answered yes."
    )


def asked_in(made: Run, step: int) -> str:
    """Return what was asked in a step of a small tree: level maxima from the deepest up; nothing where nothing was."""
    if not 0 < step <= len(made.story) or not made.story[step - 1].asked:
        return ""
    one = made.story[step - 1]
    asked = ", ".join(f"level {level}: {whole(count)}" for level, count in one.asked)
    return (
        f"Asked in this step, deepest first, the largest unlabelled count of each level (NOT PRIVATE): {asked}. A "
        "level answers yes when its count with fresh noise reaches the noisy threshold, near "
        f"{short(one.classification_threshold)}."
    )


def who_wins(made: Run) -> str:
    """Return whether thresholds or a simple rule are better: in the worst case, and where leaves are small."""
    rival = best(made.nodes.simple)
    error, least = made.error, made.nodes.simple[rival].worst
    if error is None:
        return _small_leaves(made)
    better = "Thresholds have" if error < least else f"{SIMPLE[rival].label} has"
    return (
        f"**{better} the smaller worst-case error** on {plural(made.source.paths.n_levels, 'level')}: thresholds "
        f"{short(error)}, {SIMPLE[rival].label} {short(least)} records.\n\n{_small_leaves(made)}"
    )


def how_it_did(made: Run) -> str:
    """Return the caption of the table of all rules: what is proven of it, and what the root is."""
    error = made.error
    proven = made.plan.error_is_proven or made.plan.error is None
    kind = "proven" if proven else "certified for one leaf, simulated on other trees"
    said = "is not stated for these constants without the clamp" if error is None else f"is {kind}"
    bound, of_clamp = made.found.estimation.max_total, ""
    if made.reach is not None:
        of_clamp = f" The clamp takes half of the budget; with R = {short(made.reach)} it moved {whole(made.moved)}."
    of_root = (
        "The total is public."
        if made.guarantee.unit.total_is_public
        else f"The plan was made for a root of at most {whole(math.ceil(bound))}, a private bound that is charged."
    )
    return (
        "NOT PRIVATE but for the first column. Worst case over all data: exact for the simple rules; that of "
        f"the thresholds {said}. The other columns: this one draw. All rules keep the same promise. {of_root}"
        f"{of_clamp}"
    )


def _small_leaves(made: Run) -> str:
    """Say which wins where leaves are small: thresholds, or the histogram of the leaves summed up."""
    threshold, share = made.small_leaves
    ours, theirs = made.largest_error(), made.largest_error("stability_leaves")
    wins = "thresholds win" if ours < theirs else "the leaves win"
    return (
        f"A stability histogram of the leaves, summed, loses leaves of fewer than {whole(threshold)} records, which "
        f"hold {percent(share)} of the records here (NOT PRIVATE): beyond α w its largest error is {short(theirs)} "
        f"records in this draw, that of thresholds {short(ours)}, so **{wins}**. The fewer records are on small "
        "leaves, the more is to be said for the leaves; no bound holds for all data."
    )
