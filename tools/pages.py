"""Write the generated pages of docs/: what `./dev pages` runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from tools import array_api, documented, from_pytensor, lowerings, names, ops, options, paths, rules
from tools.errors import pages as errors

# Each page, and what returns its text.
PAGES: Mapping[Path, Callable[[], str]] = {
    array_api.PAGE: array_api.page,
    documented.PAGE: documented.page,
    from_pytensor.PAGE: from_pytensor.page,
    lowerings.PAGE: lowerings.page,
    ops.PAGE: ops.page,
    options.PAGE: options.page,
    rules.PAGE: rules.page,
}


def main() -> int:
    """Write pages, modules at documented paths and tables of names; print what the page of documented names lacks."""
    paths.write()
    names.write()
    errors.write()
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
    for problem, names_of_problem in (
        ("no test pins", documented.unpinned()),
        ("not documented", documented.unknown()),
    ):
        for name in names_of_problem:
            sys.stderr.write(f"{problem}: {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
