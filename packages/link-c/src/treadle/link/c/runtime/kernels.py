"""C texts of kernels of `treadle.kernels`, by the names of their functions: each is printed once in a process."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from treadle.config import new_lock
from treadle.graph import DuplicateRegistrationError

if TYPE_CHECKING:
    from treadle.kernels import Specialised

_CALLED = re.compile(r"\btr_k_\w+")


class KernelTexts:
    """The texts of the kernels that programs have called."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._kernels: dict[str, Specialised] = {}
        self._texts: dict[str, str] = {}

    def add(self, kernel: Specialised) -> str:
        """Add a kernel, with those that it calls, and return the name of its function.

        Raises
        ------
        DuplicateRegistrationError
            If there is another kernel of the name.
        """
        from treadle.kernels import c_name, c_text

        name = c_name(kernel)
        with self._lock:
            known = self._kernels.get(name)
        if known is kernel:
            return name
        if known is not None:
            msg = f"c: {known.where} and {kernel.where} are kernels of one name. Choose another name for one of them."
            raise DuplicateRegistrationError(msg)
        for called in kernel.kernels:
            self.add(called)
        text = c_text(kernel)
        with self._lock:
            self._kernels[name], self._texts[name] = kernel, text
        return name

    def find(self, name: str) -> str | None:
        """Return the text of a kernel's function, None for other names."""
        return self._texts.get(name)

    def within(self, text: str) -> list[str]:
        """Return the texts of the kernels that a text calls, and of those that they call."""
        texts: dict[str, str] = {}
        pending = _CALLED.findall(text)
        while pending:
            name = pending.pop()
            if name not in texts and name in self._texts:
                texts[name] = self._texts[name]
                pending += _CALLED.findall(texts[name])
        return list(texts.values())


KERNELS = KernelTexts()
