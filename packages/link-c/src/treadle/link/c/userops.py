"""C functions for users' ops: the rule that calls them."""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from treadle.link.c.conventions.dtypes import ctype
from treadle.link.c.errors import CFunctionError
from treadle.link.c.table import TABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Apply, Op
    from treadle.link.c.text.requirements import CFunction
    from treadle.link.c.text.unit import Unit
    from treadle.tensor import TensorNode, TensorVariable

    Described = Callable[[Any, Apply], CFunction]


def c_function(*op_types: type[Op]) -> Callable[[Described], Described]:
    """Return a decorator that registers a function ``(op, node) -> CFunction`` as the C rule of op types.

    Raises
    ------
    DuplicateRegistrationError
        If one of the types has a rule already.
    """

    def decorate(describe: Described) -> Described:
        TABLE.register(*op_types)(_Rule(describe))
        return describe

    return decorate


class _Rule:
    """The rule of an op with a function that returns its `CFunction`.

    It is an object, since a closure would hide that function from the compile cache.
    """

    def __init__(self, describe: Described) -> None:
        update_wrapper(self, describe)
        self._describe = describe

    def __call__(self, op: Op, node: TensorNode, unit: Unit) -> None:
        """Write the call."""
        call_function(unit, node, self._describe(op, node))


def call_function(unit: Unit, node: TensorNode, function: CFunction) -> None:
    """Write the call of a user's function into a unit."""
    unit.require(function)
    overwritten = {out: ins[0] for out, ins in (node.op.destroy_map or {}).items()}
    places = [unit.slot(x) if function.any_layout or not x.type.ndim else unit.packed(x) for x in node.inputs]
    outs = [unit.owns(out) for out in node.outputs]
    unit.line("{")
    seen = [_seen(unit, f"x{k}", at, x) for k, (at, x) in enumerate(zip(places, node.inputs, strict=True))]
    lengths = [f"v[{at}].n" for at in outs]
    if function.shape:
        unit.call(f"tr_user({function.shape}({', '.join([*seen, *lengths])}))")
    for k, (at, out) in enumerate(zip(outs, node.outputs, strict=True)):
        kind = ctype(out)
        if k in overwritten:
            source = unit.slot(node.inputs[overwritten[k]])
            unit.call(f"tr_adopt(v + {at}, v + {source}, {out.type.ndim}, {kind.size}, tr_move{kind.size})")
            continue
        _write_lengths(unit, function, node, at, out)
        unit.call(f"tr_alloc(v + {at}, {out.type.ndim}, {kind.size})")
    results = [_seen(unit, f"y{k}", at, out) for k, (at, out) in enumerate(zip(outs, node.outputs, strict=True))]
    unit.call(f"tr_user({function.name}({', '.join([*seen, *results])}))")
    unit.line("}")


def _seen(unit: Unit, name: str, at: int, var: TensorVariable) -> str:
    """Write a ``treadle_array`` that describes an array, and return the expression of its address."""
    unit.line(f"int64_t {name}_strides[TR_ND];")
    unit.line(f"treadle_array {name} = tr_seen(v + {at}, {var.type.ndim}, {ctype(var).size}, {name}_strides);")
    return f"&{name}"


def _write_lengths(unit: Unit, function: CFunction, node: TensorNode, at: int, out: TensorVariable) -> None:
    """Write a result's lengths, or a check of those that the user's shape function returned."""
    kind = out.type
    if function.shape:
        for d, n in enumerate(kind.shape):
            if n is not None:
                unit.call(f"v[{at}].n[{d}] != {n} ? TR_SHAPE : 0")
        for d in range(kind.ndim):
            unit.call(f"v[{at}].n[{d}] < 0 ? TR_LENGTH : 0")
        return
    model = next((x for x in node.inputs if x.type.ndim == kind.ndim), None)
    for d, known in enumerate(kind.shape):
        if known is not None:
            unit.line(f"v[{at}].n[{d}] = INT64_C({known});")
        elif model is not None:
            unit.line(f"v[{at}].n[{d}] = v[{unit.slot(model)}].n[{d}];")
        else:
            msg = (
                f"CFunction {function.name}: no operand of {node.op} has the rank of its result {kind}. Give it a "
                "function of C that says how long the result is (shape=)."
            )
            raise CFunctionError(msg)
