"""Rule for ops that decide what flows back: once gradients are taken, they do nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.rewrite import Phase, RuleSet
from treadle.tensor.control.gradient_control import (
    DisconnectedGrad,
    GradClip,
    GradientControl,
    GradScale,
    UndefinedGrad,
    ZeroGrad,
)
from treadle.tensor.rewrites.analysis.patterns import BOTH

if TYPE_CHECKING:
    from treadle.tensor.rewrites.analysis.predicates import NodeOf
    from treadle.tensor.variables.variable import TensorVariable

RULES = RuleSet("gradient_control")


@RULES.rule(Phase.CANONICALIZE, DisconnectedGrad, ZeroGrad, UndefinedGrad, GradScale, GradClip, tags=BOTH)
def gradient_control_left_out(node: NodeOf[GradientControl]) -> TensorVariable:
    """disconnected_grad(x), zero_grad(x), undefined_grad(x), grad_scale(x, a), grad_clip(x, a, b) -> x."""
    return node.inputs[0]
