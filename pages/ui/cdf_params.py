"""Settings of the page CDF and ranges that a link can carry."""

from __future__ import annotations

from typing import Final

from pages.ui.param import Param

PARAMS: Final[tuple[Param, ...]] = ()
