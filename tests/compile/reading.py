"""Ops that read values that are not their parameters, in all the ways that Python has."""

import os
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

import treadle.tensor as tt
from tests.compile import redefined
from treadle.graph import Apply, Op

IN_DICT: dict[str, float] = {"value": 0.0}
IN_LIST: list[float] = [0.0]
IN_ARRAY = np.zeros(1)
PLAIN = 0.0
PATH = ""


class Holder:
    """Keeps a value."""

    def __init__(self) -> None:
        self.value = 0.0

    def get(self) -> float:
        return self.value


HOLDER = Holder()


def from_argument(value: float) -> float:
    return value


CURRENT: Callable[[], float] = partial(from_argument, 0.0)


@lru_cache
def remembered() -> float:
    return IN_DICT["value"]


class Reading(Op):
    """Multiplies by a value that it reads, or gives it as the length."""

    __props__ = ()
    in_class: Any = 0.0

    def read(self) -> float:
        raise NotImplementedError

    def make_node(self, x: Any) -> Apply:
        return Apply(self, [x], [x.type()])

    def infer_shape(self, node: Apply, shapes: Any) -> Any:
        return [(tt.constant(int(self.read())),)]

    def perform(self, node: Apply, inputs: Any, outputs: Any) -> None:
        outputs[0][0] = inputs[0] * self.read()


class FromDict(Reading):
    def read(self) -> float:
        return IN_DICT["value"]


class FromList(Reading):
    def read(self) -> float:
        return IN_LIST[0]


class FromArray(Reading):
    def read(self) -> float:
        return float(IN_ARRAY[0])


class FromPlain(Reading):
    def read(self) -> float:
        return PLAIN


class FromModule(Reading):
    def read(self) -> float:
        return redefined.FACTOR


class FromMethod(Reading):
    def read(self) -> float:
        return HOLDER.get()


class FromPartial(Reading):
    def read(self) -> float:
        return CURRENT()


class FromEnvironment(Reading):
    def read(self) -> float:
        return float(os.environ["TREADLE_TEST_VALUE"])


class FromGetenv(Reading):
    def read(self) -> float:
        return float(os.getenv("TREADLE_TEST_VALUE", "0"))


class FromFile(Reading):
    def read(self) -> float:
        with open(PATH) as file:  # noqa: PTH123 - one of the ways to read
            return float(file.read())


class FromClass(Reading):
    def read(self) -> float:
        return float(self.in_class[0])


class FromAttribute(Reading):
    def __init__(self) -> None:
        self.hidden = IN_LIST[0]

    def read(self) -> float:
        return self.hidden


class FromSlot(Reading):
    __slots__ = ("hidden",)

    def __init__(self) -> None:
        self.hidden = IN_LIST[0]

    def read(self) -> float:
        return self.hidden


class FromMemory(Reading):
    def read(self) -> float:
        return remembered()


class FromDefault(Reading):
    def read(self, held: Any = IN_DICT) -> float:
        return float(held["value"])


KINDS: dict[str, type[Reading]] = {kind.__name__: kind for kind in Reading.__subclasses__()}


def set_all(value: float, folder: Any) -> None:
    """Let every op read this value from now on."""
    IN_DICT["value"] = IN_LIST[0] = IN_ARRAY[0] = HOLDER.value = redefined.FACTOR = value
    globals().update(PLAIN=value, CURRENT=partial(from_argument, value), PATH=str(folder / "value"))
    FromClass.in_class = [value]
    remembered.cache_clear()
    os.environ["TREADLE_TEST_VALUE"] = str(value)
    (folder / "value").write_text(str(value))
