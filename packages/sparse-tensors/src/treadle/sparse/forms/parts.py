"""CSMProperties and CSM: from sparse matrices to their arrays and back; Compressed: the arrays of one matrix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

import treadle.tensor as tt
from treadle.config import dataclass
from treadle.graph import Apply, Constant, Variable, static_op
from treadle.sparse.errors import SparseShapeError, SparseTypeError
from treadle.sparse.forms.sparse_op import SparseOp, is_absent
from treadle.sparse.kernels.lines import line_of_entry
from treadle.sparse.kernels.patterns import Sampled, TransposedPattern
from treadle.sparse.kernels.products import SampledProduct
from treadle.sparse.kernels.structure import INDEX, check_structure
from treadle.sparse.operands import Operand
from treadle.sparse.types.conversion import as_sparse_variable, is_sparse_variable
from treadle.sparse.types.sparse_type import CLASSES, RANK, SparseTensorType, check_format
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Cell, Value
    from treadle.sparse.types.variable import SparseVariable
    from treadle.tensor import TensorVariable

    Variables = Sequence[Variable]
    Terms = Sequence[Variable | None]

__all__ = [
    "CSC", "CSM", "CSR", "CSMProperties", "Compressed", "compressed", "csm_data", "csm_indices", "csm_indptr",
    "csm_properties", "csm_shape", "elements_at", "same_variable", "sparse_shape",
]  # fmt: skip

Lengths = tuple[int | None, int | None]
_VECTOR = TensorType(INDEX, (None,))


@static_op
class CSMProperties(SparseOp):
    """The elements, positions, pointers and shape of a compressed matrix, as four vectors.

    Gradients flow to the elements that are stored, and to no others: they are structured.
    """

    view_map = {0: [0], 1: [0], 2: [0]}  # noqa: RUF012 - the documented contract of ops
    leaves_loops: ClassVar[bool] = True

    def make_node(self, *inputs: Operand) -> Apply:
        """Return the node: elements of the matrix's dtype, positions, pointers and shape of int32."""
        if len(inputs) != 1:
            msg = f"{self}: one sparse matrix is needed, got {len(inputs)} arguments."
            raise SparseTypeError(msg)
        x = as_sparse_variable(inputs[0])
        pointers = x.type.shape[x.type.major]
        kinds = [
            TensorType(x.type.dtype, (None,)),
            _VECTOR,
            TensorType(INDEX, (None if pointers is None else pointers + 1,)),
            TensorType(INDEX, (RANK,)),
        ]
        return Apply(self, [x], [kind.make_variable() for kind in kinds])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Read the matrix; what it has room for and does not use is left out."""
        (x,) = inputs
        if max(x.shape) > np.iinfo(INDEX).max or x.indptr[-1] > np.iinfo(INDEX).max:
            msg = f"{self}: lengths and numbers of elements must fit {INDEX}, got shape {x.shape} with {x.nnz}."
            raise SparseShapeError(msg)
        stored = int(x.indptr[-1])
        output_storage[0][0] = x.data[:stored]
        output_storage[1][0] = x.indices[:stored].astype(INDEX, copy=False)
        output_storage[2][0] = x.indptr.astype(INDEX, copy=False)
        output_storage[3][0] = np.array(x.shape, INDEX)

    def infer_shape(self, node: Apply, shapes: Sequence[Operand]) -> Sequence[Operand]:
        """Return that the shape has two lengths; the others are known when the matrix is."""
        return [None, None, None, (tt.constant(RANK),)]

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that gradients flow through the elements."""
        return [[True, False, False, False]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Return a matrix of the same pattern."""
        (x,) = inputs
        if is_absent(cotangents[0]):
            return [None]
        kind: Operand = x.type
        return [CSM(kind.format, kind.shape)(cotangents[0], *outputs[1:])]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Terms) -> Terms:
        """Return the tangent's elements where the matrix stores some."""
        (tangent,) = tangents
        if is_absent(tangent):
            return [None] * 4
        return [elements_at(tangent, compressed(inputs[0])), None, None, None]


@static_op
class CSM(SparseOp):
    """The compressed matrix of elements, positions, pointers and shape.

    Parameters
    ----------
    format
        ``csr`` or ``csc``.
    lengths
        Numbers of rows and columns, None where one is not known when the graph is built.
    """

    format: str
    lengths: Lengths = (None, None)

    view_map = {0: [0]}  # noqa: RUF012 - the documented contract of ops

    def __post_init__(self) -> None:
        """Refuse other formats."""
        check_format("CSM", self.format)

    def make_node(self, *inputs: Operand) -> Apply:
        """Return the node; positions, pointers and lengths are cast to int32.

        Raises
        ------
        SparseTypeError
            If the elements are no vector, or the others no vectors of integers.
        SparseShapeError
            If a constant is too large for int32.
        """
        if len(inputs) != 4:
            msg = f"{self}: data, indices, indptr and shape are needed, got {len(inputs)} arguments."
            raise SparseTypeError(msg)
        data = tt.as_tensor_variable(inputs[0])
        if data.ndim != 1:
            msg = f"{self}: data must be a vector, got {data} of type {data.type}. Flatten it."
            raise SparseTypeError(msg)
        names = ("indices", "indptr", "shape")
        integers = [_as_positions(f"{self}: {name}", x) for name, x in zip(names, inputs[1:], strict=True)]
        lengths = self.lengths
        if lengths == (None, None):
            lengths = _known_lengths(integers[2])
        kind = SparseTensorType(self.format, data.dtype, lengths)
        return Apply(self, [data, *integers], [kind.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Make SciPy's matrix, which shares the memory of the elements alone: SciPy sorts positions in place."""
        data, indices, indptr, shape = inputs
        if len(shape) != RANK:
            msg = f"{self}: the shape must have two lengths, got {shape}."
            raise SparseShapeError(msg)
        lines, across = shape if self.format == "csr" else shape[::-1]
        if len(indptr) != lines + 1:
            msg = f"{self}: {lines + 1} pointers are needed for shape {tuple(map(int, shape))}, got {len(indptr)}."
            raise SparseShapeError(msg)
        check_structure(str(self), indices, indptr, across, len(data))
        made = CLASSES[self.format]((data, indices.copy(), indptr.copy()), tuple(map(int, shape)))
        output_storage[0][0] = node.outputs[0].type.filter(made)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Return that gradients flow to the elements."""
        return [[True], [False], [False], [False]]

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Terms:
        """Return the gradient's elements at the positions of this matrix."""
        if is_absent(cotangents[0]):
            return [None] * 4
        return [elements_at(cotangents[0], compressed(outputs[0])), None, None, None]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Terms) -> Terms:
        """Return a matrix of the same pattern."""
        if is_absent(tangents[0]):
            return [None]
        return [CSM(self.format, self.lengths)(tangents[0], *inputs[1:])]


CSR = CSM("csr")
CSC = CSM("csc")


def _as_positions(what: str, value: Operand) -> TensorVariable:
    """Return a vector of int32."""
    if not isinstance(value, Variable):
        array = np.asarray(value)
        if array.size and array.dtype.kind in "iu" and (array != array.astype(INDEX)).any():
            msg = f"{what} must fit {INDEX}, got numbers up to {array.max()}."
            raise SparseShapeError(msg)
        value = array.astype(INDEX) if array.size == 0 else array
    var = tt.as_tensor_variable(value)
    if var.ndim != 1 or var.type.numpy_dtype.kind not in "iu":
        msg = f"{what} must be a vector of integers, got {var} of type {var.type}. Cast or flatten it."
        raise SparseTypeError(msg)
    return var.astype(INDEX)


def _known_lengths(shape: TensorVariable) -> Lengths:
    """Return the lengths that a vector is known to hold."""
    if isinstance(shape, Constant):
        if shape.data.shape != (RANK,):
            msg = f"CSM: the shape must have two lengths, got {shape.data}."
            raise SparseShapeError(msg)
        return (int(shape.data[0]), int(shape.data[1]))
    node = shape.owner
    if node is not None and isinstance(node.op, CSMProperties):
        matrix: Operand = node.inputs[0]
        lengths: Lengths = matrix.type.shape
        return lengths
    return (None, None)


# The arrays of one matrix


@dataclass(frozen=True)
class Compressed:
    """The arrays of one compressed matrix, as variables.

    Attributes
    ----------
    format
        ``csr`` or ``csc``.
    data, indices, indptr
        The arrays; positions and pointers of int32.
    shape
        The vector of the two lengths, of int32.
    lengths
        The lengths, as far as they are known.
    """

    format: str
    data: Operand
    indices: Operand
    indptr: Operand
    shape: Operand
    lengths: Lengths

    def variable(self) -> SparseVariable:
        """Return the matrix."""
        made: SparseVariable = CSM(self.format, self.lengths)(self.data, self.indices, self.indptr, self.shape)
        return made

    def with_data(self, data: Operand) -> Compressed:
        """Return a matrix of the same pattern with other elements."""
        return replace(self, data=data)

    def length(self, axis: int) -> Operand:
        """Return the number of rows or columns, as an int64 scalar."""
        known = self.lengths[axis]
        return self.shape[axis].astype("int64") if known is None else tt.constant(known, dtype="int64")

    @property
    def major(self) -> int:
        """The axis of the lines."""
        return 0 if self.format == "csr" else 1

    @property
    def across(self) -> Operand:
        """The number of positions across lines."""
        return self.length(1 - self.major)

    @property
    def lines(self) -> Operand:
        """The number of lines."""
        return self.length(self.major)

    @property
    def transposed(self) -> Compressed:
        """The transpose: the same arrays in the other format."""
        other = "csc" if self.format == "csr" else "csr"
        return replace(self, format=other, shape=self.shape[::-1], lengths=self.lengths[::-1])

    def line_of_entry(self) -> Operand:
        """Return the line of each entry."""
        return line_of_entry(self.indices, self.indptr)

    def coordinates(self) -> tuple[Operand, Operand]:
        """Return the row and the column of each entry."""
        both = (self.line_of_entry(), self.indices)
        return both if self.format == "csr" else both[::-1]

    def in_format(self, name: str) -> Compressed:
        """Return the same matrix in a format."""
        if name == self.format:
            return self
        indices, indptr, order = TransposedPattern()(self.indices, self.indptr, self.across)
        return replace(self, format=name, data=self.data[order], indices=indices, indptr=indptr)

    def has_pattern_of(self, other: Compressed) -> bool:
        """Whether it is known to store elements at the same positions, in the same order."""
        return (
            self.format == other.format
            and same_variable(self.indices, other.indices)
            and same_variable(self.indptr, other.indptr)
        )

    def elements_at(self, pattern: Compressed) -> Operand:
        """Return its elements at the positions of another one of the same shape."""
        if self.has_pattern_of(pattern):
            return self.data
        own = self.in_format(pattern.format)
        return Sampled()(own.data, own.indices, own.indptr, pattern.indices, pattern.indptr, own.across)


def compressed(x: Operand) -> Compressed:
    """Return the arrays of a sparse variable: those that it was made of, where it was."""
    var = as_sparse_variable(x)
    node = var.owner
    if node is not None and isinstance(node.op, CSM):
        data, indices, indptr, shape = node.inputs
        return Compressed(node.op.format, data, indices, indptr, shape, var.type.shape)
    data, indices, indptr, shape = CSMProperties()(var)
    return Compressed(var.type.format, data, indices, indptr, shape, var.type.shape)


def same_variable(a: Variable, b: Variable, depth: int = 4) -> bool:
    """Whether two variables are computed in the same way from the same ones, in a few steps."""
    if a is b:
        return True
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.equals(b)
    first, second = a.owner, b.owner
    if first is None or second is None or not depth or a.index != b.index or first.op != second.op:
        return False
    return len(first.inputs) == len(second.inputs) and all(
        same_variable(x, y, depth - 1) for x, y in zip(first.inputs, second.inputs, strict=True)
    )


def elements_at(matrix: Operand, pattern: Compressed) -> Operand:
    """Return the elements of a sparse or dense matrix at the positions of a compressed one, in its dtype."""
    if is_sparse_variable(matrix):
        picked = compressed(matrix).elements_at(pattern)
    else:
        picked = _product_at(matrix, pattern)
        if picked is None:
            picked = matrix[pattern.coordinates()]
    return picked if picked.dtype == pattern.data.dtype else _real_part(picked, pattern.data)


def _real_part(x: Operand, like: Operand) -> Operand:
    complex_alone = x.type.numpy_dtype.kind == "c" and like.type.numpy_dtype.kind != "c"
    return (x.real if complex_alone else x).astype(like.dtype)


def _product_at(dense: Operand, pattern: Compressed) -> Operand:
    """Return the elements of a product of dense matrices at some positions alone; None if it is no such product."""
    node = dense.owner
    if node is None or not isinstance(node.op, tt.MatMul) or any(x.ndim != RANK for x in node.inputs):
        return None
    left, right = node.inputs
    if left.dtype != right.dtype:
        return None
    first, second = (left, right.T) if pattern.format == "csr" else (right.T, left)
    return SampledProduct()(pattern.indices, pattern.indptr, first, second)


# Sums over the steps of loops


def _summand(x: Operand, slope: Operand, given: Operand) -> tuple[Operand, Operand, Callable[[Operand], Operand]]:
    """Return how slopes by a sparse matrix are summed in a loop, as tensors: a term, zeros, and what their sum makes.

    Those with the pattern of the matrix are summed by their elements, and others as dense matrices.
    """
    own = compressed(given)
    if is_sparse_variable(slope):
        arrays = compressed(slope)
        if arrays.has_pattern_of(compressed(x)):
            zeros = tt.zeros_like(own.data, dtype=arrays.data.dtype)
            return arrays.data, zeros, lambda total: own.with_data(total).variable()
        slope = slope.toarray()
    zeros = tt.zeros((own.length(0), own.length(1)), dtype=slope.dtype)
    return slope, zeros, lambda total: total


SparseTensorType.summand = staticmethod(_summand)

# What users read


def csm_properties(csm: Operand) -> list[TensorVariable]:
    """Return the elements, positions, pointers and shape of a sparse matrix, as four vectors.

    Gradients by the matrix are structured.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> [x.eval() for x in sparse.csm_properties(A)]
    [array([4., 9.]), array([1, 0], dtype=int32), array([0, 1, 2], dtype=int32), array([2, 2], dtype=int32)]
    """
    return list(CSMProperties()(csm))


def csm_data(csm: Operand) -> TensorVariable:
    """Return the stored elements.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.csm_data(A).eval()
    array([4., 9.])
    """
    return csm_properties(csm)[0]


def csm_indices(csm: Operand) -> TensorVariable:
    """Return the position of each stored element across the lines: columns of CSR, rows of CSC.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.csm_indices(A).eval()
    array([1, 0], dtype=int32)
    """
    return csm_properties(csm)[1]


def csm_indptr(csm: Operand) -> TensorVariable:
    """Return where each line starts among the stored elements, and where the last one ends.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.csm_indptr(A).eval()
    array([0, 1, 2], dtype=int32)
    """
    return csm_properties(csm)[2]


def csm_shape(csm: Operand) -> TensorVariable:
    """Return the numbers of rows and columns, as a vector of int32.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> sparse.csm_shape(A).eval()
    array([2, 2], dtype=int32)
    """
    return csm_properties(csm)[3]


def sparse_shape(x: Operand) -> tuple[Operand, Operand]:
    """Return the numbers of rows and columns, as int64 scalars.

    Examples
    --------
    >>> A = scipy.sparse.csr_matrix([[0.0, 4.0], [9.0, 0.0]])
    >>> [int(n.eval()) for n in sparse.sparse_shape(A)]
    [2, 2]
    """
    arrays = compressed(x)
    return arrays.length(0), arrays.length(1)
