"""Running a function through torch.compile, from many threads."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from treadle.config import new_lock, span
from treadle.graph import Value
from treadle.link.torch.errors import ForkedProcessError, PyTorchWarning
from treadle.link.torch.programs.folder import inductor_folder
from treadle.link.torch.programs.forms import Form, FunctionForms, Met, met_in
from treadle.link.torch.programs.static_compilation import Options, compile_static, vector_options

# Lengths 0 and 1, and equal ones, are compiled separately: a program of many inputs has many such cases.
RECOMPILATIONS = 200
_SHAPES_REMEMBERED = 4096
# Work on up to so many elements is not split among threads, as in PyTorch's own kernels.
SMALL = 2**15


class _Process:
    """The process in which PyTorch first ran a program: its threads do not survive a fork."""

    def __init__(self) -> None:
        self._pid: int | None = None
        # Asking for the number at each call would cost more, and PyTorch's compiler cannot trace it.
        self._is_forked = False

    def check(self) -> None:
        """Raise in a process forked from one where a program ran."""
        if self._is_forked:
            pid = os.getpid()
            msg = (
                f"pytorch: a program was called in process {pid}, forked from {self._pid} where PyTorch had run; "
                "its threads do not survive a fork, and calls may hang. Start processes with the method 'spawn' "
                "(multiprocessing.get_context('spawn')), or call no PyTorch program before forking."
            )
            raise ForkedProcessError(msg)
        if self._pid is None:
            self._first_check()

    def _first_check(self) -> None:
        self._pid = os.getpid()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._take_note)

    def _take_note(self) -> None:
        self._is_forked = True


PROCESS = _Process()


class _Notices:
    """Warnings given once in a process."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._given: set[str] = set()

    def warn(self, subject: str, text: str) -> None:
        """Give the warning unless the subject had one."""
        with self._lock:
            if subject in self._given:
                return
            self._given.add(subject)
        warnings.warn(text, PyTorchWarning, stacklevel=2)


NOTICES = _Notices()


def compiler_on_path() -> bool:
    """Whether the C++ compiler that torch.compile uses for the CPU is found."""
    default = {"darwin": "clang++", "win32": "cl"}.get(sys.platform, "g++")
    return shutil.which(os.environ.get("CXX") or default) is not None


def can_compile(place: torch.device) -> bool:
    """Whether torch.compile works for a device: the CPU needs a C++ compiler, and a warning says so without one."""
    if place.type != "cpu" or compiler_on_path():
        return True
    NOTICES.warn(
        "compiler",
        "pytorch: torch.compile needs a C++ compiler, and none was found: programs run uncompiled. Install "
        "g++, or name a compiler in the environment variable CXX.",
    )
    return False


@contextmanager
def no_grad() -> Iterator[None]:
    """Record no gradients inside: the cheap form of torch.no_grad()."""
    # The mode must not vary: torch.compile compiles for each.
    recording = torch.is_grad_enabled()
    if recording:
        torch._C._set_grad_enabled(False)
    try:
        yield
    finally:
        if recording:
            torch._C._set_grad_enabled(True)


class Compiled:
    """A function of tensors and integers, compiled when it is first called, and again where shapes demand it.

    On the CPU the shapes that are met first get a form of their own (see `forms`), which the compile cache keeps.
    Further shapes are left to ``torch.compile``, which makes code for dimensions that change.

    PyTorch's compiler may run in one thread at a time, and refuses calls of compiled functions meanwhile. So a call
    with shapes not met before holds the compiler's own lock; others hold none, and a call that fails is tried again
    with the lock.

    The first `tensors` arguments are tensors whose shapes may change; `small` says that they are too small for
    several threads.
    """

    is_compiled = True

    def __init__(
        self, function: Callable[..., Sequence[object]], tensors: int, forms: FunctionForms, *, small: bool = False
    ) -> None:
        self._function = function
        self._small = small
        self._compiled: Callable[..., Sequence[object]] | None = None
        self._count = tensors
        self._known: set[object] = set()
        self._forms = forms
        # The shapes that were met first.
        self._first: Met | None = None

    def __call__(self, *args: Value) -> Sequence[object]:
        """Call the function; the first arguments are tensors, then integers, then constants."""
        met = met_in(args, self._count)
        form = self._forms.get(met)
        if form is not None:
            results = self._forms.call(form, met, args)
            if results is not None:
                return results
        if met not in self._known:
            return self._first_call(met, args)
        assert self._compiled is not None  # since the first call
        try:
            with no_grad():
                return self._compiled(*args)
        except Exception:  # noqa: BLE001 - whatever it is, the second attempt raises it again
            return self._first_call(met, args)

    def _options(self) -> Options:
        options: Options = {
            # float16 keeps its roundings inside fused code.
            "emulate_precision_casts": True,
            **vector_options(),
        }
        if self._small:
            options["cpp.min_chunk_size"] = SMALL
        return options

    def _compiler(self) -> Callable[..., Sequence[object]]:
        """Return the function as torch.compile makes it, which compiles when it is called."""
        options: dict[str, str | int | bool | Callable[..., object]] = {
            **self._options(),
            # The function and what it calls never change: there is no need to see at each call whether they did.
            "guard_filter_fn": torch.compiler.skip_guard_on_globals_unsafe,
        }
        compiled: Callable[..., Sequence[object]] = torch.compile(
            self._function, fullgraph=True, options=options, recompile_limit=RECOMPILATIONS
        )
        return compiled

    def _first_call(self, met: Met, args: Sequence[Value]) -> Sequence[object]:
        # Imported by torch.compile anyway; importing it takes seconds, so not before.
        from torch._dynamo.convert_frame import compile_lock
        from torch._dynamo.exc import FailOnRecompileLimitHit

        with span("compiler"), compile_lock, inductor_folder(), no_grad():
            form = self._form(met, args)
            if form is not None:
                return form(args)
            if self._compiled is None:
                self._compiled = self._compiler()
            try:
                result: Sequence[object] = self._compiled(*self._marked(met, args))
            except FailOnRecompileLimitHit:
                NOTICES.warn(
                    "recompilations",
                    f"pytorch: a function was compiled {RECOMPILATIONS} times for different shapes. From now on other "
                    "shapes run uncompiled: slower, but right.",
                )
                result = self._function(*args)
        if len(self._known) >= _SHAPES_REMEMBERED:
            self._known = set()
        self._known.add(met)
        return result

    def _form(self, met: Met, args: Sequence[Value]) -> Form | None:
        """Return the form for the shapes that are met first; None for others, and where there cannot be one."""
        # Another thread may have compiled it while this one waited.
        form = self._forms.get(met)
        if form is not None or self._first is not None or self._compiled is not None:
            return form
        self._first = met
        if any(not x.is_cpu for x in args if isinstance(x, torch.Tensor)):
            return None
        try:
            made = compile_static(self._function, args, self._options())
        except Exception:  # noqa: BLE001 - torch.compile says what cannot be compiled, or compiles it after all
            return None
        if made is None:
            return None
        form, code = made
        self._forms.add(met, form, code)
        return form

    def _marked(self, met: Met, args: Sequence[Value]) -> Sequence[Value]:
        """Return arguments that say which of their dimensions have changed since the first call."""
        if self._first is None or met == self._first:
            return args
        marked = list(args)
        for i, (before, now) in enumerate(zip(self._first[0], met[0], strict=True)):
            changed = [d for d in range(len(now)) if before[d] != now[d]]
            if changed:
                marked[i] = alias = args[i].detach()
                torch._dynamo.maybe_mark_dynamic(alias, changed)
        return marked
