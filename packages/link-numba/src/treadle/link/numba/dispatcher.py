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
    """Return Numba's function object for a unit whose text uses the names in `scope`; `options` are Numba's."""
    code = compile(unit.source, f"<treadle numba {unit.name}>", "exec")
    # This must be the name of a real module, since Numba looks it up when it loads saved code.
    namespace: dict[str, Any] = {"__name__": __name__, **scope}
    exec(code, namespace)
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}
    jit = numba.njit(nogil=True, error_model="numpy", fastmath=bool(config.numba__fastmath), **options)
    function = namespace[unit.name]
    function.stays_apart = unit.is_kernel
    compiled: Dispatcher = jit(function)
    return compiled
