"""treadle's own parts work without pytensor-surface, and what PyTensor's documentation names comes with it."""

import subprocess
import sys

from tests.repo.tree import ROOT

PROGRAM = """
import tests.repo.without_surface

import pickle
import sys

import numpy as np

import treadle.tensor as tt
from treadle.compile import Mode, function, get_mode, shared
from treadle.graph import Apply, Op, clone_replace
from treadle.rewrite import rewrite_graph


class Double(Op):
    __props__ = ()

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = 2 * inputs[0]

    def pullback(self, inputs, outputs, cotangents):
        return [2 * cotangents[0]]


x, w = tt.dmatrix("x"), shared(np.ones(3), name="w")
loss = tt.mean(tt.linalg.norm(Double()(x) @ w) ** 2)
slope = tt.grad(loss, w)
step = function([x], loss, updates={w: w - 0.01 * slope}, mode="VM")
copy = pickle.loads(pickle.dumps(step))
rows = np.arange(6.0).reshape(2, 3)
np.testing.assert_allclose([step(rows), copy(rows)], np.sum((2 * rows.sum(axis=1)) ** 2))
again = clone_replace(loss, {x: x + 0 * x})
rewrite_graph(again, include=("canonicalize",))
total = tt.scan(lambda s: s * 2, outputs_info=[tt.constant(1.0)], n_steps=4, return_updates=False)
assert function([], total, mode=Mode("py"))()[-1] == 16
draw = tt.random.normal(size=3)
assert function([], draw, mode="VM")().shape == (3,)
assert type(get_mode("VM").linker).__name__ == "PythonLinker"
assert not any("surface" in name for name in sys.modules if name.startswith("treadle."))
for module in ("treadle.surface", "treadle.gradient", "treadle.tensor.nlinalg", "treadle.graph.basic"):
    try:
        __import__(module)
    except ModuleNotFoundError:
        continue
    raise AssertionError(module)
assert not hasattr(Double, "L_op")
"""


def test_treadle_works_without_what_pytensors_documentation_names() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
