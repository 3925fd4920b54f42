"""ProfileStats: what one or several functions cost, to compile and to call."""

from __future__ import annotations

from contextlib import contextmanager
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, TextIO

from treadle.compile.errors import FunctionTypeError
from treadle.compile.profiling.memory import least_memory, memory_use
from treadle.compile.profiling.page import ProfilePage
from treadle.compile.profiling.recording import Calling, FunctionRecord
from treadle.compile.profiling.registry import REGISTRY
from treadle.compile.profiling.tables import (
    Layout,
    calls_section,
    classes_section,
    compilation_section,
    memory_section,
    nodes_section,
    ops_section,
    profile_text,
    sizes_of,
)
from treadle.compile.profiling.totals import all_nodes, by_class, by_op, counted, rewriting_seconds
from treadle.compile.profiling.trace import write_trace
from treadle.config import collecting, config, text_of
from treadle.graph import Branching

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from treadle.compile.functions.maker import FunctionMaker
    from treadle.compile.profiling.memory import LeastPeak, MemoryUse
    from treadle.compile.profiling.recording import NodeRecord
    from treadle.graph import Apply, FunctionGraph, Op
    from treadle.rewrite import Report

_PRINTING = (
    *("profiling__n_ops", "profiling__n_apply", "profiling__min_memory_size", "profiling__min_peak_memory"),
    *("profiling__output_line_width", "profiling__destination", "profiling__debugprint", "profile_optimizer"),
)


class ProfileStats:
    """What functions cost: times of their compilation, calls, ops and nodes, and memory of their values.

    Pass it as ``profile`` to `treadle.compile.function`, to one function or to several. Counting is exact when
    functions run in many threads at once. It outlives its functions.

    Parameters
    ----------
    atexit_print
        Whether to print it when the process exits, if a function was called.
    flag_time_thunks
        Whether to time each node; option ``profiling__time_thunks`` if None. A backend that makes one program of a
        graph then runs it node by node; if False, that program is what is timed, as a whole.
    message
        Title of what is printed; the name of the first function if None.
    flag_memory
        Whether to measure the sizes of all values, which takes a run node by node too; option ``profile_memory`` if
        None.
    ignore_first_call
        Whether to leave the first call of each function out; option ``profiling__ignore_first_call`` if None.
    show_sum
        Whether it takes part in the sum that is printed at exit.
    whole_calls_only
        Whether option ``profiling__time_thunks`` is left aside: nodes are then timed if `flag_time_thunks` says so.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> from treadle.compile import ProfileStats, function
    >>> x = tt.dvector("x")
    >>> stats = ProfileStats(atexit_print=False)
    >>> f = function([x], tt.exp(x).sum(), mode="VM", profile=stats)
    >>> _ = f([1.0, 2.0])
    >>> stats.fct_callcount, sorted(set(stats.apply_callcount.values()))
    (1, [1])
    """

    def __init__(
        self,
        atexit_print: bool = True,
        flag_time_thunks: bool | None = None,
        *,
        message: str | None = None,
        flag_memory: bool | None = None,
        ignore_first_call: bool | None = None,
        show_sum: bool = True,
        whole_calls_only: bool = False,
    ) -> None:
        self.atexit_print = atexit_print
        self.flag_time_thunks = flag_time_thunks
        self.flag_memory = flag_memory
        self.ignore_first_call = ignore_first_call
        self.message = message
        self.show_sum = show_sum
        self.whole_calls_only = whole_calls_only
        self.in_global_stats = bool(config.print_global_stats)
        self.trace_file = str(config.profiling__trace)
        self.records: list[FunctionRecord] = []
        self._calling = Calling()
        self._printing = {name: getattr(config, name) for name in _PRINTING}
        if atexit_print or self.in_global_stats or self.trace_file:
            REGISTRY.add(self)

    # Called by a function maker

    @contextmanager
    def compiling(self, maker: FunctionMaker) -> Iterator[FunctionRecord]:
        """Time the compilation of a maker's function, and collect its spans, in the block."""
        ignore = self.ignore_first_call
        ignores = bool(config.profiling__ignore_first_call if ignore is None else ignore)
        record = FunctionRecord(maker.name or self.message or "function", ignores, self._calling)
        record.mode = str(maker.mode)
        record.source_line = maker.source_line
        record.compile_start = start = perf_counter_ns()
        try:
            with collecting(record.spans):
                yield record
        finally:
            record.compile_ns = perf_counter_ns() - start
        self.records.append(record)

    @property
    def times_nodes(self) -> bool:
        """Whether functions compiled now have their nodes timed."""
        if self.flag_time_thunks is not None:
            return self.flag_time_thunks
        # Global statistics alone need whole calls only, and should not change how functions run.
        return bool(config.profiling__time_thunks) and not self.whole_calls_only

    @property
    def measures_memory(self) -> bool:
        """Whether functions compiled now have the sizes of their values measured."""
        return bool(config.profile_memory) if self.flag_memory is None else self.flag_memory

    # What was measured, by the documented names

    @property
    def fct_callcount(self) -> int:
        """Number of calls."""
        return sum(r.calls.count for r in self.records)

    @property
    def fct_call_time(self) -> float:
        """Seconds in calls."""
        return sum(r.calls.whole for r in self.records) * 1e-9

    @property
    def vm_call_time(self) -> float:
        """Of these, seconds in the programs, without handling of arguments and results."""
        return sum(r.program.whole for r in self.records) * 1e-9

    @property
    def compile_time(self) -> float:
        """Seconds in compiling, all in all."""
        return sum(r.compile_ns for r in self.records) * 1e-9

    @property
    def rewriter_time(self) -> float:
        """Of these, seconds in rewriting."""
        return self._span_time("rewriting")

    @property
    def linker_time(self) -> float:
        """Of these, seconds in linking: code generation, compiler, loading."""
        return self._span_time("linking")

    @property
    def code_generation_time(self) -> float:
        """Of the time in linking, seconds in writing code."""
        return self._span_time("code generation")

    @property
    def compiler_time(self) -> float:
        """Of the time in linking, seconds in the backend's compiler."""
        return self._span_time("compiler")

    @property
    def import_time(self) -> float:
        """Of the time in linking, seconds in importing the backend and loading compiled code."""
        return self._span_time("import") + self._span_time("loading")

    @property
    def validate_time(self) -> float:
        """Of the time in rewriting, seconds in checks of the graph."""
        return rewriting_seconds(self.records)[0]

    @property
    def merge_time(self) -> float:
        """Of the time in rewriting, seconds in merging equal nodes."""
        return rewriting_seconds(self.records)[1]

    @property
    def cache_hits(self) -> int:
        """How often the compile cache had what was needed."""
        return counted(self.records, "cache hits")

    @property
    def cache_misses(self) -> int:
        """How often it had not."""
        return counted(self.records, "cache misses")

    @property
    def nb_nodes(self) -> int:
        """Number of nodes of the rewritten graphs."""
        return sum(len(r.fgraph) for r in self.records if r.fgraph is not None)

    @property
    def rewriter_profile(self) -> Report | None:
        """Which rewrites fired in the function compiled last, and what they cost; None if none was rewritten."""
        return next((r.report for r in reversed(self.records) if r.report is not None), None)

    @property
    def apply_time(self) -> dict[tuple[FunctionGraph, Apply], float]:
        """Seconds by graph and node, without what runs inside of it and is timed by itself."""
        return {(fgraph, node): record.timer.own * 1e-9 for fgraph, node, record in self._ran()}

    @property
    def apply_callcount(self) -> dict[tuple[FunctionGraph, Apply], int]:
        """Number of runs by graph and node."""
        return {(fgraph, node): record.timer.count for fgraph, node, record in self._ran()}

    @property
    def apply_cimpl(self) -> dict[Apply, bool]:
        """By node, whether compiled code computes it, rather than a Python step."""
        return {node: record.backend != "py" for _, node, record in self._ran()}

    @property
    def variable_shape(self) -> dict[Any, Any]:
        """Shapes by variable, of the latest run of its node."""
        pairs = [(node, record.shapes) for _, node, record in self._ran()]
        return {out: shape for node, shapes in pairs for out, shape in zip(node.outputs, shapes, strict=False)}

    @property
    def variable_strides(self) -> dict[Any, Any]:
        """Strides by variable, of the latest run of its node; only where memory is measured."""
        pairs = [(node, record.strides) for _, node, record in self._ran()]
        return {out: strides for node, all_ in pairs for out, strides in zip(node.outputs, all_, strict=False)}

    def class_time(self) -> dict[type, float]:
        """Return seconds by class of op, the costliest first."""
        return {kind: total.seconds for kind, total in by_class(self.records).items()}

    def class_callcount(self) -> dict[type, int]:
        """Return the number of runs by class of op."""
        return {kind: total.runs for kind, total in by_class(self.records).items()}

    def class_nodes(self) -> dict[type, int]:
        """Return the number of nodes that ran by class of op."""
        return {kind: total.nodes for kind, total in by_class(self.records).items()}

    def class_impl(self) -> dict[type, str]:
        """Return what computes the ops of a class: names of backends, ``py`` for Python steps."""
        return {kind: ",".join(sorted(total.backends)) for kind, total in by_class(self.records).items()}

    def op_time(self) -> dict[Op, float]:
        """Return seconds by op, the costliest first."""
        return {op: total.seconds for op, total in by_op(self.records).items()}

    def op_callcount(self) -> dict[Op, int]:
        """Return the number of runs by op."""
        return {op: total.runs for op, total in by_op(self.records).items()}

    def op_nodes(self) -> dict[Op, int]:
        """Return the number of nodes that ran by op."""
        return {op: total.nodes for op, total in by_op(self.records).items()}

    def op_impl(self) -> dict[Op, str]:
        """Return what computes an op: names of backends, ``py`` for Python steps."""
        return {op: ",".join(sorted(total.backends)) for op, total in by_op(self.records).items()}

    def memory(self) -> list[MemoryUse]:
        """Return the memory of each function's values, where it was measured and the function was called."""
        measured = [(r.fgraph, sizes_of(r)) for r in self.records]
        return [memory_use(g, Branching.of(g).linear(), sizes) for g, sizes in measured if g is not None and sizes]

    @property
    def device_memory_peak(self) -> int | None:
        """Most bytes of a device's memory in use during a call, where memory is measured and the device counts them.

        Everything that is on the device counts, whoever put it there. None on the CPU.
        """
        return max((r.device_peak for r in self.records if r.device_peak is not None), default=None)

    def least_memory(self) -> list[LeastPeak]:
        """Return, for the same functions, an order of evaluation with the least peak of memory."""
        measured = [(r.fgraph, sizes_of(r)) for r in self.records]
        return [least_memory(g, Branching.of(g).linear(), sizes) for g, sizes in measured if g is not None and sizes]

    # Printing

    def summary(
        self, file: TextIO | None = None, n_ops_to_print: int | None = None, n_apply_to_print: int | None = None
    ) -> None:
        """Print everything.

        Parameters
        ----------
        file
            Where to; option ``profiling__destination`` if None.
        n_ops_to_print, n_apply_to_print
            How many ops and nodes to list; options ``profiling__n_ops`` and ``profiling__n_apply`` if None.

        Notes
        -----
        An option counts as it is now or, where it is not set now, as it was when the profile was made.
        """
        text = self.text(n_ops_to_print, n_apply_to_print)
        if file is None:
            REGISTRY.write(self.destination, text)
        else:
            file.write(text)

    def text(self, n_ops_to_print: int | None = None, n_apply_to_print: int | None = None) -> str:
        """Return what `summary` prints."""
        return profile_text(self.title, self.records, self._layout(n_ops_to_print, n_apply_to_print))

    def summary_function(self, file: TextIO) -> None:
        """Print the times of calls and compilation."""
        self._write(file, [*calls_section(self.records), *compilation_section(self.records, self._layout())])

    def summary_class(self, file: TextIO, N: int | None = None) -> None:  # noqa: N803 - the documented name
        """Print what classes of ops cost, at most `N` of them."""
        self._write(file, classes_section(self.records, self._layout(N)))

    def summary_ops(self, file: TextIO, N: int | None = None) -> None:  # noqa: N803 - the documented name
        """Print what ops cost, at most `N` of them."""
        self._write(file, ops_section(self.records, self._layout(N)))

    def summary_nodes(self, file: TextIO, N: int | None = None) -> None:  # noqa: N803 - the documented name
        """Print what nodes cost, at most `N` of them."""
        self._write(file, nodes_section(self.records, self._layout(None, N)))

    def summary_memory(self, file: TextIO, N: int | None = None) -> None:  # noqa: N803 - the documented name
        """Print the memory of values, at most `N` nodes of each function."""
        layout = self._layout(None, N)
        self._write(file, [line for record in self.records for line in memory_section(record, layout)])

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Write compilations, calls and nodes as a Chrome trace, for Perfetto and speedscope.

        The latest 100,000 events of each function are kept.
        """
        write_trace(path, self.records)

    def show(self) -> ProfilePage:
        """Return the page of the profile: a flame graph and a timeline of compilations, calls and nodes.

        A notebook shows it; its method ``save`` writes it to a file, which a browser shows without a network.

        Examples
        --------
        >>> import treadle.tensor as tt
        >>> x = tt.dvector("x")
        >>> f = function([x], tt.exp(x), profile=True)
        >>> _ = f([1.0, 2.0])
        >>> f.profile.show()
        <page of the profile 'function': a notebook shows it, save(path) writes it to a file>
        """
        return ProfilePage(self.title, tuple(self.records))

    @property
    def title(self) -> str:
        """Title of what is printed."""
        return self.message or next((r.title for r in self.records), "no function yet")

    @property
    def destination(self) -> str:
        """Where it is printed."""
        return str(self._printing_option("profiling__destination"))

    # Copies and sums

    def reset(self) -> None:
        """Forget all calls; the times of compilations stay."""
        for record in self.records:
            record.reset()

    def settings(self) -> dict[str, Any]:
        """Return the arguments that make an empty profile like this: what a pickled function gets when loaded."""
        names = ("atexit_print", "flag_time_thunks", "message", "flag_memory", "ignore_first_call", "show_sum")
        return {name: getattr(self, name) for name in (*names, "whole_calls_only")}

    @classmethod
    def sum_of(cls, profiles: Sequence[ProfileStats], message: str) -> ProfileStats:
        """Return a profile of all functions of several profiles."""
        total = cls(atexit_print=False, message=message)
        total._printing = profiles[0]._printing if profiles else total._printing
        total.records = [record for profile in profiles for record in profile.records]
        return total

    def __repr__(self) -> str:
        return f"ProfileStats({self.title!r}, {self.fct_callcount} calls, {self.fct_call_time:.3e} s)"

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the numbers; what is loaded counts on from there, and is not printed at exit."""
        return {**self.__dict__, "_calling": None}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._calling = Calling()

    def _ran(self) -> Iterator[tuple[FunctionGraph, Apply, NodeRecord]]:
        for function, node, record in all_nodes(self.records):
            if record.timer.count and function.fgraph is not None:
                yield function.fgraph, node, record

    def _span_time(self, name: str) -> float:
        return sum(record.spans.seconds(name) for record in self.records)

    def _printing_option(self, name: str) -> Any:
        return self._printing[name] if config.source(name) == "default" else getattr(config, name)

    def _layout(self, ops: int | None = None, nodes: int | None = None) -> Layout:
        read = self._printing_option
        return Layout(
            int(read("profiling__output_line_width")),
            int(read("profiling__n_ops")) if ops is None else ops,
            int(read("profiling__n_apply")) if nodes is None else nodes,
            int(read("profiling__min_memory_size")),
            bool(read("profiling__min_peak_memory")),
            bool(read("profiling__debugprint")),
            bool(read("profile_optimizer")),
        )

    def _write(self, file: TextIO, lines: Sequence[str]) -> None:
        width = self._layout().width
        file.write("".join(f"{line[:width].rstrip()}\n" for line in lines))


def profile_for(profile: object, name: str | None) -> ProfileStats | None:
    """Return the profile that the argument ``profile`` of `function` asks for.

    Parameters
    ----------
    profile
        None (as options ``profile`` and ``print_global_stats`` say), a bool, a title, or a ProfileStats.
    name
        The function's name.
    """
    if profile is None:
        if config.profile:
            return ProfileStats(message=name)
        if config.print_global_stats:
            return ProfileStats(atexit_print=False, message=name, whole_calls_only=True)
        return None
    if isinstance(profile, ProfileStats):
        return profile
    if isinstance(profile, str):
        return ProfileStats(message=profile)
    if isinstance(profile, bool):
        return ProfileStats(message=name) if profile else None
    msg = f"function: profile must be True, False, None, a title or a ProfileStats, got {text_of(profile)}."
    raise FunctionTypeError(msg)
