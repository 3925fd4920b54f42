"""All records of distributions."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treadle.testing.distributions.record import Distribution


def families() -> dict[str, list[Distribution]]:
    """Return the records by the module that they stand in."""
    names = sorted(found.name for found in iter_modules([str(Path(__file__).parent)]))
    modules = {name: import_module(f"{__package__}.{name}") for name in names if name not in {"record", "table"}}
    return {name: module.DISTRIBUTIONS for name, module in modules.items()}
