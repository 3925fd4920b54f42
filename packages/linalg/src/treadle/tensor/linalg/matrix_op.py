"""MatrixOp: the base of ops on stacks of matrices."""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from treadle.graph import Form, Op, as_flag, graph_replace
from treadle.tensor.arguments.signatures import cores_of
from treadle.tensor.arguments.values import as_choice, as_option
from treadle.tensor.control.assertion import CheckAndRaise
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import isfinite
from treadle.tensor.elementwise.logic import invert
from treadle.tensor.errors import DtypeError, MatrixError, MatrixShapeError, ShapeError, TensorTypeError
from treadle.tensor.gradients.derivatives import pullback
from treadle.tensor.ops.tensor_op import StackOp
from treadle.tensor.reductions.reduction import all_
from treadle.tensor.shapes.batch_dims import aligned, most_batch
from treadle.tensor.shapes.broadcasting import broadcast_static
from treadle.tensor.shapes.dimshuffle import expand_dims, shape_padleft, shape_padright
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from treadle.graph import Apply, Type, Variable
    from treadle.tensor.shape_inference.symbolic_shapes import Length, SymbolicShapes
    from treadle.tensor.variables.variable import TensorLike, TensorNode, TensorVariable

__all__ = ["MatrixOp"]

INEXACT = ("float32", "float64", "complex64", "complex128")

REAL_OF = {"complex64": "float32", "complex128": "float64", "float32": "float32", "float64": "float64"}

COMPLEX_OF = {"complex64": "complex64", "complex128": "complex128", "float32": "complex64", "float64": "complex128"}

ON_ERROR = ("nan", "raise")

_SMALLER = re.compile(r"min\((\w+),(\w+)\)")


class MatrixOp(StackOp):
    """An op on matrices, applied to each of a stack of them.

    The last dimensions of the inputs are those that `signature` names; all inputs have the same number of dimensions
    before them, which broadcast. All inputs have one dtype: float32, float64, complex64 or complex128, unless it says
    otherwise.

    Attributes
    ----------
    signature
        Core dimensions, such as ``(m,m),(m,n)->(m,n)``: a name stands for one length, and a number for itself.
        Outputs may also have the smaller of two lengths, ``min(m,n)``, sums, ``m+n``, and differences, ``m-2``, which
        are 0 at least. An op whose fields decide it has a property of this name.
    dtypes
        Dtypes that it computes with; None for any.
    positions
        Which inputs hold positions of rows: they are int32, whatever the dtype of the others.
    on_error
        What becomes of matrices for which there is no result: ``"nan"`` fills it with NaN, ``"raise"`` raises a
        `MatrixError`, which is a ``numpy.linalg.LinAlgError``. Ops that can fail have a field of this name.
    overwritable
        Inputs that LAPACK overwrites, which need not be copied where nothing reads them after: the fields that say so,
        ``overwrite_a`` and ``overwrite_b``, each with the position of the input, and that of the output that takes its
        memory, or None if the input becomes working memory. Rewriting sets the fields.
    latex
        How LaTeX shows it, if not as a call: text in which ``#1``, ``#2`` … are the inputs.
    """

    signature: ClassVar[str]
    dtypes: ClassVar[Sequence[str] | None] = INEXACT
    positions: ClassVar[Sequence[int]] = ()
    on_error = "nan"
    overwritable: ClassVar[Mapping[str, tuple[int, int | None]]] = MappingProxyType({})
    latex: ClassVar[str | None] = None
    # A base class that errors of its nodes have too, on every backend.
    exc_type = MatrixError

    def output_dtypes(self, dtype: str) -> Sequence[str]:
        """Return the dtypes of the outputs for inputs of a dtype: the same for all of them, unless overridden."""
        return [dtype] * len(cores_of(self.signature)[1])

    def __post_init__(self) -> None:
        """Check the fields that are flags, and `on_error`, and bring them to one form.

        Raises
        ------
        ArgumentError, TensorTypeError
            If one has a value that it cannot have.
        """
        for field in fields(self):  # type: ignore[arg-type]  # ops are dataclasses
            if field.type == "bool":
                flag = as_flag(f"{type(self).__name__}: {field.name}", getattr(self, field.name))
                object.__setattr__(self, field.name, flag)
        as_on_error(type(self).__name__, self.on_error)

    # In place

    @property
    def destroy_map(self) -> dict[int, list[int]]:  # type: ignore[override]  # depends on the fields
        """Which inputs may be overwritten."""
        places: dict[int, list[int]] = {}
        for name, (i, out) in self.overwritable.items():
            if getattr(self, name):
                places.setdefault(out or 0, []).append(i)
        return places or Op.destroy_map

    @property
    def working_inputs(self) -> tuple[int, ...]:  # type: ignore[override]  # depends on the class
        """The inputs that are working memory where they are overwritten."""
        return tuple(i for i, out in self.overwritable.values() if out is None)

    def inplace_on_inputs(self, allowed_inplace_inputs: Sequence[int]) -> Self:
        """Return the version that overwrites those of the inputs which it can."""
        flags = {name: True for name, (i, _) in self.overwritable.items() if i in allowed_inplace_inputs}
        return replace(self, **flags) if flags else self  # type: ignore[type-var]  # ops are dataclasses

    def __str__(self) -> str:
        names = [n for n in self._parameter_names() or () if n not in self.overwritable or getattr(self, n)]
        parameters = ", ".join(f"{n}={getattr(self, n)!r}" for n in names)
        return f"{type(self).__name__}({parameters})" if parameters else type(self).__name__

    __repr__ = __str__

    def printed_form(self, node: Apply) -> Form | None:
        """Write a call; LaTeX has signs for some."""
        return None if self.latex is None else Form.call(str(self), node.inputs).in_latex(self.latex, node.inputs)

    @abstractmethod
    def of_matrices(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the outputs for inputs without further dimensions, of the right dtypes: the reference.

        Raises
        ------
        numpy.linalg.LinAlgError
            If there is no result for them; its text says why, such as ``the matrix is singular``.
        """

    def of_stacks(self, *stacks: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Return the outputs for whole stacks, or None to compute one matrix after the other.

        An op of which NumPy computes whole stacks overrides this. Stacks broadcast.

        Raises
        ------
        numpy.linalg.LinAlgError
            If there is no result for one of the matrices: each of them is computed alone then.
        """
        return None

    def of_overwritten(self, *matrices: np.ndarray) -> tuple[np.ndarray, ...] | None:
        """Return the outputs, computed in the memory of inputs where the op's fields say so, or None if it is not.

        An op for which LAPACK does this without a copy overrides it. Inputs have no further dimensions.

        Raises
        ------
        numpy.linalg.LinAlgError
            If there is no result for them; inputs may have been overwritten then.
        """
        return None

    def infer(self, *types: Type) -> Sequence[Type]:
        """Return the types of the outputs.

        Raises
        ------
        TensorTypeError
            If an input is not a tensor of that many dimensions.
        DtypeError
            If the inputs are not of one dtype, or of one that is not computed with.
        ShapeError
            If known lengths do not fit.
        """
        input_cores, output_cores = cores_of(self.signature)
        kinds = [t for t in types if isinstance(t, TensorType)]
        type_names = ", ".join(map(str, types))
        stacked = {t.ndim - len(core) for t, core in zip(kinds, input_cores, strict=False)}
        if len(kinds) != len(input_cores) or len(types) != len(input_cores) or len(stacked) != 1 or min(stacked) < 0:
            msg = f"{self}: stacks of one rank with the dimensions {self.signature} are needed, got {type_names}."
            raise TensorTypeError(msg)
        dtypes = {t.dtype for i, t in enumerate(kinds) if i not in self.positions}
        is_int32 = all(kinds[i].dtype == "int32" for i in self.positions)
        if not is_int32 or len(dtypes) != 1 or (self.dtypes is not None and not dtypes <= {*self.dtypes}):
            requirement = "one dtype" if self.dtypes is None else f"one dtype out of {', '.join(self.dtypes)}"
            if self.positions:
                requirement += f", and int32 of the inputs {', '.join(map(str, self.positions))},"
            msg = f"{self}: {requirement} is needed, got {type_names}. Convert the inputs."
            raise DtypeError(msg)
        batch_ndim = stacked.pop()
        batch = broadcast_static(str(self), [t.shape[:batch_ndim] for t in kinds])
        lengths: dict[str, int | None] = {}
        for kind, core in zip(kinds, input_cores, strict=True):
            for name, n in zip(core, kind.shape[batch_ndim:], strict=True):
                known = int(name) if name.isdigit() else lengths.get(name)
                if known is not None and n is not None and known != n:
                    msg = (
                        f"{self}: the lengths {name} of {self.signature} must be equal, "
                        f"got {known} and {n}: {type_names}."
                    )
                    raise ShapeError(msg)
                lengths[name] = n if known is None else known
        shapes = [(*batch, *(_static(dim, lengths) for dim in core)) for core in output_cores]
        dtypes_out = self.output_dtypes(dtypes.pop())
        return [TensorType(dtype, shape) for dtype, shape in zip(dtypes_out, shapes, strict=True)]

    def perform(self, node: Apply, inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]) -> None:
        """Compute whole stacks, or one matrix after the other.

        Raises
        ------
        ShapeError
            If lengths do not fit.
        MatrixError
            If there is no result for a matrix, and the op is to raise.
        """
        input_cores, output_cores = cores_of(self.signature)
        batch_ndim = inputs[0].ndim - len(input_cores[0]) if input_cores else 0
        lengths = self.measured(inputs, batch_ndim)
        kinds = [out.type.numpy_dtype for out in node.outputs]  # type: ignore[attr-defined]  # tensors
        shapes = [tuple(_static(dim, lengths) or 0 for dim in core) for core in output_cores]
        stack_values: Sequence[np.ndarray] | None = None
        if self.destroy_map and not batch_ndim:
            try:
                stack_values = self.of_overwritten(*inputs)
            except np.linalg.LinAlgError as error:
                stack_values = self._missing(error, (), shapes, kinds)
        if stack_values is None:
            try:
                stack_values = self.of_stacks(*inputs)
            except np.linalg.LinAlgError:
                stack_values = None
        if stack_values is not None:
            self._leave(stack_values, inputs, output_storage)
            return
        batch = np.broadcast_shapes(*(x.shape[:batch_ndim] for x in inputs))
        # What stands for several of the stack is read-only.
        stacks = [
            x if x.shape[:batch_ndim] == batch else np.broadcast_to(x, (*batch, *x.shape[batch_ndim:])) for x in inputs
        ]
        results = [np.empty((*batch, *shape), kind) for shape, kind in zip(shapes, kinds, strict=True)]
        for at in np.ndindex(*batch):
            try:
                values = self.of_matrices(*(x[at] for x in stacks))
            except np.linalg.LinAlgError as error:
                values = self._missing(error, at, shapes, kinds)
            for result, value in zip(results, values, strict=True):
                result[at] = value
        self._leave(results, inputs, output_storage)

    def _leave(
        self, values: Sequence[np.ndarray], inputs: Sequence[np.ndarray], output_storage: Sequence[list[np.ndarray]]
    ) -> None:
        """Store the results, in the memory of inputs where the fields say so and they fit."""
        places = {out: inputs[i] for name, (i, out) in self.overwritable.items() if getattr(self, name)}
        for k, (cell, value) in enumerate(zip(output_storage, values, strict=True)):
            result, place = np.asarray(value), places.get(k)
            if place is not None and _can_hold(place, result) and not np.may_share_memory(place, result):
                np.copyto(place, result)
                result = place
            cell[0] = result

    def _missing(
        self, error: np.linalg.LinAlgError, at: tuple[int, ...], shapes: Sequence[tuple[int, ...]],
        kinds: Sequence[np.dtype],
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        """Return what a matrix of the stack without a result has in its place.

        Raises
        ------
        MatrixError
            If the op is to raise.
        """
        if self.on_error == "raise":
            where = f"matrix {list(at)} of the batch: " if at else ""
            msg = f"{where}{error}. Pass on_error='nan' to get NaN in its place."
            raise MatrixError(msg) from error
        return tuple(
            np.full(shape, np.nan if kind.kind in "fc" else 0, kind) for shape, kind in zip(shapes, kinds, strict=True)
        )

    def measured(self, inputs: Sequence[np.ndarray], batch_ndim: int) -> dict[str, int | None]:
        """Return the core lengths of arrays.

        Raises
        ------
        ShapeError
            If they do not fit.
        """
        lengths: dict[str, int | None] = {}
        for x, core in zip(inputs, cores_of(self.signature)[0], strict=True):
            for name, n in zip(core, x.shape[batch_ndim:], strict=True):
                if lengths.setdefault(name, int(name) if name.isdigit() else n) != n:
                    shape_names = ", ".join(str(value.shape) for value in inputs)
                    msg = f"{self}: the lengths {name} of {self.signature} must be equal, got the shapes {shape_names}."
                    raise ShapeError(msg)
        return lengths

    def symbolic_shape(self, node: Apply, out: Variable, shapes: SymbolicShapes) -> Sequence[Length | None]:
        """Return the batch's lengths, broadcast together, then those of the core."""
        input_cores, output_cores = cores_of(self.signature)
        of = [shapes.of(x) for x in node.inputs]
        batch_ndim = len(of[0]) - len(input_cores[0])
        batch = [shapes.broadcast(lengths) for lengths in zip(*(own[:batch_ndim] for own in of), strict=True)]
        known: dict[str, Length] = {}
        for own, core in zip(of, input_cores, strict=True):
            for name, length in zip(core, own[batch_ndim:], strict=True):
                if name not in known or shapes.value(length) is not None:
                    known[name] = length
        core = output_cores[node.outputs.index(out)]
        return [*batch, *(_symbolic(dim, known, shapes) for dim in core)]

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> Apply:
        """Apply the op to the larger stacks."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        batch = most_batch(pairs)
        return self.make_node(*(aligned(old, new, batch) for old, new in pairs))


def _static(dim: str, lengths: dict[str, int | None]) -> int | None:
    if dim.isdigit():
        return int(dim)
    if "+" in dim:
        parts = [lengths[name] for name in dim.split("+")]
        return None if None in parts else sum(n for n in parts if n is not None)
    if "-" in dim:
        name, less = dim.split("-")
        n = lengths[name]
        return None if n is None else max(0, n - int(less))
    smaller = _SMALLER.fullmatch(dim)
    if smaller is None:
        return lengths[dim]
    known = [lengths[name] for name in smaller.groups()]
    # If either length is 0, so is the smaller one.
    return 0 if 0 in known else None if None in known else min(n for n in known if n is not None)


def _symbolic(dim: str, known: dict[str, Length], shapes: SymbolicShapes) -> Length:
    if dim.isdigit():
        return shapes.fixed(int(dim))
    if "+" in dim:
        return shapes.joined([known[name] for name in dim.split("+")])
    if "-" in dim:
        # As long as a diagonal above the main one, so never less than 0.
        name, _, less = dim.partition("-")
        return shapes.atom("diagonal", known[name], known[name], int(less))
    smaller = _SMALLER.fullmatch(dim)
    if smaller is None:
        return known[dim]
    n, m = (known[name] for name in smaller.groups())
    return n if n == m else shapes.atom("diagonal", n, m, 0)


def _can_hold(place: np.ndarray, result: np.ndarray) -> bool:
    """Whether a result can be written over an array, whose elements do not overlap."""
    flags = place.flags
    is_whole = flags.writeable and (flags.c_contiguous or flags.f_contiguous)
    return is_whole and place.shape == result.shape and place.dtype == result.dtype


def by_columns(a: np.ndarray) -> tuple[np.ndarray, bool] | None:
    """Return a matrix by columns, as LAPACK overwrites it, and whether it is the transpose; None if it must be copied.

    A matrix by rows is its transpose by columns. Arrays that are read-only, or lie otherwise, must be copied.
    """
    if not a.size or not a.flags.writeable:
        return None
    if a.flags.f_contiguous:
        return a, False
    return (a.T, True) if a.flags.c_contiguous else None


def require_finite(*matrices: np.ndarray) -> None:
    """Refuse matrices with NaN or infinities, for ops with `check_finite`."""
    if not all(np.isfinite(x).all() for x in matrices):
        msg = "it contains NaN or infinities"
        raise np.linalg.LinAlgError(msg)


def not_finite(x: TensorVariable) -> TensorVariable:
    """Return for each matrix of a stack whether it has NaN or infinities."""
    return invert(all_(isfinite(x), axis=(-2, -1)))


def settled(
    op: MatrixOp, inputs: Sequence[Variable], results: Sequence[TensorVariable], failed: TensorVariable | None = None,
    why: str = "",
) -> list[Variable]:  # fmt: skip
    """Return the results of what an op decomposes into, with the static shapes that the op infers.

    `failed` says for each matrix whether it has none: there is NaN in its place, 0 in integers, or an error, as the
    op's `on_error` says, which tells why.
    """
    settled_results: list[Variable] = []
    for result, kind in zip(results, op.infer(*(x.type for x in inputs)), strict=True):
        value = result
        if failed is not None and op.on_error == "raise":
            advice = " Pass on_error='nan' to get NaN in its place." if "on_error" in vars(op) else ""
            value = CheckAndRaise(MatrixError, f"{why}.{advice}")(value, invert(failed))
        elif failed is not None:
            nothing = np.full((), np.nan if value.type.numpy_dtype.kind in "fc" else 0, value.dtype)
            value = switch(shape_padright(failed, value.ndim - failed.ndim), nothing, value)
        assert isinstance(kind, TensorType)
        settled_results.append(value if kind.is_super(value.type) else specify_shape(value, kind.shape))
    return settled_results


def as_on_error(what: str, value: object) -> str:
    """Return what to do about matrices without a result, ``"nan"`` or ``"raise"``."""
    return as_choice(f"{what}: on_error", value, ON_ERROR)


def as_matrices(what: str, *values: TensorLike, core: int | Sequence[int] = 2) -> list[TensorVariable]:
    """Return values as stacks for a `MatrixOp`: of one dtype that is computed with, and of one batch rank.

    Integers and truth values become float64, float16 becomes float32, as in SciPy. `core` says how many dimensions
    belong to the op itself: of all values, or of each. Values with fewer are refused.
    """
    stacks = [as_tensor_variable(value) for value in values]
    ranks = [core] * len(stacks) if isinstance(core, int) else list(core)
    for x, rank in zip(stacks, ranks, strict=True):
        if x.ndim < rank:
            kind = {1: "a vector", 2: "a matrix"}.get(rank, f"{rank} dimensions")
            msg = f"{what}: {kind} or a stack of such is needed, got {x} of type {x.type}. Add dimensions to it."
            raise MatrixShapeError(msg)
    dtype = str(np.result_type(*(_computed(x.type.numpy_dtype) for x in stacks)))
    batch = max(x.ndim - rank for x, rank in zip(stacks, ranks, strict=True))
    return [
        shape_padleft(cast(x, dtype), batch - (x.ndim - rank)) if x.ndim - rank < batch else cast(x, dtype)
        for x, rank in zip(stacks, ranks, strict=True)
    ]


def as_square_matrices(what: str, a: TensorLike) -> TensorVariable:
    """Return stacks of matrices as `as_matrices` does; refuse those that are known not to be square."""
    (x,) = as_matrices(what, a)
    rows, columns = x.type.shape[-2:]
    if rows is not None and columns is not None and rows != columns:
        msg = f"{what}: the last 2 dimensions must be square, got {rows} rows and {columns} columns: {x.type}."
        raise MatrixShapeError(msg)
    return x


def as_system(
    what: str, a: TensorLike, b: TensorLike, b_ndim: int | None, core: int = 2
) -> tuple[TensorVariable, TensorVariable, bool]:
    """Return matrices and right sides as stacks of matrices, and whether the right sides were vectors.

    `b_ndim` is 1 if b is a vector or a stack of vectors, 2 if it is a matrix or a stack of matrices; with None, b is a
    vector if it has one dimension. `core` is the number of dimensions of `a` that are not batch dimensions.
    """
    right = as_tensor_variable(b)
    rank = as_option(f"{what}: b_ndim", b_ndim, (None, 1, 2))
    is_vector = rank == 1 or (rank is None and right.ndim == 1)
    if is_vector and right.ndim:
        right = expand_dims(right, -1)
    left, right = as_matrices(what, a, right, core=(core, 2))
    return left, right, is_vector


def check_lengths(what: str, a: TensorVariable, b: TensorVariable) -> None:
    """Refuse right sides that are known to have another length than the matrices."""
    n, m = a.type.shape[-1], b.type.shape[-2]
    if n is not None and m is not None and n != m:
        msg = (
            f"{what}: a matrix with {n} rows needs a right side of that length, got {m}: {a.type} and {b.type}. "
            "Check the shapes; vectors in a stack need b_ndim=1."
        )
        raise ShapeError(msg)


def _computed(dtype: np.dtype) -> np.dtype:
    if dtype.kind in "biu":
        return np.dtype("float64")
    return np.dtype("float32") if dtype == np.float16 else dtype


def pullback_of_parts(
    op: MatrixOp, inputs: Sequence[Variable], cotangents: Sequence[Variable], wrt: Sequence[int]
) -> list[Variable]:
    """Return the gradients by the inputs at positions `wrt` through the graph that `op.decompose` gives.

    The graph is built of new variables: where one input is computed from another, nothing flows through that. There may
    be fewer cotangents than outputs: they are those of the first outputs.
    """
    own = [x.type.make_variable() for x in inputs]
    outputs = (op.decompose(*own) or [])[: len(cotangents)]
    flowing = [x.type.make_variable() for x in cotangents]
    gradients = pullback(outputs, [own[i] for i in wrt], flowing, disconnected_inputs="ignore")
    replacements = dict(zip([*own, *flowing], [*inputs, *cotangents], strict=True))
    return list(graph_replace(gradients, replacements, strict=False))
