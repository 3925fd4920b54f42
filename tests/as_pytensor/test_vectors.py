"""Vectors of scalars are one op in PyTensor's place, and draws by definitions and of sparse matrices work there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.as_pytensor.processes import values

PROGRAM = """
import numpy as np
import pytensor
import pytensor.tensor as pt
import scipy.sparse
from pytensor.graph.rewriting.utils import rewrite_graph
from pytensor.tensor.basic import AllocEmpty, MakeVector
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.subtensor import as_index_constant
from pytensor.sparse import as_sparse

a, b = pt.dscalars("ab")
n = pt.lscalar("n")
made = [pt.stack([a, b]), pt.stack((a, 1)), pt.as_tensor([n, 3]), pt.as_tensor_variable([a, b])]
values["vectors"] = [isinstance(x.owner.op, MakeVector) for x in made]
values["others"] = [isinstance(x.owner.op, MakeVector) for x in (pt.stack([a]), pt.stack([made[0], made[1]]))]
values["constants"] = pt.as_tensor([1, pt.constant(2)]).data.tolist()
five = pt.constant(5)
values["again"] = [pt.constant(five) is five, pt.constant(five, name="n").name, pt.constant(five, ndim=1).ndim]
values["canonical"] = isinstance(rewrite_graph(made[0] * 1, include=("canonicalize",)).owner.op, MakeVector)
values["lists"] = pt.stacklists([[a, b], [b, a]]).eval({a: 1.0, b: 2.0}).tolist()
compiled = pytensor.function([a, b], [made[0] * 2, made[0][1]])
values["compiled"] = [x.tolist() for x in compiled(1.0, 2.0)]
left = [type(node.op) for node in compiled.maker.fgraph.apply_nodes]
values["joined"] = MakeVector not in left
values["lengths"] = list(pt.zeros(made[2]).type.shape)
values["draw"] = list(pt.random.multivariate_normal(np.zeros(2), np.eye(2), size=(3,)).eval().shape)
room = AllocEmpty("float64")(2)
values["room"] = isinstance(rewrite_graph(room, include=("canonicalize",)).owner.op, AllocEmpty)

class Product(RandomVariable):
    name = "product"
    signature = "(n,n),(n)->(n)"
    dtype = "float64"

    @classmethod
    def rng_fn(cls, rng, matrix, vector, size):
        return matrix @ vector

drawn = Product()(as_sparse(scipy.sparse.csr_matrix(np.diag([2.0, 3.0]))), [1.0, 1.0])
values["sparse"] = drawn.eval().tolist()
index = as_index_constant(slice(2, None, n))
values["index"] = [int(index.start.data), index.stop, index.step is n, as_index_constant(None)]
"""

EXPECTED: dict[str, Any] = {
    "vectors": [True, True, True, True],
    "others": [False, False],
    "constants": [1, 2],
    "again": [True, "n", 1],
    "canonical": True,
    "lists": [[1.0, 2.0], [2.0, 1.0]],
    "compiled": [[2.0, 4.0], 2.0],
    "joined": True,
    "lengths": [None, 3],
    "draw": [3, 2],
    "room": True,
    "sparse": [2.0, 3.0],
    "index": [2, None, True, None],
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return values(PROGRAM)


@pytest.mark.parametrize("name", EXPECTED)
def test_value_is_that_of_pytensor(found: dict[str, Any], name: str) -> None:
    assert found[name] == EXPECTED[name]
