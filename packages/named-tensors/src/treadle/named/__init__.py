"""treadle.named: tensors whose dimensions have names, after xarray.

They are broadcast, reduced and indexed by these names, and become plain tensors before a function is compiled: there
is no cost at run time, and every backend computes them.
"""

from typing import TYPE_CHECKING

from treadle.config import versioned_names
from treadle.named import indexing, math, reduction, shape, vectorization
from treadle.named.conversion import as_xtensor, xtensor, xtensor_constant, xtensor_shared
from treadle.named.derivatives import hessian, jacobian
from treadle.named.errors import DimsError, NamedIndexError, NamedTypeError, NotNamedError
from treadle.named.indexing import Index, IndexUpdate
from treadle.named.joining import Broadcast, Concat, broadcast, concat, full_like, ones_like, zeros_like
from treadle.named.math import Dot, dot, where
from treadle.named.ops.elementwise import XElemwise
from treadle.named.ops.functions import XFunction
from treadle.named.ops.named_op import Lowered, XOp
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

if TYPE_CHECKING:
    from treadle.named import linalg, random, signal
    from treadle.named.random.op import XRV as XRV

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
            "treadle.named.linalg": "linalg",
            "treadle.named.random": "random",
            "treadle.named.random.op": "XRV",
            "treadle.named.signal": "signal",
        },
    )
