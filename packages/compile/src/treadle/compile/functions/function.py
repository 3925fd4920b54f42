"""Function: a compiled graph with its state, called like any Python function."""

from __future__ import annotations

import copy
import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.compile.errors import AliasedMemoryError, CallError, FunctionTypeError, FunctionValueError, FunctionWarning
from treadle.compile.functions.arguments import PythonSignature, Signature
from treadle.compile.functions.asynchronous import AsyncCalls
from treadle.compile.functions.calling import INSTALLING, arguments_of, install_caller
from treadle.compile.functions.exporting import export_function
from treadle.compile.functions.kept import KeptValues
from treadle.compile.functions.locking import Snapshot
from treadle.compile.functions.maps.mapping import map_function
from treadle.compile.functions.tiering.tiers import FirstTier
from treadle.compile.mode.backends import BACKENDS
from treadle.config import config, lazy_module, text_of
from treadle.graph import GraphPage, GraphTypeError, HasInnerGraph, LoweringError, as_flag, retell

if TYPE_CHECKING:
    import html
    from collections.abc import Iterable, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path
    from typing import Self

    from treadle.compile.functions.maker import FunctionMaker
    from treadle.graph import (
        Apply,
        Compute,
        FunctionGraph,
        NodeError,
        SharedVariable,
        UserLine,
        Value,
        Variable,
        printing,
    )
    from treadle.link.vm import Program
else:
    html = lazy_module("html")
    printing = lazy_module("treadle.graph.printing")


class Function(KeptValues):
    """A compiled function. Made by `function`.

    Calling it computes the outputs: ``f(*args, **kwargs, output_subset=None)``. Arguments are the values of the
    inputs, by position or by name. The result is the value of a bare output, a list for a list of outputs, a dict for
    a dict of them. With ``output_subset``, a list of positions or keys, only these outputs are computed, and come in a
    list, or a dict where the outputs are a dict; updates are made all the same. The call raises `CallError` if
    arguments are missing, too many, named twice, not known, or do not fit their inputs, and `NodeError` if an op
    fails, with the op and the user's line.

    It may be called from any number of threads. A function with updates holds the locks of all shared variables it
    reads or updates from the first read to the write-back; if a call fails, none of them has changed.

    Attributes
    ----------
    name
        Its name, or None.
    maker
        What it was made from.
    program
        What computes the outputs and new values; of a function with tiers, that of the tier that runs now.
    signature
        The explicit inputs, and how arguments are matched to them.
    source_line
        The user's line that made it.
    pickle_aliased_memory_strategy
        What to do when kept values share memory, which a pickle does not preserve: ``warn``, ``ignore`` or ``raise``.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> from treadle.compile import function
    >>> x = tt.dscalar("x")
    >>> f = function([x], {"one": x + 1, "two": x + 2}, mode="VM")
    >>> f(1, output_subset=["two"])
    {'two': array(3.)}
    """

    # The caller is in a slot, so that a call runs it at once, without a method around it.
    __slots__ = (
        "__call__",
        "__weakref__",
        "_async_calls",
        "_attributes",
        "_subsets",
        "_trust_input",
        "maker",
        "name",
        "pickle_aliased_memory_strategy",
        "program",
        "signature",
        "source_line",
    )

    __call__: Compute
    _async_calls: AsyncCalls | None
    __signature__ = PythonSignature()
    source_line: UserLine | None
    aliased_strategies: ClassVar[tuple[str, ...]] = ("warn", "ignore", "raise")

    def __init__(self, maker: FunctionMaker, program: Program, name: str | None, trust_input: bool) -> None:
        super().__init__()
        self.maker = maker
        self.program = program
        self.name = name
        self.source_line = maker.source_line
        self.pickle_aliased_memory_strategy = "warn"
        self._trust_input = bool(trust_input)
        self._subsets: dict[tuple[int, ...], Function] = {}
        self._attributes: dict[str, object] = {}
        with INSTALLING:
            if maker.tiers is not None:
                self.program = maker.tiers.join(self)
            self.renew()

    def renew(self) -> None:
        """Write the caller anew, after something in it has changed."""
        with INSTALLING:
            self._async_calls = None
            self.signature = Signature(self.maker.specification.inputs, self.name or "function")
            install_caller(self)
            self._subsets.clear()

    @property
    def caller(self) -> Compute:
        """What a call with the values of the explicit inputs runs."""
        return self.__call__

    @caller.setter
    def caller(self, caller: Compute) -> None:
        self.__call__ = caller

    # Tiers

    @property
    def tier(self) -> str:
        """The backend that calls run on now, by name: with tiers, ``vm`` until the mode's has compiled."""
        return "vm" if isinstance(self.program, FirstTier) else self.maker.mode.backend.name

    def wait(self, timeout: float | None = None) -> Self:
        """Wait until calls run on the mode's backend, and return the function; at once if nothing is being compiled.

        Parameters
        ----------
        timeout
            How many seconds to wait; any number if None.

        Raises
        ------
        FunctionTypeError
            If the timeout is no number.
        TimeoutError
            If it takes longer. The compilation goes on.
        Exception
            What went wrong, if the function could not be compiled. Calls stay on the Python VM.

        Examples
        --------
        >>> import treadle.tensor as tt
        >>> from treadle.compile import function
        >>> x = tt.dscalar("x")
        >>> f = function([x], x + 1, mode="C", tiered=True)
        >>> float(f(1)), f.wait().tier
        (2.0, 'c')
        """
        received: object = timeout
        if received is not None and not isinstance(received, Real):
            msg = f"{self.signature.title}: wait: timeout must be a number of seconds or None, got {text_of(timeout)}. "
            msg += "Leave it out to wait as long as it takes."
            raise FunctionTypeError(msg)
        if self.maker.tiers is not None:
            self.maker.tiers.wait(timeout)
        return self

    def take(self, program: Program) -> None:
        """Let another program compute from the next call on; one that runs ends on the program that it began with."""
        with INSTALLING:
            self._async_calls = None
            self.program = program
            install_caller(self)

    @property
    def trust_input(self) -> bool:
        """Whether arguments are used without checks; they must then be exactly of the inputs' types."""
        return self._trust_input

    @trust_input.setter
    def trust_input(self, value: bool) -> None:
        self._trust_input = bool(value)
        self.renew()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Return an attribute that the backend gives to its functions."""
            if not (name.startswith("_") or name in Function.__slots__):
                made = self._attributes.get(name)
                make = self.maker.mode.backend.function_attributes.get(name) if made is None else None
                if make is not None:
                    try:
                        with config.using(self.maker.options):
                            made = self._attributes.setdefault(name, make(self))
                    except (GraphTypeError, LoweringError) as error:  # one that cannot have it: hasattr is to be False
                        raise AttributeError(str(error)) from error
                if made is not None:
                    return made
                self._refuse_attribute(name)
            msg = f"{type(self).__name__!r} object has no attribute {name!r}"
            raise AttributeError(msg)

    def __dir__(self) -> list[str]:
        """Return the names of attributes, those included that the backend gives."""
        return sorted({*super().__dir__(), *self.maker.mode.backend.function_attributes})

    def _refuse_attribute(self, name: str) -> None:
        """Raise if other backends give such an attribute to their functions."""
        installed = [backend for backend in map(BACKENDS.load, BACKENDS.names()) if backend is not None]
        modes = [backend.name.upper() for backend in installed if name in backend.function_attributes]
        if modes:
            msg = (
                f"{self.signature.title}: functions on {self.maker.where()} have no {name}. Compile it in mode "
                f"{' or '.join(modes)}."
            )
            raise AttributeError(msg)

    # What the caller calls

    def bind(self, args: Sequence[Value], rest: Sequence[Value], kwargs: dict[str, object]) -> list[Value]:
        """Match arguments to inputs, with errors that say which are missing or too many."""
        return arguments_of(self, args, rest, kwargs)

    def explain(self, error: NodeError) -> None:
        """Give the error of a node the length that ``exception_verbosity`` had when the function was made."""
        with config.using(self.maker.options):
            retell(error)

    def call_subset(self, args: Sequence[Value], rest: Sequence[Value], kwargs: dict[str, object]) -> Value:
        """Compute some of the outputs: those that the keyword argument ``output_subset`` lists."""
        subset = kwargs.pop("output_subset")
        if subset is None:
            return self.__call__(*args, *rest, **kwargs)
        places = self._positions(subset)
        part = self._subsets.get(places)
        if part is None:
            part = self.maker.variant(
                self.maker.specification.restricted(places), self.name, self.profile or False
            ).create()
            part.trust_input = self._trust_input
            part = self._subsets.setdefault(places, part)
        results = part(*args, *rest, **kwargs)
        keys = self.maker.specification.keys
        return results if keys is None else dict(zip([keys[i] for i in places], results, strict=True))

    def _positions(self, subset: object) -> tuple[int, ...]:
        """Return the positions of the outputs that positions or keys name."""
        spec = self.maker.specification
        positions = range(len(spec.outputs))
        by_key = {} if spec.keys is None else {key: i for i, key in enumerate(spec.keys)}
        if isinstance(subset, list | tuple):
            indices: list[Value] = [by_key.get(item, item) for item in subset if type(item).__hash__ is not None]
            places = tuple(int(i) for i in indices if isinstance(i, Integral) and i in positions)
            if len(places) == len(subset):
                return places
        indices_text = f"0 to {len(spec.outputs) - 1}" if spec.outputs else "none"
        keys = "" if spec.keys is None else f" and the keys {', '.join(map(repr, spec.keys))}"
        msg = (
            f"{self.signature.title}: output_subset must be a list of outputs, got {text_of(subset)}. There are the "
            f"positions {indices_text}{keys}."
        )
        raise CallError(msg)

    def export(self, directory: str | Path, name: str | None = None) -> Path:
        """Write the function as a C library that works without Python.

        There will be C files, a header, a shared library made of them, and a description of inputs and outputs in
        JSON. Shared variables are explicit: inputs for their values, outputs for their new values.

        Parameters
        ----------
        directory
            Where to write; it is made if it is missing, and files of these names are replaced.
        name
            Prefix of the library's functions; the function's name if None.

        Returns
        -------
        The JSON file.

        Raises
        ------
        ExportUnsupportedError
            If the backend of the function's mode cannot: only C can.
        LoweringError
            If there are nodes without a C rule, which run as steps of Python; all are listed.
        ExportError
            If there are nodes that call functions of SciPy; all are listed.
        FunctionValueError
            If the name cannot be part of C names.
        """
        return export_function(self, directory, name)

    # Many calls

    def async_call(self, *args: Value, **kwargs: Value) -> Future[Any]:
        """Call the function, and return a future of the results at once.

        On JAX, the call is begun before this returns, and computed by JAX's own threads. On other backends a thread of
        the function's makes it. Calls are made in the order in which they are asked for, updates as in other calls;
        arguments may be changed as soon as this has returned. Errors are raised by the future's ``result``.

        Examples
        --------
        >>> import treadle.tensor as tt
        >>> x = tt.dscalar("x")
        >>> f = tt.function([x], x + 1, mode="VM")
        >>> [float(future.result()) for future in [f.async_call(1.0), f.async_call(2.0)]]
        [2.0, 3.0]
        """
        calls = self._async_calls
        if calls is None:
            is_plain = type(self) is Function and self.maker.tiers is None
            program = self.program.begun() if is_plain else None
            begin = None if program is None else Function(self.maker, program, self.name, self._trust_input)
            calls = self._async_calls = AsyncCalls(self, begin)
        return calls(self, args, kwargs)

    def map(
        self,
        values: Iterable[object],
        client: object = None,
        *,
        chunk_size: int | None = None,
        discard_updates: bool = False,
    ) -> list[Any]:
        """Return the results of many calls, the tasks, done here or by the workers of a client.

        Workers get the function once, and keep it; what they compile goes into the compile cache and comes from there.
        All tasks begin with the values that shared variables and defaults have at the time of the call. Each shared
        generator that the function moves on spawns one for each task, by the task's number: draws are independent, and
        the same whatever the client, the number of workers and `chunk_size`. The generator has then moved on by having
        spawned, as by its own method ``spawn``. A generator that the function draws from without an update gives the
        same numbers in all tasks, as it does in calls.

        Parameters
        ----------
        values
            An item for each task: a tuple of arguments by position, a dict of arguments by name, or anything else as
            the only argument. Where arguments are nested, it is a tuple of them. Iterables are read to their end first.
        client
            None for this process; an executor of ``concurrent.futures``, a ``multiprocessing.Pool``, a
            ``dask.distributed.Client``, a ``joblib.Parallel``, whatever has ``submit`` that returns futures, or what
            `register_client` was told of.
        chunk_size
            How many tasks travel together. If None, they are parted into four chunks for each worker.
        discard_updates
            Whether the function may update other shared variables than generators, or defaults: what tasks write is
            gone with the task.

        Returns
        -------
        A list of what the calls return, in the order of the tasks.

        Raises
        ------
        TaskError
            If a task fails: the first one in order, by its number and arguments. The error itself is the cause. Tasks
            that have not begun are given up, where the client can, and generators are put back to where they were. Also
            if a worker is lost, or cannot load the function.
        ClientError
            If the client is none, or is closed.
        CallError
            If a task has too few or too many arguments, or names that the function does not know; nothing is run then.
        FunctionValueError
            If the function updates shared variables and `discard_updates` is False, if a generator cannot spawn, or
            if the function cannot be pickled for workers in other processes.

        Examples
        --------
        >>> import treadle.tensor as tt
        >>> from concurrent.futures import ThreadPoolExecutor
        >>> x, y = tt.dscalars("x", "y")
        >>> f = tt.function([x, y], x**y, mode="VM")
        >>> with ThreadPoolExecutor(2) as pool:
        ...     [float(z) for z in f.map([(2.0, 3.0), {"x": 3.0, "y": 2.0}], client=pool)]
        [8.0, 9.0]
        """
        return map_function(self, values, client, chunk_size, discard_updates)

    @property
    def __name__(self) -> str:
        """The function's name, or ``function``: what Dask, xarray and others show."""
        return self.name or "function"

    @property
    def has_trees(self) -> bool:
        """Whether arguments are nested."""
        return False

    def leaves(self, args: Sequence[Value]) -> Sequence[Value]:
        """Return the arguments for the inputs, given those of a call by position: other ones where these are nested."""
        return args

    def apart(self) -> Function:
        """Return a function that runs the same program on values of its own, which are now those of this one.

        It serves a call or a few: its expressions name the shared variables of this one.
        """
        function = self.maker.apart().create()
        if function.trust_input != self._trust_input:
            function.trust_input = self._trust_input
        return function

    # Looking inside

    @property
    def vm(self) -> Program:
        """The program."""
        return self.program

    @property
    def profile(self) -> Any:
        """What the function's calls and compilation cost, where that is recorded; else None."""
        return self.maker.profile

    @property
    def fgraph(self) -> FunctionGraph:
        """The rewritten graph; where it is being compiled in the background, once that is done."""
        return self.maker.fgraph

    @property
    def nodes_with_inner_function(self) -> list[Apply]:
        """The nodes of the rewritten graph whose op has an inner graph."""
        return [node for node in self.maker.fgraph.apply_nodes if isinstance(node.op, HasInnerGraph)]

    def get_shared(self) -> list[SharedVariable]:
        """Return the shared variables that the function reads, then those that it only updates."""
        return self.maker.specification.state()

    def free(self) -> None:
        """Give back memory that the program keeps for the next call (option ``allow_gc`` at False)."""
        release = getattr(self.program, "free", None)
        if release is not None:
            release()

    def dprint(self, **options: Any) -> Any:
        """Print the rewritten graph (options as for `debugprint`)."""
        return printing.debugprint(self, **options)

    def show(self, height: int = 480) -> GraphPage:
        """Return the page of the rewritten graph, which a notebook shows (`height` in pixels)."""
        return GraphPage(self, height)

    def stored_values(self) -> dict[Variable, Value]:
        """Return the values that the function keeps, by input of the rewritten graph: state and inputs' defaults."""
        places = zip(self.maker.fgraph.inputs, self.maker.specification.cells(), strict=True)
        return {var: cell.read_host() for var, cell in places if cell is not None}

    def __repr__(self) -> str:
        where = f" made at {self.source_line}" if self.source_line is not None else ""
        return f"<{self.signature} on {self.maker.where()}{where}>"

    def _repr_html_(self) -> str:
        """Show in a notebook how the function is called, where it runs and what it cost."""
        maker = self.maker
        signature, where, cost = map(html.escape, (str(self.signature), maker.where(), maker.cost()))
        return f"<code>{signature}</code> on {where}: {cost}"

    # Copies

    def copy(
        self,
        share_memory: bool = False,
        swap: Mapping[object, object] | None = None,
        delete_updates: bool = False,
        name: str | None = None,
        profile: object = None,
    ) -> Function:
        """Return another function that computes the same.

        Defaults of inputs are copied; shared variables stay the same ones unless they are swapped.

        Parameters
        ----------
        share_memory
            Accepted: where intermediate values are kept for the next call (option ``allow_gc`` at False), they are
            those of a thread, and a copy that runs the same program uses the same memory in any case.
        swap
            Which shared variable takes the place of which, in the copy only.
        delete_updates
            Whether the copy makes no updates.
        name
            The copy's name; this one's with " copy" if None.
        profile
            As for `function`.

        Raises
        ------
        FunctionValueError, FunctionTypeError
            If `swap` names a variable that the function does not use, or one of another type.
        """
        as_flag("copy: share_memory", share_memory)
        spec = self.maker.specification.duplicated()
        if swap is not None:
            spec = spec.swapped(swap)
        if delete_updates:
            spec = spec.without_updates()
        title = name if name is not None or self.name is None else f"{self.name} copy"
        copied = self.maker.variant(spec, title, profile).create()
        copied.pickle_aliased_memory_strategy = self.pickle_aliased_memory_strategy
        if copied.trust_input != self._trust_input:
            copied.trust_input = self._trust_input
        return copied

    def __copy__(self) -> Function:
        return self.copy(name=self.name)

    def __deepcopy__(self, memo: dict[int, object]) -> Function:
        """Return a function with a graph and state of its own."""
        maker, snapshot = copy.deepcopy((self.maker, self._snapshot()), memo)
        copied: Function = maker.create()
        snapshot.restore()
        copied.pickle_aliased_memory_strategy = self.pickle_aliased_memory_strategy
        copied.trust_input = self._trust_input
        return copied

    # Pickling

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the graph before rewriting, the mode, the state and the options it was made with.

        The function is compiled again on loading, or comes out of the compile cache. With option
        ``unpickle_function`` at False, loading gives None.

        Raises
        ------
        AliasedMemoryError
            If values that are kept share memory and ``pickle_aliased_memory_strategy`` is ``raise``.
        FunctionValueError
            If that attribute is neither ``warn``, ``ignore`` nor ``raise``.
        """
        snapshot = self._snapshot()
        self._check_aliases(snapshot)
        return _restore, (self.maker, self.name, self._trust_input, self.pickle_aliased_memory_strategy, snapshot)

    def _snapshot(self) -> Snapshot:
        spec = self.maker.specification
        return Snapshot([cell for cell in (*spec.cells(), *(cell for cell, _ in spec.updates)) if cell is not None])

    def _check_aliases(self, snapshot: Snapshot) -> None:
        strategy = self.pickle_aliased_memory_strategy
        if strategy not in self.aliased_strategies:
            msg = (
                f"pickle_aliased_memory_strategy: one of {', '.join(self.aliased_strategies)}, got {text_of(strategy)}."
            )
            raise FunctionValueError(msg)
        if strategy == "ignore":
            return
        values = list(snapshot.values.items())
        for k, (cell, value) in enumerate(values):
            for _, other in values[k + 1 :]:
                if other is value or not cell.type.may_share_memory(value, other):
                    continue
                msg = (
                    f"{self.signature.title}: two of the values that the function keeps share memory, which its pickle "
                    "does not preserve. Set one of them to a copy, or pickle_aliased_memory_strategy to 'ignore'."
                )
                if strategy == "raise":
                    raise AliasedMemoryError(msg)
                warnings.warn(msg, FunctionWarning, stacklevel=4)
                return


def _restore(
    maker: FunctionMaker, name: str | None, trust_input: bool, strategy: str, snapshot: Snapshot | None = None
) -> Function | None:
    # Functions that were pickled by version 2.0 have none.
    if snapshot is not None:
        snapshot.restore()
    if not config.unpickle_function:
        return None
    function = maker.create()
    function.pickle_aliased_memory_strategy = strategy
    function.name = name
    function.trust_input = trust_input
    return function
