"""Batches in PyTensor's place: other dtypes, dimensions of draws, functions that searches call; ops of graphs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.as_pytensor.processes import values

PROGRAM = """
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.builders import SymbolicOp
from pytensor.compile.ops import ViewOp
from pytensor.graph import vectorize_graph
from pytensor.graph.replace import _vectorize_node, _vectorize_not_needed
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.raise_op import Assert
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import Elemwise
from pytensor.tensor.linalg import Cholesky
from pytensor.tensor.math import Dot
from pytensor.tensor.optimize import LRUCache1

x, y, n = pt.lvector("x"), pt.imatrix("y"), pt.lscalar("n")
wide = vectorize_graph([x[0] * 2, x.sum()], {x: y})
values["dtypes"] = [out.dtype for out in wide]
values["batch"] = [out.eval({y: np.array([[1, 2], [3, 4]], np.int32)}).tolist() for out in wide]
values["registry"] = [ViewOp in _vectorize_node.registry]
_vectorize_node.register(ViewOp, _vectorize_not_needed)
values["registry"].append(ViewOp in _vectorize_node.registry)

a = pt.dvector("a")
def ranks(*args, **kwargs):
    return [p.ndim for p in pt.random.normal(*args, **kwargs).owner.inputs[2:]]

values["parameters"] = [ranks(a, 1.0), ranks(a, 1.0, size=(2, 3)), ranks(0.0, 1.0), ranks(0.0, 1.0, size=n[None])]
vectors = pt.random.multivariate_normal(pt.zeros((4, 2)), pt.eye(2))
values["vectors"] = [p.ndim for p in vectors.owner.inputs[2:]]

checked = Assert("positive")(a, n > 0) * 2
values["checked"] = isinstance(rewrite_graph(checked, include=("canonicalize",)).owner.op, Elemwise)

stacks = pt.dtensor3("stacks")
kinds = [out.owner for out in (stacks @ stacks, pt.linalg.cholesky(stacks), pt.exp(stacks))]
values["blockwise"] = [isinstance(node.op, Blockwise) for node in kinds]
values["cores"] = [isinstance(node.op.core_op, core) for node, core in zip(kinds, (Dot, Cholesky))]
values["stacked"] = [node.op.batch_ndim(node) for node in kinds[:2]]

class Power(SymbolicOp):
    __props__ = ("exponent",)
    inline = True

    def __init__(self, input_types=None, *, factor, **kwargs):
        self.factor = factor
        super().__init__(input_types=input_types, **kwargs)
        self._init_kwargs["factor"] = factor

    @staticmethod
    def filter_inputs(*inputs):
        return [x * 2 for x in inputs]

    def build_inner_graph(self, x):
        return [x**self.exponent * self.factor]

    def pullback(self, inputs, outputs, cotangents):
        return [7 * cotangents[0]]

power = Power(exponent=3, factor=0.5)(a)
values["symbolic"] = [power.eval({a: [1.0, 2.0]}).tolist(), pytensor.grad(power.sum(), a).eval({a: [1.0]}).tolist()]
built = Power(input_types=[a.type], exponent=2, factor=1.0)
values["symbolic of types"] = [built.fgraph.inputs[0].type == a.type, built(a).owner.op == built]

calls = LRUCache1(pytensor.function([a], [(a**2).sum(), 2 * a]), copy_x=True)
at = np.array([1.0, 2.0])
values["results"] = [float(calls.value(at)), calls.grad(at).tolist(), len(calls.value_and_grad(at))]
at[0] = 3.0
values["moved"] = float(calls.value(at))
values["counts"] = [calls.cache_hits, calls.cache_misses, calls.value_calls, calls.grad_calls, calls.hess_calls]
"""

EXPECTED: dict[str, Any] = {
    "dtypes": ["int32", "int64"],
    "batch": [[2, 6], [3, 7]],
    "registry": [False, True],
    "parameters": [[1, 1], [2, 2], [0, 0], [1, 1]],
    "vectors": [2, 3],
    "checked": True,
    "blockwise": [True, True, False],
    "cores": [True, True],
    "stacked": [1, 1],
    "symbolic": [[4.0, 32.0], [14.0]],
    "symbolic of types": [True, True],
    "results": [5.0, [2.0, 4.0], 2],
    "moved": 13.0,
    "counts": [2, 2, 2, 1, 0],
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return values(PROGRAM)


@pytest.mark.parametrize("name", EXPECTED)
def test_value_is_that_of_pytensor(found: dict[str, Any], name: str) -> None:
    assert found[name] == EXPECTED[name]
