"""The lesson: what a guess leads to, step by step, and how many exercises are right."""

from treedp_core.views.lesson.view import ENTRIES, LessonInputs, before, card, run

__all__ = ["ENTRIES", "LessonInputs", "before", "card", "run"]
