"""A form opens again with what is in use: a count that is asked for at once, with nothing changed, is the same call."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from oracles_pages import open_page
from test_pages_data import labelled
from treedp_core.notebook.code import Ran
from treedp_core.records import Dataset
from treedp_core.studies.cdf.bins import bins_of

pytestmark = pytest.mark.usefixtures("own_jobs")

SALES = b"who;place;pay;n\na;North;1.500;2\nb;South;2.250;1.000\na;South;3.000;4\nb;Total;9.000;7\n"
EQUAL = {"lower": 0.0, "upper": 8000.0, "n_bins": 16}
EDGES = {"edges": [0.0, 2000.5, 4000.0, 8000.0]}


def fill(app: AppTest, bins: dict[str, Any]) -> None:
    """Answer the questions of a numeric column, each otherwise than they are at first."""
    labelled(app.selectbox, "Numeric column").set_value(1).run()
    if "edges" in bins:
        labelled(app.toggle, "Bins of unequal width").set_value(True).run()
        labelled(app.text_input, "Edges").set_value("; ".join(f"{edge:g}" for edge in bins["edges"]))
    else:
        for label, name in (("Lower", "lower"), ("Upper", "upper"), ("Bins K", "n_bins")):
            labelled(app.number_input, label).set_value(bins[name])
    app.run()
    labelled(app.segmented_control, "Numbers of pay").set_value(",.")
    labelled(app.radio, "Values outside").set_value("clamp")
    labelled(app.pills, "Leave out").set_value([("place", "Total")]).run()
    if "edges" in bins:
        labelled(app.selectbox, "Unit column").set_value(1).run()
        return
    labelled(app.selectbox, "Counts").set_value(4).run()
    labelled(app.segmented_control, "Numbers of n").set_value(",.").run()


def counted(page: str, bins: dict[str, Any]) -> AppTest:
    """A page after a file was counted there by a column in bins."""
    app = open_page(page, source="upload", cdf_source="upload", contributions="3")
    app.file_uploader[0].upload("sales.csv", SALES).run()
    if page == "data":
        labelled(app.segmented_control, "Levels").set_value("bins").run()
    fill(app, bins)
    if page == "data":
        labelled(app.text_input, "Branching").set_value("3" if "edges" in bins else "4,4").run()
    app.button(key="upload_count").click().run()
    assert not app.exception and not app.error
    return app


def kept(app: AppTest, slot: str) -> Ran[Dataset]:
    found: Ran[Dataset] = app.session_state["_from_file"][slot].ran
    return found


@pytest.mark.parametrize("bins", [EQUAL, EDGES], ids=["equal", "edges"])
@pytest.mark.parametrize(
    ("first", "then", "slot"), [("data", "data", "upload"), ("data", "cdf", "cdf"), ("cdf", "cdf", "cdf")]
)
def test_a_count_asked_for_again_is_the_same_call(bins: dict[str, Any], first: str, then: str, slot: str) -> None:
    app = counted(first, bins)
    before = kept(app, "upload")
    app.switch_page("pages/lab.py").run()
    app.switch_page(f"pages/{then}.py").run()
    app.button(key=f"{slot}_count").click().run()
    assert not app.exception and not app.error
    again = kept(app, slot)
    assert again.args[1] == before.args[1] == "pay"
    assert {name: before.kwargs[name] for name in bins} == bins and before.kwargs["left_out"] == {"place": ["Total"]}
    assert (before.kwargs["weight"], before.kwargs["unit"]) == ((None, "who") if "edges" in bins else ("n", None))
    asked = {name: value for name, value in before.kwargs.items() if name != "branching" or then == "data"}
    assert {name: again.kwargs[name] for name in asked} == asked
    assert bins_of(again.value).counts.tolist() == bins_of(before.value).counts.tolist()
