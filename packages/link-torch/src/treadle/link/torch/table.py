"""The table of lowerings, and what a rule may return or raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from treadle.config import dataclass
from treadle.graph import LoweringTable

if TYPE_CHECKING:
    import torch

# Results of a lowered function, and a tensor of one bool that says whether values are invalid, None if they cannot be.
Results: TypeAlias = "torch.Tensor | tuple[torch.Tensor, ...]"
Flag: TypeAlias = "torch.Tensor | None"
# What a rule makes of a node.
Lowered: TypeAlias = "Callable[..., Results] | Checked"


def _load() -> None:
    from treadle.tensor import load_families

    load_families("treadle.link.torch.lower")


# A rule ``rule(op, node)`` returns a function of tensors, one for each input of the node (Python integers at the
# positions of ``op.static_inputs``), to one tensor, or a tuple of tensors for several outputs; or it returns that
# function wrapped in `Checked`. Tensors are stored as `treadle.link.torch.programs.storage` says.
TORCH = LoweringTable("pytorch", _load)


# One call of PyTorch's, which nothing can interrupt.
Change: TypeAlias = "Callable[[], object]"


@dataclass(frozen=True, slots=True)
class InPlace:
    """How a node's result is written into the tensor that is its first input.

    Parameters
    ----------
    change
        Takes the tensor and the node's other inputs: tensors in memory of their own, and Python integers for those of
        rank 0 after the second. Returns the call that writes the result, of which it has checked all that can be
        wrong: the tensor is as it was until then. It raises any error where it cannot write, and the result is then
        made in memory of its own.
    restoring
        Takes the same, and returns the call that brings back what the tensor was before a change. None for calls that
        go through all of the tensor, which are made last.
    can_fail
        Whether that call may fail when it has begun, such as for want of memory.
    """

    change: Callable[..., Change]
    restoring: Callable[..., Change] | None = None
    can_fail: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """A lowered function that finds out whether its input values are valid.

    Parameters
    ----------
    run
        Takes what every lowered function takes, and returns a pair: a tensor of one bool, or None where nothing had
        to be checked, and the result. Where the bool is true the result is not used: the program fails, and the
        graph is run again on the Python VM to say why.
    in_place
        How updates of shared variables write the result into the old value; None where they do not.
    """

    run: Callable[..., tuple[Flag, Results]]
    in_place: InPlace | None = None
