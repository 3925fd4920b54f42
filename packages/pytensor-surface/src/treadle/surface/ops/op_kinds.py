"""Documented classes of reductions and accumulations: each stands for the ops of one kind.

A reduction is a `Reduction` of a kind; the documentation has a class for each kind. These are classes of ops whose
instances are recognised by kind, so that ``isinstance(op, Sum)`` and rewriters that track ``Sum`` see them all. Calling
one makes an op that takes the rank and the dtype of the operand that it is applied to. Classes of users may derive from
one: an op of such a class stays of that class when it is applied, and computes, has shapes and derivatives as the kind.
"""

from __future__ import annotations

import copy
from abc import ABCMeta
from dataclasses import fields
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from treadle.config import text_of
from treadle.graph import Apply
from treadle.tensor.arguments.values import as_choice
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.ops.fields import fix_axes, fix_dtypes, fix_integers
from treadle.tensor.reductions.accumulation import Accumulation, cumprod, cumsum
from treadle.tensor.reductions.reduction import (
    ArgReduction,
    Reduction,
    all_,
    any_,
    argmax,
    argmin,
    max_,
    min_,
    prod,
    sum_,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from treadle.graph import Op
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = ["All", "Any_", "Argmax", "Argmin", "CAReduce", "CumOp", "Max", "Min", "Prod", "Sum"]

# The scalar ops that reductions combine with, and the kinds of these.
COMBINING = {"add": "sum", "mul": "prod", "maximum": "max", "minimum": "min", "and": "all", "or": "any"}
# The documented modes of accumulations, and their kinds.
MODES = {"add": "sum", "mul": "prod"}
FUNCTIONS: Mapping[tuple[type[Op], str], Callable[..., TensorVariable]] = {
    (Reduction, "sum"): sum_,
    (Reduction, "prod"): prod,
    (Reduction, "max"): max_,
    (Reduction, "min"): min_,
    (Reduction, "all"): all_,
    (Reduction, "any"): any_,
    (ArgReduction, "argmax"): argmax,
    (ArgReduction, "argmin"): argmin,
    (Accumulation, "sum"): cumsum,
    (Accumulation, "prod"): cumprod,
}


class OpKind(ABCMeta):
    """Metaclass of classes of ops of some kinds: the instances of ``Sum`` are the reductions that sum.

    A class derived from one is an ordinary class of ops.
    """

    of: type[Op]
    kinds: tuple[str, ...]

    def __instancecheck__(cls, op: object) -> bool:
        """Whether something is an op of the class, of one of the kinds."""
        if "kinds" in cls.__dict__:
            return isinstance(op, cls.of) and getattr(op, "kind", None) in cls.kinds
        return super().__instancecheck__(op)

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        """Return the op; parameters that the class does not have are refused."""
        if "kinds" in cls.__dict__:
            cls._check_parameters(args, kwargs)
        return super().__call__(*args, **kwargs)

    def _check_parameters(cls, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        parameters = signature(cls.__dict__.get("__init__") or vars(cls.__mro__[1])["__init__"])
        try:
            bound = parameters.bind(None, *args, **kwargs)
            bound.apply_defaults()
        except TypeError as error:
            wrong = str(error)
        else:
            is_complete = bound.arguments.get("scalar_op", args) is not None or kwargs.get("kind") is not None
            wrong = "" if is_complete else "missing a required argument: 'scalar_op'"
        if wrong:
            documented = list(parameters.parameters.values())[1:]
            needed = [str(p) for p in documented if p.kind is not p.KEYWORD_ONLY]
            msg = f"{cls.__name__}: the parameters are ({', '.join(needed)}), got {text_of((args, kwargs))}: {wrong}."
            raise TensorTypeError(msg)


class OfOperand:
    """What these classes share: fields that the operand decides, where they were not given.

    An axis of None stands for all axes, a dtype of None for the one that the function of this kind gives.
    """

    of: type[Op]
    kind: str

    def _set(self, **values: object) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _applied(self, x: TensorLike) -> TensorVariable:
        """Return the function of this kind, applied with the parameters of this op."""
        raise NotImplementedError

    def make_node(self, x: TensorLike) -> Apply:
        """Return the node of the op that fits the operand: it is of the class that this op is of."""
        node: Any = self._applied(x).owner
        made: Any = node.op
        if "kinds" in type(self).__dict__:
            return cast("Apply", node)
        if type(made) is not self.of or getattr(made, "kind", None) != self.kind:
            msg = f"{type(self).__name__}: an op of its own computes no {self.kind} of {text_of(x)}. Cast it first."
            raise TensorTypeError(msg)
        own: Any = copy.copy(self)
        own._set(**{field.name: getattr(made, field.name) for field in fields(cast("Any", made))})
        return Apply(own, node.inputs, [out.type.make_variable() for out in node.outputs])


class _Reducing(OfOperand, Reduction):
    """A reduction whose rank and dtypes the operand decides."""

    def _fill(self, kind: str, axis: object, dtype: object, acc_dtype: object) -> None:
        self._set(kind=kind, axes=axis, dtype=dtype, acc_dtype=acc_dtype)
        if axis is not None:
            fix_axes(self)
        fix_dtypes(self, *(name for name in self.dtype_fields if getattr(self, name) is not None))

    def _applied(self, x: TensorLike) -> TensorVariable:
        options = {name: getattr(self, name) for name in self.dtype_fields if self.kind in {"sum", "prod"}}
        return FUNCTIONS[Reduction, self.kind](x, self.axes, **options)


class _Summing(_Reducing):
    """Sums and products."""

    kinds: tuple[str, ...]

    def __init__(
        self,
        axis: object = None,
        dtype: object = None,
        acc_dtype: object = None,
        no_zeros_in_input: bool = False,
        *,
        kind: str | None = None,
        axes: object = None,
    ) -> None:
        del no_zeros_in_input
        self._fill(kind or self.kinds[0], axis if axes is None else axes, dtype, acc_dtype)


class _Comparing(_Reducing):
    """Extrema and truths, whose results have the dtype of the operand or are truths."""

    kinds: tuple[str, ...]

    def __init__(
        self,
        axis: object = None,
        initial: bool = False,
        *,
        kind: str | None = None,
        axes: object = None,
        dtype: object = None,
        acc_dtype: object = None,
    ) -> None:
        if initial:
            msg = f"{type(self).__name__}: initial values are no part of the op. Pass initial= to the function."
            raise TensorTypeError(msg)
        self._fill(kind or self.kinds[0], axis if axes is None else axes, dtype, acc_dtype)


class CAReduce(_Reducing, metaclass=OpKind):
    """`Reduction` of any kind, by the scalar op that it combines with."""

    of = Reduction
    kinds = ("sum", "prod", "max", "min", "all", "any")

    def __init__(
        self,
        scalar_op: object = None,
        axis: object = None,
        dtype: object = None,
        acc_dtype: object = None,
        upcast_discrete_output: bool = True,
        *,
        kind: str | None = None,
        axes: object = None,
    ) -> None:
        del upcast_discrete_output
        name = getattr(getattr(scalar_op, "scalar_op", scalar_op), "name", None)
        if kind is None and name not in COMBINING:
            names = ", ".join(COMBINING)
            msg = f"CAReduce: the scalar op must be one of {names}, got {text_of(scalar_op)}. Write others as loops."
            raise TensorTypeError(msg)
        self._fill(kind or COMBINING[str(name)], axis if axes is None else axes, dtype, acc_dtype)


class Sum(_Summing, metaclass=OpKind):
    """`Reduction` of kind sum."""

    of, kinds = Reduction, ("sum",)


class Prod(_Summing, metaclass=OpKind):
    """`Reduction` of kind prod."""

    of, kinds = Reduction, ("prod",)


class Max(_Comparing, metaclass=OpKind):
    """`Reduction` of kind max."""

    of, kinds = Reduction, ("max",)


class Min(_Comparing, metaclass=OpKind):
    """`Reduction` of kind min."""

    of, kinds = Reduction, ("min",)


class All(_Comparing, metaclass=OpKind):
    """`Reduction` of kind all."""

    of, kinds = Reduction, ("all",)


class Any_(_Comparing, metaclass=OpKind):  # noqa: N801 - the documented name, but for the underscore
    """`Reduction` of kind any."""

    of, kinds = Reduction, ("any",)


class _Searching(OfOperand, ArgReduction):
    """A search for an extremum whose rank the operand decides."""

    kinds: tuple[str, ...]

    def __init__(self, axis: object = None, *, kind: str | None = None, axes: object = None) -> None:
        self._set(kind=kind or self.kinds[0], axes=axis if axes is None else axes)
        if self.axes is not None:
            fix_axes(self)

    def _applied(self, x: TensorLike) -> TensorVariable:
        return FUNCTIONS[ArgReduction, self.kind](x, self.axes)


class Argmax(_Searching, metaclass=OpKind):
    """`ArgReduction` of kind argmax."""

    of, kinds = ArgReduction, ("argmax",)


class Argmin(_Searching, metaclass=OpKind):
    """`ArgReduction` of kind argmin."""

    of, kinds = ArgReduction, ("argmin",)


class CumOp(OfOperand, Accumulation, metaclass=OpKind):
    """`Accumulation` of kind sum or prod, which its modes add and mul are."""

    of = Accumulation
    kinds = ("sum", "prod")

    def __init__(
        self, axis: object = None, mode: str = "add", *, kind: str | None = None, dtype: object = None
    ) -> None:
        chosen = MODES[as_choice("CumOp: mode", mode, tuple(MODES))]
        if isinstance(axis, tuple | list) and len(axis) == 1:
            (axis,) = axis
        self._set(kind=kind or chosen, axis=axis, dtype=dtype)
        if axis is not None:
            fix_integers(self, "axis")

    def _applied(self, x: TensorLike) -> TensorVariable:
        return FUNCTIONS[Accumulation, self.kind](x, self.axis, dtype=self.dtype)
