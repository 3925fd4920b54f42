"""The distributions by name: what generators and streams have as methods."""

from __future__ import annotations

import inspect
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module
from treadle.graph import Op
from treadle.tensor.random.names import NAMES
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    import difflib
    from collections.abc import Callable

    # An op or a function that takes ``rng`` and ``return_next_rng``.
    Distribution = Callable[..., Any]
else:
    difflib = lazy_module("difflib")


def distribution(name: str, of: object, module: ModuleType | None = None) -> Distribution:
    """Return the distribution of a name, an op or a function.

    Parameters
    ----------
    name
        Its name.
    of
        Whose attribute it is, for the error.
    module
        Where it is; `treadle.tensor.random` if None.

    Raises
    ------
    AttributeError
        If there is none.
    """
    attribute = _find(name, module)
    if attribute is not None:
        return attribute
    near = () if name.startswith("_") else _near(name, module)
    advice = f" Did you mean {' or '.join(near)}?" if near else ""
    msg = f"{of}: there is no attribute or distribution {name!r}.{advice}"
    raise AttributeError(msg)


# Graphs ask generators for attributes that other variables have, over and over.
@lru_cache(maxsize=1024)
def _near(name: str, module: ModuleType | None) -> tuple[str, ...]:
    """Return the names of distributions that are like a name that is none."""
    return tuple(difflib.get_close_matches(name, distribution_names(module), n=3))


def distribution_names(module: ModuleType | None = None) -> list[str]:
    """Return the names of all distributions."""
    return sorted(name for name in _public_names(module) if _find(name, module) is not None)


def _find(name: str, module: ModuleType | None) -> Distribution | None:
    if name.startswith("_") or name not in _public_names(module):
        return None
    attribute = getattr(upward.function("random") if module is None else module, name, None)
    return attribute if _draws(attribute) else None


def _public_names(module: ModuleType | None) -> set[str]:
    if module is not None:
        return set(getattr(module, "__all__", vars(module)))
    return {name for names in NAMES["treadle.tensor.random"].values() for name in names.split()}


def _draws(attribute: object) -> bool:
    """Whether something can be called with a generator for a draw."""
    if isinstance(attribute, Op):
        return isinstance(attribute, upward.function("random").RNGConsumerOp)
    if isinstance(attribute, type) or not callable(attribute):
        return False
    known = inspect.signature(attribute).parameters
    return "return_next_rng" in known or any(p.kind is p.VAR_KEYWORD for p in known.values())
