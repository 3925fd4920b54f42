"""Tensor variables, constants and shared variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias

import numpy as np

from treadle.config import config, lazy_module
from treadle.graph import Apply, Constant, SharedVariable, Variable
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.ops.texts import OfEach
from treadle.tensor.shapes.shape_specification import held
from treadle.tensor.types.policy import check_float64
from treadle.tensor.types.tensor_type import TensorType
from treadle.tensor.variables.methods import FurtherMethods
from treadle.tensor.variables.operators import Operators

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import EllipsisType


_elsewhere = lazy_module("treadle.tensor.variables.elsewhere")


class TensorMethods(FurtherMethods):
    """What tensor variables of every kind have."""

    __slots__ = ()

    type: TensorType
    name: str | None

    @property
    def dtype(self) -> str:
        """Name of the dtype.

        Examples
        --------
        >>> tt.dvector("x").dtype
        'float64'
        """
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """Rank.

        Examples
        --------
        >>> tt.dmatrix("x").ndim
        2
        """
        return self.type.ndim

    @property
    def broadcastable(self) -> tuple[bool, ...]:
        """Which dimensions are known to have length 1.

        Examples
        --------
        >>> tt.row("x").broadcastable
        (True, False)
        """
        return self.type.broadcastable

    def __iter__(self) -> Iterator[TensorVariable]:
        """Iterate over the first dimension, whose length must be known.

        Raises
        ------
        TensorTypeError
            If it is not.
        """
        self._refuse_scalar("iteration")
        if isinstance(self, Constant):
            rows = self.type.of_rows()
            return iter([rows.make_constant(self.data[i, ...]) for i in range(len(self.data))])
        if self.type.shape[0] is None:
            msg = (
                f"iteration: the length of the first dimension of {self} of type {self.type} is not known. "
                "Declare the shape, index instead, or loop with scan or vmap."
            )
            raise TensorTypeError(msg)
        # The list has as many parts whatever is put in place of this tensor: one of another length is refused.
        first_known = held(self, 0)  # type: ignore[arg-type]  # a tensor
        return iter([first_known[i] for i in range(self.type.shape[0])])

    def __len__(self) -> int:
        """Return the length of the first dimension, where it is known.

        Raises
        ------
        TensorTypeError
            If it is not.
        """
        self._refuse_scalar("len")
        if self.type.shape[0] is None:
            msg = (
                f"len: the length of {self} of type {self.type} is not known when the graph is built. Use x.shape[0]; "
                "values are computed by x.eval()."
            )
            raise TensorTypeError(msg)
        return self.type.shape[0]

    def _refuse_scalar(self, what: str) -> None:
        if self.type.ndim == 0:
            msg = f"{what}: {self} of type {self.type} is a scalar, which has no length. Use it as it is."
            raise TensorTypeError(msg)

    def __bool__(self) -> bool:
        """Return whether a constant of one element is not zero; refuse other tensors, which have no truth value.

        Raises
        ------
        TensorTypeError
            If the tensor is not a constant, or has not one element.
        """
        if isinstance(self, Constant):
            return bool(self._number("truth value"))
        msg = (
            f"truth value: {self} of type {self.type} has no value yet, so it is neither true nor false. "
            "Use where(condition, a, b) to choose, eq(a, b) to compare elements, or `is` for identity."
        )
        raise TensorTypeError(msg)

    if not TYPE_CHECKING:  # checkers would take every attribute

        def __getattr__(self, name):
            """Say what to write in place of an attribute that arrays of other libraries have."""
            text = "" if name.startswith("_") else _elsewhere.method_hint(name)
            if not text:
                return object.__getattribute__(self, name)  # raises Python's own error, or the property's
            msg = f"{type(self).__name__!r} object has no attribute {name!r}{text}"
            raise AttributeError(msg)


class TensorVariable(TensorMethods, Variable[TensorType]):
    """A symbolic tensor.

    Examples
    --------
    >>> x = tt.dmatrix("x")
    >>> type(x).__name__, x.dtype, x.ndim, x.type.shape
    ('TensorVariable', 'float64', 2, (None, None))
    >>> y = (x.T @ x).sum(axis=0)
    >>> y.eval({x: [[1.0, 2.0]]})
    array([3., 6.])
    """

    __slots__ = ()
    __hash__ = Variable.__hash__
    type: TensorType
    # Ops that make tensors take tensors; of one that does not, take the node as a plain Apply.
    owner: TensorNode | None


class TensorConstant(TensorVariable, Constant[TensorType]):
    """A tensor whose value is known when the graph is built, and with it every length of its type.

    Examples
    --------
    >>> c = tt.constant([1.0, 2.0])
    >>> type(c).__name__, c.data
    ('TensorConstant', array([1., 2.]))
    >>> float(c.sum().eval()), [float(number) for number in c.data]
    (3.0, [1.0, 2.0])
    """

    __slots__ = ()
    __hash__ = Variable.__hash__
    type: TensorType

    def __init__(self, type: TensorType, data: object, name: str | None = None) -> None:
        super().__init__(type, data, name)
        if None in type.shape:
            self.type = type.narrowed(self.data)


class TensorSharedVariable(TensorVariable, SharedVariable[TensorType]):
    """A tensor whose value persists between calls and can be updated.

    Examples
    --------
    >>> w = tt.shared([1.0, 2.0], name="w")
    >>> type(w).__name__, w.get_value()
    ('TensorSharedVariable', array([1., 2.]))
    >>> (w * 2).eval()
    array([2., 4.])
    """

    __slots__ = ()
    __hash__ = Variable.__hash__
    type: TensorType

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if getattr(self.type, "dtype", None) == "float64" and config.warn_float64 != "ignore":
            check_float64(self.type)


def _said_of_type(kind: TensorType) -> str | None:
    """Return the docstring of a type with a name, such as `dmatrix`, None for another one."""
    name = kind.called_as
    if name == "TensorType":
        return None
    return f"""{name}(name=None, *, shape=None)

    The type {kind!r}; calling it returns an input variable of it.

    Parameters
    ----------
    name
        The variable's name.
    shape
        Length of each dimension, None where unknown, where more of it is known than the type says.

    Raises
    ------
    TensorTypeError
        If the shape is of another rank than {kind.ndim}.
    ShapeError
        If the shape does not fit the type's.

    Examples
    --------
    >>> tt.{name}("x").type
    {kind!r}
    """


setattr(TensorType, "__doc__", OfEach(TensorType.__doc__, _said_of_type))  # noqa: B010 - to mypy it is a string
TensorType.variable_type = TensorVariable
TensorType.constant_type = TensorConstant
TensorType.shared_type = TensorSharedVariable

# A node of an op on tensors.
TensorNode = Apply[TensorVariable]

# What may be passed where a tensor is expected: `as_tensor_variable` takes it.
TensorLike: TypeAlias = Variable | Apply | Operators | np.ndarray | np.generic | complex | Sequence["TensorLike"]

# One axis, several, or all of them.
AxisLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | np.ndarray | None

# What may stand between the brackets of ``x[...]``.
Index: TypeAlias = "int | TensorLike | slice | EllipsisType | tuple[Index, ...] | None"
