"""Where the functions that rooms ask of rooms above them are (see `treadle.tensor.upward`)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from treadle.config import lazy_module
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from treadle.tensor.differentiation import products
    from treadle.tensor.joins import joining
    from treadle.tensor.loops import plain as plain_loops
    from treadle.tensor.numpy_protocol import functions as numpy_functions
    from treadle.tensor.numpy_protocol import torch_functions
    from treadle.tensor.reductions import reduction as reductions
    from treadle.tensor.rewrites.analysis import facts
    from treadle.tensor.shapes import shape_specification
else:
    products = lazy_module("treadle.tensor.differentiation.products")
    joining = lazy_module("treadle.tensor.joins.joining")
    plain_loops = lazy_module("treadle.tensor.loops.plain")
    numpy_functions = lazy_module("treadle.tensor.numpy_protocol.functions")
    torch_functions = lazy_module("treadle.tensor.numpy_protocol.torch_functions")
    reductions = lazy_module("treadle.tensor.reductions.reduction")
    facts = lazy_module("treadle.tensor.rewrites.analysis.facts")
    shape_specification = lazy_module("treadle.tensor.shapes.shape_specification")


def _function(name: str) -> Any:
    return getattr(sys.modules["treadle.tensor"], name)


def wire() -> None:
    """Say where each function is."""
    upward.function = _function
    upward.wire(
        array_function=numpy_functions,
        array_ufunc=numpy_functions,
        fact_reader=facts,
        product_of_others=products,
        scan_with_carry=plain_loops,
        specify_shape=shape_specification,
        stack=joining,
        summed_along=reductions,
        torch_function=torch_functions,
    )
