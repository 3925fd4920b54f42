"""What distributions bring to `treadle.tensor` is all that is missing without them."""

import subprocess
import sys

import pytest

from tests.repo.tree import ROOT

# Distributions to hide together, and names of `treadle.tensor` that they bring.
HIDDEN = (
    (
        ("as-pytensor", "pytensor-surface", "named-tensors", "neural", "linalg", "optimize", "random", "signal"),
        ("linalg", "norm", "Cholesky", "fft", "signal", "convolve", "random", "PortableDraws", "optimize", "nn"),
    ),
    (
        ("as-pytensor", "pytensor-surface", "named-tensors", "neural", "signal", "optimize"),
        ("fft", "conv2d", "optimize", "polyfit"),
    ),
    (("as-pytensor", "pytensor-surface", "named-tensors", "neural", "random"), ("random", "GeneratorDraws")),
)

PROGRAM = """
import sys

from tests.repo.hiding import hide

hidden, names = {hidden!r}, {names!r}
hide(*hidden)

import numpy as np

import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.rewrite import rewrite_graph
from treadle.tensor.rewrites import holds

rows = np.arange(6.0).reshape(2, 3)
x, w = tt.dmatrix("x"), shared(np.ones(3), name="w")
loss = tt.mean(tt.log(1 + tt.exp(x @ w)) ** 2)
slope = tt.grad(loss, w)
total = tt.scan(lambda s: s * 2, outputs_info=[tt.constant(1.0)], n_steps=4, return_updates=False)
sizes = rows.sum(axis=1)
value = np.mean(np.logaddexp(0, sizes) ** 2)
gradient = (np.logaddexp(0, sizes) / (1 + np.exp(-sizes))) @ rows
for mode in ("VM", "C"):
    values = function([x], [loss, slope, total], mode=mode)(rows)
    np.testing.assert_allclose(values[0], value)
    np.testing.assert_allclose(values[1], gradient)
    assert values[2][-1] == 16
assert rewrite_graph(tt.log(tt.exp(x)), include=("canonicalize", "stabilize")) is x
assert holds("symmetric", x @ x.T)


def told(call):
    try:
        call()
    except AttributeError as error:
        return str(error)
    raise AssertionError(call)


for name in names:
    message = told(lambda: getattr(tt, name))
    assert "not installed" in message, message
    assert any(repr(owner) in message for owner in hidden), message
if "linalg" in hidden:
    assert "that brings it is not installed, 'linalg'" in told(lambda: tt.linalg)
    assert "'linalg'" in told(lambda: np.linalg.norm(x))
assert not any(name.startswith(f"treadle.tensor.{{gone}}") for name in sys.modules for gone in hidden)
"""


@pytest.mark.parametrize(("hidden", "names"), HIDDEN, ids="-".join)
def test_tensor_works_without_what_other_distributions_bring(hidden: tuple[str, ...], names: tuple[str, ...]) -> None:
    program = PROGRAM.format(hidden=hidden, names=names)
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
