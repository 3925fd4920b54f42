"""Remake docs/graph_page.png: the HTML page of a logistic regression's training step, in headless Chromium.

With ``--page PATH``, write the page itself.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import treadle.tensor as tt
from tools.browser import Browser
from treadle.compile import function, shared
from treadle.graph import html_page, name_scope

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "graph_page.png"


def training_step() -> Any:
    """Return a compiled step of gradient descent on the regularised logistic loss."""
    x, y = tt.matrix("x"), tt.vector("y")
    weights, bias = shared([0.0] * 30, name="weights"), shared(0.0, name="bias")
    with name_scope("model"):
        score = x @ weights + bias
    with name_scope("loss"):
        with name_scope("likelihood"):
            misfit = (tt.softplus(score) - y * score).mean()
        with name_scope("penalty"):
            penalty = 1e-3 * (weights**2).sum()
        loss = misfit + penalty
        loss.name = "loss"
    with name_scope("gradient"):
        slopes = tt.grad(loss, [weights, bias])
    with name_scope("update"):
        updates = {p: p - 0.1 * slope for p, slope in zip((weights, bias), slopes, strict=True)}
    return function([x, y], loss, updates=updates, mode="VM", name="training step of a logistic regression")


def photograph(page: str, picture: Path) -> None:
    """Open the page, choose a node, and save what the window shows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        path.write_text(page, encoding="utf-8")
        with Browser(1600, 1000, 1.5) as browser:
            browser.open(path)
            browser.wait("document.documentElement.dataset.state === 'ready'")
            browser.click_on("[aria-label^='op MatMul']")
            browser.picture(picture)


def main() -> int:
    """Make the picture or the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--page", type=Path, help="write the page to this file instead")
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    options = parser.parse_args()
    page = html_page(training_step())
    if options.page:
        options.page.write_text(page, encoding="utf-8")
    else:
        photograph(page, options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
