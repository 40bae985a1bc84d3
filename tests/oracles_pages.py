"""What the pages' tests share: an app in memory, small data sets, decoded figures, and slow obvious oracles."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from browsing import ROOT
from oracles_tree import level_starts
from pages.ui.tables.session_tables import Kept
from treedp_core.records import Dataset, DomainSource, ReadReport
from treedp_core.records.dataset import labels_of
from treedp_core.records.unit_rows import MOST, unit_rows
from treedp_core.tree import Tree
from treedp_core.watch import Watch

# A server asks all installed packages once whether they bring components; each app in memory would ask them anew,
# which takes as long as its first run.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# A server also keeps a script that it has compiled; each run of an app in memory would compile it and its page anew.
local_script_runner.ScriptCache = cache(local_script_runner.ScriptCache)  # type: ignore[misc, assignment]
app_test.ScriptCache = local_script_runner.ScriptCache


LARGEST_KEPT = 1 << 20
DONE: dict[bytes, bytes] = {}
"""What workers of tests have done, and what came of it; a test that changes the core has one of its own."""


class Inline:
    """An executor that does the work at once, so that a page's simulation is over when its button was pressed."""

    def submit(self, work: Any, *arguments: Any) -> None:
        work(*arguments)


class WorkersHere:
    """Workers without processes: what goes to one and comes back is pickled, the work is done on the spot.

    What was `done` is not done again: a search for the best split is the same on the page of another test. What reads,
    and so has limits, is: a file may be another one by then.
    """

    def __init__(self, done: dict[bytes, bytes] | None = None) -> None:
        self._done = {} if done is None else done

    def run(self, work: Any, watch: Watch, is_wanted: Any = None, limits: Any = None) -> Any:
        asked = pickle.dumps(work, protocol=5)
        known = None if limits else self._done.get(asked)
        found = known or pickle.dumps(pickle.loads(asked)(watch=watch), protocol=5)
        if not limits and len(asked) + len(found) <= LARGEST_KEPT:
            self._done[asked] = found
        return pickle.loads(found)


class Later:
    """An executor that never starts: the simulation stays queued."""

    def submit(self, work: Any, *arguments: Any) -> None:
        return None


def open_page(name: str, data: Dataset | None = None, **link: Any) -> AppTest:
    """The app opened by a link on one page, its *More* open, on a data set of one's own if given.

    Without one it is the large sample: its levels are few and its counts differ widely.
    """
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.session_state["level"] = "Advanced"
    app.session_state["sample"] = "geography"
    for key, value in link.items():
        app.query_params[key] = value
    if data is not None:
        app.session_state["_from_file"] = {"upload": Kept(data)}
        app.session_state["source"] = "upload"
    return app.switch_page(f"pages/{name}.py").run()


def widget(app: AppTest, key: str) -> Any:
    """The control or button of that key, whatever kind it is."""
    kinds = (
        app.button, app.pills, app.segmented_control, app.selectbox, app.multiselect, app.text_input, app.number_input,
        app.slider, app.select_slider, app.toggle, app.checkbox, app.radio,
    )  # fmt: skip
    return next(one for kind in kinds for one in kind if one.key == key)


def shared_link(app: AppTest) -> str:
    """The link that *Share* shows once it is opened."""
    app.session_state["share"] = True
    return str(app.run().sidebar.code[0].value)


def press(app: AppTest, key: str) -> AppTest:
    """Press a button and let the page run."""
    return widget(app, key).click().run()


def pick(app: AppTest, **values: Any) -> AppTest:
    """Set controls by their keys, and let the page run."""
    for key, value in values.items():
        widget(app, key).set_value(value)
    return app.run()


def answer(app: AppTest) -> str:
    """What the page answers to its question, below the first figure."""
    blocks: list[Any] = [app.main]
    for block in blocks:
        if getattr(block.proto, "id", "").endswith("-answer"):
            return " ".join(part.value for part in block.markdown).replace("\u00a0", " ")
        blocks += [one for one in block.children.values() if hasattr(one, "children")]
    raise AssertionError("The page has no answer.")


def table(app: AppTest, column: str) -> Any:
    """The first table with that column, as a data frame."""
    return next(one.value for one in app.dataframe if column in one.value.columns)


def written(app: AppTest, column: str) -> Any:
    """The same, its numbers as they are written."""
    element = next(one for one in app.dataframe if column in one.value.columns)
    with pa.ipc.open_stream(element.proto.arrow_data.styler.display_values) as sent:
        words, values = sent.read_pandas(), element.value
    differ = [name for name in values.columns if words[name].tolist() != values[name].astype(str).tolist()]
    return values.assign(**{name: words[name].tolist() for name in differ})


def read(text: Any) -> float:
    """A number of a table as it is written: thin spaces, a minus sign, perhaps percent; "–" is none."""
    plain = str(text).replace("\u202f", "").replace("−", "-").removesuffix(" %").replace("–", "nan")
    return float(plain.replace("∞", "inf"))


def codes(app: AppTest) -> list[str]:
    """The codes of the refusals on the page, in their order."""
    return [error.value.splitlines()[-1].removeprefix(":small[`").removesuffix("`]") for error in app.main.error]


def dataset(tree: Tree, leaf_counts: Sequence[int], name: str = "test", prefix: str = "n") -> Dataset:
    """A data set on a tree, its labels numbered."""
    counts = tree.counts_of_leaves(np.array(leaf_counts, dtype=np.int64))
    sizes = tree.level_sizes[1:].tolist()
    codes = [np.arange(size, dtype=np.int32) for size in sizes]
    words = [[f"{prefix}{level}.{i}" for i in range(size)] for level, size in enumerate(sizes, 1)]
    names = [f"{prefix}level{level}" for level in range(1, tree.n_levels)]
    labels = labels_of(tree, codes, words, names)
    return Dataset(name, tree, labels, counts, DomainSource.PUBLIC, ReadReport(int(counts[0]), int(counts[0])))


def with_units(data: Dataset, seed: int = 0) -> Dataset:
    """The same, its records drawn for units of 1, 2, 3, ... records, all of which were counted."""
    if data.report.unit_rows is not None:
        return data
    leaves = np.repeat(data.tree.leaves, data.counts[data.tree.leaves])
    np.random.default_rng(seed).shuffle(leaves)
    place = np.arange(leaves.size)
    unit = (np.sqrt(8 * place + 1) - 1).astype(int) // 2
    ranks = np.minimum(place - unit * (unit + 1) // 2, MOST)
    recipe = replace(data.report.recipe, unit="person", bound=MOST)
    rows = unit_rows(data.tree, leaves, ranks, np.ones_like(leaves))
    return replace(data, report=replace(data.report, unit_rows=rows, units=rows.units, recipe=recipe))


RAGGED = dataset(Tree.from_child_counts([np.array([3]), np.array([0, 2, 4])]), [7, 0, 1, 2, 3, 4, 5])
DEGENERATE = {
    "one node": dataset(Tree.from_branching_factors(()), [5]),
    "one leaf": dataset(Tree.from_branching_factors((1, 1)), [5]),
    "one level of leaves": dataset(Tree.from_branching_factors((4,)), [0, 1, 2, 3]),
    "all counts zero": dataset(Tree.from_branching_factors((2, 2)), [0, 0, 0, 0]),
    "ragged": RAGGED,
}


def tree_of(parent: Sequence[int]) -> Tree:
    """A tree from its parents in level order."""
    return Tree(np.array(parent), np.array(level_starts(list(parent))))


def figure(app: AppTest, key: str) -> dict[str, Any]:
    """The specification of one of a page's figures, arrays decoded."""
    for chart in app.get("plotly_chart"):
        if f"-{key}" in chart.proto.id or chart.proto.id.endswith(key):
            return decoded(json.loads(chart.proto.spec))
    raise AssertionError(f"no figure {key}")


def decoded(value: Any) -> Any:
    """A figure's specification with its binary arrays as lists."""
    if isinstance(value, dict):
        if "bdata" in value:
            array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
            return array.tolist()
        return {key: decoded(inner) for key, inner in value.items()}
    return [decoded(inner) for inner in value] if isinstance(value, list) else value


def words(app: AppTest) -> str:
    """Everything a page says in its main part, as one text."""
    parts = [*app.main.markdown, *app.main.caption, *app.main.info, *app.main.error, *app.main.text, *app.main.header]
    told = [*(str(part.value) for part in parts), *(bar.proto.text for bar in app.main.get("progress"))]
    return "\n".join(told).replace("\u00a0", " ")  # which keeps a number and its sign in one line


def metric_values(app: AppTest) -> dict[str, str]:
    """A page's cards: label -> value."""
    return {metric.label: metric.value for metric in app.metric}


def mean_gap(parent: Sequence[int], values: Sequence[float]) -> float:
    """Mean of |node - sum of its children| over the nodes that have any, node by node."""
    gaps = []
    for node in range(len(parent)):
        children = [v for v in range(len(parent)) if parent[v] == node]
        if children:
            gaps.append(abs(values[node] - sum(values[child] for child in children)))
    return sum(gaps) / len(gaps) if gaps else 0.0


def tree_rmsre(starts: Sequence[int], errors: Sequence[float], counts: Sequence[int], tau: float) -> float:
    """Root of the mean over levels of the mean over a level's nodes of (error / max(count, tau))^2."""
    levels = []
    for begin, end in pairwise(starts):
        squares = [(errors[v] / max(counts[v], tau)) ** 2 for v in range(begin, end)]
        levels.append(sum(squares) / len(squares))
    return float((sum(levels) / len(levels)) ** 0.5)
