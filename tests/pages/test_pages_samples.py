"""Samples in the app: read when they are chosen, and the source of published records beside every number of them."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from browsing import ROOT
from oracles_pages import open_page, words
from pages.ui.tables import store
from sample_data.catalogue import SAMPLES
from treedp_core.records import count_hierarchy, domain_of_paths, domain_of_values
from treedp_core.records.dataset import leaves_table
from treedp_core.records.export.columns import credited
from treedp_core.records.export.tables import csv_bytes

pytestmark = pytest.mark.usefixtures("own_jobs")

PUBLISHED = [name for name, one in SAMPLES.items() if not one.is_synthetic]


def texts(app: AppTest) -> str:
    """All that a page says, popovers and small print included."""
    return words(app) + " ".join(str(one.value) for one in (*app.markdown, *app.caption))


def test_no_sample_is_read_before_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_SAMPLES", {})
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    for page in ("data", "lab", "budget"):
        app = app.switch_page(f"pages/{page}.py").run()
        assert not app.exception
    assert set(store._SAMPLES) == {"small_town"}
    own = count_hierarchy(b"a\nx\ny\n", ["a"], domain=domain_of_values({"a": ["x", "y"]}))
    assert not open_page("lab", own).exception
    assert set(store._SAMPLES) == {"small_town"}, "a table of one's own is none of them"
    assert not open_page("data", sample="cities").exception
    assert set(store._SAMPLES) == {"small_town", "cities"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_source_stands_where_a_sample_is_chosen_and_used(name: str) -> None:
    told = f"Source: {SAMPLES[name].credit}."
    for page in ("data", "lab", "plan"):
        app = open_page(page, sample=name)
        assert not app.exception
        assert told in texts(app).replace("\u00a0", " "), page
    assert "sample of published records" in texts(open_page("start", sample=name))


def test_leaves_taken_along_name_the_source_and_can_be_given_back() -> None:
    sample, data = SAMPLES["flights"], store.count_sample("flights")
    content = csv_bytes(credited(leaves_table(data), sample.credit))
    assert sample.credit in content.decode("utf-8-sig").splitlines()[1]
    again = count_hierarchy(sample.path, sample.columns, domain=domain_of_paths(content, sample.columns))
    assert again.tree.n_leaves == data.tree.n_leaves + 1, "the leaf (other), which nothing is in"
    assert again.report.other == 0


def test_made_up_samples_have_no_source() -> None:
    assert "Source:" not in texts(open_page("data", sample="geography"))
    assert "synthetic sample" in texts(open_page("start", sample="geography"))
