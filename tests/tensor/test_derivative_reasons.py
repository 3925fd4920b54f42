"""Derivatives that are written by hand beside a simpler form of the op say why: the simpler form has derivatives too.

The docstring has a sentence with "Through `decompose`", or "Through the definition" of a distribution, which tells what
is worse there: how many nodes a gradient has, how precise it is, where it is not defined.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import treadle.graph
import treadle.tensor
from treadle.graph import Op
from treadle.tensor.ops.tensor_op import TensorOp
from treadle.tensor.random import RandomVariable

# What defines derivatives for all ops: by what they decompose into, or forwards by two steps backwards.
MECHANISMS = (Op, TensorOp)


def _derived(kind: type[Any]) -> Iterator[type[Any]]:
    for derived in kind.__subclasses__():
        yield derived
        yield from _derived(derived)


def op_types() -> list[type[Any]]:
    for package in (treadle.graph, treadle.tensor):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)
    kinds = (
        kind for kind in dict.fromkeys(_derived(Op)) if kind.__module__.startswith(("treadle.graph", "treadle.tensor"))
    )
    return sorted(kinds, key=lambda kind: (kind.__module__, kind.__qualname__))


def definer(kind: type, name: str) -> type:
    """Return the class that a class has a method from."""
    return next(base for base in kind.__mro__ if name in vars(base))


def doc_of(kind: type, name: str) -> str:
    return " ".join((inspect.getdoc(vars(kind)[name]) or "").split())


def unexplained(kinds: list[type[Any]]) -> list[str]:
    """Return the methods of classes that have a simpler form, and do not say why they are not derived from it."""
    found: dict[str, None] = {}
    for kind in kinds:
        if definer(kind, "decompose") is not Op:
            for name in ("pullback", "pushforward"):
                by = definer(kind, name)
                if by not in MECHANISMS and "Through `decompose`" not in doc_of(by, name):
                    found[f"{by.__module__}.{by.__qualname__}.{name}"] = None
        if issubclass(kind, RandomVariable) and definer(kind, "definition") is not RandomVariable:
            by = definer(kind, "derivatives")
            if by is not RandomVariable and "Through the definition" not in doc_of(by, "derivatives"):
                found[f"{by.__module__}.{by.__qualname__}.derivatives"] = None
    return list(found)


def test_derivatives_by_hand_beside_a_simpler_form_say_why() -> None:
    assert unexplained(op_types()) == []


def test_one_without_a_reason_is_found() -> None:
    class Twice(TensorOp):
        def decompose(self, *inputs: Any) -> Any:
            return [2 * inputs[0]]

        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            """Double the cotangent."""
            return [2 * cotangents[0]]

    class Explained(Twice):
        def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
            """Double the cotangent. Through `decompose`: 3 nodes in place of 2."""
            return [2 * cotangents[0]]

    assert unexplained([Twice]) == [f"{__name__}.{Twice.__qualname__}.pullback"]
    assert unexplained([Explained]) == []
