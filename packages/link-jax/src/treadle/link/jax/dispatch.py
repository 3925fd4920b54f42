"""The documented way to say what an op is on JAX: ``@jax_funcify.register(Op)``."""

from __future__ import annotations

from collections.abc import Callable

from treadle.graph import Apply, Op
from treadle.link.jax.table import JAX, Lowered

Rule = Callable[..., Lowered]


__all__ = ["jax_funcify"]


class Funcify:
    """Registers functions ``rule(op, node=node, **kwargs)`` that return a function of JAX arrays.

    The table `JAX` takes the same without keywords: ``rule(op, node)``.
    """

    def register(self, *op_types: type[Op]) -> Callable[[Rule], Rule]:
        """Return a decorator that makes a function the rule of ops.

        Raises
        ------
        DuplicateRegistrationError
            If one of them has a rule already.
        """

        def decorate(rule: Rule) -> Rule:
            def lower(op: Op, node: Apply) -> Lowered:
                return rule(op, node=node)

            JAX.register(*op_types)(lower)
            return rule

        return decorate

    def __call__(self, op: Op, node: Apply, **kwargs: object) -> Lowered:
        """Return the function of JAX arrays for a node; further arguments have no meaning here."""
        lowered: Lowered = JAX.rule(node)(op, node)
        return lowered


jax_funcify = Funcify()
