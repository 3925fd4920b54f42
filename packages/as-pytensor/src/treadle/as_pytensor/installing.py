"""Taking the place of PyTensor in a process, and giving it back."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from pathlib import Path

from treadle.as_pytensor.adapters.rules import RULES
from treadle.as_pytensor.conventions import CONVENTIONS
from treadle.as_pytensor.finder import FINDER, ForwardingModule
from treadle.as_pytensor.resolution import ROOT
from treadle.config import TreadleError, TreadleWarning, new_lock, warn_user


class AsPyTensorError(TreadleError, RuntimeError):
    """treadle cannot take PyTensor's place any more."""


class AsPyTensorWarning(TreadleWarning):
    """A PyTensor that is installed is not used."""


_LOCK = new_lock()
# On the search path, which the standard library hands on to processes that it spawns: there, the module in this folder
# lets treadle take PyTensor's place too.
_FOR_CHILDREN = str(Path(__file__).parent / "children")


def is_installed() -> bool:
    """Whether ``import pytensor`` gives treadle."""
    return FINDER in sys.meta_path


def install() -> None:
    """Let ``import pytensor`` give treadle in this process, and in those that it spawns; more calls do nothing.

    Raises
    ------
    AsPyTensorError
        If PyTensor itself is imported already: programs hold its objects then.
    """
    with _LOCK:
        if is_installed():
            return
        present = sys.modules.get(ROOT)
        if present is not None and not isinstance(present, ForwardingModule):
            msg = (
                f"as_pytensor.install: pytensor is imported already, from {getattr(present, '__file__', None)}. Call "
                "install() before the first import of pytensor and of what imports it."
            )
            raise AsPyTensorError(msg)
        is_child = _FOR_CHILDREN in sys.path
        other = None if is_child else PathFinder.find_spec(ROOT)
        sys.meta_path.insert(0, FINDER)
        if not is_child:
            sys.path.insert(0, _FOR_CHILDREN)
        CONVENTIONS.adopt()
    if other is not None and other.origin:
        warn_user(f"as_pytensor: pytensor is treadle in this process, not {other.origin}.", AsPyTensorWarning)


def uninstall() -> None:
    """Let ``import pytensor`` mean what it meant before, for modules that are imported from now on."""
    with _LOCK:
        if FINDER in sys.meta_path:
            sys.meta_path.remove(FINDER)
            sys.path[:] = [folder for folder in sys.path if folder != _FOR_CHILDREN]
            CONVENTIONS.leave()
            RULES.withdraw()
        for name in [name for name, module in sys.modules.items() if isinstance(module, ForwardingModule)]:
            del sys.modules[name]
