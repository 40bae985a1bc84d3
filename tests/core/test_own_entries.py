"""Entries of one's own: passed to an experiment, or loaded as a plug-in; never reviewed, and said to be so."""

from __future__ import annotations

import itertools
import pickle
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles_pages import dataset
from own_noise import WIDE
from refusals import refuses
from treedp_core import Experiment, InputError, draw_once, grid, run, sweep
from treedp_core.allocation import ALLOCATIONS, Allocation
from treedp_core.errors import METRICS
from treedp_core.experiment import identity, prepare
from treedp_core.mechanisms import MECHANISMS, LevelNoise
from treedp_core.mechanisms.calibration import LAWS, level_law
from treedp_core.plans import ReleasePlan
from treedp_core.postprocess import POSTPROCESSORS, Postprocessor
from treedp_core.postprocess.chains import CHAINS
from treedp_core.postprocess.isotonic import consistent_cdf, distance_from
from treedp_core.privacy import Budget, ProtectedUnit
from treedp_core.privacy.accounting import epsilon_of_levels
from treedp_core.registry import _LOADED, CLAIM, TABLES, Own, Table, load_plugin, resolve_name
from treedp_core.studies.budget import STRATEGIES
from treedp_core.studies.cdf.release import SPLITS
from treedp_core.testing import check_entry
from treedp_core.tree import Tree
from treedp_core.views import VIEWS, Tables
from treedp_core.views.cdf import CdfInputs

TREE = Tree.from_branching_factors((2, 2))
COUNTS = TREE.counts_of_leaves(np.array([3, 0, 20, 7]))
PLUGIN = Path(__file__).parents[1].joinpath("own_noise.py").read_text(encoding="utf-8")


def one_more(estimate: Any) -> Any:
    return estimate + 1


def prepared(tree: Any, variance: Any, tolerance: Any) -> Any:
    return one_more, None


ONE_MORE = Postprocessor("one_more", "One more", "Plus 1.", prepared, why_biased="It is biased.")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Install a package of one module, and perhaps entry points; what it added to tables is taken away again."""
    tables: list[Table[Any]] = [resolve_name(place) for place in TABLES.values()]
    before = [dict(one._own) for one in tables]
    laws = dict(LAWS._own)

    def install(text: str, points: str = "", name: str = "their_noise") -> str:
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(points, encoding="utf-8")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    yield install
    for one, entries in zip(tables, before, strict=True):
        for name in set(one._own) - set(entries):
            one.withdraw(name)
    for name in set(LAWS._own) - set(laws):
        LAWS.withdraw(name)
    for name in [one for one in _LOADED if one.startswith("their_")]:
        del _LOADED[name]
        sys.modules.pop(name, None)


# ---- passed to an experiment


def test_an_experiment_takes_entries_themselves_and_gives_the_numbers_of_their_definition() -> None:
    """Laplace noise of scale 4 / ε on each of two levels (a public total): its variance is 2 * (4 / 0.5)^2 of ε = 1."""
    mine = Experiment(mechanism=WIDE, postprocess=(ONE_MORE,), epsilon=1.0, seed=3)
    assert (mine.mechanism, mine.postprocess) == ("wide", ("one_more",))
    before, after = draw_once(mine, TREE, COUNTS)
    np.testing.assert_array_equal(after.estimate, before.estimate + 1)
    plain = run(replace(mine, postprocess=()), TREE, COUNTS, simulated=False).formula
    assert plain is not None
    np.testing.assert_allclose(plain.level, [0.0, *[np.sqrt(2) * 8] * 2])
    assert "wide" not in MECHANISMS and "one_more" not in POSTPROCESSORS


def test_entries_join_grids_and_keep_their_own_noise() -> None:
    cells = grid(mechanism=["laplace", WIDE], epsilon=[0.5, 1.0], postprocess=[(), ("least_squares",)])
    assert [one.mechanism for one in cells] == ["laplace"] * 4 + ["wide"] * 4
    assert len({identity(one) for one in cells}) == 8
    assert identity(Experiment(mechanism=WIDE)) == identity(Experiment(mechanism=pickle.loads(pickle.dumps(WIDE))))
    found = [one.formula.tree for one in sweep(cells, TREE, COUNTS, simulated=False) if one.formula is not None]
    np.testing.assert_allclose(np.array(found[4:]) / found[:4], 2.0)


def test_an_entry_goes_to_another_process_with_its_experiment() -> None:
    cells = grid(mechanism=WIDE, epsilon=[0.5, 1.0], postprocess=[(ONE_MORE,)], trials=20)
    here = [one.simulation.level.tolist() for one in sweep(cells, TREE, COUNTS) if one.simulation]
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        there = sweep(cells, TREE, COUNTS, executor=pool)
    assert [one.simulation.level.tolist() for one in there if one.simulation] == here
    assert [one.experiment for one in there] == cells


def mixed(tree: Tree, budget: Budget, unit: ProtectedUnit) -> LevelNoise:
    """Whole-number Laplace noise on the first level, which spends ε²/2 at most, and Gaussian noise on the others."""
    l1, l2 = unit.l1_sensitivity(tree.n_levels), unit.l2_sensitivity(tree.n_levels)
    laws = tuple(
        level_law("discrete_laplace", float(np.sqrt(2 * rho)) * (1 - 1e-12), 1.0, 1.0) if level == 0
        else level_law("discrete_gaussian", rho, l1[level], l2[level])
        for level, rho in enumerate(budget.per_level)
    )  # fmt: skip
    return LevelNoise(tree, laws, (False,) * tree.n_levels)


@pytest.mark.parametrize("accounting", ["formula", "numerical"])
def test_a_mechanism_may_have_another_law_on_each_level(accounting: str) -> None:
    """A level that gets most of the budget has less noise by a bounded loss, where many others are Gaussian."""
    tree = Tree.from_branching_factors((2,) * 11)
    shares = (0.7,) + (0.3 / 11,) * 11
    asked = Experiment(
        mechanism=replace(MECHANISMS["discrete_gaussian"], name="mixed", plan=mixed), relation="add_or_remove_one",
        epsilon=1.0, delta=1e-6, allocation="custom", shares=shares, accounting=accounting,
    )  # fmt: skip
    found = prepare(asked, tree)
    assert [type(law).__name__ for law in found.noise.laws] == ["DiscreteLaplace"] + ["DiscreteGaussian"] * 11
    epsilon = epsilon_of_levels(found.noise.laws, asked.unit, 1e-6)
    assert epsilon <= 1.0 and (epsilon > 0.999) == (accounting == "numerical")
    one_law = prepare(replace(asked, mechanism="discrete_gaussian"), tree).noise.level_variance
    assert (found.noise.level_variance[1:] < one_law[1:]).all() == (accounting == "numerical")


def test_the_name_of_a_reviewed_entry_is_not_taken_by_another() -> None:
    assert Experiment(mechanism=MECHANISMS["laplace"]) == Experiment(mechanism="laplace")
    assert not isinstance(Experiment(mechanism=MECHANISMS["laplace"]).mechanism, Own)
    with refuses("NAME_TAKEN", "another entry"):
        Experiment(mechanism=replace(WIDE, name="laplace"))
    for misplaced in (lambda: Experiment(mechanism=METRICS["rmsre"]), lambda: MECHANISMS.register(3)):  # type: ignore[arg-type]
        with refuses("ENTRY_KIND"):
            misplaced()
    for wrong in (5, None, ("laplace",)):
        with pytest.raises((InputError, TypeError)):
            prepare(Experiment(mechanism=wrong), TREE)  # type: ignore[arg-type]


def test_a_law_that_is_written_again_counts_from_then_on() -> None:
    """As when a cell of a notebook is run a second time."""
    first, second = (dict(vars(__import__("own_noise"))) for _ in range(2))
    for scope in (first, second):
        exec(compile(PLUGIN.replace("2 * l1", "3 * l1"), "cell", "exec"), scope)
    outcome = run(Experiment(mechanism=second["WIDE"]), TREE, COUNTS, simulated=False)
    assert outcome.formula is not None and outcome.formula.level[1] == pytest.approx(np.sqrt(2) * 3 / 0.5 * 2)


def test_what_nobody_reviewed_says_so_and_what_is_built_in_does_not() -> None:
    claimed = prepare(Experiment(mechanism=WIDE), TREE).guarantee
    assert claimed.claimed_by == "own code" and CLAIM in claimed.sentence()
    assert CLAIM in repr(draw_once(Experiment(mechanism=WIDE), TREE, COUNTS)[0])
    for name in MECHANISMS:
        plain = prepare(Experiment(mechanism=name, delta=1e-6), TREE).guarantee
        assert not plain.claimed_by and CLAIM not in plain.sentence()
    assert all(not one.author(name) for one in (MECHANISMS, CHAINS, METRICS) for name in one)


def test_a_plan_of_noise_that_nobody_reviewed_is_refused() -> None:
    from oracles_pages import dataset

    with refuses("PLAN_LAW"):
        ReleasePlan.of(Experiment(mechanism=WIDE), dataset(TREE, [3, 0, 20, 7]))


# ---- plug-ins


def test_what_follows_from_a_table_follows_when_it_changes() -> None:
    other = Table(ONE_MORE)
    derived = Table(replace(ONE_MORE, name="own"), derived=other.values)
    assert list(derived) == ["one_more", "own"]
    other.register(replace(ONE_MORE, name="two_more"))
    assert list(derived) == ["one_more", "two_more", "own"]
    other.withdraw("one_more")
    assert list(derived) == ["two_more", "own"]
    assert derived.get("one_more") is None


def test_nothing_is_loaded_unless_it_is_asked_for(plugin: Callable[..., str]) -> None:
    plugin(PLUGIN, "[treedp.mechanisms]\nwide = their_noise:WIDE\n")
    assert "wide" not in MECHANISMS and "their_noise" not in sys.modules


def test_entry_points_of_a_package_join_the_tables_under_words_that_say_whose_they_are(
    plugin: Callable[..., str],
) -> None:
    text = PLUGIN + (
        "\nfrom treedp_core.postprocess import Postprocessor\n"
        "def prepare(tree, variance, tolerance): return (lambda x: x), variance\n"
        "SAME = Postprocessor('same', 'Same', 'Nothing.', prepare, linear=True)\n"
        "from treedp_core.allocation import Allocation\n"
        "TOPS = Allocation('tops', 'Top heavy', 'Halves.', lambda tree, *_: 0.5 ** np.arange(tree.n_levels))\n"
    )
    name = plugin(
        text, "[treedp.mechanisms]\nw = their_noise:WIDE\n[treedp.postprocessors]\nx = their_noise:SAME\n"
        "[treedp.allocations]\ny = their_noise:TOPS\n[treedp.metrics]\nother = another_package:METRIC\n",
    )  # fmt: skip
    assert load_plugin(name) == ("mechanisms: wide", "postprocessors: same", "allocations: tops") == load_plugin(name)
    for derived in (STRATEGIES, SPLITS):
        assert derived.author("tops") == "their_noise" and not derived.author("uniform")
    wide = MECHANISMS["wide"]
    assert wide.label == "Wide Laplace (not reviewed)" and wide.help.endswith(f" From their_noise, {CLAIM}.")
    assert MECHANISMS.author("wide") == "their_noise" == CHAINS.author("least_squares_same")
    assert "(not reviewed)" in CHAINS["same"].label and not CHAINS.author("least_squares")
    assert "their_noise" in prepare(Experiment(mechanism="wide"), TREE).guarantee.sentence()
    check_entry(wide)


def test_a_distance_of_a_package_is_minimised_on_the_page_and_said_not_to_be_reviewed(
    plugin: Callable[..., str],
) -> None:
    """Too few records are three times as bad as too many: no consistent counts are closer, by listing them."""
    text = (
        "import numpy as np\nfrom treedp_core.postprocess.isotonic import fit_of_distance\n"
        "def pinball(v, x): return np.where(v < x, 3.0, 1.0) * np.abs(v - x)\n"
        "FIT = fit_of_distance('pinball', 'Pinball', 'Rather too many.', pinball)\n"
    )
    assert load_plugin(plugin(text, "[treedp.fits]\nx = their_noise:FIT\n")) == ("fits: pinball",)
    y, costs = np.array([1.6, 0.2, 1.3, 0.4, 3.0]), []
    for fit in itertools.combinations_with_replacement(range(4), 4):
        costs.append(sum((3.0 if v < x else 1.0) * abs(v - x) for v, x in zip(fit, y, strict=False)))
    assert distance_from(consistent_cdf(y, 3, "pinball"), y, "pinball") == pytest.approx(min(costs))
    data = dataset(Tree.from_branching_factors((6,)), [3, 1, 4, 1, 5, 9])
    inputs = CdfInputs(fit="pinball", mechanism="laplace", start=0.0, stop=3.0)
    found = VIEWS["cdf.release"].found(inputs, Tables(data))
    assert "pinball error" in found.caption and "not reviewed" in found.badges
    assert "not reviewed" not in VIEWS["cdf.release"].found(replace(inputs, fit="absolute"), Tables(data)).badges


def test_a_package_may_register_its_entries_itself(plugin: Callable[..., str]) -> None:
    name = plugin(PLUGIN + "\nfrom treedp_core.mechanisms import MECHANISMS\nMECHANISMS.register(WIDE)\n")
    assert load_plugin(name) == ("mechanisms: wide",)
    assert MECHANISMS["wide"].label.endswith("(not reviewed)") and MECHANISMS.author("wide") == "their_noise"


@pytest.mark.parametrize(
    ("text", "points", "code", "said"),
    [
        ("x = 1", "", "PLUGIN_EMPTY", "adds no entry"),
        ("1 / 0", "", "PLUGIN_FAILED", "ZeroDivisionError: division by zero"),
        ("import nothing_of_the_kind", "", "PLUGIN_FAILED", "ModuleNotFoundError"),
        ("x = 1", "[treedp.mechanisms]\nx = their_noise:x\n", "PLUGIN_FAILED", "no Mechanism"),
        ("x = 1", "[treedp.mechanisms]\nx = their_noise:y\n", "PLUGIN_FAILED", "AttributeError"),
        (
            PLUGIN + "\nfrom treedp_core.mechanisms import MECHANISMS\nMECHANISMS.register(WIDE)\n1 / 0\n", "",
            "PLUGIN_FAILED", "division",
        ),
        (
            "from treedp_core.mechanisms import MECHANISMS as M\nM.register(M['laplace'])", "", "PLUGIN_FAILED",
            "Names in a table must differ",
        ),
    ],
)  # fmt: skip
def test_a_plugin_that_is_none_is_refused_in_a_sentence_and_adds_nothing(
    plugin: Callable[..., str], text: str, points: str, code: str, said: str
) -> None:
    before = {kind: list(resolve_name(place)) for kind, place in TABLES.items()}
    name = plugin(text, points)
    with refuses(code, said):
        load_plugin(name)
    assert {kind: list(resolve_name(place)) for kind, place in TABLES.items()} == before


@pytest.mark.parametrize("name", ["nothing_of_the_kind", "a b", "", "../x", "os;1", "their.noise"])
def test_a_package_that_is_not_there_is_refused(name: str) -> None:
    with refuses("PLUGIN_MISSING"):
        load_plugin(name)


def test_an_allocation_and_a_metric_of_ones_own_are_taken_too() -> None:
    top = Allocation("top", "Top", "Most above.", lambda tree, *_: 4.0 ** -np.arange(tree.n_levels))
    mean = replace(METRICS["max_absolute_error"], name="mine", label="Mine")
    outcome = run(Experiment(allocation=top, metric=mean, trials=10), TREE, COUNTS)
    per_level = outcome.budget.per_level
    assert per_level[1] / per_level[2] == pytest.approx(4.0) and "top" not in ALLOCATIONS


@pytest.mark.parametrize(
    "shares", [np.ones(3) * 1j, ["a"] * 3, None, [[1], [1, 2]], np.ones(2), [1.0, -1.0, 1.0], [1.0, np.nan, 1.0]]
)
def test_what_an_allocation_returns_must_be_shares(shares: Any) -> None:
    one = Allocation("mine", "Mine", "My own.", lambda *_: shares)
    with pytest.raises(InputError, match="Expected of the allocation 'mine' one finite share >= 0 for each of the 3"):
        run(Experiment(allocation=one), TREE, COUNTS, simulated=False)


def test_complex_shares_are_refused_by_the_contract_and_as_numbers() -> None:
    one = Allocation("mine", "Mine", "My own.", lambda tree, *_: np.ones(tree.n_levels) * 1j)
    with pytest.raises(InputError, match="gives shares that are no real numbers"):
        check_entry(one)
    with pytest.raises(InputError, match="Expected epsilon"):
        run(Experiment(epsilon=np.complex128(1.0)), TREE, COUNTS, simulated=False)  # type: ignore[arg-type]


def test_shares_stay_those_of_the_allocation() -> None:
    shares = np.ones(3)
    run(Experiment(allocation=Allocation("mine", "Mine", "My own.", lambda *_: shares)), TREE, COUNTS, simulated=False)
    assert shares.tolist() == [1.0, 1.0, 1.0]
    run(
        Experiment(allocation=Allocation("mine", "Mine", "Lists.", lambda *_: [1, 2, 3])), TREE, COUNTS, simulated=False
    )
