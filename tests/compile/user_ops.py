"""Ops as users write them, that compute in Python alone."""

from __future__ import annotations

from typing import Any

import numpy as np

import treadle.tensor as tt
from treadle.graph import Apply, Op, Type, Variable


class Record(Type):
    """Values that are not arrays."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        del strict, allow_downcast
        return data


class Twice(Op):
    """2x, with its gradient."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        if np.any(np.isnan(inputs[0])):
            msg = "no number"
            raise ValueError(msg)
        output_storage[0][0] = inputs[0] * 2

    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        del inputs, outputs
        return [cotangents[0] * 2]


class TwiceOfThree(Twice):
    """2x, said to have three elements whatever x has."""

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [tt.tensor(dtype="float64", shape=(3,))])


class AddOneInPlace(Op):
    """Adds one to its input's own memory."""

    __props__ = ()
    destroy_map = {0: [0]}  # noqa: RUF012 - as users write it

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        inputs[0][...] += 1
        output_storage[0][0] = inputs[0]


class Backwards(Op):
    """A view of its input, from the last to the first."""

    __props__ = ()
    view_map = {0: [0]}  # noqa: RUF012 - as users write it

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        output_storage[0][0] = inputs[0][::-1]


class SumAndLength(Op):
    """Two outputs, of different ranks and dtypes."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [tt.dscalar(), tt.lscalar()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        output_storage[0][0] = np.asarray(inputs[0].sum())
        output_storage[1][0] = np.asarray(len(inputs[0]))


class Steps(Op):
    """The numbers 0, 1, 2, without inputs."""

    __props__ = ()

    def make_node(self) -> Apply:
        return Apply(self, [], [tt.dvector()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node, inputs
        output_storage[0][0] = np.arange(3.0)


class Pack(Op):
    """A record of a vector's sum."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [Record()()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        output_storage[0][0] = {"sum": float(inputs[0].sum())}


class Unpack(Op):
    """The number in a record."""

    __props__ = ()

    def make_node(self, x: Variable) -> Apply:
        return Apply(self, [x], [tt.dscalar()])

    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        del node
        output_storage[0][0] = np.asarray(inputs[0]["sum"])
