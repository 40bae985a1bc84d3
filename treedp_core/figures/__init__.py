"""Figures: arrays and plain values in, a plotly figure out. Nothing below knows them, and they know no page."""

from treedp_core.figures.curves import Curve, error_curves
from treedp_core.figures.draw import one_draw
from treedp_core.figures.icicle import clicked_node, icicle
from treedp_core.figures.levels import LevelErrors, error_boxes, error_by_level
from treedp_core.figures.strips import level_strips
from treedp_core.figures.style import CONFIG, present, your_value_marker
from treedp_core.figures.text import count_text, number_text, plot_text

__all__ = [
    "CONFIG",
    "Curve",
    "LevelErrors",
    "clicked_node",
    "count_text",
    "error_boxes",
    "error_by_level",
    "error_curves",
    "icicle",
    "level_strips",
    "number_text",
    "one_draw",
    "plot_text",
    "present",
    "your_value_marker",
]
