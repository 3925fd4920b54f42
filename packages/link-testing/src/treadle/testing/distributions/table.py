"""All records of distributions."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from treadle.testing.distribution import Distribution
from treadle.testing.published import published


def families() -> dict[str, list[Distribution]]:
    """Return treadle's records by module, and those of other installed packages by entry point."""
    names = sorted(entry.name for entry in iter_modules([str(Path(__file__).parent)]))
    modules = {name: import_module(f"{__package__}.{name}") for name in names if name != "table"}
    brought = {name: records for name, records in published(Distribution).items() if records}
    return {**{name: module.DISTRIBUTIONS for name, module in modules.items()}, **brought}
