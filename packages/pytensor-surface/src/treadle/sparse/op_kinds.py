"""Documented classes of ops on sparse matrices for which `treadle.sparse` has functions.

An instance is applied as the function, which builds its result of other ops. Where one kernel does what the documented
op does, it counts as an instance, so that ``isinstance(node.op, StructuredDot)`` finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import treadle.sparse as ts
import treadle.tensor as tt
from treadle.config import text_of
from treadle.sparse.kernels.patterns import Sampled
from treadle.sparse.kernels.products import LinesProduct, SampledProduct, TransposedLinesProduct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.graph import Op, Variable
    from treadle.sparse import SparseVariable
    from treadle.tensor import TensorLike, TensorVariable

__all__ = [
    "AddSparseDense", "AddSparseSparse", "AddSparseSparseData", "CSMGrad", "Cast", "ColScaleCSC",
    "ConstructSparseFromList", "Diag", "EnsureSortedIndices", "EqualSparseDense", "EqualSparseSparse",
    "GetItem2Lists", "GetItem2ListsGrad", "GetItem2d", "GetItemList", "GetItemListGrad", "GetItemScalar",
    "GreaterEqualSparseDense", "GreaterEqualSparseSparse", "GreaterThanSparseDense", "GreaterThanSparseSparse",
    "HStack", "LessEqualSparseDense", "LessEqualSparseSparse", "LessThanSparseDense", "LessThanSparseSparse",
    "MultiplySparseDense", "MultiplySparseDenseVector", "MultiplySparseSparse", "NotEqualSparseDense",
    "NotEqualSparseSparse", "Remove0", "RowScaleCSC", "SamplingDot", "SparseBlockDiagonal", "SparseKind",
    "StructuredAddSparseDenseVector", "StructuredDot", "StructuredDotGradCSC", "StructuredDotGradCSR", "Transpose",
    "Usmm", "VStack", "csm_grad", "equal_s_d", "equal_s_s", "get_item_2lists_grad", "get_item_list_grad",
    "greater_equal_s_d", "greater_equal_s_s", "greater_than_s_d", "greater_than_s_s", "less_equal_s_d",
    "less_equal_s_s", "less_than_s_d", "less_than_s_s", "not_equal_s_d", "not_equal_s_s", "sdg_csc", "sdg_csr",
]  # fmt: skip


class SparseKind(type):
    """Metaclass of these classes: kernels that do what the documented op does are instances."""

    # The kernels.
    ops: tuple[type[Op], ...]
    # The function that an instance applies, in a tuple so that it is no method.
    functions: tuple[Callable[..., Any], ...]
    # The parameters of the op, each with the keyword argument of the function that it is; empty if it has none.
    parameters: Mapping[str, str]
    # Whether the function takes the operands as one list.
    takes_list: bool

    def __instancecheck__(cls, op: object) -> bool:
        """Whether something is an instance, or a kernel that does the same."""
        return isinstance(op, cls.ops) or super().__instancecheck__(op)


class _Applied(metaclass=SparseKind):
    """What stands for an op: it is applied as a function of `treadle.sparse`."""

    ops = ()
    functions = ()
    parameters: Mapping[str, str] = {}
    takes_list = False

    def __init__(self, *args: object, **kwargs: object) -> None:
        kind = type(self)
        given = dict(zip(kind.parameters, args, strict=False)) | kwargs
        if len(args) > len(kind.parameters) or not set(given) <= set(kind.parameters):
            msg = (
                f"{kind.__name__}: the parameters are ({', '.join(kind.parameters)}), got {text_of((args, kwargs))}. "
                "Leave out the others."
            )
            raise ts.SparseTypeError(msg)
        self._options = {kind.parameters[name]: value for name, value in given.items() if kind.parameters[name]}

    def __call__(self, *operands: object) -> Any:
        """Return the result of the function."""
        (function,) = type(self).functions
        return function(list(operands), **self._options) if self.takes_list else function(*operands, **self._options)


def _kind(
    name: str,
    function: Callable[..., Any],
    *ops: type[Op],
    parameters: Mapping[str, str] | None = None,
    takes_list: bool = False,
) -> SparseKind:
    """Return the class of a name."""
    members = {
        "ops": ops,
        "functions": (function,),
        "parameters": {} if parameters is None else parameters,
        "takes_list": takes_list,
        "__module__": __name__,
        "__doc__": f"The documented class of ops whose results `{function.__name__}` returns.",
    }
    return SparseKind(name, (_Applied,), members)


def _gradient_of_csc(indices: object, indptr: object, dense: object, slope: object) -> Any:
    """Return the elements of the gradient of a structured product by a CSC factor."""
    return SampledProduct()(indices, indptr, dense, slope)


def _gradient_of_csr(indices: object, indptr: object, dense: object, slope: object) -> Any:
    """Return the elements of the gradient of a structured product by a CSR factor."""
    return SampledProduct()(indices, indptr, slope, dense)


def _gradient_of_csm(*operands: TensorLike) -> Variable:
    """Return the elements of a gradient at the positions of a matrix of the same shape and format.

    The operands are data, indices, indptr and shape of the matrix, and then those of the gradient.
    """
    _, x_indices, x_indptr, _, g_data, g_indices, g_indptr, g_shape = operands
    lengths = tt.as_tensor_variable(g_shape)
    pointers = tt.as_tensor_variable(g_indptr)
    across = tt.switch(tt.eq(lengths[0] + 1, pointers.shape[0]), lengths[1], lengths[0])
    # Where both lengths are the same, either is right.
    gradient: Variable = Sampled()(g_data, g_indices, pointers, x_indices, x_indptr, across)
    return gradient


def _placed(index: TensorLike, length: TensorVariable, values: TensorVariable) -> SparseVariable:
    """Return the CSC matrix with a column for each position in a list, with a value in that row."""
    at = tt.as_tensor_variable(index)
    rows = tt.switch(at < 0, at + length, at)
    count = at.shape[0]
    matrix: SparseVariable = ts.CSC(values, rows, tt.arange(count + 1), tt.stack([length, count]))
    return matrix


def _gradient_of_list(x: SparseVariable, index: TensorLike, gz: SparseVariable) -> SparseVariable:
    """Return the gradient by a matrix of which rows were selected: their gradients, added in the rows selected."""
    matrix, slopes = ts.as_sparse_variable(x), ts.as_sparse_variable(gz)
    at = tt.as_tensor_variable(index)
    placed = _placed(at, matrix.shape[0], tt.ones(at.shape, dtype=matrix.dtype))
    return ts.asformat(ts.true_dot(placed, slopes), matrix.format)


def _gradient_of_two_lists(x: SparseVariable, ind1: TensorLike, ind2: TensorLike, gz: TensorLike) -> SparseVariable:
    """Return the gradient by a matrix of which elements were selected: their gradients, added at their positions."""
    matrix, slopes, columns = ts.as_sparse_variable(x), tt.as_tensor_variable(gz), tt.as_tensor_variable(ind2)
    rows = _placed(ind1, matrix.shape[0], slopes.astype(matrix.dtype))
    placed = _placed(columns, matrix.shape[1], tt.ones(columns.shape, dtype=matrix.dtype))
    return ts.asformat(ts.true_dot(rows, ts.transpose(placed)), matrix.format)


AddSparseDense = _kind("AddSparseDense", ts.add_s_d)
AddSparseSparse = _kind("AddSparseSparse", ts.add_s_s)
AddSparseSparseData = _kind("AddSparseSparseData", ts.add_s_s_data)
StructuredAddSparseDenseVector = _kind("StructuredAddSparseDenseVector", ts.structured_add_s_v)
MultiplySparseDense = _kind("MultiplySparseDense", ts.mul_s_d)
MultiplySparseDenseVector = _kind("MultiplySparseDenseVector", ts.mul_s_v)
MultiplySparseSparse = _kind("MultiplySparseSparse", ts.mul_s_s)
RowScaleCSC = _kind("RowScaleCSC", ts.row_scale)
ColScaleCSC = _kind("ColScaleCSC", ts.col_scale)

StructuredDot = _kind("StructuredDot", ts.structured_dot, LinesProduct, TransposedLinesProduct)
StructuredDotGradCSC = _kind("StructuredDotGradCSC", _gradient_of_csc, SampledProduct)
StructuredDotGradCSR = _kind("StructuredDotGradCSR", _gradient_of_csr, SampledProduct)
CSMGrad = _kind("CSMGrad", _gradient_of_csm, Sampled, parameters={"kmap": ""})
SamplingDot = _kind("SamplingDot", ts.sampling_dot, SampledProduct)
Usmm = _kind("Usmm", ts.usmm)

EqualSparseDense, EqualSparseSparse = _kind("EqualSparseDense", ts.eq), _kind("EqualSparseSparse", ts.eq)
NotEqualSparseDense, NotEqualSparseSparse = _kind("NotEqualSparseDense", ts.neq), _kind("NotEqualSparseSparse", ts.neq)
LessThanSparseDense, LessThanSparseSparse = _kind("LessThanSparseDense", ts.lt), _kind("LessThanSparseSparse", ts.lt)
LessEqualSparseDense, LessEqualSparseSparse = (
    _kind("LessEqualSparseDense", ts.le),
    _kind("LessEqualSparseSparse", ts.le),
)
GreaterThanSparseDense = _kind("GreaterThanSparseDense", ts.gt)
GreaterThanSparseSparse = _kind("GreaterThanSparseSparse", ts.gt)
GreaterEqualSparseDense = _kind("GreaterEqualSparseDense", ts.ge)
GreaterEqualSparseSparse = _kind("GreaterEqualSparseSparse", ts.ge)

Cast = _kind("Cast", ts.cast, parameters={"out_type": "dtype"})
ConstructSparseFromList = _kind("ConstructSparseFromList", ts.construct_sparse_from_list)
Diag = _kind("Diag", ts.diag)
EnsureSortedIndices = _kind("EnsureSortedIndices", ts.ensure_sorted_indices, parameters={"inplace": ""})
GetItem2Lists = _kind("GetItem2Lists", ts.get_item_2lists)
GetItem2d = _kind("GetItem2d", ts.get_item_2d)
GetItemList = _kind("GetItemList", ts.get_item_list)
GetItemScalar = _kind("GetItemScalar", ts.get_item_scalar)
GetItem2ListsGrad = _kind("GetItem2ListsGrad", _gradient_of_two_lists)
GetItemListGrad = _kind("GetItemListGrad", _gradient_of_list)
HStack = _kind("HStack", ts.hstack, parameters={"format": "format", "dtype": "dtype"}, takes_list=True)
VStack = _kind("VStack", ts.vstack, parameters={"format": "format", "dtype": "dtype"}, takes_list=True)
Remove0 = _kind("Remove0", ts.remove0, parameters={"inplace": ""})
SparseBlockDiagonal = _kind("SparseBlockDiagonal", ts.block_diag, parameters={"n_inputs": "", "format": "format"})
Transpose = _kind("Transpose", ts.transpose)

equal_s_d, equal_s_s = EqualSparseDense(), EqualSparseSparse()
not_equal_s_d, not_equal_s_s = NotEqualSparseDense(), NotEqualSparseSparse()
less_than_s_d, less_than_s_s = LessThanSparseDense(), LessThanSparseSparse()
less_equal_s_d, less_equal_s_s = LessEqualSparseDense(), LessEqualSparseSparse()
greater_than_s_d, greater_than_s_s = GreaterThanSparseDense(), GreaterThanSparseSparse()
greater_equal_s_d, greater_equal_s_s = GreaterEqualSparseDense(), GreaterEqualSparseSparse()
sdg_csc, sdg_csr = StructuredDotGradCSC(), StructuredDotGradCSR()
# The documented name of the class, not of an instance.
csm_grad = CSMGrad
get_item_list_grad, get_item_2lists_grad = GetItemListGrad(), GetItem2ListsGrad()
