"""A cell made again: of the very table that it was made of, a sample like any other; another one is never offered."""

from __future__ import annotations

from functools import partial

import pytest

from sample_data.catalogue import SAMPLES, count_sample
from test_notebook import cell
from treedp_core.notebook.code import call
from treedp_core.notebook.range_lists import Listed
from treedp_core.views import VIEWS, Entry
from treedp_core.views.cells.rerun import Sources, is_of_table

SOURCES = Sources(sample=partial(call, count_sample), ranges={"0123abcd": Listed("ages.csv", ((1, 10),))})
OF_SAMPLES = [one for one in VIEWS.values() if one.sample is not None]


@pytest.mark.parametrize("entry", OF_SAMPLES, ids=lambda one: one.name)
def test_a_cell_of_a_sample_is_of_no_other_table_and_made_again_of_that_one(entry: Entry) -> None:
    """Seen failing for CDF: samples were offered, and the ages made again under the other one's name."""
    assert entry.sample is not None
    settings = {"bud_of": "paper"} if entry.page == "budget" else {}
    inputs = entry.inputs.of_texts({key: (text,) for key, text in settings.items()})
    name = entry.sample(inputs)
    mine = cell(1, page=entry.page, view=entry.view, part=entry.part, data=None,
                settings={"sample": ("geography",), **inputs.texts()})  # fmt: skip
    assert name and not is_of_table(mine)
    assert SOURCES.of_cell(mine).value.data.name == SAMPLES[name].title


def test_a_sample_of_ages_keeps_the_ranges_that_stood_in_a_table() -> None:
    entry = VIEWS["cdf.release"]
    inputs = entry.inputs.of_texts({"cdf_listed": ("0123abcd",), "cdf_workload": ("own",)})
    mine = cell(1, page="cdf", view="release", part=entry.part, data=None, settings=inputs.texts())
    assert SOURCES.of_cell(mine).value.ranges == ((1, 10),)
    assert SOURCES.of_view(entry, inputs, call(count_sample, "geography"))[1].value.ranges == ((1, 10),)
