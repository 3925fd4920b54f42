"""Finding the helper functions that a C text uses, and those that they use."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256

from treadle.kernels import HELPERS as LANGUAGE
from treadle.link.c.conventions.dtypes import CTYPES, CType
from treadle.link.c.conventions.special import special_function
from treadle.link.c.runtime.additions import HELPERS
from treadle.link.c.runtime.calls import CALLS
from treadle.link.c.runtime.core import CORE
from treadle.link.c.runtime.iteration import ITERATION
from treadle.link.c.runtime.kernels import KERNELS
from treadle.link.c.runtime.linked import declarations, symbols
from treadle.link.c.runtime.loops import LOOPS
from treadle.link.c.runtime.product import PRODUCT, accumulated, matmul
from treadle.link.c.runtime.reductions.fused_reduction import FUSED
from treadle.link.c.runtime.reductions.normalization import NORMALIZATION, normalizer
from treadle.link.c.runtime.reductions.reduction import DRIVER, KINDS, reducer
from treadle.link.c.runtime.scalars import scalar_helpers
from treadle.link.c.runtime.shapes import SHAPES, adding
from treadle.link.c.runtime.threads import shared_among_threads
from treadle.link.c.runtime.user import USERS
from treadle.link.c.runtime.vectors import (
    BLOCK_FUNCTIONS,
    KERNEL_BLOCKS,
    block_function,
    kernel_block,
    shifted_exponentials,
)

_NAME = re.compile(r"\btr_\w+")
# What is called for an array or a block of it: other helpers' objects refer to those that have it.
_APART = {name for names in (*CORE, *ITERATION) for name in names.split()}
# Variables of programs with addresses that are passed when these are loaded: what reads them is not linked.
_ADDRESS = "tr_at_"
_TYPES = {ctype.short: ctype for ctype in CTYPES.values()}


class Library:
    """All helper functions by name; the text of each is generated when it is first used.

    A helper needs the helpers that its text names. One text may define more than one name: its key lists them all,
    the first is the helper's own. Texts for types are named ``tr_<stem>_<type>…``, such as ``tr_sum_i8_i64_i64``;
    further names that such a text defines end in ``_run``.

    `simd` are the math functions that have SIMD entry points, such as ``exp`` and ``expf``. Texts that are
    `portable` may be compiled on other machines, whose C library may not have these. Loops over at least `threads`
    elements are shared among threads, none if it is 0.
    """

    def __init__(self, simd: Container[str], portable: bool = False, threads: int = 0) -> None:
        texts: dict[str, str] = {
            **CORE, **ITERATION, **CALLS, **scalar_helpers(), **DRIVER, **FUSED,
            **PRODUCT, **LOOPS, **NORMALIZATION,
            **SHAPES, **USERS, **LANGUAGE,
        }  # fmt: skip
        HELPERS.refuse_names_of(texts)
        texts.update(HELPERS.texts)
        if threads:
            texts.update(shared_among_threads(texts, threads))
        self._texts: dict[str, tuple[str, str]] = {}
        # By a helper's own name: what a program declares that has it linked; None for those that are not linked.
        self._declarations: dict[str, str | None] = {}
        # By a helper's own name: the linked ones that an object with it refers to.
        self._referred: dict[str, list[str]] = {}
        # The names that what is shown of a helper uses, by its text.
        self._uses: dict[str, tuple[str, ...]] = {}
        for names, text in texts.items():
            first, *more = names.split()
            self._texts.update(dict.fromkeys((first, *more), (first, text)))
        self._makers: Mapping[str, Callable[..., str]] = {
            **{f"tr_{kind}": partial(reducer, kind, merged=bool(threads)) for kind in KINDS},
            **{f"tr_v_{f}": partial(block_function, f, simd=simd, portable=portable) for f in BLOCK_FUNCTIONS},
            **{f"tr_v_{f}": partial(kernel_block, f) for f in KERNEL_BLOCKS},
            "tr_shifted_exp": partial(shifted_exponentials, simd=simd, portable=portable),
            "tr_matmul": matmul,
            "tr_accumulate": accumulated,
            "tr_normalize": normalizer,
            "tr_add": adding,
        }

    def find(self, name: str) -> tuple[str, str] | None:
        """Return the name and text of the helper that defines a name, or None if no helper does."""
        if name not in self._texts:
            kernel = KERNELS.find(name)
            if kernel is not None:
                self._texts[name] = name, kernel
                return self._texts[name]
            own = name.removesuffix("_run")
            stem = own
            types: list[CType] = []
            while (short := stem.rpartition("_")[2]) in _TYPES:
                types.insert(0, _TYPES[short])
                stem = stem.removesuffix(f"_{short}")
            make = self._makers.get(stem)
            if stem.startswith("tr_special_"):
                make = partial(special_function, stem.removeprefix("tr_special_"))
            elif make is None:
                make = HELPERS.families.get(stem)
            if make is None or not types:
                return None
            self._texts[own] = self._texts[name] = own, make(*types)
        return self._texts[name]

    def needed(self, text: str) -> str:
        """Return the text of all helpers that a text needs, each after those that it needs itself."""
        return "".join(self.helpers(text).values())

    def helpers(self, text: str) -> dict[str, str]:
        """Return all helpers that a text needs, by name, each after those that it needs itself."""
        return self._collected(text, lambda _, body: body)

    def linked(self, text: str) -> dict[str, str]:
        """Return what a text needs that has helpers linked to it, by name.

        Those that are linked are declared. The text of the others, which are short or cannot be linked, is included.
        """
        return self._collected(text, lambda name, body: self._declared(name, body) or body)

    def is_linked(self, name: str) -> bool:
        """Whether a helper that `linked` has returned is one that is linked."""
        return self._declarations[name] is not None

    def closed(self, names: Iterable[str]) -> list[str]:
        """Return helpers that are linked, and those that objects with them refer to."""
        found = dict.fromkeys(names)
        pending = [*found]
        while pending:
            name = pending.pop()
            if name not in self._referred:
                self._referred[name] = [n for n in self._object([name]) if n != name and self._is_apart(n)]
            more = [other for other in self._referred[name] if other not in found]
            found.update(dict.fromkeys(more))
            pending += more
        return [*found]

    def object_text(self, names: Iterable[str]) -> str:
        """Return the text of an object with some of the helpers that can be linked.

        Others that run once for an array or a block are declared in it: they are linked beside it, see `closed`.
        """
        names = tuple(names)
        text = "".join(self._object(names).values())
        return text + "".join(symbols(self._declarations[name] or "") for name in names)

    def _object(self, names: Collection[str]) -> dict[str, str]:
        """Return the texts in an object with some helpers, by name."""

        def shown(name: str, body: str) -> str:
            declared = self._declared(name, body)
            return body if name in names or name not in _APART else declared or body

        return self._collected(" ".join(names), shown)

    def _is_apart(self, name: str) -> bool:
        return name in _APART and self.is_linked(name)

    def _declared(self, name: str, body: str) -> str | None:
        if name not in self._declarations:
            names = {known for known, (own, _) in self._texts.items() if own == name}
            if f"{name}_run(" in body:
                names.add(f"{name}_run")
            whole = body + self.needed(body)
            text = None if _ADDRESS in whole else declarations(body, names, sha256(whole.encode()).hexdigest()[:16])
            self._declarations[name] = text
        return self._declarations[name]

    def _collected(self, text: str, show: Callable[[str, str], str]) -> dict[str, str]:
        """Return what is shown of the helpers that a text, and what is shown of others, needs."""
        written: dict[str, str] = {}
        stack: list[tuple[str, str, Iterator[str]]] = [("", "", iter(dict.fromkeys(_NAME.findall(text))))]
        open_: set[str] = {""}
        while stack:
            name, body, uses = stack[-1]
            for use in uses:
                helper = self.find(use)
                if helper is not None and helper[0] not in written and helper[0] not in open_:
                    open_.add(helper[0])
                    shown = show(*helper)
                    if shown not in self._uses:
                        self._uses[shown] = tuple(dict.fromkeys(_NAME.findall(shown)))
                    stack.append((helper[0], shown, iter(self._uses[shown])))
                    break
            else:
                stack.pop()
                if name:
                    written[name] = body
        return written
