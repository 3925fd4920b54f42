"""Rules for tensors with named dimensions: the plain form of every op, before anything else."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from treadle.graph import IfElse
from treadle.rewrite import OpClass, Phase, RuleSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.graph import Apply, Variable

# Ops and types by their paths: a program without named tensors does not load them for their rules.
XOp = OpClass("treadle.named.ops.named_op.XOp")
XTypeCastOp = OpClass("treadle.named.types.casts.XTypeCastOp")

RULES = RuleSet("named")
RULE_SETS = (RULES,)
# With the tag by which PyTensor's documentation calls these rules.
EVERYWHERE = ("fast_run", "fast_compile", "minimum_compile", "lower_xtensor")


@RULES.rule(Phase.CANONICALIZE, XOp, tags=EVERYWHERE)
def named_op_as_plain(node: Apply) -> Sequence[Variable] | None:
    """An op on named tensors -> what it is in plain tensors."""
    parts = node.op.decompose(*node.inputs) or ()
    return [
        new if old.type.is_super(new.type) else old.type.filter_variable(new)
        for old, new in zip(node.outputs, parts, strict=True)
    ]


@RULES.rule(Phase.CANONICALIZE, XTypeCastOp, tags=EVERYWHERE)
def plain_of_named(node: Apply) -> Sequence[Variable] | None:
    """tensor_from_xtensor(xtensor_from_tensor(x)) -> x, and so for generators."""
    return node.op.decompose(*node.inputs)


@RULES.rule(Phase.CANONICALIZE, IfElse, tags=EVERYWHERE)
def choice_of_named(node: Apply) -> Sequence[Variable] | None:
    """A choice of named tensors -> that of plain ones."""
    if "treadle.named.types.named_type" not in sys.modules:  # then there is no named tensor yet
        return None
    from treadle.named.types.casts import tensor_of, xtensor_from_tensor  # noqa: PLC0415 - only where there are such tensors
    from treadle.named.types.named_type import XTensorType  # noqa: PLC0415 - as above

    if not any(isinstance(out.type, XTensorType) for out in node.outputs):
        return None
    plain = [tensor_of(x) if isinstance(x.type, XTensorType) else x for x in node.inputs]
    results = node.op.make_node(*plain).outputs
    kinds = [out.type for out in node.outputs]
    return [
        xtensor_from_tensor(new, kind.dims) if isinstance(kind, XTensorType) else new
        for new, kind in zip(results, kinds, strict=True)
    ]


@RULES.rule(Phase.CANONICALIZE, XTypeCastOp, tags=EVERYWHERE)
def named_of_plain(node: Apply) -> Variable | None:
    """xtensor_from_tensor(tensor_from_xtensor(x)) -> x where the names agree, and so for generators."""
    inner = node.inputs[0].owner
    if inner is None or not XTypeCastOp(inner.op):
        return None
    x = inner.inputs[0]
    return x if x.type == node.outputs[0].type else None
