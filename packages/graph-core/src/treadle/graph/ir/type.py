"""Type: what values a variable may hold, and the operations on such values."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from functools import cache
from numbers import Number
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from treadle.config import lazy_module, text_of
from treadle.graph.errors import GraphTypeError
from treadle.graph.ir.encoding import encode, qualified_name, tagged

if TYPE_CHECKING:
    import inspect
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from treadle.graph.ir.thunk import Value
    from treadle.graph.ir.variable import Constant, Variable
else:
    inspect = lazy_module("inspect")


@runtime_checkable
class HasDataType(Protocol):
    """A type whose values have elements of one kind.

    Examples
    --------
    >>> isinstance(tt.dvector, HasDataType)
    True
    """

    dtype: Any


@runtime_checkable
class HasShape(Protocol):
    """A type whose values have a rank, and lengths of which some may be known (None for the others).

    Examples
    --------
    >>> isinstance(tt.dvector, HasShape)
    True
    """

    ndim: int
    shape: tuple[int | None, ...]


# Values of these classes cannot be written into, and are their own copies.
_IMMUTABLE = (Number, str, bytes, range, NoneType)


class Type(ABC):
    """Set of values, with the operations on them that graphs, rewrites and linkers need.

    A subclass implements `filter`. Equality and hash come from `__props__`, the names of the attributes that tell
    two types apart; a type without `__props__` equals only itself.

    Examples
    --------
    >>> class Text(Type):
    ...     def filter(self, data, strict=False, allow_downcast=None):
    ...         if not isinstance(data, str):
    ...             raise TypeError("a text is needed")
    ...         return data
    >>> word = Text()("word")
    >>> word.eval({word: "hello"})
    'hello'
    """

    __props__: ClassVar[tuple[str, ...] | None] = None
    # Set by treadle.graph.ir.variable, which needs Type to define itself; subclasses name their own kinds.
    variable_type: ClassVar[Any]
    constant_type: ClassVar[Any]

    @abstractmethod
    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> Value:
        """Return `data` as a value of this type.

        Parameters
        ----------
        data
            Any object.
        strict
            True: accept only what is a value of this type already.
        allow_downcast
            True: precision may be lost; False: never; None: only Python floats to floatX.

        Raises
        ------
        TypeError
            If `data` cannot be made a value of this type under these rules.
        """

    def accept(self, data: Value, *, strict: bool = False, allow_downcast: bool | None = None) -> Value:
        """Return what `filter` makes of the data under these rules, passing those that it knows.

        The documented `filter` may take the data alone, or the data and `strict`. One that does not know `strict` is
        strict where it returns the data as they are.

        Raises
        ------
        TypeError
            If the data cannot be made a value of this type under these rules.
        """
        rules: dict[str, Any] = {}
        if allow_downcast is not None and _takes(type(self).filter, "allow_downcast"):
            rules["allow_downcast"] = allow_downcast
        if not strict or _takes(type(self).filter, "strict"):
            return self.filter(data, **rules, **({"strict": True} if strict else {}))
        value = self.filter(data, **rules)
        if value is data or (type(value) is type(data) and self.values_eq(value, data)):
            return value
        msg = f"{self}: exactly a value of this type is needed (strict), got {text_of(data)}. Convert it first."
        raise GraphTypeError(msg)

    def is_valid_value(self, data: object, strict: bool = True) -> bool:
        """Whether `filter` accepts the data."""
        try:
            self.accept(data, strict=strict)
        except (TypeError, ValueError):
            return False
        return True

    # Relations between types

    def in_same_class(self, other: Type) -> bool:
        """Whether the two types differ in refinements at most (static shape, for tensors)."""
        return self == other

    def is_super(self, other: Type) -> bool:
        """Whether every value of `other` is a value of this type."""
        return self == other

    def filter_variable(self, other: object, allow_convert: bool = True) -> Variable:
        """Return a variable of this type that stands for `other`, a variable or a plain value.

        Raises
        ------
        TypeError
            If the variable's type is neither this one nor a refinement of it, and no conversion is known.
        """
        if not isinstance(other, Type.variable_type):
            return self.make_constant(other)
        var: Variable = other
        if self.is_super(var.type):
            return var
        converted = self.convert_variable(var) if allow_convert else None
        if converted is None or not self.is_super(converted.type):
            place = "" if var.owner is None else var.owner.where()
            msg = (
                f"{self}: a variable of this type is needed, got {other} of type {other.type}{place}. "
                "Convert it first, for instance with an explicit cast."
            )
            raise GraphTypeError(msg)
        return converted

    def convert_variable(self, var: Variable) -> Variable | None:
        """Return `var` converted to this type where a lossless conversion exists, else None."""
        if self.is_super(var.type):
            return var
        return None

    def convert(self, value: Value) -> Value:
        """Return a variable, or a plain value, converted to this type.

        Raises
        ------
        TypeError
            If no lossless conversion is known.
        """
        return self.filter_variable(value) if isinstance(value, Type.variable_type) else self.filter(value)

    # Variables and constants

    def make_variable(self, name: str | None = None) -> Variable[Self]:
        """Return a new variable of this type."""
        variable: Variable[Self] = self.variable_type(self, None, None, name=name)
        return variable

    def make_constant(self, value: object, name: str | None = None) -> Constant[Self]:
        """Return a constant of this type with the value."""
        constant: Constant[Self] = self.constant_type(self, value, name=name)
        return constant

    def __call__(self, name: str | None = None) -> Variable[Self]:
        """Return a new variable of this type."""
        return self.make_variable(name)

    def clone(self, **changes: Any) -> Type:
        """Return a copy with some attributes changed."""
        new = copy.copy(self)
        for name, value in changes.items():
            object.__setattr__(new, name, value)
        return new

    # Values that are those of another type

    def carrier(self) -> Type | None:
        """Return the type that compiled functions use in place of this one, or None: they use this one.

        A type whose values are the same objects as another type's, and that says more of them than a program needs,
        names that other type. `function` then takes variables of it for its inputs and outputs of this type, and
        backends never see this one. `to_carrier` and `from_carrier` convert variables.
        """
        return None

    def to_carrier(self, var: Variable) -> Variable:
        """Return a variable of this type as one of its `carrier`.

        Raises
        ------
        GraphTypeError
            If the type has none.
        """
        msg = f"{self}: the type has no carrier, so {var} is its own. Implement carrier on {type(self).__name__}."
        raise GraphTypeError(msg)

    def from_carrier(self, var: Variable) -> Variable:
        """Return a variable of the `carrier` as one of this type.

        Raises
        ------
        GraphTypeError
            If the type has none.
        """
        msg = f"{self}: the type has no carrier, got {var}. Implement carrier on {type(self).__name__}."
        raise GraphTypeError(msg)

    # Values

    @staticmethod
    def values_eq(a: Value, b: Value) -> bool:
        """Whether two values are the same."""
        return bool(a == b)

    @classmethod
    def values_eq_approx(cls, a: Value, b: Value) -> bool:
        """Whether two values are the same up to rounding."""
        return cls.values_eq(a, b)

    @staticmethod
    def may_share_memory(a: Value, b: Value) -> bool:
        """Whether writing into one value may change the other."""
        return a is b and not isinstance(a, _IMMUTABLE)

    def owned_alone(self, value: Value, others: int) -> bool:
        """Whether a value may be changed because nothing else refers to it.

        Parameters
        ----------
        value
            The value.
        others
            How many references to it there are that its owner does not know of.
        """
        return False

    def copy_value(self, value: Value) -> Value:
        """Return a value that shares no memory with `value`."""
        return copy.deepcopy(value)

    @staticmethod
    def spawned(value: Value, count: int) -> tuple[Value, list[Value]] | None:
        """Return what a value is after it gave one to each of a number of tasks, and these; None if all take the same.

        Generators of random numbers spawn generators. The value given stays as it is.
        """
        del value, count
        return None

    def to_host(self, value: Value) -> Value:
        """Return the value in this type's own form, given in any backend's native form."""
        return self.filter(value)

    def sample(self, seed: int) -> Value:
        """Return some value of this type, the same for the same seed.

        Raises
        ------
        GraphTypeError
            If the type knows no samples.
        """
        msg = f"{self}: this type has no sample values (seed {seed}). Implement `sample` on {type(self).__name__}."
        raise GraphTypeError(msg)

    def non_finite(self, value: Value) -> tuple[bool, bool]:
        """Return whether the value holds a NaN, and whether it holds an infinity."""
        return False, False

    def nbytes(self, value: Value) -> int:
        """Return the size of a value in bytes, 0 where that is unknown."""
        return 0

    def static_nbytes(self) -> int | None:
        """Return the size in bytes that every value of this type has, or None if they differ or it is unknown."""
        return None

    def without_lengths(self) -> Type:
        """Return the type of the same values with any lengths: for arrays, the one that knows none."""
        return self

    def narrowed(self, value: Value) -> Type:
        """Return the narrowest refinement of this type that a value of it belongs to."""
        return self

    @classmethod
    def fact_reader(cls) -> Callable[[Variable], Iterable[str]]:
        """Return a function from variables to the names of the facts known of their values, for `debugprint`.

        It is asked about the variables of one graph, one after the other, and may keep what it found.
        """
        return lambda _var: ()

    def exceeds(self, value: Value, bound: float) -> bool:
        """Return whether the value holds a finite number beyond a bound, on either side."""
        return False

    def magnitude(self, value: Value) -> float:
        """Return the largest absolute value of the finite numbers in the value, 0 where there are none."""
        return 0.0

    @classmethod
    def agree(cls, a: Value, b: Value, scale: float = 0.0, where_finite: bool = False) -> bool:
        """Whether two values are the same up to rounding.

        Parameters
        ----------
        a, b
            The values.
        scale
            Size of the numbers that they were computed from: what is left where large numbers cancel is not exact.
        where_finite
            Whether only what is finite in `a` counts, as for a rewrite, which may make an expression stable.
        """
        return cls.values_eq_approx(a, b)

    @staticmethod
    def describe_difference(a: Value, b: Value) -> str:
        """Return in words how two values differ: for arrays where, and by how much at most."""
        return f"{a!r} against {b!r}"

    def preallocations(self, kind: str, like: Value = None, dims: int = 4) -> Iterator[Value]:
        """Yield output buffers of one documented kind (``c_contiguous``, ``strided`` …) for DebugMode.

        Parameters
        ----------
        kind
            ``c_contiguous``, ``f_contiguous``, ``strided`` or ``wrong_size``.
        like
            The value that is to be stored; a sample of the type if None.
        dims
            Of how many innermost dimensions all combinations of strides or lengths are tried.
        """
        return iter(())

    def guard(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """Return a Python expression that is true only for values that `filter` returns unchanged.

        Parameters
        ----------
        name
            Name of the value in the expression.

        Returns
        -------
        The expression, and the names it uses beside builtins; None if there is no quick test.
        """
        return None

    def quick_reader(self) -> Callable[[Value], Value] | None:
        """Return a quick function for arguments: what is easily converted becomes a value, such as a Python number.

        It converts only what `filter` converts, and in the same way, under any rule but ``strict``; all else it returns
        as it is. None, the default, where there is no such function.
        """
        return None

    # Identity

    def canonical(self) -> bytes:
        """Return the canonical encoding (see `treadle.graph.ir.encoding`)."""
        props = type(self).__props__
        if props is None:
            msg = (
                f"{qualified_name(type(self))}: the type has no __props__, so other processes cannot tell it from "
                "others. Declare __props__ with the names of the attributes that matter."
            )
            raise GraphTypeError(msg)
        return tagged("T", qualified_name(type(self)).encode(), *(encode(getattr(self, p)) for p in props))

    def _values(self) -> Sequence[Any]:
        return [getattr(self, p) for p in type(self).__props__ or ()]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or type(self).__props__ is None:
            return False
        return isinstance(other, Type) and self._values() == other._values()

    def __hash__(self) -> int:
        if type(self).__props__ is None:
            return object.__hash__(self)
        return hash((type(self), *self._values()))

    def __repr__(self) -> str:
        parameters = ", ".join(f"{p}={getattr(self, p)!r}" for p in type(self).__props__ or ())
        return f"{type(self).__name__}({parameters})"


@cache
def _takes(function: Callable[..., object], name: str) -> bool:
    """Whether a function takes a keyword argument of this name."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
