"""What a function keeps between calls, by position, variable or name, and the form of its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.compile.errors import CallError
from treadle.compile.functions.values import Containers, Slots, Values, finder
from treadle.graph import Container

if TYPE_CHECKING:
    from treadle.compile.functions.arguments import Signature
    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.functions.values import Duplicate
    from treadle.compile.io import In, Out
    from treadle.graph import Value


class KeptValues:
    """The values that a function keeps, and the inputs and outputs that it was made with."""

    __slots__ = ("_output_storage", "_slots")

    maker: FunctionMaker
    signature: Signature

    def __init__(self) -> None:
        self._slots: Slots | None = None
        self._output_storage: list[Container] | None = None

    def renew(self) -> None:
        """Take note that an input has a value now, or has lost it."""
        raise NotImplementedError

    @property
    def _kept(self) -> Slots:
        if self._slots is None:
            self._slots = Slots(self)
        return self._slots

    @property
    def container(self) -> Containers:
        """The cell of each input, by position, variable or name; shared variables come after the explicit inputs."""
        return Containers(self._kept)

    @property
    def value(self) -> Values:
        """The default of each input and the value of each shared variable, by position, variable or name."""
        return Values(self._kept)

    @property
    def finder(self) -> dict[Any, Container | Duplicate]:
        """The cell for every position, variable and name; `DUPLICATE` for a name that several inputs have."""
        return finder(self._kept)

    def __getitem__(self, key: object) -> Value:
        """Return the value kept for an input, by position, variable or name.

        Raises
        ------
        UnknownInputError
            If no input, or several, answer to the key.
        """
        return self.value[key]

    def __setitem__(self, key: object, value: Value) -> None:
        """Set the default of an input, or the value of a shared variable, by position, variable or name.

        Raises
        ------
        UnknownInputError
            If no input, or several, answer to the key.
        TypeError
            If the value is not of the input's type.
        """
        self.value[key] = value

    def __contains__(self, key: object) -> bool:
        """Whether exactly one input or shared variable has this position, variable or name."""
        return key in self.value

    def __iter__(self) -> Value:
        """Refuse: looking up values by position does not make a function a sequence."""
        msg = f"{self.signature.title}: a function cannot be walked through. Its outputs are in f.outputs."
        raise CallError(msg)

    @property
    def input_storage(self) -> list[Container]:
        """The cells of the inputs and shared variables; that of an input without default is empty."""
        return [self._kept.cell(at) for at in range(len(self._kept))]

    @property
    def output_storage(self) -> list[Container]:
        """An empty cell for each output: results go to the caller and are kept nowhere."""
        if self._output_storage is None:
            self._output_storage = [Container(o.variable.type, None, name=o.variable.name) for o in self.outputs]
        return self._output_storage

    @property
    def indices(self) -> list[tuple[In, list[int], list[In]]]:
        """For each explicit input: the input, its position in a list, itself in a list."""
        return [(item, [i], [item]) for i, item in enumerate(self.maker.specification.inputs)]

    @property
    def defaults(self) -> list[tuple[bool, bool, Container | None]]:
        """For each input: whether an argument is required, whether a call leaves the default as it is, its cell."""
        spec = self.maker.specification
        written = {cell for cell, _ in spec.updates}
        return [(cell is None, cell is not None and cell not in written, cell) for cell in spec.cells()]

    @property
    def outputs(self) -> list[Out]:
        """The outputs."""
        return list(self.maker.specification.outputs)

    @property
    def output_keys(self) -> list[Any] | None:
        """The keys of a dict of outputs, else None."""
        keys = self.maker.specification.keys
        return None if keys is None else list(keys)

    @property
    def unpack_single(self) -> bool:
        """Whether a call returns the bare value of the only output."""
        return self.maker.specification.single

    @property
    def return_none(self) -> bool:
        """Whether None was given for the outputs; a call then returns an empty list."""
        return self.maker.specification.none
