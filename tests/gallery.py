"""Pictures of every page, light and dark, for README.md and docs: ``make gallery`` writes them into docs/gallery."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from app import all_pages
from browsing import CHROMIUM_ARGUMENTS, ROOT, Traffic, chromium_path, live_server, settle

FOLDER: Final = ROOT / "docs" / "gallery"
WINDOW: Final = {"width": 1280, "height": 720}
SCHEMES: Final = ("light", "dark")
DRAWN: Final = ".js-plotly-plot .main-svg, .ranges svg, .guess svg"
"""What a page's first figure has once it is drawn."""
MOST_BYTES: Final = 150_000


def pictures() -> list[Path]:
    """The files of the gallery: one of each page and theme."""
    return [FOLDER / f"{page.name}-{scheme}.png" for page in all_pages() for scheme in SCHEMES]


def main() -> None:
    """Start the app, open its pages one after another, and save what the first screen shows."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(parents=True, exist_ok=True)
    with live_server() as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(CHROMIUM_ARGUMENTS))
        for scheme in SCHEMES:
            for page in all_pages():
                name = {"start": "", "notebook": "lab"}.get(page.name, page.name)
                seen = _open(browser, f"{server.url}/{name}", scheme)
                if page.name == "notebook":
                    _pin(seen, page.title)
                file = FOLDER / f"{page.name}-{scheme}.png"
                seen.screenshot(path=file)
                seen.context.close()
                print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes")


def _open(browser: Any, url: str, scheme: str) -> Any:
    seen = browser.new_context(viewport=WINDOW, color_scheme=scheme).new_page()
    seen.set_default_timeout(60_000)
    Traffic().watch(seen)
    seen.goto(url)
    seen.locator(DRAWN).first.wait_for()
    settle(seen)
    seen.get_by_test_id("stProgress").wait_for(state="detached")  # a search may still be under way
    settle(seen)
    return seen


def _pin(seen: Any, title: str) -> None:
    """Pin the figure that is shown, and go to the notebook."""
    seen.get_by_role("button", name="Pin").first.click()
    settle(seen)
    seen.get_by_test_id("stToast").get_by_role("button", name="Close").click()
    seen.get_by_test_id("stSidebarNav").get_by_role("link", name=title).click()
    seen.locator(".st-key-nb_follow").wait_for()
    settle(seen)


if __name__ == "__main__":
    main()
