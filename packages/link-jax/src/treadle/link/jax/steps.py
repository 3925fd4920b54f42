"""Steps of elementwise functions: scalar ops as functions of JAX arrays of one shape, with treadle's derivatives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import cache, partial, reduce

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.custom_derivatives import SymbolicZero

import treadle.tensor as tt
from treadle.graph import FunctionGraph, Unsupported
from treadle.link.jax.casting import convert
from treadle.link.jax.scalars import DERIVATIVES, SCALARS, ScalarFunction
from treadle.link.jax.table import Checked
from treadle.tensor import Composite, DtypeError, Elemwise, ScalarOp, Step

Arrays = tuple[jax.Array, ...]

# Functions of real numbers whose derivatives JAX itself has right, at 0 and where operands are equal too. It would
# differentiate the others as they are computed: choices and absolute values that cancel, loops, tables.
_DIFFERENTIATED_BY_JAX = frozenset((
    "add", "sub", "mul", "true_div", "neg", "reciprocal", "sqr", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10",
    "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "arcsinh", "arccosh",
    "arctanh", "erf", "erfc", "maximum", "minimum", "clip", "identity", "second", "switch", "sign", "ceil", "floor",
    "trunc", "round_half_to_even",
))  # fmt: skip

# In sums of 4,096 elements or more XLA leaves extrema on CPUs to a library that loses NaN, unless it stands second.
_BESIDE_NUMBER: Mapping[str, ScalarFunction] = {"maximum": lax.max, "minimum": lax.min}


def takes(scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
    """Whether a scalar op is a step, for operands converted to some dtypes, rather than the steps of its body."""
    return _has_function(scalar_op, loops) or (scalar_op.body is not None and _is_differentiated_here(scalar_op, loops))


def scalar_function(
    scalar_op: ScalarOp, loops: Sequence[str], out: str, function: ScalarFunction | None = None
) -> ScalarFunction:
    """Return a scalar op as a function of JAX arrays of one shape, or refuse it.

    Operands are converted to the dtypes of `loops`, the result to that of `out`. float16 is computed in float32 and
    rounded, as NumPy does. `function` takes the place of that in the table.
    """
    wide = ["float32" if d == "float16" else d for d in loops]
    plain = function or _computed(scalar_op, loops)
    told = _with_own_derivative(scalar_op, tuple(wide)) if _is_differentiated_here(scalar_op, wide) else plain

    def run(*args: jax.Array) -> jax.Array | Checked[jax.Array]:
        operands = [convert(convert(x, d), w) for x, d, w in zip(args, loops, wide, strict=True)]
        result = (plain if DERIVATIVES.get() is None else told)(*operands)
        if isinstance(result, Checked):
            return Checked(convert(result.value, out), result.failed)
        converted: jax.Array = convert(result, out)
        return converted

    return run


def composite(
    composite: Composite, numbers: Set[int] = frozenset(), maxima: Set[int] = frozenset()
) -> Callable[..., Arrays | Checked[Arrays]]:
    """Lower a fused function step by step; inputs at some places are known, and are not NaN, others may be maxima."""
    constants = [np.asarray(number, dtype) for number, dtype in composite.constants]
    known = {*numbers, *(composite.nin + at for at, number in enumerate(constants) if number == number)}
    first = composite.nin + len(constants)
    maxima = {*maxima, *(at for at, step in enumerate(composite.steps, first) if step.scalar_op.name == "maximum")}
    steps = [_lowered(step, known, maxima) for step in composite.steps]
    held = {args[0] for _, args, is_held in steps if is_held}

    def run(*inputs: jax.Array) -> Arrays | Checked[Arrays]:
        broadcast = jnp.broadcast_arrays(*(_held(x) if at in held else x for at, x in enumerate(inputs)))
        values = [convert(x, d) for x, d in zip(broadcast, composite.dtypes, strict=True)]
        for at, number in enumerate(constants, composite.nin):
            values.append(jnp.broadcast_to(_held(number) if at in held else number, broadcast[0].shape))
        failures: list[jax.Array] = []
        for function, args, _ in steps:
            result = function(*(values[i] for i in args))
            if isinstance(result, Checked):
                if result.failed is not None:
                    failures.append(result.failed)
                result = result.value
            values.append(result)
        outputs = tuple(values[i] for i in composite.outputs)
        return Checked(outputs, reduce(jnp.logical_or, failures)) if failures else outputs

    return run


def _lowered(step: Step, known: Set[int], maxima: Set[int]) -> tuple[ScalarFunction, tuple[int, ...], bool]:
    """Return a step's function, its arguments, and whether XLA must not know the first of them.

    The known operand of an extremum of floats comes first, to which XLA would give the second place if it knew it. The
    library makes one function of the minimum of a maximum, which loses NaN wherever it stands.
    """
    name, args, loops = step.scalar_op.name, step.args, step.loops
    is_of_maximum = name == "minimum" and not maxima.isdisjoint(args)
    beside_number = None if is_of_maximum else _BESIDE_NUMBER.get(name)
    if beside_number is None or known.isdisjoint(args) or any(np.dtype(d).kind != "f" for d in loops):
        return scalar_function(step.scalar_op, loops, step.out), args, False
    if args[0] not in known:
        args, loops = args[::-1], loops[::-1]
    return scalar_function(step.scalar_op, loops, step.out, beside_number), args, True


def _held(number: jax.Array | np.ndarray) -> jax.Array:
    hold: Callable[[jax.Array], jax.Array] = lax.optimization_barrier  # which has no annotations
    return hold(jnp.asarray(number))


def _has_function(scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
    return SCALARS.find(scalar_op, np.dtype(loops[0]).kind) is not None


def _computed(scalar_op: ScalarOp, loops: Sequence[str]) -> ScalarFunction:
    """Return the function of a scalar op as it is computed, by its body if there is none in the table."""
    function = SCALARS.find(scalar_op, np.dtype(loops[0]).kind)
    if function is not None:
        return function
    if scalar_op.body is None:
        msg = (
            f"the scalar op {scalar_op.name!r} is no ufunc of jax.numpy; "
            "register a function for it in treadle.link.jax.SCALARS"
        )
        raise Unsupported(msg)
    whole = _as_composite(scalar_op, loops)
    steps = composite(whole.expanded(lambda inner, dtypes: inner is not scalar_op and takes(inner, dtypes)))

    def run(*operands: jax.Array) -> jax.Array | Checked[jax.Array]:
        results = steps(*operands)
        return Checked(results.value[0], results.failed) if isinstance(results, Checked) else results[0]

    return run


def _as_composite(scalar_op: ScalarOp, loops: Sequence[str]) -> Composite:
    kinds, out = scalar_op.signature([np.dtype(d) for d in loops])
    step = Step(scalar_op, tuple(range(scalar_op.nin)), tuple(str(d) for d in kinds), str(out))
    return Composite(scalar_op.nin, tuple(loops), (step,), (scalar_op.nin,))


def _is_differentiated_here(scalar_op: ScalarOp, loops: Sequence[str]) -> bool:
    """Whether a function of real numbers has a derivative, and JAX is told what it is."""
    if scalar_op.name in _DIFFERENTIATED_BY_JAX:
        return False
    if scalar_op.pullback is None and scalar_op.body is None and not scalar_op.discrete:
        return False
    kinds = [np.dtype(d) for d in loops]
    if any(d.kind != "f" for d in kinds):
        return False
    try:
        return scalar_op.signature(kinds)[1].kind == "f"
    except DtypeError:  # float16 is not computed as float32
        return False


@cache
def _with_own_derivative(scalar_op: ScalarOp, loops: tuple[str, ...]) -> ScalarFunction:
    """Return the function of a scalar op that JAX differentiates as treadle does."""
    function = _computed(scalar_op, loops)

    @jax.custom_jvp
    def run(*operands: jax.Array) -> jax.Array:
        result = function(*operands)
        return result.value if isinstance(result, Checked) else result

    @partial(run.defjvp, symbolic_zeros=True)
    def push(operands: Arrays, tangents: tuple[jax.Array | SymbolicZero, ...]) -> tuple[jax.Array, jax.Array]:
        value = run(*operands)
        moved = {at: tangent for at, tangent in enumerate(tangents) if not isinstance(tangent, SymbolicZero)}
        slopes = _slopes(scalar_op, loops, jnp.ndim(operands[0]), tuple(moved))(*operands)
        products = [slope * tangent for slope, tangent in zip(slopes, moved.values(), strict=True)]
        return value, sum(products, jnp.zeros_like(value))

    return run


@cache
def _slopes(scalar_op: ScalarOp, loops: tuple[str, ...], ndim: int, wrt: tuple[int, ...]) -> Callable[..., Arrays]:
    """Return the derivatives of a scalar op by some of its operands."""
    from treadle.link.jax.functional import jax_function

    operands = [tt.tensor(dtype=dtype, shape=(None,) * ndim) for dtype in loops]
    total = Elemwise(scalar_op)(*operands).sum()
    slopes = tt.grad(total, [operands[at] for at in wrt], disconnected_inputs="ignore")
    return jax_function(FunctionGraph(operands, slopes))
