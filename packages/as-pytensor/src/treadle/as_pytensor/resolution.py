"""Which of treadle's objects a name of PyTensor's stands for."""

from __future__ import annotations

import sys
from functools import cache, cached_property
from importlib import import_module, resources
from typing import TYPE_CHECKING

from treadle.as_pytensor.adapters.rules import RULES
from treadle.as_pytensor.adapters.table import ADAPTERS, EVERYWHERE, VERSION
from treadle.as_pytensor.homes import ABSENT, HOMES

if TYPE_CHECKING:
    from types import ModuleType

ROOT = "pytensor"


class Table:
    """PyTensor's modules and the public names in each, with the module that a name is defined in."""

    @cached_property
    def modules(self) -> dict[str, dict[str, str]]:
        """The names of each module, each with the module that defines it."""
        text = (resources.files("treadle.as_pytensor") / "names.tsv").read_text(encoding="utf-8")
        modules: dict[str, dict[str, str]] = {}
        for line in text.splitlines():
            module, _, names = line.partition("\t")
            pairs = (entry.partition("@") for entry in names.split())
            modules[module] = {name: home or module for name, _, home in pairs}
        for module, adapted in ADAPTERS.items():
            own = modules.setdefault(module, {})
            own.update(dict.fromkeys(set(adapted) - set(own), module))
        return modules

    def names(self, module: str) -> dict[str, str]:
        """Return the names in a module, each with the module that defines it."""
        return self.modules.get(module, {})

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {}
        for module in self.modules:
            parent, _, name = module.rpartition(".")
            children.setdefault(parent, []).append(name)
        return children

    def modules_in(self, package: str) -> list[str]:
        """Return the names of the modules directly in a package."""
        return self._children.get(package, [])

    def reason(self, path: str) -> str:
        """Return why treadle has nothing for a module or a name; an empty text where PyTensor has no such thing."""
        module, _, name = path.rpartition(".")
        if path not in self.modules and name not in self.names(module) and not name.startswith("_"):
            return ""
        home = self.names(module).get(name, module)
        places = [place for path_of in (path, f"{home}.{name}") for place in _with_parents(path_of) if place in ABSENT]
        return ABSENT[max(places, key=lambda place: place.count("."))]


TABLE = Table()


def resolve(module: str, name: str) -> object:
    """Return what a name in one of PyTensor's modules stands for.

    Raises
    ------
    AttributeError
        If treadle has nothing for it.
    """
    if module == ROOT and name == "__version__":
        return VERSION
    home = TABLE.names(module).get(name)
    if home is None and f"{module}.{name}" in TABLE.modules:
        return import_module(f"{module}.{name}")
    adapted = [ADAPTERS.get(place, {}).get(name) for place in (module, home or module)]
    if home is not None:
        adapted.append(EVERYWHERE.get(name))
    for target in adapted:
        if target is not None:
            found, _, attribute = target.partition(":")
            return getattr(import_module(found), attribute or name)
    places = [_own(module), _own(home or module), *HOMES.of(home or module)]
    for place in dict.fromkeys(places):
        value = _attribute(place, name)
        if value is not _MISSING:
            return value
    if ".rewriting." in module:
        rewriter = RULES.rewriter(name)
        if rewriter is not None:
            return rewriter
    msg = f"module {module!r} has no attribute {name!r}"
    reason = TABLE.reason(f"{module}.{name}")
    raise AttributeError(f"{msg} on treadle: {reason}" if reason else msg)


_MISSING = object()


def _with_parents(path: str) -> list[str]:
    """Return a path and those of the packages around it, the nearest first."""
    parts = path.split(".")
    return [".".join(parts[:count]) for count in range(len(parts), 0, -1)]


def _own(module: str) -> str:
    return f"treadle{module.removeprefix(ROOT)}"


def _attribute(place: str, name: str) -> object:
    """Return an attribute of one of treadle's modules, or a mark where there is no such module or attribute."""
    owner = sys.modules.get(place) or _module(place)
    value = _MISSING if owner is None else getattr(owner, name, _MISSING)
    # Modules are reached by their own names.
    return _MISSING if isinstance(value, type(sys)) else value


@cache
def _module(place: str) -> ModuleType | None:
    """Return one of treadle's modules, None if there is none of the name."""
    try:
        return import_module(place)
    except ModuleNotFoundError:
        return None
