"""Batches in PyTensor's place: inputs of other dtypes, dimensions of draws, functions that searches call."""

from __future__ import annotations

from typing import Any

import pytest

from tests.as_pytensor.processes import values

PROGRAM = """
import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.compile.ops import ViewOp
from pytensor.graph import vectorize_graph
from pytensor.graph.replace import _vectorize_node, _vectorize_not_needed
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.raise_op import Assert
from pytensor.tensor.elemwise import Elemwise
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
