"""Block diagonal matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from treadle.kernels import TABLE, Kernel, Site, kernel
from treadle.kernels.blocks import cleared, copied
from treadle.kernels.language import OK, Number, Pointer
from treadle.tensor.linalg.lower.kernels.stacks import LOOPS, Operand, Stack
from treadle.tensor.linalg.structured.block_diagonal import BlockDiagonal

if TYPE_CHECKING:
    from treadle.tensor import TensorNode

T = TypeVar("T", bound=Number)


@kernel
def block_copied(x: Pointer[T], ld_x: int, rows: int, columns: int, o: Pointer[T], ld_o: int) -> int:
    """Copy a block."""
    for i in range(rows):
        copied(x + i * ld_x, o + i * ld_o, columns)
    return OK


def _joining(count: int) -> Kernel:
    """Return the kernel that writes so many blocks into zeros."""
    each = range(count)
    parameters = [f"m{k}: int, n{k}: int, block{k}: Pointer[T], ld_block{k}: int" for k in each]
    lines = [f"cleared(whole, ({' + '.join(f'm{k}' for k in each)}) * ld_whole)", "start = 0"]
    for k in each:
        lines += [
            f"block_copied(block{k}, ld_block{k}, m{k}, n{k}, whole + start, ld_whole)",
            f"start = start + m{k} * ld_whole + n{k}",
        ]
    head = f"def NAME({', '.join(parameters)}, whole: Pointer[T], ld_whole: int) -> int:"
    text = "\n".join([head, *(f"    {line}" for line in [*lines, "return OK"]), ""])
    scope = {"Pointer": Pointer, "T": T, "OK": OK, "cleared": cleared, "block_copied": block_copied}
    return LOOPS.get("blocks_joined", text, {**scope, "__name__": __name__})


@TABLE.register(BlockDiagonal)
def block_diagonal(op: BlockDiagonal, node: TensorNode, site: Site) -> None:
    """Copy the blocks."""
    operands = {f"block{k}": Operand() for k in range(op.n_inputs)}
    Stack(op, node, site, operands, {"whole": "rows"}).run(_joining(op.n_inputs))
