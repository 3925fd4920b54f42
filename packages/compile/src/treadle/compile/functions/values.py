"""The values that a function keeps, by position, variable or name: ``f.finder``, ``f.container``, ``f.value``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.compile.errors import UnknownInputError
from treadle.config import text_of
from treadle.graph import Container, Variable

if TYPE_CHECKING:
    from treadle.compile.functions.kept import KeptValues
    from treadle.compile.io import In
    from treadle.graph import Value


class Duplicate:
    """Stands for a name that several inputs have."""

    def __repr__(self) -> str:
        return "DUPLICATE"


DUPLICATE = Duplicate()


class Slots:
    """The inputs of a function and the cell of each: explicit inputs, then shared variables, those that are read first.

    An input without default has an empty cell here; filling it gives the input a default.
    """

    __slots__ = ("_empty", "_state", "function", "places")

    def __init__(self, function: KeptValues) -> None:
        self.function = function
        spec = function.maker.specification
        self._empty: dict[int, Container] = {}
        self._state = spec.state()
        variables = [*(i.variable for i in spec.inputs), *self._state]
        names = [*(i.name for i in spec.inputs), *(s.name for s in self._state)]
        self.places: dict[object, int | Duplicate] = {}
        for at, (var, name) in enumerate(zip(variables, names, strict=True)):
            self.places[at] = at
            self.places[var] = at
            if name is not None:
                self.places[name] = DUPLICATE if name in self.places else at

    def __len__(self) -> int:
        return len(self.function.maker.specification.inputs) + len(self._state)

    def cell(self, at: int) -> Container:
        """Return the cell of the input at a position."""
        inputs = self.function.maker.specification.inputs
        if at >= len(inputs):
            return self._state[at - len(inputs)].container
        container = inputs[at].container
        if container is not None:
            return container
        return self._empty.setdefault(at, inputs[at].cell(None))

    def place(self, key: object) -> int:
        """Return the position of an input."""
        try:
            position = self.places.get(key)
        except Exception:  # noqa: BLE001 - what cannot be hashed or compared, however that fails, is no key
            position = None
        title = self.function.signature.title
        if isinstance(position, Duplicate):
            msg = f"{title}: several inputs have the name {key!r}. Ask by position or by the variable itself."
            raise UnknownInputError(msg)
        if position is None:
            names = ", ".join(repr(k) for k in self.places if isinstance(k, str)) or "none"
            msg = (
                f"{title}: no input or shared variable is {key if isinstance(key, Variable) else text_of(key)}. "
                f"Named ones: {names}; positions: 0 to {len(self) - 1}."
            )
            raise UnknownInputError(msg)
        return position

    def write(self, at: int, value: Value) -> None:
        """Convert a value under the input's rules and put it into its cell; an input without default gets one."""
        spec = self.function.maker.specification
        if at >= len(spec.inputs):
            self._state[at - len(spec.inputs)].set_value(value)
            return
        item: In = spec.inputs[at]
        type_ = item.variable.type
        filtered = type_.accept(value, strict=item.strict, allow_downcast=item.allow_downcast)
        if type_.may_share_memory(filtered, value):
            filtered = type_.copy_value(filtered)
        cell = self.cell(at)
        cell.write(filtered)
        if item.container is None:
            item.container = cell
            self.function.renew()


class Containers:
    """``f.container``: the cell of an input, by position, variable or name."""

    __slots__ = ("_slots",)

    def __init__(self, slots: Slots) -> None:
        self._slots = slots

    def __getitem__(self, key: object) -> Container:
        return self._slots.cell(self._slots.place(key))

    def __contains__(self, key: object) -> bool:
        return _known(self._slots, key)

    def __len__(self) -> int:
        return len(self._slots)


class Values:
    """``f.value``: the value kept for an input, by position, variable or name; it can be set."""

    __slots__ = ("_slots",)

    def __init__(self, slots: Slots) -> None:
        self._slots = slots

    def __getitem__(self, key: object) -> Value:
        """Return a copy of the default or of the shared variable's value; None for an input without default."""
        cell = self._slots.cell(self._slots.place(key))
        value = cell.read_host()
        return None if value is None else cell.type.copy_value(value)

    def __setitem__(self, key: object, value: Value) -> None:
        self._slots.write(self._slots.place(key), value)

    def __contains__(self, key: object) -> bool:
        return _known(self._slots, key)

    def __len__(self) -> int:
        return len(self._slots)


def _known(slots: Slots, key: object) -> bool:
    try:
        slots.place(key)
    except UnknownInputError:
        return False
    return True


def finder(slots: Slots) -> dict[Any, Container | Duplicate]:
    """Return the cell for every position, variable and name, or `DUPLICATE` for a name that several inputs have."""
    return {key: at if isinstance(at, Duplicate) else slots.cell(at) for key, at in slots.places.items()}
