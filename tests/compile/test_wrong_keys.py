"""Functions asked for keys, swaps and names of inputs that they do not have."""

import inspect
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import UnknownInputError, function


class Broken:
    """A key whose methods fail, as those of objects in a broken state do."""

    def _fail(self, *args: object) -> Any:
        raise RuntimeError

    __repr__ = _fail
    __eq__ = _fail
    __hash__ = _fail


def test_a_key_that_cannot_be_compared_is_refused() -> None:
    x = tt.dvector("x")
    f = function([x], x * 2, mode="VM")
    with pytest.raises(UnknownInputError, match="no input or shared variable is <Broken"):
        f[Broken()]
    assert Broken() not in f


def test_a_swap_that_is_not_a_mapping_is_refused() -> None:
    x = tt.dvector("x")
    f = function([x], x * 2, mode="VM")
    wrong: Any = np.ones(2)
    with pytest.raises(TypeError, match="copy: swap must be a dict, got array"):
        f.copy(swap=wrong)


def test_an_input_with_an_empty_name_has_a_signature() -> None:
    x, y = tt.dvector("x"), tt.dscalar("")
    f = function([x, y], x * y, mode="VM")
    assert "args" in inspect.signature(f).parameters
