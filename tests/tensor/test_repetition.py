"""repeat, and functions that count, with numbers at the ends of int64."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from tests.contract.backends import BACKENDS
from treadle.compile import function
from treadle.tensor import ShapeError

MODES = [name.upper() for name in BACKENDS if name not in {"jax", "pytorch"}]
WRAPPING = [[2**62] * 4, [2**63 - 1] * 4, [2**62, 2**62, 0, 0], [0, 2**63 - 1, 1, 0], [2**61] * 4]

# NumPy's own repeat ends the process in these cases: so would a function that calls it.
PROGRAM = """
import numpy as np, treadle.tensor as tt
from treadle.compile import function
from treadle.graph import NodeError
x, r = tt.dvector("x"), tt.lvector("r")
for out in (tt.repeat(x, r), tt.repeat(x, r).shape[0], tt.repeat(x[:, None], r, axis=0)):
    f = function([x, r], out, mode={mode!r}, on_unused_input="ignore")
    for counts in {counts}:
        try:
            f(np.arange(4.0), counts)
        except ValueError as error:
            assert "repeat" in str(error) or "length" in str(error), error
        else:
            raise AssertionError(counts)
    assert np.size(f(np.arange(4.0), [1, 0, 2, 0])) in (1, 3)
print("alive")
"""


@pytest.mark.parametrize("mode", MODES)
def test_numbers_of_repetitions_beyond_int64_are_refused(mode: str) -> None:
    program = PROGRAM.format(mode=mode, counts=WRAPPING)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


@pytest.mark.parametrize("counts", [*WRAPPING, [2**62]])
def test_constant_numbers_beyond_int64_are_refused_when_built(counts: list[int]) -> None:
    with pytest.raises(ShapeError, match=r"repeat: the result would have .* elements"):
        tt.repeat(tt.dvector("x", shape=(4,)), np.array(counts))


@pytest.mark.parametrize("mode", MODES)
def test_bincount_of_the_largest_integer_is_refused(mode: str) -> None:
    i = tt.lvector("i")
    f = function([i], tt.bincount(i), mode=mode)
    for values in ([2**63 - 1], [0, 2**62]):
        with pytest.raises((ValueError, MemoryError)):
            f(np.array(values))
    counts: Any = f(np.array([1, 1, 3]))
    assert counts.tolist() == [0, 2, 0, 1]
