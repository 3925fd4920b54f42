"""Rules for parts and conjugates of complex numbers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from treadle.rewrite import RuleSet
from treadle.tensor.elementwise.arithmetic import abs_, neg
from treadle.tensor.elementwise.complex_numbers import conj, imag, real
from treadle.tensor.rewrites.analysis.patterns import BOTH, EARLY_AND_LATE, TensorPattern, is_commutative
from treadle.tensor.rewrites.analysis.predicates import constant_value, kind_of
from treadle.tensor.shapes.broadcasting import zeros_like

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.tensor.elementwise.elemwise import Elemwise
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorNode, TensorVariable

RULES = RuleSet("complex", is_commutative=is_commutative, value_of=constant_value)

x = TensorPattern("x")


def _is_complex(node: TensorNode, match: Mapping[str, TensorVariable]) -> bool:
    """Whether what is matched is complex."""
    return kind_of(match["x"]) == "c"


_law = partial(RULES.law, phase=EARLY_AND_LATE, when=_is_complex, tags=BOTH)

_law("conj_of_conj", conj(conj(x)), x)
_law("real_of_conj", real(conj(x)), real(x))
_law("imag_of_conj", imag(conj(x)), neg(imag(x)))
_law("abs_of_conj", abs_(conj(x)), abs_(x))


@RULES.rule(EARLY_AND_LATE, real, conj, tags=BOTH)
def part_of_real(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """real(x) -> x and conj(x) -> x, for real x."""
    operand = node.inputs[0]
    return operand if operand.type == node.outputs[0].type and kind_of(operand) != "c" else None


@RULES.rule(EARLY_AND_LATE, imag, tags=BOTH)
def imaginary_part_of_real(node: NodeOf[Elemwise]) -> TensorVariable | None:
    """imag(x) -> 0, for real x."""
    operand = node.inputs[0]
    return zeros_like(operand) if kind_of(operand) != "c" else None
