"""Generators in graphs: objects with the methods of Generator that build the graph of what is drawn."""

from __future__ import annotations

import math
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.tensor.elementwise.cast import cast
from treadle.tensor.random.generators.generator_draws import GENERATOR_SAMPLERS, GeneratorDraws
from treadle.tensor.random.generators.portable_draws import PortableDraws
from treadle.tensor.random.methods.generator_methods import GeneratorMethods
from treadle.tensor.reductions.normalization import softmax
from treadle.tensor.shapes.shape import LENGTH
from treadle.tensor.types.conversion import as_tensor_variable, constant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.tensor.random.methods.generator_methods import Operand, Size
    from treadle.tensor.variables.variable import TensorVariable


_signature = cache(signature)


def arguments_of(name: str, parameters: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[list[Any], Any]:
    """Return a draw's parameters in order, defaults among them, and its size, from what NumPy's method is called with.

    Raises
    ------
    TypeError
        If the method does not take these, or takes more than parameters and a size.
    """
    taken = _signature(getattr(GeneratorMethods, name))
    if "size" not in taken.parameters:  # of an array's elements: one call for each array of a batch
        return list(parameters), keywords["size"]
    call = taken.bind(None, *parameters, **keywords)
    call.apply_defaults()
    _, *values = call.args
    place = list(taken.parameters).index("size") - 1
    own, size, more = values[:place], values[place], values[place + 1 :]
    if name == "integers":
        low, high = (0, own[0]) if own[1] is None else own
        own = [low, high + 1 if more.pop() else high]
    defaults = [p.default for p in taken.parameters.values()][place + 2 :]
    if any(value is not default and value != default for value, default in zip(more, defaults, strict=False)):
        msg = f"{name}: compiled draws take parameters and a size only, got {dict(keywords)}. Leave out the rest."
        raise TypeError(msg)
    return own, size


class SymbolicGenerator:
    """A generator of a graph; `state` is the variable of its state, which moves on with each draw."""

    __slots__ = ("dtype", "state")

    def __init__(self, state: TensorVariable, dtype: str = "float64") -> None:
        self.state = state
        self.dtype = dtype

    @staticmethod
    def operand(value: Operand) -> TensorVariable:
        """Return a parameter as a variable."""
        return as_tensor_variable(value)


class SymbolicPortableGenerator(SymbolicGenerator, GeneratorMethods):
    """A `PortableGenerator` of a graph."""

    __slots__ = ()

    def shape_for(self, size: Size, *parameters: Operand) -> tuple[Any, ...]:
        """Return the size, which is given in graphs."""
        return tuple(size)  # type: ignore[arg-type]  # a sequence

    def limits(self, low: Operand, high: Operand, dtype: np.dtype, endpoint: bool) -> tuple[Any, Any]:
        """Return the least integer that may be drawn and the first that may not, as int64 modulo 2**64."""
        low, high = (cast(as_tensor_variable(x), "int64") for x in (low, high))
        stop = high + 1 if endpoint else high
        valid, text = (low <= high, "low > high") if endpoint else (low < high, "low >= high")
        return low, self.require(valid, stop, text)

    @staticmethod
    def shares(logs: Operand) -> TensorVariable:
        """Return exponentials over their sums along the last dimension, in one pass."""
        return softmax(logs, axis=-1)

    def draw(self, sampler: str, shape: Sequence[Any], dtype: str, *parameters: Operand) -> TensorVariable:
        """Return a node's draw, and move on."""
        lengths = [constant(n, dtype=LENGTH) if isinstance(n, int) else n for n in shape]
        op = PortableDraws(sampler, dtype, len(lengths))
        typed = (cast(as_tensor_variable(p), kind) for p, kind in zip(parameters, op.parameter_dtypes, strict=True))
        drawn: TensorVariable = op(self.state, *lengths, *typed)
        count = math.prod(lengths, start=constant(1, dtype=LENGTH))
        used = -(-count // op.per_block)
        self.state = self.state + used * constant(np.array([0, 0, 1]))
        return drawn


class SymbolicNumpyGenerator(SymbolicGenerator):
    """NumPy's generator of a graph: its methods draw what NumPy's do, bit for bit."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Callable[..., TensorVariable]:
        """Return a method that draws."""
        if name not in GENERATOR_SAMPLERS:
            raise AttributeError(name)

        def method(*parameters: Operand, dtype: str | None = None, **keywords: Any) -> TensorVariable:
            dtypes = GeneratorDraws.parameter_dtypes(name)
            values, shape = arguments_of(name, parameters, keywords)
            op = GeneratorDraws(name, dtype or GENERATOR_SAMPLERS[name][1][0], len(shape))
            lengths = [constant(n, dtype=LENGTH) if isinstance(n, int) else n for n in shape]
            typed = (cast(as_tensor_variable(p), kind) for p, kind in zip(values, dtypes, strict=True))
            drawn: TensorVariable
            self.state, drawn = op(self.state, *lengths, *typed)
            return drawn

        return method
