"""Figures: arrays and plain values in, a plotly figure out. Nothing below knows them, and they know no page."""

from treedp_core.figures.sweep import of
from treedp_core.figures.trees.draw import one_draw
from treedp_core.figures.trees.icicle import icicle
from treedp_core.figures.trees.levels import error_boxes
from treedp_core.figures.trees.strips import level_strips

__all__ = ["error_boxes", "icicle", "level_strips", "of", "one_draw"]
