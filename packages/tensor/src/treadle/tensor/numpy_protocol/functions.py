"""NumPy's functions on tensors: ``numpy.exp(x)``, ``numpy.sum(x, axis=0)``, ``array + x`` build expressions.

NumPy asks its operands what such a call means (``__array_ufunc__``, NEP 13; ``__array_function__``, NEP 18). What
treadle has, it applies, with NumPy's names and order of parameters; everything else is refused by name.
"""

from __future__ import annotations

import inspect
from functools import cache
from itertools import takewhile
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import config, text_of
from treadle.graph import Variable, is_composing
from treadle.tensor.elementwise import arithmetic, cast, comparison, complex_numbers, floating, rounding, trigonometric
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import SCALAR_OPS
from treadle.tensor.errors import NumpyFunctionError
from treadle.tensor.families import load_scalar_families
from treadle.tensor.indexing import gathering, ranges
from treadle.tensor.joins import joining
from treadle.tensor.library import closeness
from treadle.tensor.numpy_protocol.names import Counterpart, counterpart, elementwise_of, function_of
from treadle.tensor.products import product
from treadle.tensor.reductions import moments, normalization, reduction
from treadle.tensor.shapes import broadcasting
from treadle.tensor.shapes.dimshuffle import (
    atleast_1d,
    atleast_2d,
    expand_dims,
    matrix_transpose,
    moveaxis,
    shape_padright,
    squeeze,
    swapaxes,
    transpose,
)
from treadle.tensor.shapes.shape import reshape, shape, shape_i
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.other_arrays import asking_library, is_registered
from treadle.tensor.types.tensor_type import TensorType
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

    # A ufunc of NumPy's or of another library's.
    Ufunc = Callable[..., Any]


# What arguments mean that change nothing here: where elements lie in memory, what is computed anyway.
_NEUTRAL: Mapping[str, tuple[Any, ...]] = MappingProxyType(
    {
        "out": (None,),
        "where": (True,),
        "order": ("C", "K", "A", None),
        "subok": (True, False),
        "copy": (True, None),
        "device": ("cpu", None),
        "casting": ("same_kind",),
        "mode": ("raise",),
        "dtype": (None,),
        "signature": (None,),
    }
)
_ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "out": "Take the result, as in y = f(x); to write into a part of a tensor, use x[i].set(y).",
        "where": "Use treadle.tensor.where(mask, x, other) on the operand or on the result.",
    }
)


def _refuse(name: str, what: str, value: object, advice: str) -> NumpyFunctionError:
    return NumpyFunctionError(f"{name}: {what} {text_of(value)} has no meaning for symbolic tensors. {advice}")


def _check_neutral(name: str, key: str, value: object) -> None:
    """Refuse an argument that treadle's function does not have, unless it changes nothing."""
    if isinstance(value, tuple) and all(v is None for v in value):
        return
    if not any(value is v or (isinstance(value, str) and value == v) for v in _NEUTRAL.get(key, ())):
        raise _refuse(name, f"the argument {key} =", value, _ADVICE.get(key, "Leave it out."))


# ---------------------------------------------------------------- array functions


def _as(function: Callable[..., object], parameters: str, by_place: str = "") -> Counterpart:
    """Return a counterpart; parameters are written ``theirs=ours``, or once where both names agree.

    `by_place` names those that are taken by place only.
    """
    pairs = (word.partition("=")[::2] for word in parameters.split())
    return Counterpart(function, {theirs: ours or theirs for theirs, ours in pairs}, by_place=by_place.split())


def _late(name: str) -> Callable[..., object]:
    """Return a function that loads another from its module when it is called."""

    def call(*args: object, **options: object) -> object:
        return upward.function(name)(*args, **options)

    return call


def _size(a: TensorLike, axis: int | None = None) -> TensorVariable:
    return as_tensor_variable(a).size if axis is None else shape_i(a, axis)


def _unary(function: Elemwise) -> Callable[[TensorLike], TensorVariable]:
    """Return an elementwise function, which takes operands by position only, as one with a named parameter."""

    def apply(x: TensorLike) -> TensorVariable:
        return function(x)

    return apply


def _plain(x: Any) -> Any:
    return x.type.numpy_dtype if isinstance(x, Variable) and isinstance(x.type, TensorType) else x


def _qr(a: TensorLike, mode: str = "reduced") -> object:
    """Return what NumPy does: another default, no rows of zeros in R alone, and vectors by rows."""
    linalg = upward.function("linalg")
    if mode == "r":
        return linalg.qr(a, "reduced").R
    if mode != "raw":
        return linalg.qr(a, mode)
    (vectors, tau), _ = linalg.qr(a, mode)
    return matrix_transpose(vectors), tau


_SUMMED = "a=x axis dtype keepdims initial where"
_CHOSEN = "a=x axis keepdims initial where"
_FOUND = "a=x axis keepdims"
_TESTED = "a=x axis keepdims where"
_SPREAD = "a=x axis dtype ddof correction keepdims where mean"

COUNTERPARTS: Mapping[str, Counterpart] = MappingProxyType(
    {
        "sum": _as(reduction.sum_, _SUMMED),
        "prod": _as(reduction.prod, _SUMMED),
        "mean": _as(moments.mean, "a=x axis dtype keepdims where"),
        "var": _as(moments.var, _SPREAD),
        "std": _as(moments.std, _SPREAD),
        "max": _as(reduction.max_, _CHOSEN),
        "amax": _as(reduction.max_, _CHOSEN),
        "min": _as(reduction.min_, _CHOSEN),
        "amin": _as(reduction.min_, _CHOSEN),
        "argmax": _as(reduction.argmax, _FOUND),
        "argmin": _as(reduction.argmin, _FOUND),
        "all": _as(reduction.all_, _TESTED),
        "any": _as(reduction.any_, _TESTED),
        "ptp": _as(moments.ptp, "a=x axis keepdims"),
        "gradient": _as(_late("gradient"), "f axis edge_order"),
        "linalg.norm": _as(_late("norm"), "x ord axis keepdims"),
        "linalg.vector_norm": _as(_late("vector_norm"), "x axis keepdims ord", "x"),
        "linalg.matrix_norm": _as(_late("matrix_norm"), "x keepdims ord", "x"),
        "clip": _as(arithmetic.clip, "a=x a_min a_max min=a_min max=a_max"),
        "round": _as(rounding.round_, "a decimals"),
        "around": _as(rounding.round_, "a decimals"),
        "fix": _as(_unary(rounding.trunc), "x"),
        "isposinf": _as(_unary(comparison.isposinf), "x"),
        "isneginf": _as(_unary(comparison.isneginf), "x"),
        "where": _as(cast.where, "condition x y"),
        "real": _as(lambda val: as_tensor_variable(val).real, "val"),
        "imag": _as(lambda val: as_tensor_variable(val).imag, "val"),
        "angle": _as(complex_numbers.angle, "z deg"),
        "copy": _as(_unary(cast.identity), "a=x"),
        "astype": _as(cast.cast, "x dtype"),
        "concatenate": _as(joining.concatenate, "arrays=tensor_list axis dtype casting"),
        "stack": _as(joining.stack, "arrays=tensors axis dtype casting"),
        "hstack": _as(joining.hstack, "tup dtype casting"),
        "vstack": _as(joining.vstack, "tup dtype casting"),
        "split": _as(_late("split"), "ary=x indices_or_sections axis"),
        "pad": _as(_late("pad"), "array=x pad_width mode constant_values end_values stat_length reflect_type"),
        "dot": _as(product.dot, "a b"),
        "outer": _as(product.outer, "a b"),
        "tensordot": _as(product.tensordot, "a b axes"),
        "linalg.matmul": _as(product.matmul, "x1 x2"),
        "linalg.qr": _as(_qr, "a mode"),
        "linalg.outer": _as(product.outer, "x1=a x2=b"),
        "linalg.tensordot": _as(product.tensordot, "x1=a x2=b axes"),
        "linalg.matrix_transpose": _as(matrix_transpose, "x"),
        "matrix_transpose": _as(matrix_transpose, "x"),
        "transpose": _as(transpose, "a=x axes"),
        "swapaxes": _as(swapaxes, "a=x axis1 axis2"),
        "moveaxis": _as(moveaxis, "a=x source destination"),
        "expand_dims": _as(expand_dims, "a=x axis"),
        "squeeze": _as(squeeze, "a=x axis"),
        "atleast_1d": _as(atleast_1d, "arys"),
        "atleast_2d": _as(atleast_2d, "arys"),
        "reshape": _as(reshape, "a=x shape=newshape order"),
        "ravel": _as(_late("ravel"), "a order"),
        "broadcast_to": _as(broadcasting.broadcast_to, "array=x shape"),
        "zeros_like": _as(broadcasting.zeros_like, "a=x dtype shape"),
        "ones_like": _as(broadcasting.ones_like, "a=x dtype shape"),
        "full_like": _as(broadcasting.full_like, "a=x fill_value dtype shape"),
        "take": _as(gathering.take, "a indices axis mode"),
        "shape": _as(shape, "a=x"),
        "size": _as(_size, "a axis"),
        "ndim": _as(lambda a: as_tensor_variable(a).ndim, "a"),
        # Questions about dtypes.
        "result_type": _as(lambda *operands: np.result_type(*map(_plain, operands)), "arrays_and_dtypes"),
        "can_cast": _as(
            lambda source, to, casting="safe": np.can_cast(_plain(source), to, casting), "from_=source to casting"
        ),
        "iscomplexobj": _as(complex_numbers.iscomplexobj, "x"),
        "isrealobj": _as(complex_numbers.isrealobj, "x"),
        "iscomplex": _as(complex_numbers.iscomplex, "x"),
        "isreal": _as(complex_numbers.isreal, "x"),
        "real_if_close": _as(complex_numbers.real_if_close, "a tol"),
        "allclose": _as(closeness.allclose, "a b rtol atol equal_nan"),
        "array_equal": _as(closeness.array_equal, "a1 a2 equal_nan"),
        "array_equiv": _as(closeness.array_equiv, "a1 a2"),
        "isclose": _as(closeness.isclose, "a b rtol atol equal_nan"),
        "nan_to_num": _as(closeness.nan_to_num, "x nan posinf neginf"),
        "unwrap": _as(closeness.unwrap, "p discont axis period"),
        # With like=x.
        "array": _as(as_tensor_variable, "object=x dtype"),
        "asarray": _as(as_tensor_variable, "a=x dtype"),
        "asanyarray": _as(as_tensor_variable, "a=x dtype"),
        "zeros": _as(broadcasting.zeros, "shape dtype"),
        "ones": _as(broadcasting.ones, "shape dtype"),
        "full": _as(broadcasting.full, "shape fill_value dtype"),
        "eye": _as(ranges.eye, "N=n M=m k dtype"),
        "identity": _as(ranges.eye, "n dtype"),
        "arange": _as(ranges.arange, "start_or_stop=start stop step dtype"),
    }
)

# What to write for functions that have no counterpart; nothing where nothing is near.
_NEAREST: Mapping[str, str] = MappingProxyType(
    {
        "add.at": "x[i].inc(y)",
        "append": "concatenate",
        "average": "mean, or sum(w * x) / sum(w)",
        "count_nonzero": "sum(neq(x, 0))",
        "copyto": "x[...].set(y)",
        "fill_diagonal": "y = fill_diagonal(x, value): a tensor is not changed",
        "place": "y = where(mask, values, x): a tensor is not changed",
        "put": "y = x[i].set(values): a tensor is not changed",
        "put_along_axis": "y = put_along_axis(x, i, values, axis): a tensor is not changed",
        "putmask": "y = where(mask, values, x): a tensor is not changed",
    }
)


def _unknown(name: str) -> NumpyFunctionError:
    near = _NEAREST.get(name)
    advice = "treadle.tensor has no function like it" if near is None else f"In treadle.tensor, write {near}"
    return NumpyFunctionError(
        f"numpy.{name}: symbolic tensors do not take this function. {advice}; a value is computed by x.eval()."
    )


def array_function(
    func: Callable[..., object], types: Iterable[type], args: Sequence[object], kwargs: Mapping[str, object]
) -> object:
    """Return what a function of NumPy's means for tensors (NEP 18); NotImplemented where others take part."""
    # What ops are composed of, such as the definitions of draws, computes with NumPy's functions.
    if config.numpy_functions == "objects" and not is_composing():
        return func._implementation(*args, **kwargs)  # type: ignore[attr-defined]  # all that dispatch have one
    if not all(issubclass(t, Variable | np.ndarray) for t in types):
        return NotImplemented
    name = f"{func.__module__}.{func.__name__}".removeprefix("numpy.")
    equivalent = COUNTERPARTS.get(name) or counterpart(name, func)
    if equivalent is None:
        raise _unknown(name)
    signature = inspect.signature(func)
    several: tuple[object, ...] = ()
    keywords = dict(equivalent.defaults)
    further: dict[str, object] = {}
    for key, value in signature.bind(*args, **kwargs).arguments.items():
        parameter = signature.parameters[key]
        if parameter.kind is parameter.VAR_POSITIONAL:
            several = value
        elif parameter.kind is parameter.VAR_KEYWORD:
            further = value
        elif key in equivalent.parameters:
            if value is not parameter.default:
                keywords[equivalent.parameters[key]] = value
        elif value is not parameter.default:
            _check_neutral(f"numpy.{name}", key, value)
    if not equivalent.takes_further:
        for key, value in further.items():
            if key in equivalent.parameters:
                keywords[equivalent.parameters[key]] = value
            else:
                _check_neutral(f"numpy.{name}", key, value)
        further = {}
    first = [keywords.pop(ours) for ours in equivalent.by_place if ours in keywords]
    if several:
        # What stands in front of them is given by place.
        before = takewhile(lambda p: p.kind is not p.VAR_POSITIONAL, signature.parameters.values())
        first = [keywords.pop(equivalent.parameters[p.name]) for p in before if p.name in equivalent.parameters]
    return equivalent.function(*first, *several, **keywords, **further)


# ---------------------------------------------------------------- ufuncs


@cache
def _elementwise() -> Mapping[Ufunc, Callable[..., Any]]:
    """Return treadle's function for each ufunc of NumPy's that it has."""
    load_scalar_families()
    by_scalar_op: dict[Ufunc, Callable[..., object]] = {
        getattr(np, s.ufunc): Elemwise(s)
        for s in map(SCALAR_OPS.__getitem__, SCALAR_OPS.names())
        if s.ufunc is not None
    }
    others: dict[Ufunc, Callable[..., object]] = {
        np.frexp: floating.frexp,
        np.modf: floating.modf,
        np.nextafter: floating.nextafter,
        np.spacing: floating.spacing,
        np.matmul: product.matmul,
        np.divmod: arithmetic.divmod_,
        np.degrees: trigonometric.rad2deg,
        np.radians: trigonometric.deg2rad,
    }
    return {**by_scalar_op, **others}


_REDUCTIONS: Mapping[Ufunc, tuple[Callable[..., Any], bool]] = MappingProxyType(
    {
        np.add: (reduction.sum_, True),
        np.multiply: (reduction.prod, True),
        np.maximum: (reduction.max_, False),
        np.minimum: (reduction.min_, False),
        np.logical_and: (reduction.all_, False),
        np.logical_or: (reduction.any_, False),
        np.logaddexp: (normalization.logsumexp, False),
    }
)


def array_ufunc(ufunc: Ufunc, method: str, inputs: Sequence[TensorLike], kwargs: Mapping[str, Any]) -> object:
    """Return what a ufunc, or a method of one, means for tensors (NEP 13); NotImplemented where others take part.

    ``array += x`` makes the name `array` one of the symbolic sum, as it does with all operands that are not changed in
    place: NumPy passes the array as `out` and as the first operand then.
    """
    if not all(map(_is_ours, inputs)):
        return NotImplemented
    if asking_library() == "xarray":
        # It would put the symbolic result into an array with labels, which asks for numbers sooner or later.
        msg = (
            f"{ufunc.__name__}: arrays of xarray on the left cannot take a symbolic tensor, got {_named(inputs)}. "
            "Write x * array in place of array * x, or as_tensor(array) * x, with any operator or function."
        )
        raise NumpyFunctionError(msg)
    name = f"numpy.{ufunc.__name__}" if method == "__call__" else f"numpy.{ufunc.__name__}.{method}"
    options = dict(kwargs)
    if method == "__call__" and len(inputs) > 1 and options.get("out", (None,))[0] is inputs[0]:
        del options["out"]
    if method == "reduce":
        return _reduced(name, ufunc, inputs[0], options)
    if method == "accumulate":
        return _accumulated(name, ufunc, inputs[0], options)
    function = _elementwise().get(ufunc) or elementwise_of(ufunc)
    if function is None or method not in {"__call__", "outer"}:
        raise _unknown(name.removeprefix("numpy."))
    operands = list(inputs)
    if method == "outer":
        first, second = map(as_tensor_variable, inputs)
        operands = [shape_padright(first, second.ndim), second]
    dtype = options.pop("dtype", None)
    for key, value in options.items():
        _check_neutral(name, key, value)
    if dtype is None:
        return function(*operands)
    return _computed_in(name, function, operands, TensorType(dtype))


def _named(inputs: Sequence[TensorLike]) -> str:
    return " and ".join(f"{x} of type {x.type}" for x in inputs if isinstance(x, Variable))


def _is_ours(x: object) -> bool:
    """Whether a ufunc's operand leaves the ufunc to tensors."""
    override = getattr(type(x), "__array_ufunc__", None)
    if override is None or override is np.ndarray.__array_ufunc__ or isinstance(x, Variable | np.generic):
        return True
    return is_registered(x)


def _computed_in(
    name: str, function: Callable[..., object], operands: Sequence[TensorLike], kind: TensorType
) -> object:
    """Return the result of a function computed in a dtype, which the operands are converted to as NumPy does."""
    tensors = list(map(as_tensor_variable, operands))
    result = function(*(cast.cast(x, kind.dtype) for x in tensors))
    fits = all(np.can_cast(x.type.numpy_dtype, kind.numpy_dtype, "same_kind") for x in tensors)
    if not fits or getattr(result, "dtype", None) != kind.dtype:
        raise _refuse(name, "dtype =", kind.dtype, "Convert the operands or the result with astype.")
    return result


def _reduced(name: str, ufunc: Ufunc, x: TensorLike, options: dict[str, object]) -> object:
    if ufunc not in _REDUCTIONS:
        raise _unknown(name.removeprefix("numpy."))
    function, has_dtype = _REDUCTIONS[ufunc]
    arguments = {"axis": options.pop("axis", 0)}
    taken = ["keepdims", "where", *(["dtype"] if has_dtype else [])]
    if ufunc not in {np.logical_and, np.logical_or}:
        taken.append("initial")
    arguments.update({key: options.pop(key) for key in taken if key in options})
    for key, value in options.items():
        _check_neutral(name, key, value)
    return function(x, **arguments)


# What the partial results along an axis are called.
_ACCUMULATED: Mapping[Ufunc, str] = MappingProxyType(
    {
        np.add: "cumsum",
        np.multiply: "cumprod",
        np.maximum: "cummax",
        np.minimum: "cummin",
        np.logaddexp: "logcumsumexp",
    }
)


def _accumulated(name: str, ufunc: Ufunc, x: TensorLike, options: dict[str, object]) -> object:
    function = function_of(_ACCUMULATED.get(ufunc, ""))
    if function is None:
        raise _unknown(name.removeprefix("numpy."))
    arguments = {"axis": options.pop("axis", 0)}
    if options.get("dtype") is not None:
        arguments["dtype"] = options.pop("dtype")
    for key, value in options.items():
        _check_neutral(name, key, value)
    return function(x, **arguments)
