"""Say which names of the interface that treadle follows exist here, and why the others do not.

    ./dev run python -m tools.coverage [--all]

The names are those of docs/api_reference.tsv: a section of the reference, or an area of what known client packages
import (with the number of uses there); one path, or all paths by which clients import the object; the function of
NumPy or SciPy that it answers to; and, where a path does not exist under ``treadle``, the reason. A test fails where a
missing name has no reason, or a reason stands beside a name that exists.
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "api_reference.tsv"
# Sections and areas of parts of the system that are at other paths, with what to say of each.
LATER = {
    "clients: xtensor": "tensors with named dimensions are in treadle.named",
}


class Row(NamedTuple):
    """One name of the reference: its section, its paths, its uses by clients, NumPy's equivalent, why it is missing.

    `differs` says what is different here, and why, where the name exists.
    """

    section: str
    path: str
    uses: str
    equivalent: str
    reason: str
    differs: str

    @property
    def missing(self) -> list[str]:
        """Its paths that cannot be imported."""
        return [path for path in self.path.split() if not exists(f"treadle.{path}")]

    @property
    def why(self) -> str:
        """Why it is missing."""
        return self.reason or LATER.get(self.section, "")


@cache
def rows() -> list[Row]:
    """Return the reference list."""
    with REFERENCE.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


@cache
def exists(path: str) -> bool:
    """Whether a dotted path leads to an object: through modules as far as there are any, then through attributes."""
    parts = path.split(".")
    modules = 1
    while modules < len(parts) and _is_module(".".join(parts[: modules + 1])):
        modules += 1
    for count in range(modules, 0, -1):
        value: object = import_module(".".join(parts[:count]))
        try:
            for name in parts[count:]:
                value = getattr(value, name)
        except AttributeError:
            continue
        return True
    return False


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is not a package
        return False


def unexplained() -> list[str]:
    """Return the missing names without a reason."""
    return [f"{row.section}: {path}" for row in rows() if not row.why for path in row.missing]


def outdated() -> list[str]:
    """Return the names that exist, beside a reason why they do not."""
    return [f"{row.section}: {row.path}" for row in rows() if row.reason and not row.missing]


def report(every: bool = False) -> str:
    """Return the text that the command prints.

    Parameters
    ----------
    every
        Whether to list the names of parts that do not exist yet, too.
    """
    by_section: dict[str, list[Row]] = defaultdict(list)
    for row in rows():
        by_section[row.section].append(row)
    lines = []
    for section, rows_of_section in by_section.items():
        missing = [row for row in rows_of_section if row.missing]
        lines.append(f"{section}: {len(rows_of_section) - len(missing)} of {len(rows_of_section)}")
        if section in LATER and not every:
            lines += [f"  {LATER[section]}"] if missing else []
            continue
        lines += [f"  {' '.join(row.missing)}: {row.why or 'no reason given'}" for row in missing]
    clients = [row for row in rows() if row.section.startswith("clients: ")]
    here = [row for row in clients if row.section not in LATER]
    for title, of in (("clients", clients), ("clients, without the parts that do not exist yet", here)):
        present = [row for row in of if not row.missing]
        uses, used = (sum(int(row.uses) for row in some) for some in (of, present))
        lines.append(f"{title}: {len(present)} of {len(of)} names, {used} of {uses} uses")
    return "\n".join(lines)


def main() -> int:
    """Print the report; fail where a missing name has no reason."""
    sys.stdout.write(report("--all" in sys.argv[1:]) + "\n")
    for path in (problems := unexplained()):
        sys.stderr.write(f"missing without a reason: {path}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
