"""FunctionMaker: the steps from a specification to a Function."""

from __future__ import annotations

from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from treadle.compile.functions.aliasing import add_supervisor_to_fgraph, insert_deepcopy
from treadle.compile.functions.calling import INSTALLING
from treadle.compile.functions.function import Function
from treadle.compile.functions.partial import split
from treadle.compile.functions.progress import watched
from treadle.compile.functions.specification import Specification, specify
from treadle.compile.functions.tiering.tiers import Tiers, draws_alike, first_mode, has_tiers
from treadle.compile.io import Out
from treadle.compile.mode.mode import get_mode
from treadle.compile.stored.programs import FUNCTIONS, is_cached, reports_rewriting
from treadle.config import COLLECTOR, config, frozen, lazy_module, span
from treadle.graph import FunctionGraph, HasInnerGraph, PreserveVariableAttributes, as_flag, user_line
from treadle.rewrite import rewrite_inner_graphs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.compile import profiling
    from treadle.compile.mode.mode import Mode
    from treadle.compile.stored.programs import Lookup
    from treadle.config import Snapshot
    from treadle.graph import Variable
    from treadle.link.vm import Program, ProgramLinker
    from treadle.rewrite import Report
else:
    profiling = lazy_module("treadle.compile.profiling")


class FunctionMaker:
    """Makes a Function, step by step; a mode may name a subclass that does some steps differently.

    Parameters
    ----------
    inputs
        A `Specification`; or a list of variables and of `In`.
    outputs
        Where `inputs` is a list: the outputs, as for `function`.
    mode
        A mode or its name; the default mode if None.
    accept_inplace
        Whether the graph may hold ops that overwrite their inputs before it is rewritten.
    profile
        Where the steps tell what they cost, or None.
    name
        Shown in messages.
    trust_input
        Whether the function takes its arguments unchecked.
    on_unused_input
        Where `inputs` is a list: ``raise``, ``warn`` or ``ignore``; option ``on_unused_input`` if None.
    fgraph
        A graph between just these inputs and outputs, to be used as it is in place of a copy; updates are added to
        it. It belongs to the maker from then on.
    tiered
        As for `function`; a graph that is given is compiled at once in any case.

    Attributes
    ----------
    specification
        The graph before rewriting, with inputs, outputs and updates.
    mode, name, profile, trust_input, accept_inplace, tiered
        As given.
    options
        The options that were in force when the maker was made; every step runs under them.
    report
        Which rewrites fired, once the graph was rewritten.
    source_line
        The user's line that made it.
    seconds
        How long it took to compile the program, or to find it in the compile cache; None before, and where the program
        is that of another function.
    tiers
        What compiles the program in the background; None where it was compiled at once, or is not made yet.

    Examples
    --------
    >>> import treadle.tensor as tt
    >>> x = tt.dscalar("x")
    >>> float(FunctionMaker([x], [2 * x], mode="VM").create()(4)[0])
    8.0
    """

    function_class: ClassVar[type[Function]] = Function

    def __init__(
        self,
        inputs: object,
        outputs: object = None,
        mode: Mode | str | None = None,
        accept_inplace: bool = False,
        profile: object = None,
        on_unused_input: str | None = None,
        name: str | None = None,
        trust_input: bool = False,
        fgraph: FunctionGraph | None = None,
        tiered: bool | None = None,
    ) -> None:
        if not isinstance(inputs, Specification):
            inputs = specify(inputs, outputs, on_unused_input=on_unused_input)
        self.specification: Specification = inputs
        self.mode = get_mode(mode)
        self.accept_inplace = accept_inplace
        self.profile: profiling.ProfileStats | None = _profile_for(profile, name)
        self.name = name
        self.trust_input = trust_input
        self.tiered = None if tiered is None else as_flag("function: tiered", tiered)
        self.tiers: Tiers | None = None
        self.options: Snapshot = config.snapshot()
        self._report: Report | None = None
        self.seconds: float | None = None
        self.source_line = user_line(2)
        self._own_graph = fgraph
        self._program: Program | None = None
        self._fgraph: FunctionGraph | None = None
        self._load_fgraph: Callable[[], FunctionGraph] | None = None
        self._linker: ProgramLinker | None = None

    @property
    def linker(self) -> ProgramLinker:
        """The linker of the function: its text is in the cache key, and it links, keeps and loads the program."""
        if self._linker is None:
            with span("import"):
                linker = self.mode.make_linker()
            named = [(str(s), s.container.device) for s in self.specification.state() if s.container.device]
            self._linker = linker.on_devices(named) if named else linker
        return self._linker

    @property
    def native_outputs(self) -> frozenset[int]:
        """The positions of outputs that stay in the backend's own form."""
        if not self.linker.device_outputs:
            return self.specification.native_outputs()
        return frozenset(range(len(self.specification.outputs) + len(self.specification.updates)))

    @property
    def fgraph(self) -> FunctionGraph:
        """The rewritten graph; one whose program came out of the compile cache is loaded when it is first asked for.

        Where the program is compiled in the background, asking for its graph waits until there is one.
        """
        if self._fgraph is None and self.tiers is not None:
            self.tiers.settle()
        if self._fgraph is None:
            with config.using(self.options):
                if self._load_fgraph is not None:
                    self._fgraph = self._load_fgraph()
                else:
                    fgraph = self.create_fgraph()
                    self.report = self.prepare_fgraph(fgraph)
                    self._fgraph = fgraph
        return self._fgraph

    @fgraph.setter
    def fgraph(self, fgraph: FunctionGraph) -> None:
        self._fgraph = fgraph

    @property
    def report(self) -> Report | None:
        """Which rewrites fired; that of a graph which was rewritten by another process is loaded together with it."""
        if self._report is None and self._fgraph is None and self._load_fgraph is not None:
            self._fgraph = self.fgraph
        return self._report

    @report.setter
    def report(self, report: Report | None) -> None:
        self._report = report

    def load_fgraph_with(self, load: Callable[[], FunctionGraph]) -> None:
        """Let `load` return the rewritten graph when it is first asked for."""
        self._load_fgraph = load

    # The steps

    def create_fgraph(self) -> FunctionGraph:
        """Return the graph before rewriting, with its features attached.

        Outputs are the user's, then the new values of shared variables and of inputs' defaults; the graph's
        ``update_mapping`` says which of them is the new value of which input.

        Raises
        ------
        FunctionTypeError
            If the graph overwrites inputs already, and `accept_inplace` is False.
        """
        spec = self.specification
        fgraph = spec.graph() if self._own_graph is None else spec.completed(self._own_graph)
        self._own_graph = None
        add_supervisor_to_fgraph(fgraph, spec.inputs, self.accept_inplace)
        fgraph.attach_feature(PreserveVariableAttributes())
        return fgraph

    def prepare_fgraph(self, fgraph: FunctionGraph) -> Report:
        """Rewrite the graph, and those inside its ops, as the mode asks, and put in the copies of outputs.

        Returns which rewrites fired. Where the backend has no lowering for copies, it makes those that are needed by
        itself.
        """
        with span("loading rules"):
            rewriter = self.mode.optimizer
        report: Report = rewriter.rewrite(fgraph)
        if any(isinstance(node.op, HasInnerGraph) for node in fgraph.apply_nodes):
            rewrite_inner_graphs(fgraph, self.mode.excluding("inplace").optimizer, report)
        capabilities = self.mode.backend.capabilities
        if "deepcopy" in capabilities:
            spec = self.specification
            insert_deepcopy(fgraph, spec.wrapped_inputs(), spec.wrapped_outputs(), views="views" in capabilities)
        return report

    def link(self, fgraph: FunctionGraph) -> Program:
        """Return the program of a rewritten graph."""
        linker = self.linker
        # If the linker acts at nodes, all of them run; values that stay on a device are not written into from here.
        is_whole = linker.acts_at_nodes or "native_values" in self.mode.backend.capabilities
        parts = None if is_whole else split(fgraph, self.specification)
        if parts is None:
            return linker.link(fgraph, self.native_outputs)
        program = linker.link(parts.graph)
        program.writes = parts.writes
        return program

    def compile(self) -> Program:
        """Return the program: from the compile cache, where one was made of an equal graph, else a new one."""
        return FUNCTIONS.find_or_make(self) if self._is_kept() else self.make()

    def _is_kept(self) -> bool:
        return type(self) is FunctionMaker and self._own_graph is None and is_cached(self)

    def make(self, fgraph: FunctionGraph | None = None) -> Program:
        """Return a new program: graph (what `create_fgraph` returned, if it was called already), rewriting, linking."""
        if fgraph is None:
            with span("graph"):
                fgraph = self.create_fgraph()
        self.linker.anticipate(fgraph)
        with span("rewriting"):
            self.report = self.prepare_fgraph(fgraph)
        self._fgraph = fgraph
        with span("linking"):
            return self.link(fgraph)

    def create(self) -> Function:
        """Return the function."""
        with frozen(), config.using(self.options):
            lookup = self._begin_tiers() if self._program is None and self.tiers is None else None
            if self.tiers is None:
                program = self.compiled_program(lookup)
                return self.function_class(self, program, self.name, self.trust_input)
            function = self.function_class(self, self.tiers.current, self.name, self.trust_input)
            self.tiers.begin()
        return function

    def compiled_program(self, lookup: Lookup | None = None) -> Program:
        """Return the program, timed where there is a profile.

        Parameters
        ----------
        lookup
            What looking for it in the compile cache has found, where that was done already.
        """
        with frozen(), COLLECTOR.paused(), config.using(self.options), watched(self) as record:
            if self._program is None:
                begun = perf_counter()
                self._program = self.compile() if lookup is None else FUNCTIONS.find_or_make(self, lookup)
                self.seconds = perf_counter() - begun
            program = self._program
            return program if record is None else profiling.instrumented(record, program, self)

    def _begin_tiers(self) -> Lookup | None:
        """Make the first tier, if the function is to have one, and its program is not in the compile cache.

        Returns what looking for it has found, if that was done.
        """
        if not has_tiers(self, FunctionMaker) or self._own_graph is not None or reports_rewriting():
            return None
        lookup = FUNCTIONS.look_up(self) if self._is_kept() else None
        if (lookup is not None and lookup.program is not None) or not draws_alike(self):
            return lookup
        with suppress(Exception):  # what is wrong with the graph is said when it is compiled, at once
            maker = FunctionMaker(self.specification, None, first_mode(self.mode), self.accept_inplace, profile=False)
            tiers = Tiers(self, lookup, maker, maker.make())
            with INSTALLING:
                # Another thread may have made it meanwhile: all functions of a maker have the same.
                self.tiers = self.tiers or tiers
        return lookup

    def variant(self, specification: Specification, name: str | None, profile: object = None) -> FunctionMaker:
        """Return a maker of another function, in the same mode and under the same options.

        Parameters
        ----------
        specification
            What it computes. If that is the same expressions on other cells, the program is used again.
        name
            Its name.
        profile
            As for `function`.
        """
        with config.using(self.options):
            maker = type(self)(
                specification,
                mode=self.mode,
                accept_inplace=self.accept_inplace,
                profile=profile,
                name=name,
                trust_input=self.trust_input,
            )
        maker.source_line = self.source_line
        maker.tiered = self.tiered
        if maker.profile is None and specification.computes_as(self.specification):
            maker._share(self)
        return maker

    def apart(self) -> FunctionMaker:
        """Return a maker of a function that runs this one's program on cells of its own, without a profile."""
        maker = self.variant(self.specification.apart(), self.name, profile=False)
        maker._share(self)
        return maker

    def _share(self, other: FunctionMaker) -> None:
        """Use the program of another maker, once it has one."""

        def load() -> FunctionGraph:
            fgraph = other.fgraph.clone()
            self.report = other.report
            return fgraph

        # With a profile, what the tiers change to counts calls for it.
        self._program, self.tiers = other._program, other.tiers if other.profile is None else None
        self.report = None if self._program is None else other.report
        self.load_fgraph_with(load)

    def program_of(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Program:
        """Return the program of other expressions, in the same mode and under the same options.

        Parameters
        ----------
        inputs
            The variables that it takes values of; none of them, nor what the outputs depend on, is shared.
        outputs
            The expressions; their values stay in the backend's own form.
        """
        with frozen(), config.using(self.options):
            specification = specify(list(inputs), [Out(v, borrow=True) for v in outputs], on_unused_input="ignore")
            return self.variant(specification, self.name, profile=False).compile()

    def where(self) -> str:
        """Return mode and backend, for messages."""
        backend = self.mode.backend.name
        return str(self.mode) if str(self.mode).lower() == backend else f"{self.mode} ({backend})"

    def cost(self) -> str:
        """Return how many nodes the rewritten graph has and what it took to compile them, for people."""
        if self.tiers is not None and not self.tiers.has_compiled:
            return "on the Python VM, not compiled yet"
        nodes = len(self.fgraph)
        text = f"{nodes} node{'s' * (nodes != 1)}"
        if self.seconds is None:
            return text
        how = "compiled" if self._load_fgraph is None else "found in the compile cache"
        return f"{text}, {how} in {self.seconds:.2g} s"

    # Pickling

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the graph before rewriting, the mode, the state and the options.

        The graph is rewritten again when it is asked for. Options whose defaults are computed from the machine, such
        as the compiler and the compile directory, are those of the machine that loads it.
        """
        options = self.options
        values = {o.name: options[o.name] for o in config.options() if o.name in options and not callable(o.default)}
        profile = None if self.profile is None else self.profile.settings()
        arguments = (
            *(self.mode, self.accept_inplace, profile, self.name, self.trust_input, self.source_line),
            self.tiered,
        )
        return _remake, (type(self), self.specification, arguments, values)


def _profile_for(profile: object, name: str | None) -> profiling.ProfileStats | None:
    """As `profiling.profile_for`, without loading it where nothing is to be recorded."""
    is_off = profile is None and not config.profile and not config.print_global_stats
    return None if is_off or profile is False else profiling.profile_for(profile, name)


def _remake(
    kind: type[FunctionMaker], specification: Specification, arguments: tuple[Any, ...], options: dict[str, Any]
) -> FunctionMaker:
    # Makers that were pickled by version 2.0 do not say whether their functions have tiers.
    mode, accept_inplace, profile, name, trust_input, line, *tiered = arguments
    with config.using(options):
        maker = kind(
            specification,
            mode=mode,
            accept_inplace=accept_inplace,
            profile=False if profile is None else profiling.ProfileStats(**profile),
            name=name,
            trust_input=trust_input,
        )
    maker.source_line = line
    maker.tiered = tiered[0] if tiered else None
    return maker
