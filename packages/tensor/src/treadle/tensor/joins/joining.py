"""Join: tensors put one after another along an axis, and what is built on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Form, as_index, static_op
from treadle.tensor.arguments.axes import at_axis, normalize_axis
from treadle.tensor.arguments.values import as_choice, as_items
from treadle.tensor.batches.batching import spread_all
from treadle.tensor.elementwise.arithmetic import add
from treadle.tensor.elementwise.cast import cast
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.ops.tensor_op import Derivatives, TensorOp, Variables
from treadle.tensor.shapes.batch_dims import most_batch
from treadle.tensor.shapes.dimshuffle import expand_dims
from treadle.tensor.shapes.shape import shape_i
from treadle.tensor.types.conversion import as_tensor_variable, cotangent_of
from treadle.tensor.types.conversion import tensors as as_tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import DTypeLike

    from treadle.graph import Type, Variable
    from treadle.tensor.ops.known_values import Known
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["Join", "concatenate", "hstack", "join", "stack", "vstack"]

# How conversions may be allowed, by NumPy's words.
Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
_CASTING: tuple[Casting, ...] = ("no", "equiv", "safe", "same_kind", "unsafe")


@static_op
class Join(TensorOp):
    """Put tensors of one rank one after another along an axis.

    Parameters
    ----------
    axis
        The axis, 0 or more.
    """

    linear = "jointly"
    linear_count = None

    axis: int

    integer_fields = ("axis",)

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the joined type."""
        kinds = [t for t in types if isinstance(t, TensorType)]
        if len(kinds) < len(types) or len({t.ndim for t in kinds}) != 1:
            msg = f"join: tensors of one rank are needed, got {', '.join(map(str, types)) or 'none'}. Reshape them."
            raise TensorTypeError(msg)
        ndim = kinds[0].ndim
        if not 0 <= self.axis < ndim:
            msg = f"join: axis {self.axis} does not exist in tensors of rank {ndim}. Use stack, or another axis."
            raise ShapeError(msg)
        shape: list[int | None] = []
        for d in range(ndim):
            ns = [t.shape[d] for t in kinds]
            lengths = [n for n in ns if n is not None]
            if d == self.axis:
                shape.append(sum(lengths) if len(lengths) == len(ns) else None)
                continue
            known = set(lengths)
            if len(known) > 1:
                msg = f"join: lengths of dimension {d} differ, got {ns}. All but the joined dimension must agree."
                raise ShapeError(msg)
            shape.append(known.pop() if known else None)
        return [TensorType(np.result_type(*(t.numpy_dtype for t in kinds)), tuple(shape))]

    def printed_form(self, node: Apply) -> Form:
        """Write ``join(0, a, b)``."""
        return Form.call("join", [str(self.axis), *node.inputs])

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Join with NumPy."""
        output_storage[0][0] = np.concatenate(inputs, axis=self.axis)

    def known_values(self, node: TensorNode, known: Callable[[Variable], Known]) -> Known:
        """Return the elements of one vector after another; those of unknown ones count if their number is known."""
        result: list[int | None] = []
        for part in node.inputs:
            length = part.type.shape[0]
            values = known(part) or [None] * (length or 0)
            if len(values) != length:
                return None
            result += values
        return result

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Add the lengths along the axis."""
        each = [shapes.of(x) for x in node.inputs]
        result = list(each[0])
        result[self.axis] = shapes.joined([own[self.axis] for own in each])
        return result

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Join behind the batch dimensions, which every part is broadcast to."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        return Join(self.axis + most_batch(pairs)).make_node(*spread_all(pairs))

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Cut the cotangent into the inputs' parts."""
        ct = as_tensors(cotangents)[0]
        terms: list[Variable | None] = []
        start: TensorVariable | int = 0
        for x in as_tensors(inputs):
            stop = _sum_of(start, shape_i(x, self.axis))
            part = ct[at_axis(self.axis, slice(start, stop))]
            terms.append(cotangent_of(x, part) if x.type.numpy_dtype.kind in "fc" else None)
            start = stop
        return terms


def _sum_of(a: TensorVariable | int, b: TensorVariable) -> TensorVariable | int:
    """Add two lengths, without a node where both are known."""
    left, right = as_index(a), as_index(b)
    return left + right if left is not None and right is not None else (b if left == 0 else add(a, b))


def join(axis: int, *tensors: TensorLike) -> TensorVariable:
    """Put tensors one after another along an existing axis; the axis comes first (see `concatenate`).

    Examples
    --------
    >>> tt.join(0, [1, 2], [3]).eval()
    array([1, 2, 3])
    """
    return concatenate(tensors, axis)


def concatenate(
    tensor_list: Sequence[TensorLike], axis: int | None = 0, dtype: DTypeLike | None = None, casting: str = "same_kind"
) -> TensorVariable:
    """Put tensors one after another along an existing axis (as numpy.concatenate).

    Parameters
    ----------
    tensor_list
        The tensors, of one rank.
    axis
        The axis; None for the tensors flattened.
    dtype, casting
        Dtype of the result, and which conversions to it are allowed.

    Raises
    ------
    TensorTypeError
        If the ranks differ, there are no tensors, or their dtypes cannot be converted so.
    ShapeError
        If other lengths are known and differ.

    Examples
    --------
    >>> tt.concatenate([[1, 2], [3]]).eval()
    array([1, 2, 3])
    """
    variables = [as_tensor_variable(t) for t in as_items("concatenate: the tensors", tensor_list)]
    rule = as_choice("concatenate: casting", casting, _CASTING)
    if axis is None:
        variables, axis = [x.flatten() for x in variables], 0
    if not variables or variables[0].ndim == 0:
        msg = f"concatenate: one or more tensors of rank 1 or more are needed, got {text_of(tensor_list)}. Use stack."
        raise TensorTypeError(msg)
    at = normalize_axis("concatenate", axis, variables[0].ndim)
    if dtype is not None:
        target = TensorType(dtype).numpy_dtype
        for x in variables:
            if not np.can_cast(x.type.numpy_dtype, target, rule):
                msg = f"concatenate: {x} of type {x.type} cannot be cast to {target} by the rule {casting!r}. Cast it."
                raise TensorTypeError(msg)
        variables = [cast(x, target) for x in variables]
    result: TensorVariable = Join(at)(*variables)
    return result


def stack(
    tensors: Sequence[TensorLike], axis: int = 0, dtype: DTypeLike | None = None, casting: str = "same_kind"
) -> TensorVariable:
    """Put tensors one after another along a new axis (as numpy.stack; dtypes as for `concatenate`).

    Examples
    --------
    >>> tt.stack([[1, 2], [3, 4]], axis=1).eval()
    array([[1, 3],
           [2, 4]])
    """
    variables = [as_tensor_variable(t) for t in as_items("stack: the tensors", tensors)]
    if len({v.ndim for v in variables}) != 1:
        msg = f"stack: tensors of one rank are needed, got {', '.join(str(v.type) for v in variables) or 'none'}."
        raise TensorTypeError(msg)
    at = normalize_axis("stack", axis, variables[0].ndim + 1)
    return concatenate([expand_dims(v, at) for v in variables], at, dtype, casting)


def hstack(tup: Sequence[TensorLike], dtype: DTypeLike | None = None, casting: str = "same_kind") -> TensorVariable:
    """Stack along the second axis, vectors along the first (as numpy.hstack).

    Examples
    --------
    >>> tt.hstack([[1, 2], [3]]).eval()
    array([1, 2, 3])
    """
    tensors = map(as_tensor_variable, as_items("hstack: the tensors", tup))
    variables = [v if v.ndim else expand_dims(v, 0) for v in tensors]
    return concatenate(variables, 0 if variables and variables[0].ndim == 1 else 1, dtype, casting)


def vstack(tup: Sequence[TensorLike], dtype: DTypeLike | None = None, casting: str = "same_kind") -> TensorVariable:
    """Stack along the first axis, vectors as rows (as numpy.vstack).

    Examples
    --------
    >>> tt.vstack([[1, 2], [3, 4]]).eval()
    array([[1, 2],
           [3, 4]])
    """
    variables = []
    for v in map(as_tensor_variable, as_items("vstack: the tensors", tup)):
        row = v if v.ndim else expand_dims(v, 0)
        variables.append(expand_dims(row, 0) if row.ndim == 1 else row)
    return concatenate(variables, 0, dtype, casting)
