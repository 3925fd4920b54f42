"""Rewriters of nodes that are registered by the documented decorators."""

import subprocess
import sys

import treadle.tensor as tt
from treadle.tensor.rewrites.registration import broadcasted_by, elemwise_of

PROGRAM = """
import treadle.tensor as tt
from treadle.compile import function
from treadle.graph import node_rewriter
from treadle.scalar import Sin
from treadle.tensor.rewriting.basic import elemwise_of, register_canonicalize, register_specialize

@register_specialize("a_tag")
@register_canonicalize
@node_rewriter([elemwise_of(Sin)])
def cosine_for_sine(fgraph, node):
    return [tt.cos(node.inputs[0])]

x = tt.dvector("x")
print(function([x], tt.sin(x), mode="FAST_RUN")([0.0])[0], cosine_for_sine)
"""


def test_registered_rewriter_is_used_by_the_modes() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.stdout == "1.0 cosine_for_sine\n", done.stderr


def test_scalar_op_or_its_class_gives_the_elementwise_op() -> None:
    assert elemwise_of(tt.exp.scalar_op) == tt.exp  # type: ignore[arg-type]  # a scalar op


def test_shorter_tensor_is_broadcast() -> None:
    v, m, row = tt.dvector(), tt.dmatrix(), tt.drow()
    assert [broadcasted_by(x, y) for x, y in ((v, m), (m, v), (row, m), (m, row))] == [True, False, True, False]
