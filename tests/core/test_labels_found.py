"""Nodes found by a part of their name, against a walk over every path."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from treedp_core.records import count_hierarchy, domain_taken_from_the_data
from treedp_core.records.dataset import Dataset

WORDS = st.sampled_from(["ulm", "Ulm", "Neu-Ulm", "m", "Ü", "süd", "x > y", "a"])


def data_of(rows: list[tuple[str, str]]) -> Dataset:
    file = "a,b\n" + "".join(f'"{one}","{other}"\n' for one, other in rows)
    return count_hierarchy(file.encode(), ["a", "b"], domain=domain_taken_from_the_data())


def walked(data: Dataset, parts: list[str]) -> list[int]:
    """A node is found if its own name has the last part, and names above it the others in their order."""
    found = []
    for node in range(1, data.tree.n_nodes):
        *above, own = [name.lower() for name in data.labels.path(node)]
        left = iter(above)
        if parts[-1] in own and all(any(part in name for name in left) for part in parts[:-1]):
            found.append((own != parts[-1], node))
    return [node for _, node in sorted(found)]


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=12),
    parts=st.lists(st.sampled_from(["u", "ulm", "m", "ü", "SÜD", "neu", "zz"]), min_size=1, max_size=3),
)
def test_a_part_of_a_name_finds_what_a_walk_finds(rows: list[tuple[str, str]], parts: list[str]) -> None:
    data = data_of(rows)
    assert data.labels.found(" > ".join(parts)).tolist() == walked(data, [part.lower() for part in parts])


def test_nothing_said_finds_nothing() -> None:
    assert data_of([("a", "m")]).labels.found(" > ").tolist() == []
