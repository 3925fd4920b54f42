"""Which helper functions usual programs need: those of the benchmarks' models, and of the sample records."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.compile import Mode, function
from treadle.config import TreadleError, config
from treadle.graph import FunctionGraph
from treadle.link.c.assembly import Assembly
from treadle.link.c.backend import BACKEND
from treadle.link.c.linker import CLinker
from treadle.link.c.linking import helper_library
from treadle.link.c.text.unit import write_unit
from treadle.link.c.toolchain import find_toolchain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from treadle.graph import Apply
    from treadle.link.c.toolchain import Toolchain
    from treadle.link.vm import Program

    Graph = tuple[Sequence[Any], Any]

# The dtypes that samples are taken at.
DTYPES = ("float64", "float32", "int64", "int32", "bool")
# Options that programs are written with, whatever this process has: the defaults.
PLAIN: Mapping[str, object] = {
    "gcc__cxxflags": "",
    "blas__ldflags": "",
    "openmp": False,
    "cmodule__compilation_warning": False,
    "cmodule__remove_gxx_opt": False,
    "cmodule__debug": False,
}


class CollectionError(Exception):
    """Nothing can be collected; the message is a sentence for the user."""


class _CollectedError(Exception):
    """The helpers of a program are collected, so that it need not be compiled."""


@dataclass
class Helpers:
    """The texts of helper functions: by the text in front of them, and by name."""

    texts: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many there are."""
        return sum(map(len, self.texts.values()))


class Collector(CLinker):
    """Writes the texts of programs, and keeps those of the helpers that are linked to them."""

    def __init__(self, toolchain: Toolchain) -> None:
        super().__init__(allow_gc=True)
        self.helpers = Helpers()
        self._library = helper_library(toolchain)

    def link(self, fgraph: FunctionGraph, native_outputs: frozenset[int] = frozenset()) -> Program:
        """Collect the helpers of a graph, and end its compilation."""
        del native_outputs
        unit = write_unit(self.expanded(fgraph), keeps_blocks=False)
        source = Assembly(unit).source(self._library, link=True)
        texts = self.helpers.texts.setdefault(source.head, {})
        for name in source.helpers:
            if name not in texts:
                texts[name] = source.object_text([name])
        raise _CollectedError

    def anticipate(self, fgraph: FunctionGraph) -> None:
        """Compile nothing ahead: no program follows, and the folder goes while compilers would still write to it."""

    def foresee(self, nodes: Sequence[Apply]) -> None:
        """Compile nothing ahead, as `anticipate`."""

    def collect(self, graph: Graph, *, rewritten: bool) -> None:
        """Collect the helpers of a graph, as it is or as a function of it has it; what C cannot compute has none."""
        inputs, outputs = graph
        try:
            if rewritten:
                mode = Mode(replace(BACKEND, linker=lambda: self))
                function([*inputs], outputs, mode=mode, on_unused_input="ignore")
            else:
                self.link(FunctionGraph([*inputs], [*outputs], clone=True))
        except (_CollectedError, TreadleError):
            return


def plain_toolchain() -> Toolchain:
    """Return the toolchain, which has to be gcc's.

    Raises
    ------
    CollectionError
        If it is another one, or there is none.
    """
    toolchain = find_toolchain()
    if isinstance(toolchain, str):
        msg = f"support wheel: {toolchain}."
        raise CollectionError(msg)
    if "-nostdlib" not in toolchain.flags:
        msg = (
            f"support wheel: objects are made by gcc on Linux, and the compiler is {toolchain.driver}. Set option cxx."
        )
        raise CollectionError(msg)
    return toolchain


def collected(functions: Iterable[Graph], graphs: Iterable[Graph] = ()) -> Helpers:
    """Return the helpers of functions, and of graphs as they are."""
    with TemporaryDirectory() as folder, config.change_flags(base_compiledir=folder, **PLAIN):
        collector = Collector(plain_toolchain())
        for graph in functions:
            collector.collect(graph, rewritten=True)
        for graph in graphs:
            collector.collect(graph, rewritten=False)
        return collector.helpers


def usual() -> Helpers:
    """Return the helpers of usual programs: functions of benchmarks, and samples of all ops and of derivatives.

    Samples are not rewritten, which would take minutes and finds the same helpers.
    """
    return collected(_of_benchmarks(), _of_samples())


def _of_benchmarks() -> Iterator[Graph]:
    import treadle.tensor as tt  # noqa: PLC0415 - the benchmarks import it when they run too
    from benchmarks import loops  # noqa: PLC0415 - they are in a checkout only
    from benchmarks.models import SECTIONS  # noqa: PLC0415 - as above
    from benchmarks.systems import kinds, symbolic  # noqa: PLC0415 - as above

    models = {name: model for section in SECTIONS.values() for name, model in section.items()}
    for name, model in models.items():
        # One is a chain of ops that takes a minute; one is of shared variables, and has no expression.
        if name in {"long", "counter"}:
            continue
        inputs = [tt.tensor(f"x{i}", dtype=dtype, shape=(None,) * n) for i, (dtype, n) in enumerate(kinds(model))]
        yield inputs, symbolic(model, tt, inputs, tt.grad)
    for case in loops.CASES.values():
        yield loops.graph(case, loops.Treadle(), case.values(np.random.default_rng(loops.SEED)))


def _of_samples() -> Iterator[Graph]:
    from treadle.testing import checks  # noqa: PLC0415 - it needs pytest, which tests of small graphs bring anyway

    for check in checks(("values", "first")):
        if check.dtype not in DTYPES:
            continue
        for sample in check.samples():
            try:
                part = check.part(sample)
            except TreadleError:
                continue
            yield [*part.inputs], [*part.outputs]
