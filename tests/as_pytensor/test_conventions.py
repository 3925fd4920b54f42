"""PyTensor's conventions hold while treadle is in its place: the values are those that PyTensor 3.3.8 gives."""

from __future__ import annotations

from typing import Any

import pytest

from tests.as_pytensor.processes import values

PROGRAM = """
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor import grad
from pytensor.compile import get_mode
from pytensor.gradient import DisconnectedInputError
from pytensor.tensor import fft

pytensor.config.mode = "FAST_COMPILE"
f32 = np.float32
x = pt.fvector("x")
wide = np.array([1e8, 1, -1e8], f32)
values["sum"] = [float(x.sum().eval({x: wide})), float(x.mean().eval({x: wide})), x.sum().dtype, x.mean().dtype]
values["prod"] = float(x.prod().eval({x: np.array([1e30, 1e30, 1e-30], f32)}))
h = pt.vector("h", dtype="float16")
values["half"] = [h.sum().dtype, float(h.sum().eval({h: np.full(5000, 1, np.float16)}))]

s, v, i = pt.dscalar("s"), pt.dvector("v"), pt.lscalar("i")

def slope(cost, at=0.0):
    return float(grad(cost, s).eval({s: at}, on_unused_input="ignore"))

values["ties"] = [slope(c) for c in (pt.maximum(s, 0.0), pt.maximum(0.0, s), pt.minimum(s, 0.0), pt.minimum(0.0, s))]
values["beside"] = [slope(pt.maximum(s, 0.0), at) for at in (-1.0, 1.0)]
values["reduced"] = [grad(c, v).eval({v: [1.0, 1.0, 0.0]}).tolist() for c in (v.max(), v.min())]
values["clip"] = [slope(pt.clip(s, 0.0, 1.0), at) for at in (0.0, 1.0)]

by = grad((i * s).sum(), [s, i])
values["integers"] = [[g.dtype, float(g.eval({s: 1.0, i: 2}, on_unused_input="ignore"))] for g in by]
z = pt.lscalar("z")
values["integer cost"] = [grad(z**2, z).dtype, float(grad(z**2, z).eval({z: 3}, on_unused_input="ignore"))]
values["cast"] = slope(pt.cast(pt.cast(s, "int64") * 2, "float64"), 1.5)
values["floor"] = slope(pt.floor(s), 1.5)
values["equal"] = slope((s * pt.eq(s, 1.0)).sum(), 1.0)
c = pt.dscalar("c")
both = grad(pt.switch(c, s, 2 * s), [c, s])
values["condition"] = [float(g.eval({s: 1.0, c: 2.0}, on_unused_input="ignore")) for g in both]
refused = []
for cost, by in ((pt.lscalar("a") ** 2, s), (v[i], i), (s, pt.lscalar("apart"))):
    try:
        grad(cost, by)
        refused.append(False)
    except DisconnectedInputError:
        refused.append(True)
values["disconnected"] = refused

def kinds(out, cotangents):
    node = out.owner
    return [type(g.type).__name__ for g in node.op.L_op(node.inputs, node.outputs, cotangents)]

taken = v[pt.lvector("positions")]
values["L_op"] = kinds(taken, [taken])

values["arange"] = [pt.arange(*bounds).dtype for bounds in (
    (pt.fscalar("a"),), (f32(3),), (3.0,), (3,), (pt.iscalar(),), (0, pt.fscalar("a"), 0.1),
    (pt.lscalar(), pt.fscalar()), (pt.dscalar(),))]

m, t = pt.dmatrix("m"), pt.dtensor3("t")
rows = np.arange(8.0).reshape(2, 4)
values["rfft"] = [fft.rfft(m, norm=norm).eval({m: rows}).round(12).tolist() for norm in (None, "ortho")]
back = [fft.irfft(fft.rfft(m, norm=norm), norm=norm) for norm in (None, "ortho", "no_norm")]
values["irfft"] = [out.eval({m: rows}).round(12).tolist() for out in back]
values["odd"] = fft.irfft(fft.rfft(m), is_odd=True).eval({m: rows[:, :3]}).round(12).tolist()
values["batch"] = fft.rfft(t).eval({t: np.arange(24.0).reshape(2, 3, 4)})[..., :2, :].sum((0, 1)).round(12).tolist()
values["pairs"] = fft.irfft(t).eval({t: np.ones((2, 3, 2))}).tolist()
values["rfft slope"] = grad((fft.rfft(m) ** 2).sum(), m).eval({m: rows}).round(12).tolist()
values["rfft dtype"] = fft.rfft(pt.fmatrix()).dtype

stack = np.arange(12.0).reshape(2, 2, 3)
orders = (None, "fro", 1, -1, 2, np.inf, "nuc")
values["norm"] = [pt.linalg.norm(t, ord=order).eval({t: stack}).round(6).tolist() for order in orders]
values["norm axes"] = [pt.linalg.norm(t, axis=axis).eval({t: stack}).round(6).tolist() for axis in (1, (0, 1))]
kept = [pt.linalg.norm(t, keepdims=True), pt.linalg.norm(v), pt.linalg.norm(v, keepdims=True)]
values["norm dims"] = [out.ndim for out in kept]
A = pt.dmatrix("A")
values["schur"] = [q.eval({A: [[1.0, 2.0], [0.0, -3.0]]}).round(8).tolist() for q in pt.linalg.schur(A, sort="lhp")]
values["lists"] = [isinstance(r, list) for r in (pt.linalg.svd(A), pt.linalg.qr(A), pt.linalg.schur(A))]
values["raw"] = [[q.ndim for q in pt.linalg.qr(A, mode="raw", pivoting=p)] for p in (False, True)]
from pytensor.graph.fg import FunctionGraph
from pytensor.tensor.random.basic import CategoricalRV
known, unknown = pt.vector("known", shape=(2,)), pt.vector("unknown")
graph = FunctionGraph([known, unknown], [pt.exp(known)], clone=False)
graph.replace(known, unknown)
values["replaced"] = [type(graph.outputs[0].owner.inputs[0].owner.op).__name__, len(graph._features)]
values["size"] = pt.random.normal([0.0, 1.0], size=(3,)).type.shape
values["drawn"] = CategoricalRV.rng_fn(np.random.default_rng(0), np.array([0.2, 0.3, 0.5]), (5,)).tolist()
from pytensor.tensor.random.basic import CauchyRV, GumbelRV
from pytensor.xtensor import random as named
from pytensor.xtensor.random.basic import gumbel
drawn = (named.cauchy(0.0, 1.0), gumbel(0.0, 1.0))
values["named draws"] = [isinstance(x.owner.op.core_op, kind) for x, kind in zip(drawn, (CauchyRV, GumbelRV))]
like = [f(s) for f in (pt.zeros_like, pt.ones_like)] + [pt.full_like(s, 3), pt.basic.zeros_like(v, dtype="int64")]
values["like"] = [[out.dtype, len(list(pytensor.graph.traversal.explicit_graph_inputs([out])))] for out in like]
values["like values"] = [out.eval({s: 1.0, v: [1.0, 2.0]}, on_unused_input="ignore").tolist() for out in like]
values["unread"] = pt.zeros_like(s, opt=True).owner is None
kept = pytensor.function([s], s, mode=pytensor.compile.Mode(linker=get_mode("FAST_RUN").linker))
values["copied"] = [type(node.op).__name__ for node in kept.maker.fgraph.apply_nodes]
by_third = [s / pt.reciprocal(pt.as_tensor(3)), s * pt.reciprocal(pt.as_tensor(3.0))]
values["by a third"] = [round(float(out.eval({s: 0.7})), 14) for out in by_third]
width = pt.floor(pt.as_tensor(100)) - pt.floor(pt.as_tensor(-100)) + 1
values["rounded"] = [f(i).dtype for f in (pt.floor, pt.ceil, pt.trunc)]
values["width"] = [width.dtype, float(pt.exp(pt.log(width)).eval())]
narrow = pt.as_tensor(3) * pt.as_tensor(10) ** 2
narrow = [s / narrow, s + (pt.as_tensor(100) + pt.as_tensor(100))]
values["narrow"] = [round(float(out.eval({s: 0.7})), 12) for out in narrow]
from pytensor.graph.traversal import graph_inputs
rngs = [pytensor.shared(np.random.default_rng(n), name=f"r{n}") for n in range(3)]
drawn = [pt.random.uniform(0, 1, rng=rng).owner for rng in rngs]
moved = {rng: node.outputs[0] for rng, node in zip(rngs[::-1], drawn[::-1])}
graph = pytensor.function([], [node.outputs[1] for node in drawn], updates=moved).maker.fgraph
values["seeded"] = [v.name for v in graph_inputs(graph.outputs) if v in graph.inputs]
values["power"] = [pt.power(5, 2.5), pt.math.power(2, 3), pt.power(s, 2).type.dtype, pt.power(np.arange(3), 2).tolist()]
values["excluded"] = pytensor.function([v], v * 2, mode=get_mode("FAST_RUN").excluding("no_such_rule"))([1.0]).tolist()
"""

# As PyTensor 3.3.8 gives them.
EXPECTED: dict[str, Any] = {
    "named draws": [True, True],
    "sum": [1.0, 0.3333333432674408, "float32", "float32"],
    "prod": 1.0000000150474662e30,
    "half": ["float16", 5000.0],
    "ties": [1.0, 0.0, 1.0, 0.0],
    "beside": [0.0, 1.0],
    "reduced": [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    "clip": [1.0, 1.0],
    "integers": [["float64", 2.0], ["float64", 1.0]],
    "integer cost": ["float64", 0.0],
    "cast": 0.0,
    "floor": 0.0,
    "equal": 1.0,
    "condition": [0.0, 1.0],
    "disconnected": [True, True, True],
    "by a third": [2.1, 0.23333333333333],
    "rounded": ["float64", "float64", "float64"],
    "width": ["float32", pytest.approx(201, rel=1e-6)],
    "narrow": [0.002333333333, 200.7],
    "seeded": ["r2", "r1", "r0"],
    "power": [5**2.5, 8, "float64", [0, 1, 4]],
    "L_op": ["TensorType", "DisconnectedType"],
    "arange": ["float32", "float32", "float32", "int64", "int64", "float64", "float64", "float64"],
    "rfft": [
        [[[6, 0], [-2, 2], [-2, 0]], [[22, 0], [-2, 2], [-2, 0]]],
        [[[3, 0], [-1, 1], [-1, 0]], [[11, 0], [-1, 1], [-1, 0]]],
    ],
    "irfft": [[[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 1, 2, 3], [4, 5, 6, 7]], [[0, 4, 8, 12], [16, 20, 24, 28]]],
    "odd": [[0, 1, 2], [4, 5, 6]],
    "batch": [[180, 0], [-12, 12]],
    "pairs": [[1.0, -0.5, 0.0, 0.5], [1.0, -0.5, 0.0, 0.5]],
    "rfft slope": [[4, 12, 12, 20], [36, 44, 44, 52]],
    "rfft dtype": "float32",
    "norm": [
        [7.416198, 21.236761],
        [7.416198, 21.236761],
        [7.0, 19.0],
        [3.0, 15.0],
        [7.348469, 21.233941],
        [12.0, 30.0],
        [8.348469, 21.580012],
    ],
    "norm axes": [
        [[3.0, 4.123106, 5.385165], [10.816654, 12.206556, 13.601471]],
        [7.416198, 21.236761],
    ],
    "norm dims": [3, 0, 1],
    "schur": [[[-3.0, 2.0], [0.0, 1.0]], [[0.4472136, 0.89442719], [-0.89442719, 0.4472136]]],
    "lists": [True, True, True],
    "raw": [[2, 1, 2], [2, 1, 2, 1]],
    "replaced": ["SpecifyShape", 0],
    "size": [3],
    "drawn": [2, 1, 0, 0, 2],
    "like": [["float64", 1], ["float64", 1], ["int8", 1], ["int64", 1]],
    "like values": [0.0, 1.0, 3, [0, 0]],
    "unread": True,
    "copied": ["DeepCopyOp"],
    "excluded": [2.0],
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return values(PROGRAM)


@pytest.mark.parametrize("name", EXPECTED)
def test_value_is_that_of_pytensor(found: dict[str, Any], name: str) -> None:
    assert found[name] == pytest.approx(EXPECTED[name], rel=1e-7) if name == "prod" else found[name] == EXPECTED[name]
