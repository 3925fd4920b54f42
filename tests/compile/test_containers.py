"""Containers: the cells that functions and shared variables hold, as documented."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import In, function, shared
from treadle.link.basic import Container


def test_storage_is_a_list_of_the_value() -> None:
    x = tt.dscalar("x")
    kept = shared(np.arange(2.0), name="kept", strict=True)
    add = function([In(x, value=1.0, name="start")], x + kept, mode="VM")
    for cell, expected in ((add.input_storage[0], 1.0), (kept.container, [0.0, 1.0]), (add.input_storage[1], [0, 1])):
        storage: Any = cell.storage
        assert len(storage) == 1
        np.testing.assert_array_equal(storage[0], expected)
        assert isinstance(cell, Container)
    add.input_storage[0].storage[0] = 5
    assert add().tolist() == [5.0, 6.0]
    kept.container.storage[0] = np.array([1.0, 1.0])
    assert kept.get_value().tolist() == [1.0, 1.0]
    assert add().tolist() == [6.0, 6.0]


def test_outputs_have_cells_too() -> None:
    x = tt.dscalar("x")
    twice = function([x], x * 2, mode="VM")
    assert isinstance(twice.output_storage[0], Container)
    assert list(twice.output_storage[0].storage) == [None]


def test_storage_has_one_place() -> None:
    x = tt.dscalar("x")
    twice = function([In(x, value=1.0)], x * 2, mode="VM")
    with pytest.raises(IndexError):
        twice.input_storage[0].storage[1] = 3.0
    assert twice() == 2.0


def test_cell_knows_the_rules_of_its_variable() -> None:
    kept = shared(np.arange(2.0), name="kept", strict=True)
    assert (kept.container.strict, kept.container.allow_downcast, kept.container.name) == (True, None, "kept")
    assert not kept.container.readonly
    with pytest.raises(TypeError, match="strict"):
        kept.container.data = [1.0, 2.0]
    with pytest.raises(TypeError, match="strict"):
        kept.container.storage[0] = np.arange(2)
    x = tt.fscalar("x")
    half = function([In(x, value=1.0, allow_downcast=True)], x / 2, mode="VM")
    half.input_storage[0].data = 0.1
    assert half() == np.float32(0.1) / 2
    again = pickle.loads(pickle.dumps(kept)).container
    assert (again.strict, again.name) == (True, "kept")
