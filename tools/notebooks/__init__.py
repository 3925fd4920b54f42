"""Notebooks, made of pages of docs/ when they are asked for: `./dev docs` and `./dev notebooks` write them."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The pages that are offered as notebooks, by their names below docs/.
PAGES = (
    "start/ten_minutes",
    "tutorial/tensors",
    "tutorial/linear_algebra",
    "tutorial/random",
    "tutorial/loops",
    "tutorial/gradients",
    "guide/notebooks",
)
