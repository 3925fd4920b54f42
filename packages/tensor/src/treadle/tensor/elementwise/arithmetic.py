"""Arithmetic: sums, products, quotients, signs, extrema."""

from __future__ import annotations

from functools import reduce
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.config import alias, config
from treadle.graph import GraphTypeError, Infix, Precedence, Prefix
from treadle.tensor.elementwise.cast import as_float, identity, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, le, lt
from treadle.tensor.elementwise.elemwise import Elemwise, elementwise
from treadle.tensor.elementwise.scalar_op import ScalarOp, ScalarOpKind
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.shapes.broadcasting import zeros_like
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.dtype_rules import of_ufunc, promote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Variable
    from treadle.tensor.elementwise.scalar_op import Inputs, Pullback, Terms
    from treadle.tensor.types.dtype_rules import Operand, Signature
    from treadle.tensor.variables.variable import TensorLike, TensorVariable


__all__ = [
    "absolute", "add", "clip", "divide", "floor_div", "floor_divide", "int_div", "largest", "maximum", "minimum", "mod",
    "mul", "multiply", "neg", "negative", "remainder", "sgn", "sign", "smallest", "sub", "subtract", "true_div",
    "true_divide",
]  # fmt: skip


class Scaling:
    """A pullback whose terms are the cotangent times something, or less that: its sign may be taken out of them."""

    __slots__ = ("terms",)

    def __init__(self, terms: Pullback) -> None:
        self.terms = terms

    def __call__(self, ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
        """Return the terms."""
        return self.terms(ct, out, xs)


def scaled_by(derivative: Callable[[TensorVariable, TensorVariable], TensorVariable]) -> Pullback:
    """Return the pullback of a function of one operand, from its derivative as a function of result and operand."""
    return Scaling(lambda ct, out, xs: (mul(ct, derivative(out, xs[0])),))


def _div_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    y = as_float(xs[1])
    return true_div(ct, y), neg(true_div(mul(ct, out), y))


def _mod_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    return ct, neg(mul(ct, floor_div(xs[0], xs[1])))


def _sign_terms(ct: TensorVariable, out: TensorVariable, xs: Inputs) -> Terms:
    """0 for real numbers and at 0; elsewhere z / |z| can only turn, so the cotangent's part along it is lost."""
    z = xs[0]
    if z.type.numpy_dtype.kind != "c":
        return (zeros_like(ct),)
    zero = eq(z, 0)
    across = sub(ct, mul(out, mul(out.conj(), ct).real))
    return (switch(zero, 0, true_div(across, switch(zero, 1, abs_(z)))),)


def _share(ct: TensorVariable, takes: Variable, tie: Variable) -> TensorVariable:
    """Give the cotangent to the operand that wins, half of it where the two are equal."""
    return switch(takes, ct, switch(tie, mul(ct, 0.5), zeros_like(ct)))


def _whole(ct: TensorVariable, takes: Variable) -> TensorVariable:
    """Give the cotangent to an operand where it is taken."""
    return switch(takes, ct, zeros_like(ct))


def _maximum_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    x, y = xs
    if config.gradient_at_ties == "first":
        return _whole(ct, ge(x, y)), _whole(ct, lt(x, y))
    tie = eq(x, y)
    return _share(ct, gt(x, y), tie), _share(ct, lt(x, y), tie)


def _minimum_terms(ct: TensorVariable, _out: TensorVariable, xs: Inputs) -> Terms:
    x, y = xs
    if config.gradient_at_ties == "first":
        return _whole(ct, le(x, y)), _whole(ct, gt(x, y))
    tie = eq(x, y)
    return _share(ct, lt(x, y), tie), _share(ct, gt(x, y), tie)


add: Elemwise = elementwise(
    ufunc="add", cheap=True, form=Infix("+", Precedence.SUM).form, commutative=True, associative=True, identity=0,
    pullback=Scaling(lambda ct, out, xs: (ct, ct)), parity="odd", keeps_positive=True, wraps=True, conjugates=True,
)  # fmt: skip
sub: Elemwise = elementwise(
    name="sub", ufunc="subtract", cheap=True, form=Infix("-", Precedence.SUM).form,
    pullback=Scaling(lambda ct, out, xs: (ct, neg(ct))), anticommutative=True, parity="odd", wraps=True,
    conjugates=True,
)  # fmt: skip
mul: Elemwise = elementwise(
    name="mul", ufunc="multiply", cheap=True, form=Infix("*", Precedence.PRODUCT).form, commutative=True,
    associative=True, identity=1, pullback=Scaling(lambda ct, out, xs: (mul(ct, xs[1]), mul(ct, xs[0]))),
    parity=("odd", "odd"), linear=(0, 1), zero_of=(0, 1), keeps_positive=True, wraps=True, conjugates=True,
)  # fmt: skip
true_div: Elemwise = elementwise(
    name="true_div", ufunc="true_divide", cheap=True, form=Infix("/", Precedence.PRODUCT).form,
    pullback=Scaling(_div_terms), parity=("odd", "odd"), linear=(0,), zero_of=(0,), keeps_positive=True,
    conjugates=True,
)  # fmt: skip
floor_div: Elemwise = elementwise(
    name="floor_div", ufunc="floor_divide", cheap=True, form=Infix("//", Precedence.PRODUCT).form, discrete=True,
    zero_of=(0,),
)  # fmt: skip
mod = elementwise(
    name="mod", ufunc="remainder", cheap=True, form=Infix("%", Precedence.PRODUCT).form, pullback=_mod_terms,
    zero_of=(0,),
)  # fmt: skip
neg: Elemwise = elementwise(
    name="neg", ufunc="negative", cheap=True, form=Prefix("-").form, inverse="neg", parity="odd", monotone="decreasing",
    pullback=Scaling(lambda ct, out, xs: (neg(ct),)), linear=(0,), wraps=True, conjugates=True,
)  # fmt: skip
sign: Elemwise = elementwise(
    ufunc="sign", cheap=True, parity="odd", monotone="increasing", image=(-1, 1), idempotent=True, discrete=True,
    holomorphic=False, pullback=_sign_terms, keeps_positive=True, conjugates=True,
)  # fmt: skip
abs_: Elemwise = elementwise(
    name="abs", ufunc="absolute", cheap=True, parity="even", image=(0, inf), idempotent=True, holomorphic=False,
    latex=r"\left|#1\right|",
    pullback=lambda ct, out, xs: (mul(ct, sign(xs[0])),), keeps_positive=True, conjugates=True,
)  # fmt: skip
# NumPy's maximum and minimum return a NaN if either operand is one.
maximum = elementwise(
    ufunc="maximum", cheap=True, commutative=True, associative=True, pullback=_maximum_terms, selective=True,
    latex=r"\max\left(#1,\, #2\right)",
    bound="upper", keeps_positive=True,
)  # fmt: skip
minimum = elementwise(
    ufunc="minimum", cheap=True, commutative=True, associative=True, pullback=_minimum_terms, selective=True,
    latex=r"\min\left(#1,\, #2\right)",
    bound="lower", keeps_positive=True,
)  # fmt: skip

int_div = alias(floor_div, "int_div")
floor_divide = alias(floor_div, "floor_divide")
absolute = alias(abs_, "absolute")
multiply = alias(mul, "multiply")
negative = alias(neg, "negative")
remainder = alias(mod, "remainder")
sgn = alias(sign, "sgn")
subtract = alias(sub, "subtract")
divide = alias(true_div, "divide")
true_divide = alias(true_div, "true_divide")


def _folded(name: str, function: Elemwise, operands: Sequence[TensorLike]) -> TensorVariable:
    if not operands:
        msg = f"{name}: one operand at least is needed, got none. Pass tensors or numbers."
        raise TensorTypeError(msg)
    return reduce(function, operands[1:], as_tensor_variable(operands[0]))


def largest(*args: TensorLike) -> TensorVariable:
    """Return the elementwise maximum of any number of tensors; operands that tie share the gradient.

    Examples
    --------
    >>> tt.largest([1, 5], [4, 2], 3).eval()
    array([4, 5])
    """
    return _folded("largest", maximum, args)


def smallest(*args: TensorLike) -> TensorVariable:
    """Return the elementwise minimum of any number of tensors; operands that tie share the gradient.

    Examples
    --------
    >>> tt.smallest([1, 5], [4, 2], 3).eval()
    array([1, 2])
    """
    return _folded("smallest", minimum, args)


class Clip(ScalarOp, metaclass=ScalarOpKind):
    """The limitation of values to an interval, ``clip(x, low, high)``: minimum(maximum(x, low), high)."""

    __slots__ = ()
    names = ()
    takes_none = True
    parameters = ("x", "a_min", "a_max")

    def respelled(self, op: Elemwise, operands: Sequence[Any], named: dict[str, Any]) -> Apply:
        """Return the node of a call whose bounds are named, or are left out: None leaves a side open."""
        try:
            x, low, high = _interval(*operands, **named)
        except TypeError as error:
            what = str(error).partition("() ")[2].replace("_interval", "clip")
            msg = f"{op.name}: the call {what}. Pass a tensor and the bounds a_min and a_max, or min and max."
            raise GraphTypeError(msg) from None
        if low is None and high is None:
            return identity.make_node(x)
        if low is None or high is None:
            return minimum.make_node(x, high) if low is None else maximum.make_node(x, low)
        return op.make_node(x, low, high)


def _interval(
    x: TensorLike, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> tuple[TensorLike, Any, Any]:
    """Return what is clipped, and the bounds."""
    return x, a_min if min is None else min, a_max if max is None else max


def _clip_dtypes(operands: Sequence[Operand]) -> Signature:
    """Return the dtypes of a minimum of a maximum."""
    x, low, high = operands
    inner = promote([x, low]) if isinstance(x, type) and isinstance(low, type) else of_ufunc("maximum")([x, low])[1]
    _, dtype = of_ufunc("minimum")([inner, high])
    return (dtype,) * 3, dtype


def _clipped(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    limited: np.ndarray = np.minimum(np.maximum(x, low), high)
    return limited


clip = Elemwise(
    Clip.made(
        name="clip", nin=3, cheap=True, dtypes=_clip_dtypes, impl=_clipped,
        body=lambda x, low, high: minimum(maximum(x, low), high), selective=True, bound="between", keeps_positive=True,
    )
)  # fmt: skip


def divmod_(x: object, y: object) -> tuple[TensorVariable, TensorVariable]:
    """Return quotient and remainder (as divmod).

    Examples
    --------
    >>> [part.eval() for part in tt.divmod([7, -7], 3)]
    [array([ 2, -3]), array([1, 2])]
    """
    return floor_div(x, y), mod(x, y)
