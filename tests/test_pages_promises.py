"""Promises on the screen: one δ in text, button, figure and strip, and no view that opens with an error without one."""

from __future__ import annotations

import re

import pytest

from tests.oracles_pages import open_page, words

# The sample in use holds 33 million records; the other pages start with samples, or trees, of less than a million.
MANY, FEW = "1e-8", "1e-6"
VIEWS = [
    ("start", {}, MANY),
    ("lab", {"lab_mechanisms": "gaussian"}, MANY),
    ("consistency", {"con_mechanism": "discrete_gaussian"}, MANY),
    ("budget", {"bud_mechanism": "gaussian"}, MANY),
    ("branching", {"bra_noise": "gaussian"}, MANY),
    ("cdf", {"cdf_mechanism": "gaussian"}, FEW),
    ("multiplicative", {"mul_view": "growth"}, FEW),
    ("multiplicative", {"mul_view": "run"}, FEW),
    ("multiplicative", {"mul_view": "meaning"}, FEW),
    ("topdown", {"td_view": "release"}, FEW),
    ("topdown", {"td_view": "accounting"}, FEW),
]


@pytest.mark.parametrize(("page", "link", "fits"), VIEWS)
def test_without_a_delta_every_view_works_with_one_that_fits(page: str, link: dict[str, str], fits: str) -> None:
    """The largest power of ten below 1 / records, at most 1e-6: what each page says, offers and uses."""
    app = open_page(page, **link)
    assert not app.exception and not app.error
    told = words(app)
    assert set(re.findall(r"δ = (\d[\d.e-]*\d)", told)) == {fits}
    if page not in ("start", "branching"):
        assert f"δ = {fits} is used on this page" in told
        assert [b.label for b in app.main.button if b.label.startswith("Set δ")] == [f"Set δ = {fits}"]
    if page != "start":
        strip = next(c.value for c in app.main.caption if "· ε = " in c.value)
        assert f"δ = {fits}" in strip


def test_a_link_with_a_delta_that_promises_nothing_keeps_the_present_one() -> None:
    """That it is named in one sentence is tested with the other links."""
    assert open_page("lab", delta="0.5").session_state["delta"] == 0.0
    assert open_page("lab", delta="0.01").session_state["delta"] == 0.01


def test_known_levels_beyond_the_data_are_clamped_and_the_sidebar_says_so() -> None:
    for page in ("start", "lab", "data", "topdown"):
        app = open_page(page, nbr="replace_unknown", known_levels="64")
        assert not app.exception and not app.error
        if page == "data":  # its control holds what there can be
            n_levels = int(app.number_input(key="known_levels").max or 0)
            assert app.session_state["known_levels"] == n_levels < 64
        else:
            assert any("64 known levels are set" in one.value for one in app.sidebar.warning)
    app = open_page("lab", nbr="replace_unknown", known_levels="64", lab_view="n_levels")
    assert not app.exception and not app.error


@pytest.mark.parametrize(("metric", "is_data"), [("rmse", False), ("rmsre", True)])
def test_a_smallest_epsilon_that_is_data_says_so(metric: str, is_data: bool) -> None:
    app = open_page("lab", lab_metric=metric, lab_target="0.9", lab_mechanisms="laplace")
    notes = next(frame.value for frame in app.dataframe if "smallest ε" in frame.value)["note"].tolist()
    assert all(("NOT PRIVATE" in note) is is_data for note in notes if note != "not within reach of any ε up to 100")
    assert notes
