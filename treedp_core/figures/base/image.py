"""Figures as files: SVG, PNG or PDF, drawn by a Chromium of this machine in a process with a time limit.

Needs the extra `image` (kaleido) and a Chromium. The installed plotly.js draws; nothing is fetched, and the Chromium is
given no way to.
"""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Final, Literal

from plotly.offline import get_plotlyjs

from treedp_core.checks import InputError

Kind = Literal["svg", "png", "pdf"]
VARIABLE: Final = "TREEDP_CHROMIUM"
SECONDS: Final = 40.0
"""For the start of a Chromium and the first figure."""
SECONDS_EACH: Final = 5.0
TRIES: Final = (0.5, 1.0)
"""Parts of that time: a Chromium that never answers, as one in some hundred does, is begun once more."""
_NAMES: Final = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """Return the path of a Chromium, or None: the one that the variable TREEDP_CHROMIUM names, else one on the path."""
    chosen = os.environ.get(VARIABLE)
    return chosen or next((path for path in map(shutil.which, _NAMES) if path), None)


def missing() -> str:
    """Return what there is to install before figures can be drawn as files, in a sentence; nothing if they can."""
    if importlib.util.find_spec("kaleido") is None:
        return "Pictures need the extra “image”: pip install 'treedp[image]'."
    if chromium() is None:
        return f"Pictures need a Chromium: install one, or name it in {VARIABLE}."
    return ""


def images_of(figures: Sequence[dict[str, Any]], kind: Kind) -> list[bytes]:
    """Return figures as files, each as large as its layout says.

    Parameters
    ----------
    figures : sequence of dict
        Plotly's JSON with a width and a height: see `dressed`.
    kind : {"svg", "png", "pdf"}

    Raises
    ------
    InputError
        ``IMAGE_RENDERER`` where something is to be installed first; ``IMAGE_FAILED`` where drawing failed or took too
        long.
    """
    if sentence := missing():
        raise InputError("IMAGE_RENDERER", sentence)
    asked = {"figures": list(figures), "format": kind, "chromium": chromium()}
    question, seconds = json.dumps(asked).encode(), SECONDS + SECONDS_EACH * len(figures)
    answer = next(filter(None, (_answer(question, part * seconds) for part in TRIES)), [])
    if not answer:
        raise InputError("IMAGE_FAILED", "The picture could not be drawn in time; a report has the same figure.")
    return [base64.b64decode(one) for one in answer]


def _answer(question: bytes, seconds: float) -> list[str]:
    """What the process that draws answers, nothing where it fails; it ends after some time, with its Chromium."""
    command = [sys.executable, "-P", "-W", "ignore", "-m", "treedp_core.figures.base.image"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipe, answer = subprocess.PIPE, list[str]()
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=env, start_new_session=True
    ) as process:
        try:
            out, _ = process.communicate(question, seconds)
            answer = json.loads(out) if process.returncode == 0 else []
        except (subprocess.TimeoutExpired, json.JSONDecodeError):
            pass
        finally:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
    return answer


# ---- what a browser needs to draw figures by itself, from the installed package: nothing is fetched


@cache
def plotly_js() -> str:
    """Return the program that draws figures in a browser: plotly.js, about 5 MB."""
    return str(get_plotlyjs())


# ---- the program that draws figures as files: a question in JSON on its input, an answer in JSON on its output


NOWHERE: Final = "127.0.0.1:9"
"""The proxy that Chromium asks instead of the internet: nobody answers there."""


async def drawn(asked: dict[str, Any]) -> list[str]:
    """Return the files that were asked for, in base 64."""
    from kaleido import Kaleido

    async with Kaleido(path=asked["chromium"], mathjax=False, proxy_server=NOWHERE) as chromium:
        found = []
        for figure in asked["figures"]:
            size = {name: figure["layout"][name] for name in ("width", "height")}
            options = {"format": asked["format"], **size}
            found.append(base64.b64encode(await chromium.calc_fig(figure, opts=options)).decode())
        return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(drawn(json.load(sys.stdin)))))
