"""Figures: arrays and plain values in, a plotly figure out. Nothing below knows them, and they know no page."""

from treedp_core.figures.draw import one_draw
from treedp_core.figures.icicle import icicle
from treedp_core.figures.levels import error_boxes
from treedp_core.figures.strips import level_strips
from treedp_core.figures.sweep import of

__all__ = ["error_boxes", "icicle", "level_strips", "of", "one_draw"]
