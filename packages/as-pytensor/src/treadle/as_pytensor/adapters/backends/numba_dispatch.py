"""``pytensor.link.numba.dispatch``: what ops are on Numba."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from treadle.as_pytensor.adapters.backends.registration import Function, Registered, Rule
from treadle.as_pytensor.adapters.backends.scalar_functions import FAMILY, SCALAR_FUNCTIONS
from treadle.config import config
from treadle.link.numba import SCALARS, TABLE, call_jitted, jit_function, python_function
from treadle.tensor import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, FunctionGraph, Op, Type
    from treadle.link.numba import GraphWriter
    from treadle.tensor import ScalarOp


class _OnNumba(Registered):
    def lowering(self, rule: Rule) -> Function:
        def lower(op: Op, node: Apply, writer: GraphWriter) -> None:
            call_jitted(writer, node, rule(op, node=node))

        return lower

    def register_scalar(self, op_type: type, rule: Rule) -> None:
        names: dict[str, str] = {}

        def find(scalar_op: ScalarOp, kind: str) -> str | None:
            if kind != "f":
                return None
            if scalar_op.name not in names:
                names[scalar_op.name] = SCALAR_FUNCTIONS.add(rule(scalar_op, node=None), scalar_op.nin)  # type: ignore[arg-type]  # a rule may take scalar ops, without a node
            operands = ", ".join(f"{{{i}}}" for i in range(scalar_op.nin))
            return f"{FAMILY}_{names[scalar_op.name]}_{{t}}({operands})"

        SCALARS.find_by(op_type, find)

    def of_graph(self, fgraph: FunctionGraph) -> Function:
        return jit_function(fgraph)

    def single(self, function: Function) -> Function:
        @numba.njit  # type: ignore[untyped-decorator]  # numba has no types
        def only(*values: object) -> object:
            return function(*values)[0]

        return only  # type: ignore[no-any-return]  # numba has no types


numba_funcify = _OnNumba("numba_funcify", TABLE)


def numba_njit(
    *args: object, fastmath: bool | set[str] | None = None, final_function: bool = False, **kwargs: object
) -> Function:
    """Return ``numba.njit`` of a function, or a decorator; `fastmath` is option ``numba__fastmath`` if None.

    `final_function` says whether Python calls the function too.
    """
    options: dict[str, object] = {"fastmath": bool(config.numba__fastmath) if fastmath is None else fastmath, **kwargs}
    if not final_function:
        options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **options}
    if args and callable(args[0]):
        return numba.njit(*args[1:], **options)(args[0])  # type: ignore[no-any-return]  # it has no types
    return numba.njit(*args, **options)  # type: ignore[no-any-return]  # it has no types


@singledispatch
def numba_typify(data: object, dtype: object = None, **kwargs: object) -> object:
    """Return a value as Numba takes it."""
    del dtype, kwargs
    return data


def get_numba_type(
    pytensor_type: Type, layout: str = "A", force_scalar: bool = False, reduce_to_scalar: bool = False
) -> Any:
    """Return Numba's type of the values of a type.

    Raises
    ------
    NotImplementedError
        If Numba has none.
    """
    dtype = getattr(pytensor_type, "numpy_dtype", None) or getattr(pytensor_type, "dtype", None)
    if dtype is None:
        msg = f"get_numba_type: Numba has no type for {pytensor_type}. Types of tensors and scalars have one."
        raise NotImplementedError(msg)
    element = numba.from_dtype(np.dtype(dtype))
    ndim = pytensor_type.ndim if isinstance(pytensor_type, TensorType) else None
    if force_scalar or ndim is None or (reduce_to_scalar and ndim == 0):
        return element
    return numba.types.Array(element, ndim, layout)


def generate_fallback_impl(op: Op, node: Apply, storage_map: object = None, **kwargs: object) -> Function:
    """Return an op of a node as a function of Numba's that calls Python."""
    del op, storage_map, kwargs
    return python_function(node)  # type: ignore[no-any-return]  # it has no types


def numba_funcify_ensure_cache(
    op: Op | FunctionGraph, node: Apply | None = None, **kwargs: object
) -> tuple[Function, None]:
    """Return what `numba_funcify` does, and no key: treadle keeps compiled graphs under keys of its own."""
    return numba_funcify(op, node=node, **kwargs), None


def register_funcify_default_op_cache_key(op_type: type) -> Callable[[Function], Function]:
    """Return a decorator as `numba_funcify.register` does, for functions that may return a version too."""

    def decorate(rule: Function) -> Function:
        numba_funcify.register(op_type, _without_version(rule))
        return rule

    return decorate


def register_funcify_and_cache_key(op_type: type) -> Callable[[Function], Function]:
    """Return a decorator as `numba_funcify.register` does, for functions that return a key beside the result."""
    return register_funcify_default_op_cache_key(op_type)


def _without_version(rule: Function) -> Rule:
    def of_op(op: Op, *, node: Apply, **kwargs: object) -> Function:
        result = rule(op, node=node, **kwargs)
        function: Function = result[0] if isinstance(result, tuple) else result
        return function

    return of_op
