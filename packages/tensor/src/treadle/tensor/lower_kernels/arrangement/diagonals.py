"""ExtractDiag: a view with another first element, other lengths and other steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.kernels import TABLE, Length, Site
from treadle.tensor.arrangement.diagonals import ExtractDiag

if TYPE_CHECKING:
    from treadle.tensor.variables.variable import TensorNode


@TABLE.register(ExtractDiag)
def lower_extract_diag(op: ExtractDiag, node: TensorNode, site: Site) -> None:
    """Make the view; one without elements begins where the array does."""
    (x,) = node.inputs
    lengths, steps = site.layout(x)
    none, above, below = Length("0"), max(op.offset, 0), max(-op.offset, 0)
    rows, columns = lengths[op.axis1] - below, lengths[op.axis2] - above
    count = site.choose(rows < columns, rows, columns)
    count = site.choose(count > 0, count, none)
    shift = None
    if op.offset:
        shift = site.choose(count > 0, steps[op.axis1] * below + steps[op.axis2] * above, none)
    diagonal = count, steps[op.axis1] + steps[op.axis2]
    site.view(node.outputs[0], x, [*op.kept(x.type.ndim), diagonal], shift)
