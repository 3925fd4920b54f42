"""Write the notebooks into a folder: ``python -m tools.notebooks FOLDER``; ``--picture FILE`` takes their picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.notebooks import lab, writing


def main() -> int:
    """Write, or take a picture of the page about notebooks in JupyterLab."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description="Write the tutorials as notebooks.")
    parser.add_argument("folder", type=Path, help="where to write them")
    parser.add_argument("--picture", type=Path, help="save a picture of one of them, in JupyterLab")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    writing.write(options.folder)
    if options.picture is not None:
        lab.take_picture(options.folder / "notebooks.ipynb", options.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
