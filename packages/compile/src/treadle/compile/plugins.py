"""Names of the facade that other distributions bring: ops and functions that this package may not import.

Entry-point group ``treadle.facade``: each entry is one name of `treadle.compile` and where it comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import VERSION, discover, lazy_names, versioned_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from treadle.compile.mode.mode import Mode

GROUP = "treadle.facade"


def found_name(module: str, name: str, allowed: Collection[str] | None = None) -> Any:
    """Return what an installed distribution brings under a name.

    Parameters
    ----------
    module
        The module that is asked, for the message.
    name
        The name.
    allowed
        The names that the module has; all that are found if None.

    Raises
    ------
    AttributeError
        If there is no such name, as Python expects of modules.
    """
    if not name.startswith("_") and (allowed is None or name in allowed):
        found = discover(GROUP).get(name)
        if found is not None:
            return found.load()
    brought = sorted(set(discover(GROUP)) if allowed is None else set(allowed)) if not name.startswith("_") else []
    hint = f" Installed packages bring {', '.join(brought)}." if brought else ""
    msg = f"{module} has no {name!r}.{hint}"
    raise AttributeError(msg)


def brought_names(
    module: str,
    allowed: Collection[str] | None = None,
    own: Mapping[str, str] | None = None,
    distribution: str | None = None,
    modes: Callable[[str], Mode | None] | None = None,
) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module that holds what other distributions bring (see `found_name`).

    `own` are names of this one that are loaded when they are first asked for, each with its module; `distribution` is
    the one that the module is the package of; `modes` returns the mode of a backend by the mode's name.
    """
    late = own or {}
    load = lazy_names(module, late) if distribution is None else versioned_names(module, distribution, late)
    known = {*late, *(() if distribution is None else (VERSION,))}

    def found(name: str) -> Any:
        if name in known:
            return load(name)
        return (modes and modes(name)) or found_name(module, name, allowed)

    return found
