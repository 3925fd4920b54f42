"""Write the generated pages of docs/: what `./dev pages` runs."""

from __future__ import annotations

import sys

from tools import documented, lowerings, options, rules

PAGES = (documented, lowerings, options, rules)


def main() -> int:
    """Write every page, and say what the page of documented names is missing."""
    for each in PAGES:
        each.PAGE.write_text(each.page(), encoding="utf-8")
    for problem, names in (("no test pins", documented.unpinned()), ("not documented", documented.unknown())):
        for name in names:
            sys.stderr.write(f"{problem}: {name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
