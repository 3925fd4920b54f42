"""Compiled functions that machine code calls by name, so that it holds no address and can be cached."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Generic, TypeVar

import llvmlite.binding as llvm

from treadle.config import new_lock

T = TypeVar("T")


class Symbols(Generic[T]):
    """Functions of one kind, each looked up at its first use and registered with LLVM.

    Parameters
    ----------
    stem
        What symbols of this kind begin with.
    calls
        Returns the pattern of what calls one in generated text, with the parts of its name as groups.
    look
        Returns for these parts the address, and what the writer of a call has to know.
    """

    def __init__(self, stem: str, calls: Callable[[], str], look: Callable[..., tuple[int, T]]) -> None:
        self._stem = stem
        self._calls = calls
        self._look = look
        self._lock = new_lock()
        self._known: dict[tuple[str, ...], tuple[str, T]] = {}

    def find(self, *parts: str) -> tuple[str, T]:
        """Return the symbol that stands for a function in machine code, and what is to be known of it."""
        with self._lock:
            if parts not in self._known:
                address, about = self._look(*parts)
                symbol = f"treadle_{'_'.join((self._stem, *parts))}"
                llvm.add_symbol(symbol, address)
                self._known[parts] = symbol, about
            return self._known[parts]

    def install(self, source: str) -> None:
        """Register with LLVM the functions that a text calls, before machine code of that text is loaded."""
        for call in re.finditer(self._calls(), source):
            self.find(*call.groups())
