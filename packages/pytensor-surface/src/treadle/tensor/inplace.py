"""Elementwise functions that write into their first operand: ``exp_inplace``, ``add_inplace`` and so on.

Programs work in place by themselves where they may; these ops say that they do, for graphs that are written by hand.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from treadle.tensor.elementwise.elemwise import Elemwise

_SUFFIX = "_inplace"


def __getattr__(name: str) -> Any:
    """Return an elementwise function of treadle.tensor as one that works in place."""
    function = getattr(import_module("treadle.tensor"), name.removesuffix(_SUFFIX), None)
    if not name.endswith(_SUFFIX) or not isinstance(function, Elemwise):
        msg = f"{__name__} has no attribute {name!r}"
        raise AttributeError(msg)
    return function.inplace_on_inputs((0,))
