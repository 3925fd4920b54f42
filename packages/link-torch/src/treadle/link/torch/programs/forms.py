"""Compiled forms of functions for exact shapes: in memory, and in the compile cache.

A form is loaded in a few milliseconds, without the import of PyTorch's compiler, and its call makes no checks but those
of shapes and strides. It is kept for functions that the compile cache keeps, for the CPU.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch

from treadle.cache import Cache, default_cache, digest, processor
from treadle.config import dataclass, new_lock
from treadle.graph import GraphTypeError, Value
from treadle.link.torch.programs.wrapper_text import Call, Kernel, load_kernel, run_text

# What a form is for: the shapes of tensors that may vary, and the integers among the arguments.
Met = tuple[tuple[torch.Size, ...], tuple[object, ...]]
# Each result of the function: the position among the tensors that the compiled call returns, or a plain value.
Layout = tuple[tuple[str, int | bool | None], ...]
Strides = tuple[tuple[int, ...] | None, ...]
_LIBRARY = ".so"
_FORMAT = "pytorch form 1"
# A function looks in the cache at so many of its first calls with new shapes.
LOOKUPS = 8
# And no longer after so many calls with shapes for which there was none: they would cost microseconds for ever.
AGAIN = 32


def met_in(args: Sequence[Value], count: int) -> Met:
    """Return what a form for these arguments is for, if the first `count` are tensors whose shapes may vary."""
    return (
        tuple([x.shape for x in args[:count]]),
        tuple([x for x in args[count:] if not isinstance(x, torch.Tensor)]),
    )


def strides_of(tensors: Sequence[torch.Tensor]) -> Strides:
    """Return the strides of tensors, None for those of tensors whose elements follow each other."""
    return tuple([None if x.is_contiguous() else x.stride() for x in tensors])


@dataclass(frozen=True, slots=True)
class Code:
    """What a form is made of: the text that Inductor wrote, the libraries of its kernels in turn, its results.

    `strides` are those of each tensor among the arguments, None for the usual ones.
    """

    text: str
    libraries: tuple[Path, ...]
    layout: Layout
    strides: Strides


class Form:
    """A compiled form: a function of tensors and integers, for the shapes that it was made for.

    It fails where shapes or strides of tensors are others.
    """

    __slots__ = ("_all", "_call", "_layout", "_strides")

    def __init__(self, call: Call, layout: Layout, strides: Strides) -> None:
        self._call = call
        self._strides = strides
        self._layout = layout
        tensors = [value for kind, value in layout if kind == "tensor"]
        # The usual layout: no flag, and then the tensors as they are returned.
        self._all = layout[0] == ("plain", None) and tensors == list(range(len(layout) - 1))

    def __call__(self, args: Sequence[Value]) -> list[object]:
        """Return the results for all arguments of the function, in the order in which it takes them."""
        # A tensor may be marked as one whose signs are to be changed; kernels read what is in memory.
        tensors = [x.resolve_neg() if x.is_neg() else x for x in args if isinstance(x, torch.Tensor)]
        # Inductor's text checks only some of them.
        if strides_of(tensors) != self._strides:
            msg = "a tensor has other strides than the one that the function was compiled for"
            raise ValueError(msg)
        results = self._call(tensors)
        if self._all:
            return [None, *results]
        return [results[value] if kind == "tensor" else value for kind, value in self._layout]  # type: ignore[index]


def form_of(code: Code) -> Form:
    """Return the form of some code; raises an error of any class where the code is damaged."""
    libraries = iter(code.libraries)

    def next_kernel(types: Sequence[str], text: str) -> Kernel:
        del types, text
        return load_kernel(next(libraries))

    return Form(run_text(code.text, next_kernel), code.layout, code.strides)


class ProgramForms:
    """Where the forms of one program's functions are kept between processes.

    Attributes
    ----------
    token
        What tells the program from all others; None if it is not kept.
    """

    def __init__(self, token: str | None = None) -> None:
        self.token = token
        # Whether another process may have made forms.
        self.is_old = token is not None
        self._cache: Cache = default_cache()

    def keep(self) -> str:
        """Keep the forms from now on; return the token."""
        if self.token is None:
            self.token = secrets.token_hex(32)
        return self.token

    def find(self, about: Sequence[str]) -> Form | None:
        """Return the form of a function for some shapes; one that is damaged counts as missing."""
        payload = None if self.token is None else self._cache.get(self._key(about))
        if payload is None:
            return None
        try:
            text, keys, layout, strides = json.loads(payload)
            libraries = [self._cache.file(key, _LIBRARY) for key in keys]
            found = tuple(path for path in libraries if path is not None)
            if len(found) < len(libraries):
                return None
            strides = tuple(None if each is None else tuple(each) for each in strides)
            return form_of(Code(text, found, tuple((kind, value) for kind, value in layout), strides))
        except Exception:  # noqa: BLE001 - whatever is wrong with it, the function is compiled anew
            return None

    def put(self, about: Sequence[str], code: Code) -> None:
        """Keep a form."""
        if self.token is None:
            return
        keys = []
        for path in code.libraries:
            key = digest("pytorch kernel", path.read_bytes())
            self._cache.materialise(key, _LIBRARY, partial(shutil.copyfile, path))
            keys.append(key)
        payload = json.dumps([code.text, keys, code.layout, code.strides]).encode()
        self._cache.put(self._key(about), payload, {"backend": "pytorch", "shapes": about[-1]})

    def _key(self, about: Sequence[str]) -> str:
        settings = (
            torch.__version__,
            str(torch.get_num_threads()),
            str(torch.are_deterministic_algorithms_enabled()),
            processor(),
        )
        return digest(_FORMAT, str(self.token), *settings, *about)


class FunctionForms:
    """The forms of one function.

    Parameters
    ----------
    program
        Where they are kept.
    name
        Returns what tells the function from others of the program.
    """

    def __init__(self, program: ProgramForms, name: Callable[[], str]) -> None:
        self._program = program
        self._name = name
        self._lock = new_lock()
        self._forms: dict[Met, Form] = {}
        self._lookups = LOOKUPS if program.is_old else 0
        self._absent: set[Met] = set()
        self._again = AGAIN

    @property
    def any(self) -> bool:
        """Whether there is a form."""
        return bool(self._forms)

    @property
    def may_have(self) -> bool:
        """Whether there is a form, or may be one in the cache."""
        return bool(self._forms) or self._lookups > 0

    def get(self, met: Met) -> Form | None:
        """Return the form for some shapes, which is looked for in the cache at the first calls."""
        form = self._forms.get(met)
        if form is not None or self._lookups <= 0:
            return form
        if met in self._absent:
            # From several threads, some of it may be lost.
            self._again -= 1
            if self._again <= 0:
                self._lookups = 0
        else:
            with self._lock:
                form = self._forms.get(met)
                if form is None:
                    form = self._looked_up(met)
        return form

    def _looked_up(self, met: Met) -> Form | None:
        about = self._about(met)
        form = None if about is None else self._program.find(about)
        if form is None:
            self._absent.add(met)
            self._lookups -= 1
        else:
            self._forms[met] = form
        return form

    def add(self, met: Met, form: Form, code: Code | None) -> None:
        """Take a form that was compiled now; it is kept if its code is given."""
        self._forms[met] = form
        about = None if code is None or self._program.token is None else self._about(met)
        if code is not None and about is not None:
            self._program.put(about, code)

    def call(self, form: Form, met: Met, args: Sequence[Value]) -> list[object] | None:
        """Return the results of a form, or None: one that fails, as it does for other strides, is forgotten."""
        try:
            return form(args)
        except Exception:  # noqa: BLE001 - what cannot be computed fails again, operation by operation
            self._absent.add(met)
            self._forms.pop(met, None)
            return None

    def _about(self, met: Met) -> tuple[str, ...] | None:
        """Return what a form is kept under, None for a graph without a name that is the same in every process."""
        try:
            name = self._name()
        except GraphTypeError:
            return None
        shapes, numbers = met
        return name, repr(([tuple(shape) for shape in shapes], numbers))
