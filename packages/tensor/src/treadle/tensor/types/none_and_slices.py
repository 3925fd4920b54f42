"""Types of values that stand in graphs of tensors and are none: None and slices."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, SupportsIndex

from treadle.config import text_of
from treadle.graph import Constant, Type, Variable
from treadle.tensor.errors import TensorTypeError

if TYPE_CHECKING:
    from treadle.graph import Value

__all__ = ["NoneConst", "NoneSliceConst", "NoneTypeT", "SliceConstant", "SliceType", "none_type_t", "slicetype"]


class NoneTypeT(Type):
    """The type whose only value is None: what an op takes in place of an optional input."""

    __props__ = ()

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> None:
        """Take None.

        Raises
        ------
        TensorTypeError
            If it is something else.
        """
        if data is not None:
            msg = f"NoneTypeT: None is the only value of this type, got {text_of(data)}. Use another type."
            raise TensorTypeError(msg)

    def __str__(self) -> str:
        return "NoneTypeT"


class SliceType(Type):
    """The type of slices, whose start, stop and step are integers or None."""

    __props__ = ()

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> slice:
        """Take a slice of integers.

        Raises
        ------
        TensorTypeError
            If it is something else.
        """
        if not isinstance(data, slice):
            msg = f"SliceType: a slice is needed, got {text_of(data)}. Write slice(start, stop, step)."
            raise TensorTypeError(msg)
        return slice(*(_bound(x) for x in (data.start, data.stop, data.step)))

    def sample(self, seed: int) -> slice:
        """Return some slice."""
        return slice(seed % 3, None)

    def __str__(self) -> str:
        return "slice"


def _bound(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, SupportsIndex) and not isinstance(value, Variable):
        return index(value)
    msg = f"SliceType: bounds are integers or None, got {text_of(value)}. Make slices of variables with make_slice."
    raise TensorTypeError(msg)


class SliceConstant(Constant[SliceType]):
    """A slice that is known when the graph is built."""

    __slots__ = ()

    def __str__(self) -> str:
        return self.name or repr(self.data)


SliceType.constant_type = SliceConstant
none_type_t = NoneTypeT()
slicetype = SliceType()
NoneConst: Constant[NoneTypeT] = none_type_t.make_constant(None, name="NoneConst")
NoneSliceConst: Constant[SliceType] = slicetype.make_constant(slice(None))
