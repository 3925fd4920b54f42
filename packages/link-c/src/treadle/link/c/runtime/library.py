"""Finding the helper functions that a C text uses, and theirs in turn."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from treadle.link.c.dtypes import CTYPES
from treadle.link.c.runtime.core import CORE
from treadle.link.c.runtime.fused_reduction import FUSED
from treadle.link.c.runtime.indexing import INDEXING, adding, adding_points, placing
from treadle.link.c.runtime.normalization import normalizer
from treadle.link.c.runtime.product import COMMON, accumulated, matmul
from treadle.link.c.runtime.reduction import DRIVER, arg_reducer, reducer
from treadle.link.c.runtime.scalars import scalar_helpers
from treadle.link.c.runtime.shapes import SHAPES
from treadle.link.c.runtime.threads import shared_among_threads
from treadle.link.c.runtime.user import USERS
from treadle.link.c.runtime.vectors import BLOCK_FUNCTIONS, VECTOR_TYPES, block_function, shifted_exponentials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAME = re.compile(r"\btr_\w+")
_DTYPES = {ctype.short: name for name, ctype in CTYPES.items()}
_SHORT = "|".join(_DTYPES)


class Library:
    """All helper functions by name; text is made when it is asked for.

    Parameters
    ----------
    simd
        Which math functions have SIMD entry points: names such as ``exp`` and ``expf``.
    portable
        Whether texts are to be compiled elsewhere too, where the C library may lack them.
    threads
        From how many elements on loops are shared among threads; 0: never.
    """

    def __init__(self, simd: frozenset[str], portable: bool = False, threads: int = 0) -> None:
        self._simd = simd
        self._portable = portable
        self._threads = threads
        self._known = {
            **CORE,
            **scalar_helpers(),
            **DRIVER,
            **FUSED,
            **COMMON,
            **INDEXING,
            **SHAPES,
            **USERS,
            "tr_f64s": VECTOR_TYPES,
        }
        if threads:
            self._known.update(shared_among_threads(self._known, threads))
        self._aliases = {
            "tr_f32s": "tr_f64s",
            "tr_dims": "tr_split",
            "tr_placing": "tr_place",
            **dict.fromkeys(("tr_parts", "tr_cut", "tr_piece", "tr_pieces", "tr_alone"), "tr_team"),
            "tr_store": "tr_unite",
            "tr_points": "tr_gather",
            "tr_lend": "tr_kept",
            "tr_return": "tr_kept",
            "tr_add_loop": "tr_loops",
            "tr_make_plan": "tr_plan",
        }
        self._made: dict[str, tuple[str, str]] = {}
        self._patterns: list[tuple[re.Pattern[str], Callable[..., tuple[str, str]]]] = [
            (re.compile(rf"tr_(sum|prod|max|min|all|any)_({_SHORT})_({_SHORT})_({_SHORT})(?:_run)?"), self._reducer),
            (re.compile(rf"tr_(argmax|argmin)_({_SHORT})"), lambda kind, x: arg_reducer(kind, _DTYPES[x])),
            (re.compile(rf"tr_v_({'|'.join(BLOCK_FUNCTIONS)})_(f32|f64)"), self._block),
            (re.compile(r"tr_shifted_exp_(f32|f64)"), self._shifted),
            (re.compile(rf"tr_matmul_({_SHORT})"), lambda x: matmul(_DTYPES[x], blas=x in {"f32", "f64"})),
            (re.compile(r"tr_accumulate_(f32|f64)"), lambda x: accumulated(_DTYPES[x])),
            (re.compile(rf"tr_normalize_({_SHORT})"), lambda x: normalizer(_DTYPES[x])),
            (re.compile(rf"tr_place_({_SHORT})"), lambda x: placing(_DTYPES[x])),
            (re.compile(rf"tr_add_({_SHORT})"), lambda x: adding(_DTYPES[x])),
            (re.compile(rf"tr_add_points_({_SHORT})"), lambda x: adding_points(_DTYPES[x])),
        ]

    def _reducer(self, kind: str, x: str, acc: str, out: str) -> tuple[str, str]:
        return reducer(kind, _DTYPES[x], _DTYPES[acc], _DTYPES[out], merged=bool(self._threads))

    def _block(self, function: str, short: str) -> tuple[str, str]:
        simd = function + ("f" if short == "f32" else "") in self._simd
        return f"tr_v_{function}_{short}", block_function(function, short, simd, self._portable)

    def _shifted(self, short: str) -> tuple[str, str]:
        simd = "exp" + ("f" if short == "f32" else "") in self._simd
        return f"tr_shifted_exp_{short}", shifted_exponentials(short, simd, self._portable)

    def find(self, name: str) -> tuple[str, str] | None:
        """Return the name and text of the helper that a name belongs to, or None for a name that is no helper's."""
        name = self._aliases.get(name, name)
        if name in self._known:
            return name, self._known[name]
        if name not in self._made:
            for pattern, make in self._patterns:
                match = pattern.fullmatch(name)
                if match:
                    self._made[name] = make(*match.groups())
                    break
            else:
                return None
        return self._made[name]

    def needed(self, text: str) -> str:
        """Return the text of all helpers that a text needs, each after those that it needs itself."""
        return "".join(self.helpers(text).values())

    def helpers(self, text: str) -> dict[str, str]:
        """Return all helpers that a text needs, by name, each after those that it needs itself."""
        written: dict[str, str] = {}
        stack: list[tuple[str, str, Iterator[str]]] = [("", "", iter(dict.fromkeys(_NAME.findall(text))))]
        open_: set[str] = {""}
        while stack:
            name, body, uses = stack[-1]
            for use in uses:
                found = self.find(use)
                if found is not None and found[0] not in written and found[0] not in open_:
                    open_.add(found[0])
                    stack.append((found[0], found[1], iter(dict.fromkeys(_NAME.findall(found[1])))))
                    break
            else:
                stack.pop()
                if name:
                    written[name] = body
        return written
