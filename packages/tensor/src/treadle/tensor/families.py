"""The families of ops: a package keeps its part of each in a module of that name, tensor its ops in a room."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

# The room of treadle.tensor that a family's ops stand in; those of copying stand in treadle.graph.
ROOMS = {
    "arithmetic": "elementwise",
    "bessel_functions": "special_functions",
    "cast": "elementwise",
    "comparison": "elementwise",
    "complex_numbers": "elementwise",
    "entropy": "special_functions",
    "error_functions": "special_functions",
    "exponential": "elementwise",
    "gamma_functions": "special_functions",
    "floating": "elementwise",
    "integers": "elementwise",
    "hypergeometric": "special_functions",
    "incomplete_beta": "special_functions",
    "incomplete_gamma": "special_functions",
    "logic": "elementwise",
    "rounding": "elementwise",
    "stable_quotients": "special_functions",
    "trigonometric": "elementwise",
    "elemwise": "elementwise",
    "assertion": "control",
    "accumulation": "reductions",
    "assumption": "control",
    "blockwise": "batches",
    "broadcasting": "shapes",
    "conditional": "control",
    "copying": "",
    "diagonals": "arrangement",
    "dimshuffle": "shapes",
    "external_op": "embedding",
    "from_function": "embedding",
    "from_graph": "embedding",
    "fused_reduction": "reductions",
    "gradient_control": "control",
    "indexing": "indexing",
    "joining": "joins",
    "normalization": "reductions",
    "loops": "loops",
    "product": "products",
    "reduction": "reductions",
    "joined_axes": "arrangement",
    "splitting": "joins",
    "repetition": "arrangement",
    "searching": "indexing",
    "shape": "shapes",
    "sorting": "sorting",
    "shape_specification": "shapes",
}
FAMILIES = tuple(ROOMS)
# The folder that packages keep the families in whose ops stand in treadle.graph.
OF_GRAPHS = "control"
# The rooms that functions of each element stand in.
ELEMENTWISE_ROOMS = ("elementwise", "special_functions")


def load_families(package: str) -> list[ModuleType]:
    """Import a package's modules of all families that it has a part of; return them, in the order of `FAMILIES`.

    They stand in the package itself, or in folders of it that are named after the rooms of treadle.tensor.
    """
    names = [_home(package, family, room.partition(".")[0]) for family, room in ROOMS.items()]
    return [import_module(name) for name in names if name is not None]


def _home(package: str, family: str, room: str) -> str | None:
    """Return the module of a package that has its part of a family; None if it has none."""
    names = (f"{package}.{room or OF_GRAPHS}.{family}", f"{package}.{family}")
    return next((name for name in names if _exists(name)), None)


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False  # nor is there the folder


@cache
def load_scalar_families() -> None:
    """Import all families of functions of each element; the second call does nothing."""
    for room in ELEMENTWISE_ROOMS:
        load_families(f"treadle.tensor.{room}")
