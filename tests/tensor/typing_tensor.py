"""What type checkers infer for tensors. Checked by mypy; nothing here is run."""

from typing import assert_type

import numpy as np

from treadle.graph import Apply, Variable
from treadle.tensor import (
    TensorConstant,
    TensorLike,
    TensorNode,
    TensorType,
    TensorVariable,
    as_tensor_variable,
    constant,
    tensors,
)


def variables(x: TensorVariable) -> None:
    assert_type(x.type, TensorType)
    assert_type(x.owner, TensorNode | None)
    assert_type(TensorType("int8")(), TensorVariable)
    assert_type(TensorType("int8").make_constant(1), TensorConstant)
    assert_type(constant(1).type, TensorType)
    of_its_type: Variable[TensorType] = x
    assert_type(of_its_type.type, TensorType)


def nodes(node: Apply, of_tensors: TensorNode) -> None:
    assert_type(tensors(node.inputs), list[TensorVariable])
    assert_type(of_tensors.inputs[0].type.ndim, int)


def what_stands_for_tensors(x: TensorVariable, node: Apply, array: np.ndarray) -> None:
    values: list[TensorLike] = [x, node, array, np.float32(1), True, 1, 1.5, 1j, [1, [x, array]], (x, 2)]
    assert_type(as_tensor_variable(values), TensorVariable)
