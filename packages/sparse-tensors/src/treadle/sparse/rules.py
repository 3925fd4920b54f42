"""Rules about sparse matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import OpClass, Phase, RuleSet
from treadle.tensor import specify_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Type, Variable

# Ops by their paths: a program without sparse matrices does not load them for its rules.
DenseFromSparse = OpClass("treadle.sparse.forms.dense.DenseFromSparse")
SparseFromDense = OpClass("treadle.sparse.forms.dense.SparseFromDense")
CSM = OpClass("treadle.sparse.forms.parts.CSM")
CSMProperties = OpClass("treadle.sparse.forms.parts.CSMProperties")
Dot = OpClass("treadle.sparse.products.Dot")
TrueDot = OpClass("treadle.sparse.products.TrueDot")
SpSum = OpClass("treadle.sparse.reductions.SpSum")

RULES = RuleSet("sparse")
RULE_SETS = (RULES,)
BOTH = ("fast_run", "fast_compile")


@RULES.rule((Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE), CSMProperties, tags=BOTH)
def properties_of_parts(node: Apply) -> Sequence[Variable] | None:
    """csm_properties(CSM(data, indices, indptr, shape)) -> data, indices, indptr, shape.

    Where the matrix's lengths say how many pointers there are, and the pointers do not, that is checked.
    """
    made = node.inputs[0].owner
    if made is None or not CSM(made.op):
        return None
    return [_of_type(x, out.type) for x, out in zip(made.inputs, node.outputs, strict=True)]


def _of_type(x: Variable, wanted: Type) -> Variable:
    """Return a vector with the length that a type knows."""
    length = getattr(wanted, "shape", (None,))[0]
    if length is None or getattr(x.type, "shape", None) == (length,):
        return x
    vector: Any = x
    return specify_shape(vector, (length,))


@RULES.rule((Phase.CANONICALIZE, Phase.STABILIZE, Phase.SPECIALIZE), CSM, tags=BOTH)
def parts_of_properties(node: Apply) -> Variable | None:
    """CSM(*csm_properties(x)) -> x for x of the same format."""
    read = node.inputs[0].owner
    if read is None or not CSMProperties(read.op) or list(node.inputs) != list(read.outputs):
        return None
    (x,) = read.inputs
    return x if x.type == node.outputs[0].type else None


@RULES.rule(Phase.CANONICALIZE, DenseFromSparse, tags=BOTH)
def dense_from_sparse_from_dense(node: Apply) -> Variable | None:
    """dense_from_sparse(csr_from_dense(x)) -> x, and so for CSC."""
    made = node.inputs[0].owner
    return None if made is None or not SparseFromDense(made.op) else made.inputs[0]


# In the phase in which bodies of loops are rewritten too: what is the same in all steps can then leave the loop.
@RULES.rule(
    (Phase.STABILIZE, Phase.SPECIALIZE),
    DenseFromSparse,
    SparseFromDense,
    SpSum,
    Dot,
    TrueDot,
    tags=("fast_run",),
    depth=1,
)
def sparse_op_as_kernels(node: Apply) -> Sequence[Variable] | None:
    """An op on sparse matrices -> kernels on their arrays, which backends compile and other rules simplify."""
    return node.op.decompose(*node.inputs)
