"""A lesson of eight steps: predict, see it run, and exercises that are checked by formula."""

from treedp_core.studies.lesson.exercises import EXERCISES, exercises
from treedp_core.studies.lesson.hands import bars, hands, most_frequent, said_of_hands
from treedp_core.studies.lesson.question import Marked, Question, Wrong, mark, number_of
from treedp_core.studies.lesson.reveal import DRAGS, DRAWS, Revealed, drag_for_browser, reveal_table, revealed
from treedp_core.studies.lesson.sheet import (
    answers,
    entry_checked,
    hand_out,
    points_table,
    question_named,
    score,
    steps_done,
    teacher_sheet,
    with_answer,
)
from treedp_core.studies.lesson.steps import CARD, STEPS, Step, minutes_left, question_table, step_named

__all__ = [
    "CARD",
    "DRAGS",
    "DRAWS",
    "EXERCISES",
    "STEPS",
    "Marked",
    "Question",
    "Revealed",
    "Step",
    "Wrong",
    "answers",
    "bars",
    "drag_for_browser",
    "entry_checked",
    "exercises",
    "hand_out",
    "hands",
    "mark",
    "minutes_left",
    "most_frequent",
    "number_of",
    "points_table",
    "question_named",
    "question_table",
    "reveal_table",
    "revealed",
    "said_of_hands",
    "score",
    "step_named",
    "steps_done",
    "teacher_sheet",
    "with_answer",
]
