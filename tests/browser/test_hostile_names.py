"""Names of users in figures, as a real plotly draws them."""

from __future__ import annotations

from typing import Any

import pytest

from test_figures import hostile_figures


@pytest.mark.browser
def test_plotly_shows_hostile_names_literally(page: Any) -> None:
    from plotly.offline import get_plotlyjs

    page.set_content("<!doctype html><body></body>")
    page.add_script_tag(content=get_plotlyjs())
    for kind, fig in hostile_figures().items():
        words = page.evaluate(
            """async (figure) => {
                const box = document.body.appendChild(document.createElement('div'));
                const {data, layout} = JSON.parse(figure);
                await Plotly.newPlot(box, data, {...layout, width: 1800, height: 900});
                return box.textContent;
            }""",
            fig.to_json(),
        )
        assert "<img src=x onerror=" in words or "<b>x</b>" in words, kind
    assert page.evaluate("window.__pwn") is None
    assert page.locator("svg a, svg image[href^=http], body > div img").count() == 0
