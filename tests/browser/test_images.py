"""Figures as files: SVG, PNG and PDF of the size asked for, their words inside; what is missing or hangs is said."""

from __future__ import annotations

import html
import re
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from browsing import NO_CHROMIUM, chromium_path
from treedp_core.checks import InputError
from treedp_core.figures.base import image
from treedp_core.figures.base.export_layout import Dress, dressed
from treedp_core.figures.base.image import images_of, missing

FIGURE: dict[str, Any] = {
    "data": [{"type": "scatter", "x": [1, 2, 3], "y": [3, 1, 2], "name": "a"}],
    "layout": {"xaxis": {"title": {"text": "privacy budget"}}},
}
WORDS = Dress("Errors of a town", "A line <b> & more. " * 12, "Settings eps = 1 · Seed 7 · TreeDP 0.1.0", "NOT PRIVATE")


def picture() -> dict[str, Any]:
    return dressed(FIGURE, WORDS, 700, 480)


@pytest.mark.browser
def test_a_figure_becomes_a_file_of_the_size_asked_for_with_its_words_inside() -> None:
    pytest.importorskip("kaleido")
    if chromium_path() is None:
        pytest.skip(NO_CHROMIUM)
    svg = images_of([picture(), picture()], "svg")[1].decode()
    assert re.search(r'<svg[^>]*width="700"[^>]*height="480"', svg)
    told = html.unescape(" ".join(re.findall(r">([^<>]+)</t", svg)))
    for part in (
        "Errors of a town",
        "A line <b> & more.",
        "Settings eps = 1",
        "NOT PRIVATE",
        "privacy budget",
    ):
        assert part in told, part
    low = [float(y) for y in re.findall(r'class="gtitle"[^>]* y="([0-9.]+)"', svg)]
    lines = svg.count('class="line"')
    assert low and low[0] + (lines - 1) * 1.3 * 11 <= 480
    assert struct.unpack(">II", images_of([picture()], "png")[0][16:24]) == (700, 480)
    assert images_of([picture()], "pdf")[0].startswith(b"%PDF")


def test_a_chromium_that_never_answers_is_begun_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kaleido")
    real = chromium_path()
    if real is None:
        pytest.skip(NO_CHROMIUM)
    once = tmp_path / "once"
    first = tmp_path / "chromium"
    first.write_text(f'#!/bin/sh\n[ -e "{once}" ] || {{ touch "{once}"; exec sleep 600; }}\nexec "{real}" "$@"\n')
    first.chmod(0o755)
    monkeypatch.setenv(image.VARIABLE, str(first))
    monkeypatch.setattr(image, "SECONDS", 16.0)
    assert images_of([picture()], "pdf")[0].startswith(b"%PDF") and once.exists()


def test_what_is_missing_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "chromium", lambda: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert "Chromium" in missing()
    with pytest.raises(InputError, match="Chromium") as refusal:
        images_of([picture()], "svg")
    assert refusal.value.code == "IMAGE_RENDERER"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "treedp[image]" in missing()


@pytest.mark.parametrize("does", ["import time; time.sleep(600)", "raise SystemExit(3)", "print('nothing')"])
def test_a_chromium_that_hangs_or_ends_is_given_up(does: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("kaleido")
    fake = tmp_path / "chromium"
    fake.write_text(f"#!{sys.executable}\n{does}\n")
    fake.chmod(0o755)
    monkeypatch.setenv(image.VARIABLE, str(fake))
    monkeypatch.setattr(image, "SECONDS", 1.0)
    monkeypatch.setattr(image, "SECONDS_EACH", 0.0)
    with pytest.raises(InputError) as refusal:
        images_of([picture()], "svg")
    assert refusal.value.code == "IMAGE_FAILED"
