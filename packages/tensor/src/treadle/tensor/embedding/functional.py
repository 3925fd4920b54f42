"""Functions of functions: any function of tensors, applied along leading dimensions or along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph import Variable, vectorize_graph
from treadle.tensor.arguments.axes import normalize_axis
from treadle.tensor.arguments.signatures import parse_gufunc_signature
from treadle.tensor.arguments.values import as_callable, as_integer
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.shapes.broadcasting import alloc
from treadle.tensor.shapes.dimshuffle import moveaxis
from treadle.tensor.shapes.shape import lengths, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.arguments.signatures import Core
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "apply_along_axis", "transfer", "values_eq_approx_always_true", "variadic_add", "variadic_mul", "vectorize", "vmap",
]  # fmt: skip


def vectorize(func: Callable[..., object], signature: str | None = None) -> Callable[..., Any]:
    """Return a function that applies another one along leading dimensions, the batch (as numpy.vectorize).

    The function is called once, with variables that have the core dimensions only; what it returns is then built for
    the batch, op by op. There is no loop, except for ops that do not take batches (see `Blockwise`).

    Parameters
    ----------
    func
        Takes tensors, returns a tensor or a sequence of them.
    signature
        Core dimensions of arguments and results, such as ``(m,n),(n)->(m)``; without it, all arguments are scalars.

    Returns
    -------
    A function of tensors, whose leading dimensions broadcast together; it returns a tensor, or a list of them.

    Raises
    ------
    ShapeError
        If `signature` is not one; by the function returned, if an argument has too few dimensions, or the number of
        arguments or results, or the rank of a result, is not as the signature says.
    TensorTypeError
        By the function returned, if `func` returns no tensors.

    Examples
    --------
    >>> from treadle.tensor import dmatrix, dot, dvector, vectorize
    >>> inner = vectorize(dot, "(n),(n)->()")
    >>> inner(dmatrix("x"), dvector("y")).eval({"x": [[1.0, 2.0], [3.0, 4.0]], "y": [1.0, 1.0]}).tolist()
    [3.0, 7.0]
    """
    as_callable("vectorize: func", func)
    cores = None if signature is None else parse_gufunc_signature(signature)

    def batched(*args: TensorLike) -> Any:
        arguments = [as_tensor_variable(x) for x in args]
        cores_in: list[Core] = [()] * len(arguments) if cores is None else cores[0]
        if len(arguments) != len(cores_in):
            count = len(cores_in)
            msg = f"vectorize: {count} arguments are needed for {signature}, got {len(arguments)}. Pass as many."
            raise ShapeError(msg)
        for x, core in zip(arguments, cores_in, strict=True):
            if x.ndim < len(core):
                msg = f"vectorize: {x} of type {x.type} has fewer dimensions than {signature} says. Add dimensions."
                raise ShapeError(msg)
        inner = [
            TensorType(x.dtype, x.type.shape[x.ndim - len(core) :]).make_variable(x.name)
            for x, core in zip(arguments, cores_in, strict=True)
        ]
        returned = func(*inner)
        outputs = list(returned) if isinstance(returned, list | tuple) else [returned]
        results = _tensors("vectorize", outputs)
        if cores is not None and [y.ndim for y in results] != [len(core) for core in cores[1]]:
            types = ", ".join(str(y.type) for y in results)
            msg = f"vectorize: the function returned {types}, which is not what {signature} says. Correct one of them."
            raise ShapeError(msg)
        batches = vectorize_graph(results, dict(zip(inner, arguments, strict=True)))
        return batches if isinstance(returned, list | tuple) else batches[0]

    return batched


def _tensors(name: str, outputs: Sequence[object]) -> list[TensorVariable]:
    if not outputs or not all(isinstance(y, Variable) and isinstance(y.type, TensorType) for y in outputs):
        msg = f"{name}: the function must return tensors, got {text_of(outputs)}. Return one, or several in a list."
        raise TensorTypeError(msg)
    return outputs  # type: ignore[return-value]  # as looked at


def vmap(func: Callable[..., object], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Return a function that applies another one to each part of its arguments along an axis (as jax.vmap).

    The function is called once, with variables that lack the axis; what it returns is then built for the batch, op by
    op, as `vectorize` does by signatures.

    Parameters
    ----------
    func
        Takes tensors, returns a tensor or a sequence of them.
    in_axes
        The axis of the batch in every argument, or a list of one for each; None for an argument that all parts share.
    out_axes
        Where the batch stands in every result, or a list of one for each.

    Returns
    -------
    A function of tensors, which returns a tensor, or a list of them.

    Raises
    ------
    ShapeError
        By the function returned, if there are not as many axes as arguments or results, if all axes are None, or if
        lengths of the batch are known to differ.
    AxisError
        By the function returned, if an argument or result has no such axis.
    TensorTypeError
        By the function returned, if `func` returns no tensors.

    Examples
    --------
    >>> from treadle.tensor import dmatrix, dot, dvector, vmap
    >>> x, w = dmatrix("x"), dvector("w")
    >>> vmap(dot, in_axes=(1, None))(x, w).eval({x: [[1.0, 2.0], [3.0, 4.0]], w: [1.0, 1.0]}).tolist()
    [4.0, 6.0]
    """
    as_callable("vmap: func", func)
    for what, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        for axis in axes if isinstance(axes, list | tuple) else [axes]:
            if axis is not None:
                as_integer(f"vmap: {what}", axis)

    def batched(*args: TensorLike) -> Any:
        arguments = [as_tensor_variable(x) for x in args]
        moved: dict[Variable, Variable] = {}
        inner: list[TensorVariable] = []
        for x, axis in zip(arguments, _axes("in_axes", in_axes, len(arguments)), strict=True):
            if axis is None:
                inner.append(x)
                continue
            front = moveaxis(x, normalize_axis("vmap: in_axes", axis, x.ndim), 0)
            core: TensorVariable = TensorType(x.dtype, front.type.shape[1:]).make_variable(x.name)
            moved[core] = front
            inner.append(core)
        fronts = tensors(list(moved.values()))
        known = {x.type.shape[0] for x in fronts} - {None}
        if not fronts or len(known) > 1:
            got = f"lengths {sorted(map(str, known))}" if fronts else "no argument with one"
            msg = f"vmap: arguments need a batch of one length, got {got}. Check in_axes."
            raise ShapeError(msg)
        returned = func(*inner)
        outputs = _tensors("vmap", list(returned) if isinstance(returned, list | tuple) else [returned])
        results = []
        for y, wide, axis in zip(
            outputs, vectorize_graph(outputs, moved), _axes("out_axes", out_axes, len(outputs)), strict=True
        ):
            if axis is None:
                if wide.ndim > y.ndim:
                    msg = f"vmap: {y} differs along the batch, got None for it in out_axes. Pass an axis."
                    raise ShapeError(msg)
                results.append(wide)
                continue
            # A result that no argument with a batch matters to is the same for all.
            full = wide if wide.ndim > y.ndim else alloc(wide, shape_i(fronts[0], 0), *lengths(y))
            results.append(moveaxis(full, 0, normalize_axis("vmap: out_axes", axis, full.ndim)))
        return results if isinstance(returned, list | tuple) else results[0]

    return batched


def _axes(what: str, option: Any, count: int) -> list[int | None]:
    axes = list(option) if isinstance(option, list | tuple) else [option] * count
    if len(axes) != count:
        msg = f"vmap: {what} must have an axis for each of {count} tensors, got {text_of(option)}. Pass as many."
        raise ShapeError(msg)
    return axes


def apply_along_axis(
    func1d: Callable[..., TensorVariable], axis: int, arr: TensorLike, *args: object, **kwargs: object
) -> TensorVariable:
    """Apply a function to each vector along an axis; its results replace the axis (as numpy.apply_along_axis).

    Parameters
    ----------
    func1d
        Takes a vector, then `args` and `kwargs`; returns a tensor of any rank.
    axis
        The axis.
    arr
        The tensor.
    args, kwargs
        Passed on as they are.

    Raises
    ------
    AxisError
        If there is no such axis.

    Examples
    --------
    >>> tt.apply_along_axis(lambda row: row.sum(), 1, np.arange(6).reshape(2, 3)).eval()
    array([ 3, 12])
    """
    x = as_tensor_variable(arr)
    at = normalize_axis("apply_along_axis", axis, x.ndim)
    core = TensorType(x.dtype, (x.type.shape[at],)).make_variable()
    as_callable("apply_along_axis: func1d", func1d)
    inner = as_tensor_variable(func1d(core, *args, **kwargs))
    wide = vectorize_graph(inner, {core: moveaxis(x, at, -1)})
    rank = inner.ndim
    return moveaxis(wide, list(range(x.ndim - 1, x.ndim - 1 + rank)), list(range(at, at + rank)))


def variadic_add(*args: TensorLike) -> TensorVariable:
    """Return the sum of any number of tensors: 0 of none, and of one itself.

    Examples
    --------
    >>> tt.variadic_add(1, 2, 3).eval()
    array(6)
    """
    return add(*args) if len(args) > 1 else as_tensor_variable(args[0] if args else 0)


def variadic_mul(*args: TensorLike) -> TensorVariable:
    """Return the product of any number of tensors: 1 of none, and of one itself.

    Examples
    --------
    >>> tt.variadic_mul(2, 3, 4).eval()
    array(24)
    """
    return mul(*args) if len(args) > 1 else as_tensor_variable(args[0] if args else 1)


def transfer(var: TensorLike, target: str) -> TensorVariable:
    """Return a tensor on a device: ``cpu`` is the only one, backends move what they compute with.

    Raises
    ------
    TensorTypeError
        If `target` is another device.

    Examples
    --------
    >>> tt.transfer(tt.constant([1.0, 2.0]), "cpu").eval()
    array([1., 2.])
    """
    return as_tensor_variable(var).transfer(target)


def values_eq_approx_always_true(a: object, b: object) -> bool:
    """Return True, for types whose values are not compared.

    Examples
    --------
    >>> tt.values_eq_approx_always_true(1.0, 2.0)
    True
    """
    del a, b
    return True
