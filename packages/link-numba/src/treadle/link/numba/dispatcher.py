"""Numba's function object for a unit, before anything is compiled or loaded into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba

from treadle.config import config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numba.core.dispatcher import Dispatcher

    from treadle.link.numba.text.unit import Unit


def dispatcher(unit: Unit, scope: Mapping[str, object], **options: object) -> Dispatcher:
    """Return the object for a text that names what `scope` holds; `options` go beside those that all units have."""
    code = compile(unit.source, f"<treadle numba {unit.name}>", "exec")
    # The name of a real module: Numba looks it up when it loads what it saved.
    namespace: dict[str, Any] = {"__name__": __name__, **scope}
    exec(code, namespace)
    jit = numba.njit(
        nogil=True, error_model="numpy", fastmath=bool(config.numba__fastmath), no_cfunc_wrapper=True, **options
    )
    function = namespace[unit.name]
    function.stays_apart = unit.is_kernel
    made: Dispatcher = jit(function)
    return made
