"""What a release of TopDown promises: the accounting of ρ, and sensitivities by enumeration on a small tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from treedp_core.checks import InputError
from treedp_core.figures.base.draft import Draft
from treedp_core.figures.topdown import epsilon_curves, extra_noise_curves
from treedp_core.privacy import NeighbouringRelation, ProtectedUnit, Spread
from treedp_core.privacy.inspector import MAX_PAIRS, Inspection, inspect
from treedp_core.studies.topdown import accounting as account
from treedp_core.studies.topdown import epsilons, extra_noise
from treedp_core.studies.topdown import tables as numbers
from treedp_core.studies.topdown.accounting import grid_with
from treedp_core.studies.topdown.plan import Plan
from treedp_core.tree import FloatArray, Tree
from treedp_core.tree.text import branching_factors_from_text
from treedp_core.views.finding import Finding, Memo, Provenance, Tables, forgetful
from treedp_core.views.topdown import words
from treedp_core.views.topdown.inputs import Made, TopDownInputs, planned
from treedp_core.words import budget_text, percent, plural, powers, privacy_text, setting_text, short, whole

SMALL_NODES: Final = 200
NUMERICAL: Final = (
    "ρ is what numerical accounting allows this release's own noise, so that all three say more than it loses: "
)


def conversions(inputs: TopDownInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what ρ promises, by the standard conversion and the tight ones, and what the difference is worth."""
    plan = planned(inputs, tables, memo)
    found = account(plan.wanted.rho, plan.wanted.delta)
    cards = (
        ("ε, standard", privacy_text(found.epsilon_simple), "ρ + 2 √(ρ ln 1/δ)",
         "Bun and Steinke (2016), as in the paper."),
        ("ε, tight", privacy_text(found.epsilon_tight), "for discrete Gaussian noise",
         "Canonne, Kamath and Steinke (2020)."),
        ("ε, continuous noise", privacy_text(found.epsilon_gaussian), "exact, no less is possible",
         "Balle and Wang (2018): exact for continuous Gaussian noise of the same ρ; not claimed here."),
        ("Noise saved at the same ε", percent(1 - found.noise_ratio),
         f"ρ = {budget_text(found.rho_tight)} instead of {privacy_text(found.rho)}",
         "Standard deviation that the tight conversion saves at the ε of the standard one."),
    )  # fmt: skip
    columns = dict(zip(("number", "value", "note", "about"), zip(*cards, strict=True), strict=True))
    return Finding(
        columns=lambda: columns,
        answer=f"ρ = {privacy_text(found.rho)} is (ε = {privacy_text(found.epsilon_tight)}, δ = "
        f"{setting_text(found.delta)})-differential privacy. "
        f"Whoever reads ε = {privacy_text(found.epsilon_simple)} off the standard bound adds noise "
        f"{short(1 / found.noise_ratio)} times as large as that promise needs.",
        notes=(f"{NUMERICAL}{plan.found.guarantee.sentence()}",) if plan.wanted.within else (),
    )


def epsilon_against_rho(inputs: TopDownInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return ε for every ρ by three conversions; it refuses as `TopDownInputs.wanted` does."""
    plan = planned(inputs, tables, memo)
    return _against_rho(
        plan, epsilons, epsilon_curves, memo,
        alt="ε against ρ: the standard bound lies above the tight one, most for small ρ in proportion.",
        caption=f"ε for which ρ implies (ε, δ)-differential privacy at δ = {setting_text(plan.wanted.delta)}, rounded "
        "up. Formula: Bun and Steinke (2016); Canonne, Kamath and Steinke (2020), which covers discrete noise; Balle "
        "and Wang (2018), exact for continuous Gaussian noise only.",
    )  # fmt: skip


def noise_against_rho(inputs: TopDownInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the extra noise of the standard bound for every ρ; it refuses as `TopDownInputs.wanted` does."""
    plan = planned(inputs, tables, memo)
    return _against_rho(
        plan, extra_noise, extra_noise_curves, memo,
        alt="Extra noise of the standard bound against ρ: largest for small ρ.",
        caption="By how much σ is larger than it must be when the ε of the standard bound is what is promised, and "
        f"the tight conversion, or the exact one of continuous noise, would do. δ = {setting_text(plan.wanted.delta)}. "
        "Formula.",
    )  # fmt: skip


def _against_rho(
    plan: Made[Plan], find: Callable[..., dict[str, FloatArray]], draw: Callable[..., Draft], memo: Memo, alt: str,
    caption: str,
) -> Finding:  # fmt: skip
    rho, delta = plan.wanted.rho, plan.wanted.delta
    grid = grid_with(rho)
    table = memo((f"topdown.{find.__name__}", grid, delta), lambda: find(grid, delta))
    return Finding(figure=draw(table, rho), columns=lambda: table, alt=alt, caption=caption, **words.of_formula(plan))


def relations(inputs: TopDownInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return what each neighbouring relation costs in noise; it refuses as `TopDownInputs.wanted` does."""
    plan = planned(inputs, tables, memo)
    wanted = plan.wanted
    return Finding(
        columns=partial(numbers.relation_table, plan.subject, wanted),
        alt="Noise of every level by neighbouring relation",
        caption=f"Formula: σ in records at ρ = {privacy_text(wanted.rho)}, equal shares. Replace one: n is public "
        "and exact, a record moves two counts, √2 per level. Add or remove: n is measured too, one level more, a "
        f"record moves one count. The present promise: {plan.found.guarantee.sentence()}",
        **words.of_formula(plan),
    )


def sensitivity(inputs: TopDownInputs, tables: Tables, *, memo: Memo = forgetful) -> Finding:
    """Return the largest change of every level over all neighbours of a small tree, beside the formula.

    Raises
    ------
    InputError
        ``TREE_SHAPE``; ``INSPECTOR_SIZE`` for a tree of more than `SMALL_NODES` nodes, and what `inspect` refuses.
    """
    tree = Tree.from_branching_factors(branching_factors_from_text(inputs.small))
    if tree.n_nodes > SMALL_NODES:
        raise InputError(
            "INSPECTOR_SIZE",
            f"Expected a tree of at most {SMALL_NODES} nodes, got {whole(tree.n_nodes)}: all neighbours are tried.",
        )
    relation = NeighbouringRelation(inputs.relation)
    unit = ProtectedUnit(relation, inputs.contributions, min(inputs.known_levels, tree.n_levels))
    spread = Spread(inputs.spread)
    key = ("topdown.inspection", tree.branching_factors, unit, spread)
    found = memo(key, lambda: inspect(tree, unit, spread))
    return Finding(
        columns=partial(numbers.sensitivity_table, tree, found),
        answer=_verdict(found),
        alt="Largest change of every level, enumerated and by the formula",
        caption=f"Formula beside enumeration: {plural(found.n_pairs, 'pair')} of one unit's records before and after, "
        f"on a tree of {powers(tree.branching_factors or ())}; everybody else's records cancel. In records; "
        "nothing of the data set in use is looked at. Noise is calibrated to the formula; the last column is a change "
        "that reaches the enumerated L2 value.",
        badges=("formula",),
        provenance=Provenance(about=(inputs.small,), relation=relation),
    )


def _verdict(found: Inspection) -> str:
    if not found.holds:
        return "A neighbour changes more than the formula says: please report this tree."
    return (
        "No neighbour changes a level more than the formula says; the costliest one takes "
        f"{privacy_text(max(found.cost_epsilon, found.cost_rho))} of the {privacy_text(found.charged)} charged "
        f"when every measured level spends 1. {whole(found.n_pairs)} pairs tried, at most {whole(MAX_PAIRS)}."
    )
