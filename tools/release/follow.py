"""Follow a page word for word, in an empty folder and with what is installed: run every block as a reader would.

    python -P follow.py PAGE.md [--wheels FOLDER]

Sessions must print what they show. Blocks of Python are one program. Commands run in a shell; those of a checkout,
which begin with ``./dev``, are left out and named. ``dist`` is a link to the folder of wheels, as if they had been
built there. This file needs nothing but the standard library, and imports nothing of ours.
"""

from __future__ import annotations

import argparse
import doctest
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FENCE = re.compile(r"^```(\w*(?: pymc)?)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Of a checkout; the wheels that it builds are there already.
CHECKOUT = "./dev "


def blocks(text: str) -> Iterator[tuple[str, int, str]]:
    """Yield language, number of the first line, and text of each block of a page."""
    for found in FENCE.finditer(text):
        yield found[1], text[: found.start(2)].count("\n") + 1, found[2]


def sessions(page: Path) -> tuple[int, int]:
    """Run the sessions of a page, as one; return how many examples there were, and how many failed."""
    flags = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    results = doctest.testfile(str(page), module_relative=False, optionflags=flags, encoding="utf-8")
    return results.attempted, results.failed


def program(text: str, wanted: str = "python") -> str:
    """Return the blocks in one language as one program, whose lines have the numbers that they have in the page."""
    lines = [""] * (text.count("\n") + 1)
    for language, first, block in blocks(text):
        if language == wanted:
            inside = block.splitlines()
            lines[first - 1 : first - 1 + len(inside)] = inside
    return "\n".join(lines).rstrip()


def commands(text: str) -> Iterator[tuple[int, str]]:
    """Yield the commands of a page with the numbers of their lines."""
    for language, first, block in blocks(text):
        if language == "sh":
            for number, line in enumerate(block.splitlines(), first):
                if line.strip() and not line.lstrip().startswith("#"):
                    yield number, line


def follow(page: Path) -> int:
    """Follow a page; print what fails and what is left out, and return how many things failed."""
    text = page.read_text(encoding="utf-8")
    failed = 0
    if any(language == "pycon" for language, _, _ in blocks(text)):
        attempted, wrong = sessions(page)
        print(f"{page.name}: {attempted} examples, {wrong} of them wrong")
        failed += wrong
    if source := program(text):
        file = Path(page.stem + ".py")
        file.write_text(source + "\n", encoding="utf-8")
        done = subprocess.run([sys.executable, str(file)], check=False)
        print(f"{page.name}: its program ended with {done.returncode}")
        failed += done.returncode != 0
    for number, line in commands(text):
        if line.startswith(CHECKOUT):
            print(f"{page.name}:{number}: left out, a command of a checkout: {line.strip()}")
            continue
        done = subprocess.run(["bash", "-c", line], check=False, stdin=subprocess.DEVNULL)
        print(f"{page.name}:{number}: ended with {done.returncode}: {line.strip()}", flush=True)
        failed += done.returncode != 0
    return failed


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Follow a page word for word.")
    parser.add_argument("page", type=Path)
    parser.add_argument("--wheels", type=Path, help="a folder of wheels, to be found as dist")
    options = parser.parse_args()
    if options.wheels is not None:
        Path("dist").symlink_to(options.wheels.resolve(), target_is_directory=True)
    return 1 if follow(options.page.resolve()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
