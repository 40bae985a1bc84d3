"""The program that draws figures as files: a question in JSON on its input, an answer in JSON on its output."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from typing import Any, Final

NOWHERE: Final = "127.0.0.1:9"
"""The proxy that Chromium asks instead of the internet: nobody answers there."""


async def drawn(asked: dict[str, Any]) -> list[str]:
    """Return the files that were asked for, in base 64."""
    from kaleido import Kaleido

    async with Kaleido(path=asked["chromium"], mathjax=False, proxy_server=NOWHERE) as chromium:
        found = []
        for figure in asked["figures"]:
            size = {name: figure["layout"][name] for name in ("width", "height")}
            options = {"format": asked["format"], "scale": asked["scale"], **size}
            found.append(base64.b64encode(await chromium.calc_fig(figure, opts=options)).decode())
        return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(drawn(json.load(sys.stdin)))))
