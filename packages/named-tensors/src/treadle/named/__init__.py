"""treadle.named: tensors whose dimensions have names, after xarray.

They are broadcast, reduced and indexed by these names, and become plain tensors before a function is compiled: there
is no cost at run time, and every backend computes them.
"""

from typing import TYPE_CHECKING

from treadle.config import lazy_module as _lazy_module
from treadle.config import versioned_names
from treadle.named.upward import upward as _upward

if TYPE_CHECKING:
    from treadle.named import indexing, linalg, math, random, reduction, shape, signal, vectorization
    from treadle.named.conversion import as_xtensor, xtensor, xtensor_constant, xtensor_shared
    from treadle.named.derivatives import hessian, jacobian
    from treadle.named.errors import DimsError, NamedIndexError, NamedTypeError, NotNamedError
    from treadle.named.indexing import Index, IndexUpdate
    from treadle.named.joining import Broadcast, Concat, broadcast, concat, full_like, ones_like, zeros_like
    from treadle.named.math import Dot, dot, where
    from treadle.named.ops.elementwise import XElemwise
    from treadle.named.ops.functions import XFunction
    from treadle.named.ops.named_op import Lowered, XOp
    from treadle.named.random.op import XRV as XRV
    from treadle.named.reduction import XCumReduce, XReduce
    from treadle.named.shape import ExpandDims, Rename, Squeeze, Stack, Transpose, UnStack, rename
    from treadle.named.types.casts import (
        TensorFromXTensor,
        XTensorFromTensor,
        XTypeCastOp,
        tensor_from_xtensor,
        xtensor_from_tensor,
    )
    from treadle.named.types.data_arrays import to_data_array
    from treadle.named.types.named_type import XTensorType
    from treadle.named.variables import XTensorConstant, XTensorSharedVariable, XTensorVariable
    from treadle.named.vectorization import XBlockwise, vectorize_graph

__all__ = [
    "XRV", "Broadcast", "Concat", "DimsError", "Dot", "ExpandDims", "Index", "IndexUpdate", "Lowered",
    "NamedIndexError", "NamedTypeError", "NotNamedError", "Rename", "Squeeze", "Stack", "TensorFromXTensor",
    "Transpose", "UnStack", "XBlockwise", "XCumReduce", "XElemwise", "XFunction", "XOp", "XReduce", "XTensorConstant",
    "XTensorFromTensor", "XTensorSharedVariable", "XTensorType", "XTensorVariable", "XTypeCastOp", "as_xtensor",
    "broadcast", "concat", "dot", "full_like", "hessian", "indexing", "jacobian", "linalg", "math", "ones_like",
    "random", "reduction", "rename", "shape", "signal", "tensor_from_xtensor", "to_data_array", "vectorization",
    "vectorize_graph", "where", "xtensor", "xtensor_constant", "xtensor_from_tensor", "xtensor_shared", "zeros_like",
]  # fmt: skip

if TYPE_CHECKING:
    __version__: str
else:
    __getattr__ = versioned_names(
        __name__,
        "named-tensors",
        {
            "treadle.named.types.casts": (
                "TensorFromXTensor XTensorFromTensor XTypeCastOp tensor_from_xtensor xtensor_from_tensor"
            ),
            "treadle.named.conversion": "as_xtensor xtensor xtensor_constant xtensor_shared",
            "treadle.named.derivatives": "hessian jacobian",
            "treadle.named.types.data_arrays": "to_data_array",
            "treadle.named.ops.elementwise": "XElemwise",
            "treadle.named.errors": "DimsError NamedIndexError NamedTypeError NotNamedError",
            "treadle.named.ops.functions": "XFunction",
            "treadle.named.indexing": "indexing Index IndexUpdate",
            "treadle.named.joining": "Broadcast Concat broadcast concat full_like ones_like zeros_like",
            "treadle.named.linalg": "linalg",
            "treadle.named.math": "math Dot dot where",
            "treadle.named.ops.named_op": "Lowered XOp",
            "treadle.named.random": "random",
            "treadle.named.random.op": "XRV",
            "treadle.named.reduction": "reduction XCumReduce XReduce",
            "treadle.named.shape": "shape ExpandDims Rename Squeeze Stack Transpose UnStack rename",
            "treadle.named.signal": "signal",
            "treadle.named.types.named_type": "XTensorType",
            "treadle.named.variables": "XTensorConstant XTensorSharedVariable XTensorVariable",
            "treadle.named.vectorization": "vectorization XBlockwise vectorize_graph",
        },
    )

_upward.wire(
    XTensorVariable=_lazy_module("treadle.named.variables"),
    XTensorConstant=_lazy_module("treadle.named.variables"),
    XTensorSharedVariable=_lazy_module("treadle.named.variables"),
    xtensor_from_tensor=_lazy_module("treadle.named.types.casts"),
)
