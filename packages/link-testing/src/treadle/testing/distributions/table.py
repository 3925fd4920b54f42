"""All records of distributions."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from treadle.testing import distributions

if TYPE_CHECKING:
    from treadle.testing.distributions.record import Distribution


def families() -> dict[str, list[Distribution]]:
    """Return the records by the module that they stand in."""
    names = sorted(found.name for found in iter_modules(distributions.__path__))
    modules = {
        name: import_module(f"{distributions.__name__}.{name}") for name in names if name not in {"record", "table"}
    }
    return {name: module.DISTRIBUTIONS for name, module in modules.items()}
