"""Take the pictures in docs/pictures of the built site, in headless Chromium: ``python -m tools.site.pictures``."""

from __future__ import annotations

import sys
from pathlib import Path

from tools.browser import Browser
from tools.site import DOCS, SITE

FOLDER = DOCS / "pictures"
DESKTOP, PHONE = (1280, 860), (390, 844)
# The name of each picture: the page, the window, and where the page is scrolled to.
PICTURES = {
    "front": ("index.html", DESKTOP, ""),
    "function": ("guide/function.html", DESKTOP, ""),
    "reference": ("reference/generated/tensor_reductions.html", DESKTOP, "treadle.tensor.sum"),
    "gallery": ("gallery/index.html", (1180, 760), ""),
    "search": ("search.html?q=gamma", DESKTOP, ""),
}
MORE = {
    "phone_front": ("index.html", PHONE, ""),
    "phone_function": ("guide/function.html", PHONE, "inputs"),
    "phone_reference": ("reference/generated/tensor_reductions.html", PHONE, "treadle.tensor.sum"),
    "phone_gallery": ("gallery/index.html", PHONE, ""),
    "phone_search": ("search.html?q=gamma", PHONE, ""),
    "phone_ops": ("ops.html", PHONE, ""),
    "guide": ("guide/index.html", DESKTOP, ""),
    "ops": ("ops.html", DESKTOP, "other-functions"),
    "example": ("gallery/garch.html", DESKTOP, ""),
    "ten_minutes": ("start/ten_minutes.html", DESKTOP, ""),
    "modules": ("reference/generated/modules.html", DESKTOP, ""),
    "compile": ("reference/generated/treadle.compile.html", DESKTOP, "treadle.compile.Function"),
}


def take(name: str, page: str, size: tuple[int, int], anchor: str, folder: Path) -> None:
    """Save one picture, and say what the page asked for that is no file of the site."""
    path, _, query = page.partition("?")
    with Browser(*size) as browser:
        browser.open(SITE / "html" / path)
        if query:
            browser.run(f"location.href = location.pathname + '?{query}'")
            browser.wait("document.querySelector('#search-results h2')?.innerText.includes('Results')", 60)
        if anchor:
            browser.run(f"document.getElementById('{anchor}').scrollIntoView()")
        browser.run("new Promise(r => setTimeout(r, 400))")
        width = browser.run("document.documentElement.scrollWidth")
        browser.picture(folder / f"{name}.png")
    elsewhere = [address for address in browser.requests if not address.startswith(("file:", "data:", "about:"))]
    for fault in (*elsewhere, *browser.messages, *([f"{width} pixels wide"] if width > size[0] else [])):
        sys.stderr.write(f"{page}: {fault}\n")


def main() -> int:
    """Take all pictures, or with a folder as argument also those that are only looked at."""
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        take(name, *picture, FOLDER)
    for folder in map(Path, sys.argv[1:]):
        for name, picture in MORE.items():
            take(name, *picture, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
