"""Tiers: a function runs on the Python VM until its program has been compiled in the background.

The first tier's program and the mode's are made of the same specification, so that they take and return the same
values. A function has a caller for one of them: it is replaced as a whole (`Function.take`), between calls. A call that
has begun ends on the program that it began with. Values that are kept live in cells outside of both, and calls that use
them hold the cells' locks, whatever program they run.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from enum import Enum, auto
from time import monotonic, perf_counter, sleep
from typing import TYPE_CHECKING, Any

from treadle.compile.errors import FunctionValueError, FunctionWarning
from treadle.compile.functions.tiering.background import THREADS, AbandonedError
from treadle.compile.mode.mode import Mode
from treadle.compile.mode.optimizers import OPT_STABILIZE
from treadle.config import Spans, collecting, config, new_condition, user_depth
from treadle.graph import ancestors
from treadle.link.vm import Program, PythonLinker
from treadle.rewrite import RewriteDatabaseQuery

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from treadle.compile.functions.function import Function
    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.stored.programs import Lookup
    from treadle.graph import Type, Value

# Rewrites of the first tier: up to the stable forms, which decide what comes out where numbers are very large or small.
_LAST_POSITION = OPT_STABILIZE.position_cutoff or 0.0
# Seconds that calls and the background thread run in turns. A thread that gives up the interpreter's lock now and then,
# as compiling does, waits for the interpreter's switch interval each time, ten times as long, where calls never do.
_TURN = 0.0005


def first_mode(mode: Mode) -> Mode:
    """Return the mode of the first tier: the Python VM, and of the mode's rewrites those up to the stable forms."""
    rewrites: object = mode.own_rewriter
    if rewrites is None:
        query = mode.query
        cutoff = config.optdb__position_cutoff if query.position_cutoff is None else query.position_cutoff
        rewrites = RewriteDatabaseQuery(
            query.include,
            query.require,
            query.exclude,
            query.subquery,
            min(cutoff, _LAST_POSITION),
            query.extra_rewrites,
        )
    return Mode("vm", rewrites, db=mode.db, name=f"{mode}, first tier")


def has_tiers(maker: FunctionMaker, plain: type[FunctionMaker]) -> bool:
    """Whether the function of a maker runs on the Python VM first; `plain` is the class of makers without extra steps.

    Raises
    ------
    FunctionValueError
        If it is asked for, not only by the option, and the mode does something at each node, has steps of its own, or
        leaves outputs in its backend's own form.
    """
    asked = maker.mode.tiered if maker.tiered is None else maker.tiered
    if not (config.tiered if asked is None else asked):
        return False
    reason = ""
    if type(maker) is not plain:
        reason = f"{type(maker).__name__} makes its functions, by steps of its own"
    elif maker.linker.acts_at_nodes:
        reason = "it does something at each node, which the Python VM would not"
    elif maker.linker.device_outputs:
        reason = "outputs are to stay in the backend's own form, which the Python VM does not have"
    if reason and asked:
        msg = (
            f"function: tiered=True does not go with mode {maker.mode}: {reason}. Leave tiered out, or pick another "
            "mode."
        )
        raise FunctionValueError(msg)
    runs_there = isinstance(maker.linker, PythonLinker) or maker.mode.backend.name == "vm"
    return not reason and not runs_there


def draws_alike(maker: FunctionMaker) -> bool:
    """Whether random numbers of a function are the same on the Python VM as those that the mode's backend draws."""
    spec = maker.specification
    outputs = [*(o.variable for o in spec.outputs), *(new for _, new in spec.updates)]
    return not maker.linker.draws_otherwise(x.type for x in ancestors(outputs))


class FirstTier(Program):
    """The program of the Python VM that computes until another one has been compiled."""

    def __init__(self, program: Program, maker: FunctionMaker, tiers: Tiers, takes_native: bool) -> None:
        self.program = program
        # Whether arguments may come in the own form of the backend that it stands in for.
        self.takes_native = takes_native
        # What it was made by: its rewritten graph explains what fails in it.
        self.maker = maker
        self.writes = program.writes
        self._tiers = tiers

    def __call__(self, *inputs: object) -> Sequence[Value]:
        """Compute the outputs."""
        tiers = self._tiers
        if tiers.needs_attention:
            return tiers.attend(self.program, inputs)
        tiers.take_turns()
        return self.program(*inputs)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the program itself."""
        if name.startswith("__") or name == "program":
            raise AttributeError(name)
        return getattr(self.program, name)


class _State(Enum):
    WAITING = auto()  # for a thread
    RUNNING = auto()
    UNTRIED = auto()  # compiled, but the library compiles for values only: the next call's are tried out
    READY = auto()
    FAILED = auto()
    LOST = auto()  # abandoned, or in a forked child: nobody works on it


class Tiers:
    """A program that is compiled in the background, and the functions that are to run it.

    Parameters
    ----------
    maker
        Makes the program.
    lookup
        What was found out when it was looked for in the compile cache; None if it does not go there.
    first_maker, program
        The first tier's.
    """

    def __init__(
        self, maker: FunctionMaker, lookup: Lookup | None, first_maker: FunctionMaker, program: Program
    ) -> None:
        self._maker = maker
        self._lookup = lookup
        self._types: list[Type] = [v.type for v in first_maker.fgraph.inputs]
        self._changed = new_condition()
        self._state = _State.LOST
        self._is_settled = False  # whether it is ready or has failed, and all functions know
        self._is_hurried = False  # whether somebody waits for the functions to run it
        self._waiting = 0  # how many calls of `_wait` there are
        self._thread: int | None = None
        self._functions: list[weakref.ref[Function]] = []
        self._compiled: Program | None = None
        self._sample: tuple[Value, ...] | None = None
        self._error: BaseException | None = None
        self._traceback: TracebackType | None = None
        self._turned = 0.0  # when the thread last had the interpreter
        self._is_told = True
        # Read by every call of the first tier: whether `attend` has something to do.
        self.needs_attention = False
        takes_native = "native_values" in maker.mode.backend.capabilities
        self.current: Program = FirstTier(program, first_maker, self, takes_native)

    # Functions

    def join(self, function: Function) -> Program:
        """Return what a function is to run now; it will be given the other program in time."""
        with self._changed:
            if self._state is not _State.READY:
                self._functions = [ref for ref in self._functions if ref() is not None]
                self._functions.append(weakref.ref(function))
            return self.current

    def begin(self) -> None:
        """Have the program compiled, where that is not under way; called once a function has joined."""
        with self._changed:
            if self._state is _State.LOST:
                self._submit(soon=False)

    def wait(self, timeout: float | None = None) -> None:
        """Return when the program runs in all functions.

        Raises
        ------
        TimeoutError
            If it has not been compiled after some seconds.
        Exception
            What went wrong when it was compiled.
        """
        self._wait(timeout, hurries=True)
        with self._changed:
            error, self._is_told = self._error, True
        if error is not None:
            raise error.with_traceback(self._traceback)  # without the frames of earlier calls

    @property
    def has_compiled(self) -> bool:
        """Whether there is a program, though not all functions may run it yet."""
        return self._compiled is not None

    def settle(self) -> None:
        """Return when the program has been compiled, or has failed to be; at once in the thread that compiles it."""
        self._wait(None, hurries=False)

    def _wait(self, timeout: float | None, *, hurries: bool) -> None:
        if self._thread == threading.get_ident():
            return
        until = None if timeout is None else monotonic() + timeout
        with self._changed:
            self._waiting += 1
            try:
                while not self._is_settled and (hurries or self._compiled is None):
                    self._urge(hurries)
                    remaining = None if until is None else until - monotonic()
                    if remaining is not None and remaining <= 0:
                        msg = f"{self._title()}: not compiled after {timeout:g} seconds. Wait longer, or go on without."
                        raise TimeoutError(msg)
                    self._changed.wait(remaining)
            finally:
                self._waiting -= 1

    def _urge(self, hurries: bool) -> None:
        self.begin()
        if hurries and not self._is_hurried:
            self._is_hurried = True
            THREADS.hasten(self)
        if hurries and self._state is _State.UNTRIED:
            self._submit(soon=True)
        if self._state is _State.LOST:
            msg = (
                f"{self._title()}: nothing compiles it in the background: the process ends, or has no thread left. "
                "Calls go on, on the Python VM."
            )
            raise FunctionValueError(msg)

    # Calls of the first tier

    def attend(self, program: Program, inputs: Sequence[Value]) -> Sequence[Value]:
        """Compute with the first tier's program, and do what is to be done in a call."""
        self._tell()
        self.begin()
        if self._state is not _State.UNTRIED:
            return program(*inputs)
        sample = tuple(kind.copy_value(x) for kind, x in zip(self._types, inputs, strict=True))
        results = program(*inputs)
        with self._changed:
            if self._state is _State.UNTRIED:
                self._sample = sample
                self._submit(soon=True)
        return results

    def take_turns(self) -> None:
        """Let the background thread have the interpreter, if it needs it and did not have it lately."""
        if self._state is _State.RUNNING:
            now = perf_counter()
            if now - self._turned > _TURN:
                sleep(_TURN)
                self._turned = perf_counter()

    def _submit(self, *, soon: bool) -> None:
        self._state = _State.WAITING
        self.needs_attention = False
        is_taken = False
        try:
            is_taken = THREADS.submit(self, int(self._maker.options["compile__background"]), soon=soon)
        finally:
            if not is_taken:
                self._state = _State.LOST
                self.needs_attention = True

    def _tell(self) -> None:
        """Warn, once, that the program could not be compiled."""
        with self._changed:
            error = None if self._is_told else self._error
            self._is_told = True
            self.needs_attention = self._state in {_State.LOST, _State.UNTRIED}
        if error is not None:
            warning = FunctionWarning(
                f"{self._title()}: could not be compiled for mode {self._maker.where()}, and stays on the Python VM: "
                f"{type(error).__name__}: {error}"
            )
            warning.__cause__ = error
            warnings.warn(warning, stacklevel=user_depth())

    def _title(self) -> str:
        return self._maker.name or "function"

    # The background thread

    def run(self) -> None:
        """Compile the program, and hand it to the functions; or note why that is not possible."""
        with self._changed:
            if self._state is not _State.WAITING:
                return
            self._state = _State.RUNNING
            self._thread = threading.get_ident()
        try:
            with collecting(Spans(self._check)):
                self._work()
        except AbandonedError:
            self._end(_State.LOST)
        except BaseException as error:  # noqa: BLE001 - told by the next call, and raised by wait
            self._error, self._traceback = error, error.__traceback__
            self._is_told = False
            self._end(_State.FAILED)

    def _work(self) -> None:
        self._check()
        program = self._compiled
        if program is None:
            program = self._compiled = self._maker.compiled_program(self._lookup)
        if program.compiles_in_calls:
            if self._sample is not None:
                self._check()
                program(*self._sample)
            elif not self._is_hurried:
                self._end(_State.UNTRIED)
                return
        self._swap(program)

    def _check(self) -> None:
        """End the work if nobody wants it."""
        THREADS.check()
        if not self._waiting and all(ref() is None for ref in list(self._functions)):
            raise AbandonedError

    def _swap(self, program: Program) -> None:
        with self._changed:
            self.current = program
            self._state = _State.READY
        # Functions that are made from now on begin with it. The others are listed until all have it: in a child that is
        # forked meanwhile, they take it anew.
        for ref in self._functions:
            function = ref()
            if function is not None:
                function.take(program)
        self._functions.clear()
        self._lookup = self._sample = None
        self._end(_State.READY)

    def _end(self, state: _State) -> None:
        with self._changed:
            self._state = state
            self._thread = None
            self._is_settled = state in {_State.READY, _State.FAILED}
            self.needs_attention = state is not _State.READY
            self._changed.notify_all()

    def lose(self) -> None:
        """Take note that the thread that worked on it is in another process: the next call begins anew."""
        if not self._is_settled:
            self._thread = self._compiled = self._sample = None
            self._waiting = 0
            self._state = _State.LOST
            self.needs_attention = True
