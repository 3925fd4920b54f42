"""The table of elementwise kernels: how a scalar op of `treadle.tensor.SCALAR_OPS` is computed with PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.graph import DuplicateRegistrationError, Unsupported
from treadle.link.torch.storage import kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.link.torch.table import Checked
    from treadle.tensor import ScalarOp

    # Dtypes to compute with in, one for each operand; a function of stored tensors of these dtypes out.
    Maker = Callable[[Sequence[str]], Callable[..., Any] | Checked]


class KernelTable:
    """Kernels by scalar op and kind of dtype (see `treadle.link.torch.storage.kind`); a second one is refused."""

    __slots__ = ("_makers",)

    def __init__(self) -> None:
        self._makers: dict[tuple[str, str], Maker] = {}

    def register(self, scalar_op: str, kinds: str) -> Callable[[Maker], Maker]:
        """Return a decorator that enters a maker of kernels for some kinds of a scalar op's last operand."""

        def decorate(maker: Maker) -> Maker:
            for each in kinds:
                if (scalar_op, each) in self._makers:
                    msg = (
                        f"pytorch: the scalar op {scalar_op!r} has a kernel for kind {each!r} already. "
                        "Remove one of the two."
                    )
                    raise DuplicateRegistrationError(msg)
                self._makers[scalar_op, each] = maker
            return maker

        return decorate

    def function(self, scalar_op: str, kinds: str, kernel: Callable[..., Any]) -> None:
        """Enter one function that serves all dtypes of some kinds."""

        def maker(loops: Sequence[str]) -> Callable[..., Any]:
            del loops
            return kernel

        self.register(scalar_op, kinds)(maker)

    def has(self, scalar_op: ScalarOp) -> bool:
        """Whether there is a kernel for a scalar op, for whichever dtypes; casts need none."""
        named = scalar_op.name.startswith("cast_") or any(name == scalar_op.name for name, _ in self._makers)
        return named or self._ufunc(scalar_op) is not None

    @staticmethod
    def _ufunc(scalar_op: ScalarOp) -> Callable[..., Any] | None:
        # torch.equal compares whole tensors; everything else of NumPy's names is elementwise.
        found = None if scalar_op.ufunc in {None, "equal"} else getattr(torch, str(scalar_op.ufunc), None)
        return found if callable(found) else None

    def make(self, scalar_op: ScalarOp, loops: Sequence[str]) -> Callable[..., Any] | Checked:
        """Return the kernel of a scalar op for the dtypes to compute with.

        A scalar op without a kernel of its own is computed, for floats, by PyTorch's function that has the
        same name as the NumPy function.

        Raises
        ------
        Unsupported
            If there is no kernel.
        """
        at = kind(loops[-1])
        maker = self._makers.get((scalar_op.name, at))
        if maker is not None:
            return maker(loops)
        kernel = self._ufunc(scalar_op)
        if at != "f" or kernel is None:
            msg = f"the elementwise function {scalar_op.name} has no kernel for {', '.join(loops)}"
            raise Unsupported(msg)
        return kernel


KERNELS = KernelTable()
