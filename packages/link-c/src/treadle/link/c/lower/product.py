"""Matrix products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.link.c.dtypes import CTYPES
from treadle.link.c.lower.elemwise import cast_to
from treadle.link.c.table import TABLE
from treadle.link.c.unit import dtype, ndim
from treadle.tensor import Gemm, MatMul

if TYPE_CHECKING:
    from treadle.graph import Apply
    from treadle.link.c.unit import Unit


@TABLE.register(MatMul)
def matmul(op: MatMul, node: Apply, unit: Unit) -> None:
    """Write a call of BLAS, or of a loop for dtypes that BLAS does not have."""
    del op
    kind = dtype(node.outputs[0])
    a, b = (cast_to(unit, x, kind) for x in node.inputs)
    o = unit.owns(node.outputs[0])
    short = CTYPES[kind].short
    if short not in {"f32", "f64"}:
        unit.call(f"tr_matmul_{short}(v + {a}, v + {b}, v + {o}, {ndim(node.outputs[0])})")
        return
    letter = "d" if short == "f64" else "s"
    t = unit.scratch(2)
    unit.call(
        f"tr_matmul_{short}(v + {a}, v + {b}, v + {o}, {ndim(node.outputs[0])}, "
        f"{unit.fixed(letter + 'gemm')}, {unit.fixed(letter + 'gemv')}, v + {t})"
    )


@TABLE.register(Gemm)
def gemm(op: Gemm, node: Apply, unit: Unit) -> None:
    """Write a call of BLAS that adds the product to the scaled matrix: to a copy, where it is needed later."""
    del op
    short = CTYPES[dtype(node.outputs[0])].short
    c, alpha, a, b, beta = (unit.slot(x) for x in node.inputs)
    free = node.inputs.count(node.inputs[0]) == 1 and unit.dying(node.inputs[0], node.inputs)
    o = unit.owns(node.outputs[0])
    letter = "d" if short == "f64" else "s"
    t = unit.scratch(3)
    unit.call(
        f"tr_accumulate_{short}(v + {c}, v + {alpha}, v + {a}, v + {b}, v + {beta}, v + {o}, "
        f"{unit.fixed(letter + 'gemm')}, {unit.fixed(letter + 'gemv')}, v + {t}, {int(free)})"
    )
