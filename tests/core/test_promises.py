"""What is promised to people: numbers that are never better than the truth, and sentences that say all they rest on."""

from __future__ import annotations

import ast
import itertools
import math
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from refusals import refuses
from treedp_core.errors import METRICS
from treedp_core.experiment import Experiment, draw_once, prepare, run, smallest_epsilon
from treedp_core.mechanisms import MECHANISMS
from treedp_core.mechanisms.thresholds.plans import tuned_plan
from treedp_core.mechanisms.thresholds.release import release_with_thresholds
from treedp_core.privacy import (
    Guarantee,
    NeighbouringRelation,
    Precision,
    ProtectedUnit,
    Provenance,
    Spread,
    delta_warning,
    fitting_delta,
)
from treedp_core.privacy.promise import Release
from treedp_core.records.export import synthetic
from treedp_core.studies.cdf import CdfSettings, plan_cdf
from treedp_core.studies.topdown import accounting, plan
from treedp_core.studies.topdown.plan import noise_on_tree
from treedp_core.studies.topdown.sparse import release
from treedp_core.tree import Tree
from treedp_core.tree.leaf_table import count_leaves
from treedp_core.watch import generator
from treedp_core.words import budget_text, privacy_text, setting_text

ROOT = Path(__file__).resolve().parents[2]
ADD, REPLACE = NeighbouringRelation.ADD_OR_REMOVE_ONE, NeighbouringRelation.REPLACE_ONE
UNKNOWN = NeighbouringRelation.REPLACE_UNKNOWN
TREE = Tree.from_branching_factors((2, 2))
COUNTS = TREE.counts_of_leaves(np.array([40, 30, 20, 10]))
TABLE = count_leaves([np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])], (2, 2))


def promised(unit: ProtectedUnit, epsilon: float, delta: float, spread: Spread = Spread.STACKED) -> Guarantee:
    return Guarantee(unit, epsilon, delta, precision=Precision.EXACT, spread=spread)


# ---------------------------------------------------------------- numbers

RANDOM = (10.0 ** np.random.default_rng(5).uniform(-12, 3, 2_000)).tolist()
EDGES = [0.1, 0.3, 0.1 + 0.2, 0.9999, 0.99995, 1.0, 1.00049, 9.9999e-4, 999_999.9, 1e-100, 0.0]


@pytest.mark.parametrize("x", [*RANDOM[:50], *EDGES])
def test_a_setting_is_shown_as_it_was_set(x: float) -> None:
    assert float(setting_text(x)) == x


def test_a_cost_is_never_shown_below_and_a_budget_never_above_the_truth() -> None:
    """Typed means the shortest decimal of a float; both within 1 in 1000, the last of four digits."""
    for x in RANDOM + EDGES:
        typed = Fraction(repr(x))
        up, down = (Fraction(Decimal(write(x))) for write in (privacy_text, budget_text))
        assert down <= typed <= up
        assert up <= typed * Fraction(1001, 1000) and down >= typed * Fraction(999, 1000)


def test_exact_fractions_are_rounded_as_safely() -> None:
    third = Fraction(1, 3)
    assert (privacy_text(third), budget_text(third)) == ("0.3334", "0.3333")
    assert privacy_text(Fraction(1) + Fraction(1, 10**30)) == "1.001"
    assert budget_text(Fraction(1) - Fraction(1, 10**30)) == "0.9999"


def test_the_tight_epsilon_is_shown_at_least_as_large_as_it_is() -> None:
    """For 400 random budgets: rounding to the nearest of four digits would be too small for about half of them."""
    found = [accounting(10**x, 1e-6).epsilon_tight for x in np.random.default_rng(1).uniform(-3, 1, 400).tolist()]
    assert sum(float(f"{e:.4g}") < e for e in found) > 100
    assert all(float(privacy_text(e)) >= e for e in found)
    told = [promised(ProtectedUnit(ADD), e, 1e-6).sentence() for e in found]
    assert all(float(one.partition("ε = ")[2].partition(",")[0]) >= e for one, e in zip(told, found, strict=True))


@cache
def sources(*folders: str) -> dict[str, str]:
    """The text of each file of these folders, by its path."""
    files = sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return {file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in files}


@cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(ast.parse(source)))


WRITERS = {"setting_text", "privacy_text", "budget_text"}


def shown_otherwise(source: str) -> list[str]:
    """Values that an f-string puts behind "ε =", "δ =" or "ρ =" without one of the writers of `words`."""
    wrong = []
    for node in nodes(source):
        if not isinstance(node, ast.JoinedStr):
            continue
        for text, value in zip(node.values, node.values[1:], strict=False):
            named = isinstance(text, ast.Constant) and str(text.value).rstrip("*( ").endswith(("ε =", "δ =", "ρ ="))
            if named and isinstance(value, ast.FormattedValue):
                call = value.value
                name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
                if name not in WRITERS and not (isinstance(call, ast.Name) and value.format_spec is None):
                    wrong.append(f"line {value.lineno}: {ast.unparse(value.value)}")
    return wrong


def test_every_privacy_number_is_written_by_the_one_place() -> None:
    wrong = {path: shown_otherwise(text) for path, text in sources("pages", "treedp_core").items()}
    assert {path: found for path, found in wrong.items() if found} == {}


def test_another_way_of_writing_is_found() -> None:
    assert shown_otherwise('f"at ε = {short(epsilon)}"') and shown_otherwise('f"ρ = {rho:.4g}"')
    assert not shown_otherwise('f"at ε = {setting_text(epsilon)} and σ = {sigma:.3g}"')


# ---------------------------------------------------------------- what a promise rests on


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_records_on_distinct_leaves_are_another_promise(relation: NeighbouringRelation) -> None:
    """A unit whose three records share a leaf would lose much more than noise for distinct leaves allows."""
    stacked, distinct = (plan((10, 10, 10), 0.5, unit=ProtectedUnit(relation, 3), spread=s).guarantee for s in Spread)
    assert stacked.epsilon == distinct.epsilon and stacked != distinct
    assert "(at most 3)" in stacked.sentence() and "(at most 3, on distinct leaves)" in distinct.sentence()
    alone = [plan((10, 10), 0.5, unit=ProtectedUnit(relation), spread=s).guarantee for s in Spread]
    assert alone[0] == alone[1] and "distinct" not in alone[1].sentence()  # one record lies on one leaf


def test_who_is_protected_says_contributions_relation_and_known_levels() -> None:
    """Every field of a unit that changes what is protected changes the sentence; no two of these say the same."""
    units = [ProtectedUnit(relation, m) for relation in (ADD, REPLACE) for m in (1, 2, 3)]
    units += [ProtectedUnit(UNKNOWN, m, known) for m in (1, 3) for known in (1, 2, 4)]
    told = {unit.described for unit in units}
    assert len(told) == len(units)
    assert "replaced by as many others" in ProtectedUnit(REPLACE, 3).described  # three by one would show in the total
    assert "no column is known" in ProtectedUnit(UNKNOWN).described
    assert "known and public: the columns of levels 1 to 3" in ProtectedUnit(UNKNOWN, 1, 4).described


@pytest.mark.parametrize("law", sorted(MECHANISMS))
def test_continuous_noise_promises_in_exact_arithmetic(law: str) -> None:
    """On floats a count can be told from its neighbour by the lowest bits of its noise."""
    ideal = "discrete" not in law
    for promise in (
        prepare(Experiment(mechanism=law, delta=1e-6), TREE).guarantee,
        plan_cdf(CdfSettings(4, (2, 2), law, delta=1e-6)).guarantee,
    ):
        assert (promise.precision is Precision.IDEAL) is ideal
        assert ("differential privacy in exact arithmetic; protects" in promise.sentence()) is ideal


def test_continuous_noise_is_no_release() -> None:
    rng = np.random.default_rng(3)
    ready = prepare(Experiment(mechanism="laplace"), TREE)
    with refuses("RELEASE_PRECISION"):
        ready.release(COUNTS, rng, provenance=Provenance.RELEASE)
    raw, final = prepare(Experiment(postprocess=("least_squares",)), TREE).release(
        COUNTS, rng, provenance=Provenance.RELEASE
    )
    assert raw.provenance is final.provenance is Provenance.RELEASE and raw.sentence() == raw.guarantee.sentence()


def simulated() -> list[tuple[str, object]]:
    """One simulation by each way to make one."""
    rng, top_down = np.random.default_rng(4), plan((2, 2), 1.0)
    unit = ProtectedUnit(ADD)
    by_thresholds = release_with_thresholds(
        TREE, COUNTS * 1000, lambda *a: tuned_plan(0.5, *a), unit, 8.0, 1e-3, rng=rng
    )
    return [
        *zip(("noisy", "final"), draw_once(Experiment(postprocess=("non_negative",)), TREE, COUNTS), strict=True),
        ("cdf", plan_cdf(CdfSettings(4, (2, 2))).release(np.arange(4), rng)),
        ("tree", noise_on_tree(top_down, TREE).release(COUNTS, top_down.guarantee, rng)),
        ("sparse", release(TABLE, top_down, rng)),
        ("thresholds", by_thresholds.release),
    ]


def test_every_simulation_says_that_it_is_one() -> None:
    for name, one in simulated():
        assert one.provenance is Provenance.SIMULATION, name
        assert one.sentence().startswith("Simulation of a release: (ε = "), name
        assert "Simulation of a release" in repr(one), name
    with pytest.raises(TypeError):
        Release(COUNTS, None, prepare(Experiment(), TREE).guarantee)  # type: ignore[call-arg]


@pytest.mark.parametrize("write", [synthetic.contingency_csv, synthetic.records_csv])
def test_files_of_simulated_records_say_so_in_every_row(write: object) -> None:
    """Also where a column has the name that says so."""
    table = TABLE
    columns = synthetic.Columns(("a", "simulation"), (["x", "y"], ["u", "v"]))
    header, *rows = write(table, columns, Provenance.SIMULATION).decode("utf-8-sig").splitlines()
    assert header.split(",")[:3] == ['"a"', '"simulation"', '"simulation_"']
    assert rows and all(row.split(",")[2] == '"simulated release"' for row in rows)
    plain = write(table, columns, Provenance.RELEASE).decode("utf-8-sig").splitlines()
    assert [",".join(row.split(",")[:2] + row.split(",")[3:]) for row in (header, *rows)] == plain


def test_no_file_name_holds_the_seed_that_takes_the_noise_away() -> None:
    for path, text in sources("pages").items():
        for node in nodes(text):
            if isinstance(node, ast.keyword) and node.arg in ("name", "file_name"):
                assert "seed" not in ast.unparse(node.value), f"{path}, line {node.value.lineno}"


# ---------------------------------------------------------------- delta


@pytest.mark.parametrize("too_large", [0.0100001, 0.5, 0.999])
def test_a_delta_beyond_one_in_a_hundred_promises_nothing_and_is_refused(too_large: float) -> None:
    unit = ProtectedUnit(ADD)
    ways = [
        lambda d: prepare(Experiment(mechanism="gaussian", delta=d), TREE),
        lambda d: prepare(Experiment(mechanism="laplace", delta=d), TREE),
        lambda d: plan_cdf(CdfSettings(4, (2, 2), "gaussian", delta=d)),
        lambda d: plan((2, 2), 1.0, delta=d),
        lambda d: accounting(1.0, d),
        lambda d: release_with_thresholds(TREE, COUNTS, lambda *a: tuned_plan(0.5, *a), unit, 1.0, d, rng=generator(1)),
    ]
    for way in ways:
        with refuses("DELTA_RANGE"):
            way(too_large)
    for way in ways[:-1]:
        way(0.01)


@pytest.mark.parametrize("total", [0, 1, 9, 10, 999_999, 10**6, 10**6 + 1, 10**9, 10**9 + 1, 7 * 10**12, 10**15])
def test_the_delta_that_fits_is_below_one_over_the_records_at_any_size(total: int) -> None:
    fits = fitting_delta(total)
    assert 0 < fits <= 1e-6 and Fraction(repr(fits)) * total < 1 and not delta_warning(fits, total)
    assert fits == 1e-6 or Fraction(repr(fits)) * 10 * total >= 1  # no smaller than it must be


def test_the_delta_for_a_private_number_of_records_fits_a_public_bound() -> None:
    assert fitting_delta(None) == fitting_delta(10**12) == 1e-13


def test_a_delta_of_one_over_the_records_is_warned_of() -> None:
    assert delta_warning(1e-3, 1000) and delta_warning(2e-3, 1000) and not delta_warning(9.9e-4, 1000)
    assert not delta_warning(0.0, 10**9) and not delta_warning(1e-2, 0)


# ---------------------------------------------------------------- streams of noise


def test_different_entropies_are_different_streams() -> None:
    """Also where numpy's own seeding takes two for one: zeros at the end, and numbers of more than one word."""
    numbers = (0, 1, 5, 7, 2**31 - 1, 2**32, 2**32 + 5, 2**64 - 1)
    every = [items for n in range(4) for items in itertools.product((*numbers, "noise"), repeat=n)]
    every += [(7 + 5 * 2**32,), ("noise", "5"), ("5",), ("(5,)",)]
    firsts = {int(generator(*entropy).integers(2**62)) for entropy in every}
    assert len(firsts) == len(set(every)) == len(every)
    twins = ((7, 5), (7, 5, 0), (7 + 5 * 2**32,))
    assert len({int(np.random.SeedSequence(one).generate_state(1)[0]) for one in twins}) == 1  # what it was built on


def named_draws(source: str) -> list[str | None]:
    """The name that each call of `generator` begins with, None where it has none."""
    calls = [node for node in nodes(source) if isinstance(node, ast.Call)]
    calls = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "generator"]
    firsts = [call.args[0] if call.args else None for call in calls]
    return [one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else None for one in firsts]


def test_no_two_draws_of_core_and_pages_share_a_stream() -> None:
    """Every draw has a name of its own, the first of its entropy; so different names never meet."""
    names = [name for text in sources("pages", "treedp_core").values() for name in named_draws(text)]
    assert None not in names and len(set(names)) == len(names) > 15
    assert named_draws("generator(seed, 4), generator('a', seed), generator()") == [None, "a", None]


def test_one_draw_and_the_first_trials_of_a_simulation_differ() -> None:
    experiment = Experiment(mechanism="laplace", trials=1)
    drawn = draw_once(experiment, TREE, COUNTS)[0].estimate - COUNTS
    simulated_error = run(experiment, TREE, COUNTS).simulation
    assert simulated_error is not None
    assert simulated_error.tree != pytest.approx(math.sqrt(np.square(drawn).mean()))


# ---------------------------------------------------------------- known levels, and numbers that are data


def test_no_more_levels_are_known_than_there_are() -> None:
    """All columns known would protect only whether a record is there, whatever the sentence says."""
    ways = [
        lambda known: prepare(Experiment(relation="replace_unknown", known_levels=known), TREE),
        lambda known: plan(TREE, 1.0, unit=ProtectedUnit(UNKNOWN, 1, known)),
        lambda known: plan((2, 2), 1.0, unit=ProtectedUnit(UNKNOWN, 1, known)),
    ]
    for way in ways:
        way(TREE.n_levels)
        with refuses("KNOWN_LEVELS"):
            way(TREE.n_levels + 1)
    prepare(Experiment(known_levels=64), TREE)  # the other relations know no columns


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_the_smallest_epsilon_is_labelled_where_it_depends_on_the_counts(metric: str) -> None:
    experiment = Experiment(mechanism="laplace", metric=metric, relation="add_or_remove_one")
    error = run(replace(experiment, epsilon=1.0), TREE, COUNTS, simulated=False).formula
    assert error is not None
    one, other = (smallest_epsilon(experiment, TREE, n * COUNTS, error.tree) for n in (1, 10))
    assert (one.epsilon != other.epsilon) is bool(one.label) is bool(other.label)
    assert one.label in ("", "NOT PRIVATE: found from the true counts.")


def test_plus_minus_is_always_a_95_percent_interval() -> None:
    """Only `plus_minus` and `margin` write it, but for the factor 1 ± α.

    A band may say how many standard deviations make it: the computed quantile.
    """
    written = {
        f"{path}: {line.strip()}"
        for path, text in sources("pages", "treedp_core").items() for line in text.splitlines()
        if re.search(r"±\s*\{", line)
    }  # fmt: skip
    allowed = ("treedp_core/words.py",)
    factor = re.compile(r"treedp_core/views/multiplicative/worst_case\.py: .*1 ± \{short\((setting\.)?alpha\)\}")
    said = ("± {hover(", "± {margin(", "± {with_noun(margin(", "± {short(Z95)} standard deviations", "± {short(Z95)} σ")
    written = {line for line in written if not any(one in line for one in said) and not factor.match(line)}
    assert [line for line in sorted(written) if not line.startswith(allowed)] == []
    assert len(written) == len(allowed)
