"""Pickling of objects that a decorator put in the place of a function."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING

from treadle.config import lazy_module
from treadle.graph.errors import GraphValueError

if TYPE_CHECKING:
    import pickle
    from collections.abc import Callable
else:
    pickle = lazy_module("pickle")


class _Writing(threading.local):
    """The ids of objects that a thread is writing with cloudpickle: a function may refer to itself."""

    def __init__(self) -> None:
        self.now: set[int] = set()


_WRITING = _Writing()


def reduce_by_place(thing: object, function: object, make: Callable[..., object], *parts: object) -> tuple[object, ...]:
    """Return the ``__reduce__`` value of an object that a decorator made of a function.

    The object is pickled as a function would be: by module and name, where the object now stands. Functions of a script
    or notebook, which other processes do not have, are added to the pickle if cloudpickle is loaded.

    Parameters
    ----------
    thing
        The object.
    function
        The function that it was made of.
    make, parts
        What makes the object, and its arguments, the function among them.
    """
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<>")
    if module not in sys.modules or "<" in name or _object_at(module, name) != thing:
        return make, parts
    cloudpickle = sys.modules.get("cloudpickle") if module == "__main__" else None
    if cloudpickle is None or id(thing) in _WRITING.now:
        return _found, (module, name)
    _WRITING.now.add(id(thing))
    try:
        return _found, (module, name, cloudpickle.dumps((function, make, parts)))
    finally:
        _WRITING.now.discard(id(thing))


def _object_at(module: str, name: str) -> object:
    __import__(module)
    thing: object = sys.modules[module]
    for part in name.split("."):
        thing = getattr(thing, part, None)
    return thing


def _found(module: str, name: str, parts_pickle: bytes | None = None) -> object:
    """Return the object of a name in a module; or one made of the pickled parts, if that is something else."""
    present = _object_at(module, name)
    if parts_pickle is None:
        if present is None:
            msg = (
                f"pickle: {module} has no {name!r} in this process. Define it in a module that can be imported, or "
                "write the pickle with cloudpickle."
            )
            raise GraphValueError(msg)
        return present
    function, make, parts = pickle.loads(parts_pickle)
    rebuilt = make(*parts)
    # Objects that decorators make of functions hold these under the name that functools.wraps gives.
    code = getattr(getattr(present, "__wrapped__", None), "__code__", None)
    return present if type(present) is type(rebuilt) and code == function.__code__ else rebuilt
