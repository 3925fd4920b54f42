"""Documented decorators that register rewriters of nodes, and functions that such rewriters use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.rewrite import OpPattern, optdb
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.elementwise.scalar_op import ScalarOp

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variables.variable import TensorVariable

__all__ = ["broadcasted_by", "elemwise_of", "register_canonicalize", "register_specialize", "register_stabilize"]


def _registering(phase: str, *usual: str) -> Callable[..., object]:
    """Return the decorator that registers a rewriter of nodes in a phase; tags may be given first."""

    def register(rewriter: Any, *tags: str, name: str | None = None, **options: object) -> object:
        if isinstance(rewriter, str):
            return lambda inner: register(inner, rewriter, *tags, name=name, **options)
        rule_name = name or getattr(rewriter, "__name__", None) or str(rewriter)
        databases: Any = optdb
        databases[phase].register(rule_name, rewriter, *usual, *tags, **options)
        return rewriter

    register.__name__ = register.__qualname__ = f"register_{phase}"
    register.__doc__ = f"Register a rewriter of nodes in the phase {phase}, under its name and tags."
    return register


register_canonicalize = _registering("canonicalize", "fast_run", "fast_compile")
register_stabilize = _registering("stabilize", "fast_run")
register_specialize = _registering("specialize", "fast_run")


def elemwise_of(scalar_op: ScalarOp | type | OpPattern) -> Elemwise | OpPattern:
    """Return the elementwise op of a scalar op, or all those of a class or pattern, for rewriters to track."""
    if isinstance(scalar_op, ScalarOp):
        return Elemwise(scalar_op)
    return OpPattern(Elemwise, scalar_op=scalar_op if isinstance(scalar_op, OpPattern) else OpPattern(scalar_op))


def broadcasted_by(x: TensorVariable, y: TensorVariable) -> bool:
    """Whether an elementwise function of both has more dimensions, or longer ones, than `x`, as far as is known."""
    if x.ndim < y.ndim:
        return True
    broadcastable = x.type.broadcastable[x.ndim - y.ndim :]
    return any(short and not other for short, other in zip(broadcastable, y.type.broadcastable, strict=True))
