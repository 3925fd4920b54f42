"""Records of distributions: what every backend's draws are tested by."""

from importlib import import_module
from pkgutil import iter_modules

from treadle.testing.distributions.record import Distribution

__all__ = ["Distribution", "families"]


def families() -> dict[str, list[Distribution]]:
    """Return the records by the module that they stand in."""
    names = sorted(found.name for found in iter_modules(__path__) if found.name != "record")
    return {name: import_module(f"{__name__}.{name}").DISTRIBUTIONS for name in names}
