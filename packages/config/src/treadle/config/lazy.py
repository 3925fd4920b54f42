"""Standard modules that are imported when something in them is first used, because their import is slow."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    """Stands for a module until an attribute of it is read."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        self.__dict__[name] = value  # found without this method from now on
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
