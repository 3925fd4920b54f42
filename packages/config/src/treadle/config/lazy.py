"""Modules, names of a package and its version, looked up on first use because that is slow."""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from treadle.config.discovery import discover, installed_version
from treadle.config.owners import BROUGHT, ROOMS, install_advice

VERSION = "__version__"
# The entry-point group of names that other distributions add to packages.
ADDED = "treadle.names"
_NONE: Mapping[str, str] = MappingProxyType({})


class _LazyModule(ModuleType):
    """Stands for a module until an attribute of it is read."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        self.__dict__[name] = value  # later reads skip this method
        return value


def lazy_module(name: str) -> Any:
    """Return the module of this name, or a stand-in that imports it when an attribute is first read.

    Meant for modules that a program may never need, such as `difflib`, which serves error messages only::

        if TYPE_CHECKING:
            import difflib
        else:
            difflib = lazy_module("difflib")

    >>> lazy_module("difflib").get_close_matches("floatx", ["floatX", "mode"])
    ['floatX']
    """
    return sys.modules.get(name) or _LazyModule(name)


class UpwardCalls:
    """Functions that modules ask of modules above them, which they must not import; filled in from above.

    A class derived from this one declares the functions, each with the reason why it is asked for from below. Modules
    below call them as attributes of its one instance; a module above says where they are::

        class Upward(UpwardCalls):
            # A variable shows itself by what prints graphs.
            debugprint: Callable[[object], str]

        upward = Upward()
        ...
        upward.wire(debugprint=printing)
    """

    def __init__(self) -> None:
        self._homes: dict[str, Any] = {}

    def wire(self, **homes: Any) -> None:
        """Say which module has the function of each name; it is asked for it when it is first called."""
        self._homes.update(homes)

    def __getattr__(self, name: str) -> Any:
        """Return a function, and keep it; `AttributeError` if no module was named for it."""
        homes = self.__dict__.get("_homes", _NONE)
        if name not in homes:
            msg = f"{type(self).__module__}: no module above was named for {name!r}. Import the package first."
            raise AttributeError(msg)
        value = getattr(homes[name], name)
        setattr(self, name, value)
        return value


def lazy_names(
    package: str, modules: Mapping[str, str], hint: Callable[[str], str] = lambda _: ""
) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, which imports what a name stands for when it is first asked for.

    Parameters
    ----------
    package
        The package's own name.
    modules
        For each module the names that it defines, separated by spaces; its own name stands for itself. A name that is
        called otherwise there is written ``name=other``.
    hint
        Returns what the message about a name that the package lacks ends with, such as what to use instead.

    Raises
    ------
    AttributeError
        By the function returned, if the package has no such name.

    Notes
    -----
    Other distributions may add names: each entry point of the group ``treadle.names`` stands for a mapping of packages
    to tables like `modules`. It is loaded when a package is asked for a name that it does not have, or for all names.
    Names from modules inside of the package are in its ``__all__`` like its own; ``dir`` lists all of them.

    >>> lazy_names("example", {"math": "sqrt floor"})("sqrt")(9)
    3.0
    """
    homes = _homes(modules)

    def look_up(name: str) -> Any:
        if name == "__all__":
            return [public for public in homes if not public.startswith("_") and hasattr(sys.modules[package], public)]
        place = homes.get(name) or (None if name.startswith("__") else _added_names(package).get(name))
        if place is None:
            msg = f"module {package!r} has no attribute {name!r}{_lacking(package, name) or hint(name)}"
            raise AttributeError(msg)
        home, original = place
        module = import_module(home)
        value = module if home == f"{package}.{name}" else getattr(module, original)
        setattr(sys.modules.get(package, look_up), name, value)  # later reads skip this function
        return value

    def members() -> list[str]:
        """Return the names that other distributions add from modules inside of the package."""
        return [name for name, (home, _) in _added_names(package).items() if home.startswith(f"{package}.")]

    list_names(package, lambda: (*homes, *_added_names(package)), members)
    return look_up


def _lacking(package: str, name: str) -> str:
    """Return what would bring a name of `treadle.tensor`, where a distribution that brings names is not installed."""
    if package != "treadle.tensor" or name.startswith("_"):
        return ""
    known = ROOMS.get(name) or BROUGHT.get(name)
    owners = (known,) if known is not None else dict.fromkeys(ROOMS.values())
    lacking = [owner for owner in owners if installed_version(owner) is None]
    if not lacking:
        return ""
    what = "the distribution that brings it" if known is not None else "what brings further names"
    return f": {what} is not installed, {' and '.join(map(repr, lacking))}. Run {install_advice(*lacking)}"


def list_names(package: str, names: Callable[[], Iterable[str]], members: Callable[[], Iterable[str]] = tuple) -> None:
    """Let ``dir`` of a package list its public names, whether they are imported yet or not, and nothing internal.

    Parameters
    ----------
    package
        The package's own name.
    names
        Returns the public names that are not in the package's ``__all__``.
    members
        Returns those of them that are in ``__all__`` as others see it, because they come from modules of the package.
    """
    module = sys.modules.get(package)
    if module is None:
        return

    class Listed(type(module)):  # type: ignore[misc]  # a class of modules
        """A package that lists its public names."""

        def __dir__(self) -> list[str]:
            public = [name for name in names() if not name.startswith("_")]
            special = (name for name in vars(self) if name.startswith("__"))
            return sorted({*vars(self).get("__all__", ()), *public, *special})

        @property
        def __all__(self) -> list[str]:
            own = vars(self).get("__all__")
            return [*(self.__getattr__("__all__") if own is None else own), *members()]

    module.__class__ = Listed


def _homes(modules: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each name the module that it comes from, and what it is called there."""
    return {
        public: (module, original or public)
        for module, names in modules.items()
        for public, _, original in (name.partition("=") for name in names.split())
    }


# What each entry point adds to a package, with the table that says so.
_KNOWN: dict[tuple[str, str], tuple[Mapping[str, str], dict[str, tuple[str, str]]]] = {}


def _added_names(package: str) -> dict[str, tuple[str, str]]:
    """Return what installed distributions add to a package.

    One whose own package is being imported adds its names when that is done: it may ask for others' names before.
    """
    added: dict[str, tuple[str, str]] = {}
    for entry in discover(ADDED).values():
        if _is_being_imported(entry.value):
            continue
        table = entry.load().get(package, _NONE)
        known = _KNOWN.get((entry.value, package))
        if known is None or known[0] is not table:
            known = _KNOWN[entry.value, package] = (table, _homes(table))
        added.update(known[1])
    return added


def _is_being_imported(place: str) -> bool:
    """Whether this thread imports a module, as in ``module:attribute``, that does not have the attribute yet."""
    name, _, attribute = place.partition(":")
    module = sys.modules.get(name)
    if module is None or hasattr(module, attribute) or not getattr(module.__spec__, "_initializing", False):
        return False
    # This waits for another thread that imports the module, and returns at once in the thread that does.
    return not hasattr(import_module(name), attribute)


def versioned_names(
    package: str,
    distribution: str,
    modules: Mapping[str, str] = _NONE,
    hint: Callable[[str], str] = lambda _: "",
) -> Callable[[str], Any]:
    """Return a package's ``__getattr__``, as `lazy_names` does, which knows the package's version too.

    Parameters
    ----------
    package
        The package's own name.
    distribution
        The distribution that it is in.
    modules
        Modules that are imported when a name is first asked for, as for `lazy_names`.
    hint
        As for `lazy_names`.

    Raises
    ------
    AttributeError
        By the function returned, if the package has no such name, or its distribution is not installed.

    Notes
    -----
    Importing a module of the package makes the module an attribute of it. Where the package has something else of that
    name, it keeps that: ``package.sort`` stays a function where ``package.sort`` is a documented path too.
    """
    load = lazy_names(package, modules, hint)
    own = frozenset(name for home, names in modules.items() for name in names.split() if home != f"{package}.{name}")

    class Package(type(sys.modules.get(package, sys))):  # type: ignore[misc]  # a class of modules
        """A package whose names are not hidden by modules in it."""

        def __setattr__(self, name: str, value: object) -> None:
            current = vars(self).get(name, self)
            if not isinstance(value, ModuleType) or (name not in own and isinstance(current, ModuleType)):
                super().__setattr__(name, value)

    if package in sys.modules:
        sys.modules[package].__class__ = Package

    def look_up(name: str) -> Any:
        version = installed_version(distribution) if name == VERSION else None
        if version is None:
            return load(name)
        setattr(sys.modules[package], name, version)
        return version

    return look_up
