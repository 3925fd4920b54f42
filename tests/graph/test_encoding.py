"""The canonical encoding of static parameters."""

import enum
import math
import subprocess
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.graph.arithmetic import NUMBER, Binary
from treadle.graph import ENCODERS, DuplicateRegistrationError, GraphTypeError, digest, encode, tagged


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1


@dataclass(frozen=True)
class Point:
    x: float
    note: str = field(default="", compare=False)


DISTINCT: list[Any] = [
    None, ..., True, False, 0, 1, -1, 2**70, 0.0, -0.0, 1.0, math.inf, 1j, complex(-0.0, 1), "", "1", b"1", (), (1,),
    (1, 1), ((1,), 1), [], [1], {}, {1: 1}, {1: True}, frozenset(), frozenset({1}), slice(1), slice(0, 1),
    Colour.RED, Colour.GREEN, Level.LOW, Point(1.0), Point(2.0), int, float, len, partial(max, 1), partial(max, 2),
    np.float64(1), np.float32(1), np.array(1), np.array([1]), np.array([1.0]), np.array([[1.0]]), np.dtype("int8"),
    np.dtype("int16"), tt.TensorType("float64", (None,)), tt.TensorType("float64", (1,)), NUMBER,
]  # fmt: skip


def test_values_that_differ_in_type_or_bits_have_different_encodings() -> None:
    encodings = [encode(value) for value in DISTINCT]
    assert len(set(encodings)) == len(encodings)


def test_equal_values_have_equal_encodings() -> None:
    assert encode({"a": 1, "b": 2}) == encode({"b": 2, "a": 1})
    assert encode({3, 1, 2}) == encode({2, 3, 1})
    assert encode(math.nan) == encode(float("nan"))
    assert encode(Point(1.0, "one")) == encode(Point(1.0, "other"))
    assert encode(np.arange(6).reshape(2, 3).T) == encode(np.arange(6).reshape(2, 3).T.copy())


def test_ops_with_parameters_that_python_calls_equal_are_told_apart() -> None:
    kinds = [Binary(value) for value in (1, True, 1.0, 0.0, -0.0)]  # type: ignore[arg-type]  # any static parameter
    assert len(set(kinds)) == 5
    assert Binary("+") == Binary("+")


def test_parts_cannot_be_confused_with_other_parts() -> None:
    assert tagged("t", b"ab", b"c") != tagged("t", b"a", b"bc")
    assert tagged("t", b"ab") != tagged("t", b"a", b"b")


@pytest.mark.parametrize("value", [lambda: 1, object(), (lambda: 1,), {1: object()}])
def test_value_that_other_processes_cannot_name_is_refused(value: object) -> None:
    with pytest.raises(GraphTypeError, match=r"encoding: .*(lambda or a local function|no canonical encoding)"):
        encode(value)


def test_type_has_one_encoder() -> None:
    with pytest.raises(DuplicateRegistrationError, match="ndarray has an encoder already"):
        ENCODERS.register(np.ndarray, bytes)


PROGRAM = """
import numpy as np, treadle.tensor as tt
from treadle.graph import digest, encode, graph_key
x = tt.dmatrix("x")
y = tt.exp(x * 2.5).sum(axis=0) + np.arange(3.0)
mixed = ({"b", "a", "c"}, {"k": 1.5, "j": ()}, int, np.arange(3))
print(digest(encode(mixed)), graph_key([x], [y]), y.owner.op.stable_key())
"""


def test_encodings_are_the_same_in_every_process() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(texts) == 1
    assert len(texts.pop().split()) == 3


def test_digest_is_short_text() -> None:
    assert digest(b"") == digest(b"")
    assert len(digest(b"a")) == 32
