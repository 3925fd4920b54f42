"""Lists of values of one type as values of graphs; backends other than the Python VM handle them in Python steps."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from treadle.config import text_of
from treadle.graph import Apply, Constant, Form, Op, Type, Variable
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.types.conversion import as_tensor_variable
from treadle.tensor.types.none_and_slices import SliceType, slicetype
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Cell, Value
    from treadle.tensor.variables.variable import TensorLike, TensorVariable

__all__ = [
    "Append",
    "Count",
    "Extend",
    "GetItem",
    "Index",
    "Insert",
    "Length",
    "MakeList",
    "Remove",
    "Reverse",
    "TypedListConstant",
    "TypedListType",
    "TypedListVariable",
    "append",
    "count",
    "extend",
    "getitem",
    "index_",
    "insert",
    "length",
    "make_list",
    "remove",
    "reverse",
]


class TypedListType(Type):
    """The type of lists whose elements are of one type.

    Parameters
    ----------
    ttype
        Type of the elements.
    depth
        How many lists there are around the elements beside this one.

    Raises
    ------
    TensorTypeError
        If `ttype` is no type, or `depth` is negative.
    """

    __props__ = ("ttype",)

    def __init__(self, ttype: Type, depth: int = 0) -> None:
        unchecked: object = ttype
        if not isinstance(unchecked, Type) or depth < 0:
            msg = f"TypedListType: a type of elements and a depth >= 0 are needed, got {text_of(ttype)} and {depth}."
            raise TensorTypeError(msg)
        self.ttype: Type = ttype if depth == 0 else TypedListType(ttype, depth - 1)

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> list[Value]:
        """Return a list of elements of the type.

        Raises
        ------
        TensorTypeError
            If it is no list.
        """
        if not isinstance(data, list):
            msg = f"{self}: a list is needed, got {text_of(data)}. Put the elements into one."
            raise TensorTypeError(msg)
        return [self.ttype.accept(x, strict=strict, allow_downcast=allow_downcast) for x in data]

    def __call__(self, name: str | None = None) -> TypedListVariable:
        """Return a new variable of this type."""
        variable: TypedListVariable = TypedListVariable(self, None, None, name=name)
        return variable

    def same(self, a: Value, b: Value) -> bool:
        """Whether two elements are equal."""
        return bool(self.ttype.values_eq(a, b))

    def __str__(self) -> str:
        return f"List({self.ttype})"


class TypedListVariable(Variable[TypedListType]):
    """A symbolic list; its methods return new lists."""

    __slots__ = ()
    __hash__ = Variable.__hash__

    def __getitem__(self, index: object) -> Any:
        """Return an element, or the list of a slice."""
        return getitem(self, index)

    def __len__(self) -> NoReturn:
        """Refuse: the length is known when a program runs."""
        msg = f"len: the length of the list {self} is not known when the graph is built. Use length(x)."
        raise TensorTypeError(msg)

    def append(self, element: object) -> TypedListVariable:
        """Return the list with an element at its end."""
        return append(self, element)  # type: ignore[no-any-return]  # a list

    def extend(self, other: object) -> TypedListVariable:
        """Return the list with the elements of another at its end."""
        return extend(self, other)  # type: ignore[no-any-return]  # a list

    def insert(self, index: object, element: object) -> TypedListVariable:
        """Return the list with an element before a position."""
        return insert(self, index, element)  # type: ignore[no-any-return]  # a list

    def remove(self, element: object) -> TypedListVariable:
        """Return the list without the first element that equals this one."""
        return remove(self, element)  # type: ignore[no-any-return]  # a list

    def reverse(self) -> TypedListVariable:
        """Return the list backwards."""
        return reverse(self)  # type: ignore[no-any-return]  # a list

    def count(self, element: object) -> TensorVariable:
        """Return how many elements equal this one."""
        return count(self, element)  # type: ignore[no-any-return]  # a tensor

    def ind(self, element: object) -> TensorVariable:
        """Return the position of the first element that equals this one."""
        return index_(self, element)  # type: ignore[no-any-return]  # a tensor


class TypedListConstant(TypedListVariable, Constant[TypedListType]):
    """A list that is known when the graph is built."""

    __slots__ = ()
    __hash__ = Variable.__hash__


TypedListType.variable_type = TypedListVariable
TypedListType.constant_type = TypedListConstant
_POSITION = TensorType("int64", ())


class _ListOp(Op):
    """Base of ops whose first input is a list; `name` is the function that applies them."""

    __props__ = ()
    name = ""

    def list_of(self, value: object) -> TypedListVariable:
        """Return an input as a list, or refuse it."""
        if not isinstance(value, Variable) or not isinstance(value.type, TypedListType):
            msg = f"{self.name}: a variable of type TypedListType is needed, got {text_of(value)}. Use make_list."
            raise TensorTypeError(msg)
        return value  # type: ignore[return-value]  # a list by its type

    def element_of(self, x: TypedListVariable, value: object) -> Variable:
        """Return an input as an element of a list, or refuse it."""
        return x.type.ttype.filter_variable(value)

    def position(self, value: TensorLike) -> TensorVariable:
        """Return an input as a position, or refuse it."""
        var = as_tensor_variable(value)
        if var.ndim or var.type.numpy_dtype.kind not in "iu":
            msg = f"{self.name}: a position is an integer, got {var} of type {var.type}. Pass a scalar integer."
            raise TensorTypeError(msg)
        return var

    def printed_form(self, node: Apply) -> Form:
        """Write ``append(x, y)``."""
        return Form.call(self.name, node.inputs)


class MakeList(_ListOp):
    """The list of the inputs, which must have one type."""

    name = "make_list"

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node, of a sequence or of several inputs."""
        elements = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], list | tuple) else inputs
        items = [x if isinstance(x, Variable) else as_tensor_variable(x) for x in elements]
        if not items or not all(x.type.in_same_class(items[0].type) for x in items):
            msg = f"make_list: elements of one type are needed, got {', '.join(str(x.type) for x in items) or 'none'}."
            raise TensorTypeError(msg)
        kind = next((x.type for x in items if all(x.type.is_super(y.type) for y in items)), None)
        if kind is None:
            first = items[0].type
            kind = TensorType(first.dtype, (None,) * first.ndim) if isinstance(first, TensorType) else first
        return Apply(self, items, [TypedListType(kind).make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Put the values into a list."""
        output_storage[0][0] = [x.type.copy_value(v) for x, v in zip(node.inputs, inputs, strict=True)]


class GetItem(_ListOp):
    """An element of a list, or the list of a slice of it."""

    name = "getitem"

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        x = self.list_of(inputs[0])
        index = inputs[1]
        if isinstance(index, slice):
            index = slicetype.make_constant(index)
        if isinstance(index, Variable) and isinstance(index.type, SliceType):
            return Apply(self, [x, index], [x.type.make_variable()])
        return Apply(self, [x, self.position(index)], [x.type.ttype.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Take a copy of the element."""
        items, index = inputs
        element = items[index if isinstance(index, slice) else int(index)]
        output_storage[0][0] = node.outputs[0].type.copy_value(element)


class _Changed(_ListOp):
    """Base of ops that return a changed copy of the list."""

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        x = self.list_of(inputs[0])
        return Apply(self, [x, *self.other_inputs(x, *inputs[1:])], [x.type.make_variable()])

    def other_inputs(self, x: TypedListVariable, *operands: TensorLike) -> list[Variable]:
        """Return the other inputs: an element, unless the op overrides this."""
        return [self.element_of(x, element) for element in operands]

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Change a copy of the list."""
        changed, *operands = (x.type.copy_value(v) for x, v in zip(node.inputs, inputs, strict=True))
        kind: TypedListType = node.inputs[0].type  # type: ignore[assignment]  # `list_of` checks it
        self.change(kind, changed, *operands)
        output_storage[0][0] = changed

    @abstractmethod
    def change(self, kind: TypedListType, items: list[Value], *operands: Value) -> None:
        """Change a list of some type."""


class Append(_Changed):
    """A list with an element at its end."""

    name = "append"

    def change(self, kind: TypedListType, items: list[Value], *operands: Value) -> None:
        """Append."""
        items.append(operands[0])


class Extend(_Changed):
    """A list with the elements of another at its end."""

    name = "extend"

    def other_inputs(self, x: TypedListVariable, *operands: TensorLike) -> list[Variable]:
        """Take a list."""
        return [x.type.filter_variable(operands[0])]

    def change(self, kind: TypedListType, items: list[Value], *operands: Value) -> None:
        """Extend."""
        items.extend(operands[0])


class Insert(_Changed):
    """A list with an element before a position."""

    name = "insert"

    def other_inputs(self, x: TypedListVariable, *operands: TensorLike) -> list[Variable]:
        """Take a position and an element."""
        return [self.position(operands[0]), self.element_of(x, operands[1])]

    def change(self, kind: TypedListType, items: list[Value], *operands: Value) -> None:
        """Insert."""
        items.insert(int(operands[0]), operands[1])


class Remove(_Changed):
    """A list without the first element that equals another."""

    name = "remove"

    def change(self, kind: TypedListType, items: list[Value], *operands: Value) -> None:
        """Remove, or raise a ValueError if no element is equal."""
        del items[_first(kind, items, operands[0])]


class Reverse(_Changed):
    """A list backwards."""

    name = "reverse"

    def change(self, kind: TypedListType, items: list[Value], *operands: Value) -> None:
        """Reverse."""
        items.reverse()


def _first(kind: TypedListType, items: Sequence[Value], element: Value) -> int:
    for i, x in enumerate(items):
        if kind.same(x, element):
            return i
    msg = "no element of the list equals the value"
    raise ValueError(msg)


class _Counted(_ListOp):
    """Base of ops that return a number."""

    def make_node(self, *inputs: Any) -> Apply:
        """Return the node."""
        x = self.list_of(inputs[0])
        return Apply(self, [x, *(self.element_of(x, y) for y in inputs[1:])], [_POSITION.make_variable()])

    def perform(self, node: Apply, inputs: Sequence[Value], output_storage: Sequence[Cell]) -> None:
        """Count."""
        kind: TypedListType = node.inputs[0].type  # type: ignore[assignment]  # `list_of` checks it
        output_storage[0][0] = np.array(self.number(kind, *inputs), "int64")

    @abstractmethod
    def number(self, kind: TypedListType, items: Sequence[Value], *operands: Value) -> int:
        """Return the number."""

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """Say that a number of elements does not follow their values."""
        return [[False] for _ in node.inputs]


class Index(_Counted):
    """The position of the first element that equals another."""

    name = "index_"

    def number(self, kind: TypedListType, items: Sequence[Value], *operands: Value) -> int:
        """Search, or raise a ValueError if no element is equal."""
        return _first(kind, items, operands[0])


class Count(_Counted):
    """How many elements equal another."""

    name = "count"

    def number(self, kind: TypedListType, items: Sequence[Value], *operands: Value) -> int:
        """Count."""
        return sum(kind.same(x, operands[0]) for x in items)


class Length(_Counted):
    """How many elements there are."""

    name = "length"

    def number(self, kind: TypedListType, items: Sequence[Value], *operands: Value) -> int:
        """Count."""
        return len(items)


append = Append()
count = Count()
extend = Extend()
getitem = GetItem()
index_ = Index()
insert = Insert()
length = Length()
make_list = MakeList()
remove = Remove()
reverse = Reverse()
