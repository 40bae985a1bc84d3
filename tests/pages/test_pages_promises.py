"""Promises on the screen: one δ in text, button, figure and strip, and no view that opens with an error without one."""

from __future__ import annotations

import re

import pytest

from oracles_pages import open_page, words

# The sample in use holds 33 million records; the other pages start with samples, or trees, of less than a million. What
# is offered for every page fits both.
MANY, MORE = "1e-8", "1e-10"
PRIVATE = "1e-13"
"""Under a relation that protects the number of records."""
ADD = {"nbr": "add_or_remove_one"}
VIEWS = [
    ("start", {}, MANY),
    ("lab", {"lab_mechanisms": "gaussian"}, MANY),
    ("consistency", {"con_mechanism": "discrete_gaussian"}, MANY),
    ("budget", {"bud_mechanism": "gaussian"}, MANY),
    ("branching", {"bra_noise": "gaussian"}, MANY),
    ("cdf", {"cdf_mechanism": "gaussian"}, MANY),
    ("multiplicative", {"mul_view": "growth", "mul_total": "1e9"}, MORE),
    ("topdown", {"td_view": "release"}, MANY),
    ("topdown", {"td_more": "accounting"}, MANY),
    ("start", ADD, PRIVATE),
    ("multiplicative", {"mul_view": "run", **ADD}, PRIVATE),
    ("topdown", {"td_view": "release", **ADD}, PRIVATE),
]


@pytest.mark.parametrize(("page", "link", "fits"), VIEWS)
def test_without_a_delta_every_view_works_with_one_that_fits(page: str, link: dict[str, str], fits: str) -> None:
    """The largest power of ten below 1 / records, there and of the data set in use: what a page says, offers, uses.

    Where the number of records is private, one that depends on no data.
    """
    app = open_page(page, **link)
    assert not app.exception and not app.error
    told = words(app)
    assert set(re.findall(r"δ = (\d[\d.e-]*\d)", told)) == {fits}
    if page != "start":
        assert f"δ = {fits} is used on this page" in told
        assert [b.label for b in app.main.button if b.label.startswith("Set δ")] == [f"Set δ = {fits}"]
        strip = next(line for line in words(app).splitlines() if "· ε = " in line or "· δ = " in line)
        assert f"δ = {fits}" in strip


SPENT = [
    ("start", {}, 33_144_926),
    ("lab", {"lab_mechanisms": "gaussian"}, 33_144_926),
    ("lab", {}, 0),
    ("budget", {"bud_mechanism": "gaussian"}, 33_144_926),
    ("branching", {"bra_noise": "gaussian"}, 33_144_926),
    ("data", {}, 0),
    ("cdf", {"cdf_mechanism": "gaussian"}, 12_000),
    ("topdown", {"td_view": "release"}, 250_000),
    ("multiplicative", {"mul_view": "growth", "mul_total": "1e9"}, 10**9),
]


@pytest.mark.parametrize(("page", "link", "records"), SPENT)
def test_a_delta_too_large_is_said_once_where_it_is_spent(page: str, link: dict[str, str], records: int) -> None:
    """By the records that the page is about, and nowhere else; 0 stands for none."""
    app = open_page(page, delta="0.01", **link)
    told = [one.value for one in (*app.sidebar.error, *app.main.error) if "not below 1 / records" in one.value]
    assert len(told) == (1 if records else 0)
    if records:
        least = float(re.findall(r"less than (\d[\d.e-]*\d)", told[0])[0])
        assert 0.999 / records < least <= 1 / records


def test_the_delta_that_a_page_offers_earns_no_warning() -> None:
    """The trips are few, the data set in use holds 33 million records."""
    app = open_page("topdown")
    app.button(key="td_set_delta").click().run()
    app.switch_page("pages/lab.py").run()
    app.session_state["lab_mechanisms"] = ["gaussian"]
    app.run()
    assert app.session_state["delta"] == 1e-8
    assert not app.error and "is used on this page" not in words(app)


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
