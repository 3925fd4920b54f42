"""Products with a Jacobian from both sides, each computed by a function of its own, as one primitive of JAX's.

JAX would get the product from the left by transposing that from the right, step by step, which it cannot do with loops
that a condition ends; nor would that be what treadle computes. Its own `linear_call` can be neither mapped nor
differentiated by what its functions take beside the linear operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive, unmapped_aval
from jax.interpreters import ad, batching, mlir

from treadle.config import dataclass
from treadle.link.jax.mapped_axes import varying, varying_axes

# JAX names no classes of its types of arrays, nor of what rules take beside arrays: tangents that are zero, operands
# that are yet to be found. Functions of it that take them have no annotations.
Kind: TypeAlias = Any
Operand: TypeAlias = Any
_instantiated: Callable[[Operand], jax.Array] = ad.instantiate_zeros
_along: Callable[..., Kind] = jax.sharding.ManualAxisType
_is_undefined: Callable[[Operand], bool] = ad.is_undefined_primal

Arrays: TypeAlias = "tuple[jax.Array, ...]"
# Those among the linear operands, or results, that are zero are None.
Linear: TypeAlias = "Sequence[jax.Array | None]"
# A function of fixed operands, and of others in which it is linear.
LinearFunction: TypeAlias = Callable[[Arrays, Linear], Arrays]


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """A linear function, and its transpose, which takes the same fixed operands."""

    forward: LinearFunction
    backward: LinearFunction

    def applied(self, fixed: Sequence[jax.Array], moves: Sequence[jax.Array], kinds: Sequence[Kind]) -> Arrays:
        """Return what the linear function gives, of JAX's types `kinds`; JAX traces it where it needs it.

        On devices that `jax.shard_map` maps over, operands that are the same on all are marked as the others are, so
        that JAX adds up what flows back to them.
        """
        operands = [*fixed, *moves]
        axes = frozenset[str]().union(*map(varying_axes, operands))
        along = _along(varying=axes)
        types = tuple(kind.update_manual_axis_type(along) if axes else kind for kind in kinds)
        marked = [varying(x, axes) for x in operands]
        return tuple(_PRODUCT.bind(*marked, product=self, count=len(fixed), kinds=types))

    def transposed(self, moves: Sequence[Kind], kinds: Sequence[Kind], at: Sequence[int]) -> Product:
        """Return the product with this one's results `at` some places as operands, those at others being zero.

        `moves` and `kinds` are the types of this one's linear operands and results.
        """

        def forward(fixed: Arrays, cotangents: Linear) -> Arrays:
            given = dict(zip(at, cotangents, strict=True))
            return self.backward(fixed, [given.get(i) for i in range(len(kinds))])

        def backward(fixed: Arrays, tangents: Linear) -> Arrays:
            every = [jnp.zeros(m.shape, m.dtype) if t is None else t for t, m in zip(tangents, moves, strict=True)]
            results = self.forward(fixed, every)
            return tuple(results[i] for i in at)

        return Product(forward, backward)

    def mapped(self, axes: Sequence[int | None]) -> Product:
        """Return the product of batches: of all linear operands, and of the fixed ones that have an axis."""
        along = (tuple(axes), 0)
        return Product(jax.vmap(self.forward, along), jax.vmap(self.backward, along))


def _computed(*operands: jax.Array, product: Product, count: int, kinds: Sequence[Kind]) -> list[jax.Array]:
    results = product.forward(operands[:count], operands[count:])
    return [varying(jnp.asarray(x, kind.dtype), varying_axes(kind)) for x, kind in zip(results, kinds, strict=True)]


def _pushed(
    operands: Sequence[Operand], tangents: Sequence[Operand], *, product: Product, count: int, kinds: Sequence[Kind]
) -> tuple[Sequence[jax.Array], Sequence[jax.Array]]:
    """Return the product and how it moves: with the linear operands, and with those that its functions depend on."""
    fixed, moves = operands[:count], operands[count:]
    terms: list[Arrays] = []
    if not all(type(t) is ad.Zero for t in tangents[count:]):
        terms.append(product.applied(fixed, [_instantiated(t) for t in tangents[count:]], kinds))
    moving = {at: t for at, t in enumerate(tangents[:count]) if type(t) is not ad.Zero}
    if moving:

        def of_fixed(*values: jax.Array) -> Arrays:
            given = dict(zip(moving, values, strict=True))
            every = [given.get(at, x) for at, x in enumerate(fixed)]
            return tuple(_computed(*every, *moves, product=product, count=count, kinds=kinds))

        terms.append(jax.jvp(of_fixed, tuple(fixed[at] for at in moving), tuple(moving.values()))[1])
    return product.applied(fixed, moves, kinds), [sum(parts[1:], parts[0]) for parts in zip(*terms, strict=True)]


def _transposed(
    cotangents: Sequence[Operand], *operands: Operand, product: Product, count: int, kinds: Sequence[Kind]
) -> list[jax.Array | None]:
    fixed, moves = operands[:count], operands[count:]
    at = [i for i, cotangent in enumerate(cotangents) if type(cotangent) is not ad.Zero]
    if not at:
        return [None] * len(operands)
    types = [x.aval if _is_undefined(x) else jax.typeof(x) for x in moves]
    back = product.transposed(types, kinds, at).applied(fixed, [cotangents[i] for i in at], types)
    # What is known among the linear operands is zero.
    returned = [x if _is_undefined(move) else None for x, move in zip(back, moves, strict=True)]
    return [*[None] * count, *returned]


def _mapped(
    operands: Sequence[Operand], axes: Sequence[int | None], *, product: Product, count: int, kinds: Sequence[Kind]
) -> tuple[Arrays, list[int]]:
    (size,) = {x.shape[axis] for x, axis in zip(operands, axes, strict=True) if axis is not None}
    first = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in zip(operands, axes, strict=True)]
    moves = [
        jnp.broadcast_to(x, (size, *x.shape)) if axis is None else x
        for x, axis in zip(first[count:], axes[count:], strict=True)
    ]
    mapped = product.mapped([None if axis is None else 0 for axis in axes[:count]])
    results = mapped.applied(first[:count], moves, [unmapped_aval(size, 0, kind) for kind in kinds])
    return results, [0] * len(results)


def _made() -> Any:
    primitive: Any = Primitive("jacobian_product")
    primitive.multiple_results = True
    primitive.def_impl(_computed)
    primitive.def_abstract_eval(lambda *_, kinds, **__: list(kinds))
    ad.primitive_jvps[primitive] = _pushed
    ad.primitive_transposes[primitive] = _transposed
    batching.primitive_batchers[primitive] = _mapped
    mlir.register_lowering(primitive, mlir.lower_fun(_computed, multiple_results=True))
    return primitive


_PRODUCT = _made()
