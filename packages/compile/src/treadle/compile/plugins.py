"""Names of the facade that other distributions add: ops and functions that this package may not import.

Entry-point group ``treadle.facade``: each entry is one name of `treadle.compile` and where it comes from.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from treadle.config import VERSION, discover, lazy_names, list_names, versioned_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

GROUP = "treadle.facade"


def _load_added(module: str, name: str, allowed: Collection[str] | None) -> Any:
    """Return what an installed distribution adds to a module under one of the allowed names, any name if None."""
    if not name.startswith("_") and (allowed is None or name in allowed):
        entry = discover(GROUP).get(name)
        if entry is not None:
            return entry.load()
    added = sorted(set(discover(GROUP)) if allowed is None else set(allowed)) if not name.startswith("_") else []
    hint = f" Installed packages bring {', '.join(added)}." if added else ""
    msg = f"{module} has no {name!r}.{hint}"
    raise AttributeError(msg)


def brought_names(
    module: str,
    allowed: Collection[str] | None = None,
    own: Mapping[str, str] | None = None,
    distribution: str | None = None,
    modules: Collection[str] = (),
    modes: str = "",
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module with what other distributions add to it, all of it if `allowed` is None.

    Parameters
    ----------
    own
        Modules that are loaded when one of their names is first asked for, each with these names, separated by spaces.
    distribution
        The one that the module is the package of, if it is.
    modules
        Names of modules inside that are loaded when they are first asked for.
    modes
        The module with the table of predefined modes: a backend's mode is found by its name. Empty for none.
    """
    late = own or {}
    load = lazy_names(module, late) if distribution is None else versioned_names(module, distribution, late)
    late_names = " ".join(late.values()).split()
    own_names = {*late_names, *(() if distribution is None else (VERSION,))}

    def look_up(name: str) -> Any:
        if name in own_names:
            return load(name)
        if name in modules:
            return import_module(f"{module}.{name}")
        mode = import_module(modes).predefined_modes.lasting(name) if modes and name.isupper() else None
        return _load_added(module, name, allowed) if mode is None else mode

    list_names(module, lambda: [*late_names, *(discover(GROUP) if allowed is None else allowed)])
    return look_up
