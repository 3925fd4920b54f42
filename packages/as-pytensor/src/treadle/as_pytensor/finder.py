"""The finder of modules under PyTensor's names, and what those modules are."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from treadle.as_pytensor.adapters.rules import RULES
from treadle.as_pytensor.resolution import ROOT, TABLE, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence


class ForwardingModule(ModuleType):
    """A module of PyTensor's, whose names stand for treadle's objects. They are looked up when first asked for."""

    def __getattr__(self, name: str) -> object:
        if name == "__all__":
            # What a star imports: the public names that stand for something.
            return [each for each in TABLE.names(self.__name__) if each[0] != "_" and hasattr(self, each)]
        if name.startswith("__") and name != "__version__":
            msg = f"module {self.__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = resolve(self.__name__, name)
        super().__setattr__(name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # A package that has a function of the name of one of its modules, such as scan, keeps the function.
        if isinstance(value, ForwardingModule) and name in TABLE.names(self.__name__):
            return
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *TABLE.names(self.__name__), *TABLE.modules_in(self.__name__)})


class PyTensorFinder(MetaPathFinder, Loader):
    """Finds ``pytensor`` and its modules, before any other finder does."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - fixed by the import system
        target: ModuleType | None = None,  # noqa: ARG002 - as above
    ) -> ModuleSpec | None:
        """Return the spec of a module of PyTensor's.

        Raises
        ------
        ImportError
            If PyTensor has a module or a name like this, and treadle has nothing for it: the message says why.
        """
        if fullname.partition(".")[0] != ROOT:
            return None
        if fullname in TABLE.modules:
            return ModuleSpec(fullname, self, is_package=True)
        reason = TABLE.reason(fullname)
        if reason:
            msg = f"{fullname}: treadle has nothing that answers to this name: {reason}"
            raise ImportError(msg, name=fullname)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module."""
        return ForwardingModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its first docstring; everything else is looked up when it is asked for."""
        if module.__name__ == ROOT:
            RULES.publish()
        module.__doc__ = f"{module.__name__}, as treadle has it: see `treadle.as_pytensor`."
        parent, _, name = module.__name__.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], name, module)


FINDER = PyTensorFinder()
