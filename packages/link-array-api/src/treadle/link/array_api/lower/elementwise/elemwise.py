"""Elementwise functions: operands converted to the scalar op's loop dtypes, the function, the result in its dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treadle.graph import Apply, Unsupported
from treadle.link.array_api.libraries import Library, library
from treadle.link.array_api.table import ARRAY_API, Array, Lowered, kernel_of
from treadle.tensor import CASTS, Composite, Elemwise, ScalarOp


@ARRAY_API.register(Elemwise)
def elemwise(op: Elemwise, node: Apply) -> Lowered:
    """Lower to the functions of the steps."""
    lib = library()
    steps = op.expanded(node, lib.takes)
    if len(steps.steps) > 1 or steps.constants or steps.steps[0].args != tuple(range(len(node.inputs))):
        return composite(lib, steps)
    (step,) = steps.steps
    return scalar_function(lib, step.scalar_op, step.loops, step.out)


def scalar_function(lib: Library, scalar_op: ScalarOp, loops: Sequence[str], out: str) -> Callable[..., Array]:
    """Return a scalar op as a function of arrays, whose result is of the dtype `out`."""
    astype, targets, target = lib.xp.astype, [lib.dtypes[d] for d in loops], lib.dtypes[out]
    cast = CASTS.get(out)
    if cast is not None and scalar_op is cast.scalar_op:
        return lambda x: astype(x, target)
    kernel = kernel_of(scalar_op, loops, lib.xp)
    if kernel is None:
        msg = f"{lib.name} has no elementwise function {scalar_op.name} for {', '.join(loops)}"
        raise Unsupported(msg)

    def run(*xs: Array) -> Array:
        result = kernel(*[x if x.dtype == t else astype(x, t) for x, t in zip(xs, targets, strict=True)])
        return result if result.dtype == target else astype(result, target)

    return run


def composite(lib: Library, steps: Composite) -> Lowered:
    """Return a function of several steps."""
    functions = [(scalar_function(lib, s.scalar_op, s.loops, s.out), s.args) for s in steps.steps]
    constants = [lib.full((), number, dtype) for number, dtype in steps.constants]
    dtypes, outputs = steps.dtypes, steps.outputs

    def run(*xs: Array) -> Array:
        values = [lib.astype(x, dtype) for x, dtype in zip(xs, dtypes, strict=True)]
        values += constants
        for function, args in functions:
            values.append(function(*[values[i] for i in args]))
        results = [values[i] for i in outputs]
        # One that depends on some of the operands only has the shape of all.
        full = lib.xp.broadcast_arrays(*results, *xs)
        whole = [x if x.shape == y.shape else lib.owned(y) for x, y in zip(results, full, strict=False)]
        return whole[0] if len(whole) == 1 else tuple(whole)

    return run
