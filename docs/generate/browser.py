"""What a reader would miss on the built pages, found in a browser: ``python -m docs.generate.browser site [page.html …]``.

Each page is opened from the disk in both themes, wide and on a phone, with all that is folded open and every tab shown. The
system's Chromium is driven; nothing is fetched.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

Theme = Literal["light", "dark"]

PHONE, WIDE = 390, 1280
"""Widths in pixels at which pages are looked at."""
HEIGHT = 844
FAULTS = Path(__file__).with_suffix(".js").read_text("utf-8")
UNFOLD = """() => {
  const shown = Object.assign(document.createElement("style"), { textContent: ".tabbed-block { display: block !important }" });
  document.head.append(shown);
  for (const each of document.querySelectorAll("details")) each.open = true;
}"""
SETTLE = """async () => {
  const react = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
  await react();
  await document.fonts.ready;
  await react();
}"""
"""Until what reacts to other sizes, and to fonts that these ask for, has done so."""
AXE = """async () => {
  const { violations } = await axe.run({ exclude: [["math"]] }, { preload: false, resultTypes: ["violations"] });
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, any, all, none }) => `axe, ${id}: ${target} ${[...any, ...all, ...none][0]?.message ?? ""}`));
}"""
"""Faults by axe-core. It knows nothing of MathML, whose colours are those of the text around it."""


def executable() -> str | None:
    """The system's Chromium, if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@contextmanager
def launch() -> Iterator[Browser]:
    """A headless Chromium. While it is open, asyncio takes its loop for running."""
    with (
        sync_playwright() as driver,
        driver.chromium.launch(executable_path=executable(), args=["--no-sandbox"]) as browser,
    ):
        yield browser


def pages(site: Path) -> list[str]:
    """The pages of a site; not the one that a server shows instead of a missing page, whose addresses begin at its root."""
    found = (str(path.relative_to(site)) for path in site.rglob("*.html"))
    return sorted(name for name in found if name != "404.html")


def faults(
    browser: Browser,
    site: Path,
    names: Iterable[str],
    theme: Theme,
    widths: Sequence[int],
    with_axe: bool = False,
) -> Iterator[str]:
    """What is wrong with pages, a line for each fault: with the page itself and, if asked for, what axe-core says."""
    page = browser.new_page(color_scheme=theme, viewport={"width": widths[0], "height": HEIGHT})
    said = _listen(page, site)
    for name in names:
        page.set_viewport_size({"width": widths[0], "height": HEIGHT})
        page.goto((site / name).as_uri())
        page.evaluate(UNFOLD)
        if with_axe:
            page.evaluate(AXE_SCRIPT)
        for width in widths:
            page.set_viewport_size({"width": width, "height": HEIGHT})
            page.evaluate(SETTLE)
            said += page.evaluate(FAULTS) + (page.evaluate(AXE) if with_axe else [])
            yield from (f"{name}, {theme}, {width} px: {each}" for each in said)
            said.clear()
    page.close()


def _listen(page: Page, site: Path) -> list[str]:
    """What the page says from now on: errors, and requests that fail or that leave the folder of the site."""
    said: list[str] = []

    def write(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            said.append(f"console: {message.text}")

    def ask(request: Request) -> None:
        if not request.url.startswith((site.as_uri(), "data:", "blob:")):
            said.append(f"a request outside: {request.url}")

    page.on("console", write)
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("request", ask)
    page.on("requestfailed", lambda request: said.append(f"a request failed: {request.url}"))
    return said


def main(site: str = "site", *names: str) -> int:
    """Print every fault of a site, or of some of its pages, and count them."""
    folder = Path(site).resolve()
    if not (folder / "index.html").exists():
        sys.exit(f"expected a folder of built pages (make docs), got {site}")
    found = 0
    with launch() as browser:
        for theme in ("light", "dark"):
            for fault in faults(browser, folder, names or pages(folder), theme, (WIDE, PHONE), with_axe=True):
                sys.stdout.write(f"{fault}\n")
                found += 1
    sys.stdout.write(f"{found} faults in {len(names or pages(folder))} pages\n")
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
