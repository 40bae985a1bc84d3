"""The page Lesson: nothing is shown before a guess, a guess is run and kept, exercises are marked, and the way on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from oracles_pages import answer, codes, open_page, press, widget, words
from pages.ui.page import address
from pages.views.lesson import view
from treedp_core.studies.lesson import STEPS, Step, exercises


def test_a_guess_is_asked_for_then_run_and_kept() -> None:
    app = open_page("lesson", level="Basic")
    step = STEPS[0]
    assert answer(app).startswith("Guess first") and step.predict.right not in words(app)
    assert "45 minutes left · 0 of 8 predicted" in words(app)
    widget(app, "les_in_gives").set_value("fifty")
    press(app, "les_in_gives_go")
    assert codes(app) == ["LESSON_NUMBER"] and answer(app).startswith("Guess first")
    widget(app, "les_in_gives").set_value("50 %")
    press(app, "les_in_gives_go")
    assert answer(app).startswith("Not quite: they can subtract") and step.keep in answer(app)
    assert f"The answer is {step.predict.solution}." in answer(app), "who is wrong is told what is right"
    assert app.session_state["les_said"] == ["gives:50"] and "1 of 8 predicted" in words(app)
    press(app, "les_next")
    assert not app.exception and app.title[0].value == STEPS[1].title and answer(app).startswith("Guess first")
    press(app, "les_back")
    assert answer(app).startswith("Not quite")


def test_exercises_are_marked_by_formula_with_a_decimal_comma() -> None:
    app = open_page("lesson", step="noise", les_seat="31")
    first = exercises("noise", 31)[0]
    assert first.text in words(app) and "0 of 2 right" in words(app)
    assert first.hint in widget(app, "les_in_noise_1").help, "a hint is there before an answer"
    widget(app, "les_in_noise_1").set_value(f"{first.answer:.3f}".replace(".", ","))
    press(app, "les_in_noise_1_go")
    assert "1 of 2 right" in words(app) and app.success[0].value == first.right
    widget(app, "les_in_noise_1").set_value(str(first.wrong[0].value))
    press(app, "les_in_noise_1_go")
    assert "0 of 2 right" in words(app) and app.warning[0].value.startswith("Not quite: ")


def test_a_choice_is_marked_and_the_card_counts_all() -> None:
    said = ["children.2:0", *(f"{one.key}:{one.answer:.12g}" for one in exercises("card", 7)[:4])]
    app = open_page("lesson", step="children", les_said=said)
    which = exercises("children", 7)[1]
    widget(app, "les_in_children_2").set_value(int(which.answer))
    press(app, "les_in_children_2_go")
    assert "1 of 2 right" in words(app)
    app.session_state["step"] = "card"
    app.run()
    assert not app.exception and "**4 of 10** right on the card, 4 answered; 1 of 16 in the steps" in answer(app)


def test_a_link_with_nonsense_is_refused() -> None:
    app = open_page("lesson", step="noise", les_said=["noise:maybe"])
    assert not app.exception and answer(app).startswith("Guess first")


def test_the_teachers_sheet_links_to_where_the_app_is(monkeypatch: pytest.MonkeyPatch) -> None:
    written: dict[str, Callable[[], bytes]] = {}
    monkeypatch.setattr(view, "download", lambda _label, write, *, key, **_: written.update({key: write}))
    monkeypatch.setattr(address, "_here", lambda: "http://192.0.2.55:8611/class/lesson")
    open_page("lesson", step="card", level="Advanced")
    sheet = written["les_sheet"]().decode()
    for step in STEPS:
        assert f'href="http://192.0.2.55:8611/class/lesson?step={step.name}"' in sheet


SHOWN = {
    "gives": "at most **100 %** sure",
    "noise": "at most **6** records",  # ln 20 / 0.5, of scale 2
    "who": "at most **6** records",  # 2 ln 20, of scale 2
    "children": "for 4\u202f096 bins the RMSE is 40.2 records with 16³",
    "spend": "a tree with equal budgets needs ±",
    "adds": "lowers the expected RMSE from 2.83 to 2.31",  # √8, and √(8 · 2/3)
}


@pytest.mark.parametrize("step", STEPS, ids=lambda one: one.name)
def test_a_step_opens_its_own_numbers(step: Step) -> None:
    """Every setting in its link is one of its page, and is taken; what the page answers is what the step teaches."""
    app = open_page(step.page, **step.opened)
    assert not app.exception and codes(app) == []
    for key, value in step.opened.items():
        number = float(value) if value.replace(".", "").isdigit() else value
        assert app.session_state[key] in (value, number), key
    assert SHOWN.get(step.name, "the tree wins") in answer(app)
