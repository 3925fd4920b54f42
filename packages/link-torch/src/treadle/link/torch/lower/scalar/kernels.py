"""The table of elementwise kernels: how a row of `treadle.tensor.ROWS` is computed with PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from treadle.graph import DuplicateRegistrationError
from treadle.link.torch.carriers import kind
from treadle.link.torch.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.link.torch.table import Checked
    from treadle.tensor import ScalarOp

    # Dtypes to compute with in, one for each operand; a function of carriers of these dtypes out.
    Maker = Callable[[Sequence[str]], Callable[..., Any] | Checked]


class KernelTable:
    """Kernels by row and kind of dtype (see `treadle.link.torch.carriers.kind`); a second one is refused."""

    __slots__ = ("_makers",)

    def __init__(self) -> None:
        self._makers: dict[tuple[str, str], Maker] = {}

    def register(self, row: str, kinds: str) -> Callable[[Maker], Maker]:
        """Return a decorator that enters a maker of kernels for a row and some kinds of its last operand's dtype."""

        def decorate(maker: Maker) -> Maker:
            for each in kinds:
                if (row, each) in self._makers:
                    msg = f"pytorch: the row {row!r} has a kernel for kind {each!r} already. Remove one of the two."
                    raise DuplicateRegistrationError(msg)
                self._makers[row, each] = maker
            return maker

        return decorate

    def function(self, row: str, kinds: str, kernel: Callable[..., Any]) -> None:
        """Enter one function that serves all dtypes of some kinds."""

        def maker(loops: Sequence[str]) -> Callable[..., Any]:
            del loops
            return kernel

        self.register(row, kinds)(maker)

    def has(self, row: ScalarOp) -> bool:
        """Whether there is a kernel for a row, for whichever dtypes; casts need none."""
        named = row.name.startswith("cast_") or any(name == row.name for name, _ in self._makers)
        return named or self._ufunc(row) is not None

    @staticmethod
    def _ufunc(row: ScalarOp) -> Callable[..., Any] | None:
        # torch.equal compares whole tensors; everything else of NumPy's names is elementwise.
        found = None if row.ufunc in {None, "equal"} else getattr(torch, str(row.ufunc), None)
        return found if callable(found) else None

    def make(self, row: ScalarOp, loops: Sequence[str]) -> Callable[..., Any] | Checked:
        """Return the kernel of a row for the dtypes to compute with.

        A row without a kernel of its own is computed, for floats, by PyTorch's function of the same name as the
        NumPy function that the row is.

        Raises
        ------
        UnsupportedError
            If there is no kernel.
        """
        at = kind(loops[-1])
        maker = self._makers.get((row.name, at))
        if maker is not None:
            return maker(loops)
        kernel = self._ufunc(row)
        if at != "f" or kernel is None:
            msg = f"the elementwise function {row.name} has no kernel for {', '.join(loops)}"
            raise UnsupportedError(msg)
        return kernel


KERNELS = KernelTable()
