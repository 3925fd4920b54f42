"""Matrix products."""

from __future__ import annotations

from treadle.link.c.conventions.dtypes import CTYPES, ctype
from treadle.link.c.lower.elementwise.elemwise import cast_to
from treadle.link.c.runtime.product import BLAS_LETTERS
from treadle.link.c.table import TABLE
from treadle.link.c.text.unit import Unit
from treadle.tensor import Gemm, MatMul, TensorNode


@TABLE.register(MatMul)
def matmul(op: MatMul, node: TensorNode, unit: Unit) -> None:
    """Write a call of BLAS, or of a loop for dtypes that BLAS does not have."""
    kind = node.outputs[0].type.dtype
    a, b = (cast_to(unit, x, kind) for x in node.inputs)
    o = unit.owns(node.outputs[0])
    short = CTYPES[kind].short
    if short not in BLAS_LETTERS:
        unit.call(f"tr_matmul_{short}(v + {a}, v + {b}, v + {o}, {node.outputs[0].type.ndim})")
        return
    letter = BLAS_LETTERS[short]
    t = unit.scratch(2)
    unit.call(
        f"tr_matmul_{short}(v + {a}, v + {b}, v + {o}, {node.outputs[0].type.ndim}, "
        f"{unit.blas(letter + 'gemm')}, {unit.blas(letter + 'gemv')}, v + {t})"
    )


@TABLE.register(Gemm)
def gemm(op: Gemm, node: TensorNode, unit: Unit) -> None:
    """Write a call of BLAS that adds the product to the scaled matrix, or to a copy if the matrix is needed later."""
    short = ctype(node.outputs[0]).short
    c, alpha, a, b, beta = (unit.slot(x) for x in node.inputs)
    free = node.inputs.count(node.inputs[0]) == 1 and unit.dying(node.inputs[0], node.inputs)
    o = unit.owns(node.outputs[0])
    letter = BLAS_LETTERS[short]
    t = unit.scratch(3)
    unit.call(
        f"tr_accumulate_{short}(v + {c}, v + {alpha}, v + {a}, v + {b}, v + {beta}, v + {o}, "
        f"{unit.blas(letter + 'gemm')}, {unit.blas(letter + 'gemv')}, v + {t}, {int(free)})"
    )
