"""The derivatives of a product, of every order, exact where factors are zero."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from typing import TYPE_CHECKING

from treadle.graph import DisconnectedType
from treadle.tensor.batches.batching import spread_all
from treadle.tensor.elementwise.arithmetic import add, mul, sub, true_div
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq
from treadle.tensor.embedding.from_graph import OpFromGraph
from treadle.tensor.reductions.reduction import prod, sum_
from treadle.tensor.shapes.batch_dims import most_batch
from treadle.tensor.types.conversion import tensors
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Variable
    from treadle.tensor.ops.tensor_op import Derivatives, Variables
    from treadle.tensor.variables.variable import TensorNode, TensorVariable


class ProductOfOthers(OpFromGraph):
    """For each element the product of the others along axes, differentiated in some directions.

    The formula takes zeros apart, so that its own derivative would be wrong there. But the product is linear in each
    factor: its derivative in a direction leaves out one more element. So the gradient of this op is the same op with
    one more direction, and derivatives of every order are right, each in linear time.
    """

    __props__ = (*(OpFromGraph.__props__ or ()), "axes")

    def __init__(self, elements: Variable, directions: Sequence[Variable], axes: tuple[int, ...]) -> None:
        # It is applied to tensors of any lengths: those of these are not to be part of it.
        kinds = [TensorType(v.dtype, (None,) * v.ndim) for v in tensors((elements, *directions))]
        x, *along = (kind.make_variable() for kind in kinds)
        super().__init__([x, *along], [_value_of_others(x, along, axes)], inline=True, name="product_of_others")
        self.axes = axes

    def vectorize_node(self, node: TensorNode, *inputs: TensorVariable) -> list[Variable]:
        """Shift the axes behind the batch dimensions, which every input is broadcast to."""
        pairs = list(zip(node.inputs, inputs, strict=True))
        x, *directions = spread_all(pairs)
        axes = tuple(axis + most_batch(pairs) for axis in self.axes)
        return ProductOfOthers(x, directions, axes).make_node(x, *directions).outputs

    def pullback(self, inputs: Variables, outputs: Variables, cotangents: Variables) -> Derivatives:
        """Take the cotangent as one more direction, and in place of each; which elements are left out is symmetric.

        Through `decompose`: wrong where elements are zero, which the formula takes apart.
        """
        x, *directions = tensors(inputs)
        ct = tensors(cotangents)[0].conj()
        replaced = [[*directions[:i], ct, *directions[i + 1 :]] for i in range(len(directions))]
        return [product_of_others(x, along, self.axes).conj() for along in ([*directions, ct], *replaced)]

    def pushforward(self, inputs: Variables, outputs: Variables, tangents: Derivatives) -> Derivatives:
        """Take the tangent of the elements as one more direction, and that of each direction in place of it.

        Through `decompose`: wrong where elements are zero, which the formula takes apart.
        """
        x, *directions = tensors(inputs)
        of_x, *moves = (
            None if t is None or isinstance(t.type, DisconnectedType) else tensors((t,))[0] for t in tangents
        )
        along = [] if of_x is None else [[*directions, of_x]]
        along += [[*directions[:i], t, *directions[i + 1 :]] for i, t in enumerate(moves) if t is not None]
        return [reduce(add, [product_of_others(x, each, self.axes) for each in along]) if along else None]


def product_of_others(x: TensorVariable, directions: Sequence[TensorVariable], axes: tuple[int, ...]) -> TensorVariable:
    """Return the op for elements and directions."""
    result: TensorVariable = ProductOfOthers(x, directions, axes)(x, *directions)
    return result


def _value_of_others(x: TensorVariable, directions: Sequence[TensorVariable], axes: tuple[int, ...]) -> TensorVariable:
    """Sum over all choices of different other elements, one for each direction, which leave the product.

    The product is zero unless the zeros leave it, all of them: each is chosen for one of the directions, and any of
    the other elements for the rest.
    """
    zero = eq(x, 0)
    safe = switch(zero, 1, x)
    product = prod(safe, axis=axes, keepdims=True)
    zeros = cast(zero, "int64")
    others = switch(zero, product, true_div(product, safe))
    other_zeros = sub(sum_(zeros, axis=axes, keepdims=True), zeros)
    at_zeros = [switch(zero, d, 0) for d in directions]
    elsewhere = [switch(zero, 0, true_div(d, safe)) for d in directions]
    terms: list[TensorVariable] = []
    for count in range(len(directions) + 1):
        ways: list[TensorVariable] = []
        for chosen in combinations(range(len(directions)), count):
            rest = [d for i, d in enumerate(elsewhere) if i not in chosen]
            ways.append(
                _over_different_others([at_zeros[i] for i in chosen], axes, _over_different_others(rest, axes, others))
            )
        terms.append(switch(eq(other_zeros, count), reduce(add, ways), 0))
    return reduce(add, terms)


def _over_different_others(
    values: Sequence[TensorVariable], axes: tuple[int, ...], factor: TensorVariable
) -> TensorVariable:
    """Sum the product of values, times a factor, over all choices of different other elements, one for each value."""
    if not values:
        return factor
    *first, last = values
    alone = sub(sum_(last, axis=axes, keepdims=True), last)
    total = mul(alone, _over_different_others(first, axes, factor))
    for i, value in enumerate(first):
        # Those in which two of the elements are the same are taken out again.
        total = sub(total, _over_different_others([*first[:i], mul(value, last), *first[i + 1 :]], axes, factor))
    return total
