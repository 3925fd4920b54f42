"""A call that fails keeps no values alive."""

import gc

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import function
from treadle.graph import NodeValueError


# PyTorch's compiler keeps a reference cycle for each shape that it cannot compile for.
@pytest.mark.parametrize("backend", [name.upper() for name in BACKENDS if name != "pytorch"])
def test_values_of_a_failed_call_go_with_its_error(backend: str) -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    run = function([x, y], [x * 2.0, x * 3.0 + y], mode=backend)
    values = np.ones(7), np.ones(4)

    def fail() -> None:
        with pytest.raises(NodeValueError):
            run(*values)

    fail()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        fail()
        gc.collect()
        # Arrays are not containers and do not appear here themselves.
        kept = [item for item in gc.garbage if type(item).__name__ == "frame"]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert kept == []
