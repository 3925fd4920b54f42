"""How features are told of changes to a graph, and how a failed edit is undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.config import text_of
from treadle.graph.diagnostics.failure import note_feature
from treadle.graph.errors import GraphTypeError, GraphValueError
from treadle.graph.fgraph.features import AlreadyThere, Feature
from treadle.graph.fgraph.journal import Listed, Pruned
from treadle.graph.ir.apply import Apply

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import TracebackType

    from treadle.graph.fgraph.function_graph import FunctionGraph
    from treadle.graph.fgraph.journal import News
    from treadle.graph.fgraph.structure import GraphStructure

# A feature and its method for one callback.
Callback = tuple[Feature, "Callable[..., Any]"]


class Observers:
    """The features of one graph, in order of attachment, and how far in the journal they are.

    Steps in the graph's journal are reported to the features one after the other, each when the edit that made it is
    complete. Steps that a callback makes are reported after those that led to them.
    """

    def __init__(self, graph: FunctionGraph, core: GraphStructure) -> None:
        self._graph = graph
        self._core = core
        self.features: list[Feature] = []
        self._installed: dict[int, list[str]] = {}
        self._callbacks: dict[str, tuple[Callback, ...]] = {}
        # How many steps of the journal features have been told of.
        self._told = 0
        self._telling = False
        self._reverting = False
        # What a feature failed on (the place of the step, the number of the news), and the features told before it.
        self._failure: tuple[int, int, list[Feature]] | None = None

    # Attaching

    def attach(self, feature: Feature) -> bool:
        """Attach a feature; False if it is attached already, or raises `AlreadyThere`."""
        unchecked: object = feature
        if isinstance(unchecked, type) or not hasattr(unchecked, "on_attach"):
            msg = f"FunctionGraph: a feature is needed, got {text_of(unchecked)}. Pass an instance of a Feature."
            raise GraphTypeError(msg)
        if any(attached is feature for attached in self.features):
            return False
        try:
            feature.on_attach(self._graph)
        except AlreadyThere:
            self._uninstall(feature)
            return False
        except BaseException as error:
            self._uninstall(feature)
            note_feature(error, feature, "on_attach")
            raise
        self.features.append(feature)
        self._callbacks.clear()
        return True

    def detach(self, feature: Feature) -> None:
        """Remove a feature, and what it installed."""
        self.features = [attached for attached in self.features if attached is not feature]
        self._callbacks.clear()
        try:
            feature.on_detach(self._graph)
        finally:
            self._uninstall(feature)

    def install(self, feature: Feature, attributes: Mapping[str, object]) -> None:
        """Set attributes of the graph."""
        for name in attributes:
            # Not hasattr: it would ask for what the graph has on demand.
            if name in vars(self._graph) or hasattr(type(self._graph), name):
                msg = (
                    f"{type(feature).__name__}: the graph has an attribute {name!r} already, perhaps from another "
                    "feature of the kind. Remove that one first."
                )
                raise AlreadyThere(msg)
        self._installed.setdefault(id(feature), []).extend(attributes)
        vars(self._graph).update(attributes)

    def _uninstall(self, feature: Feature) -> None:
        for name in self._installed.pop(id(feature), ()):
            vars(self._graph).pop(name, None)

    # Callbacks

    def callbacks(self, name: str) -> tuple[Callback, ...]:
        """Return the features that do something at a callback, with their methods."""
        methods = self._callbacks.get(name)
        if methods is None:
            default = getattr(Feature, name, None)
            pairs = []
            for feature in self.features:
                method = getattr(feature, name, None)
                if method is not None and getattr(method, "__func__", method) is not default:
                    pairs.append((feature, method))
            methods = self._callbacks[name] = tuple(pairs)
        return methods

    def execute(self, name: str, args: Iterable[object]) -> None:
        """Call a method of every feature."""
        for feature, method in self.callbacks(name):
            try:
                method(self._graph, *args)
            except Exception as error:
                note_feature(error, feature, name)
                raise

    @property
    def is_telling(self) -> bool:
        """Whether features are being told of an edit, or of its reverse."""
        return self._telling or self._reverting

    # Edits

    def begin(self) -> int:
        """Begin an edit; return the place in the journal to go back to if it fails."""
        if self._reverting:
            msg = "FunctionGraph: a feature edits the graph while an edit is taken back. Do nothing at 'revert'."
            raise GraphValueError(msg)
        core = self._core
        core.keeping += 1
        if core.order.is_clean:
            core.note_order()
        return len(core.journal)

    def finish(self) -> None:
        """End an edit that succeeded: report it to the features, unless another one is just being reported."""
        core = self._core
        if not self._telling:
            if self.features:
                self._tell()
            else:
                self._told = len(core.journal)
        core.keeping -= 1
        if not core.keeping:
            core.clear_journal()
            self._told = 0

    def fail(self, mark: int) -> None:
        """End an edit that failed: undo every step since the mark, and report that to the features told of it."""
        told_before, failure = self._told, self._failure
        core = self._core
        first_error: Exception | None = None
        self._reverting = True
        try:
            while len(core.journal) > mark:
                step = core.undo_last()
                place = len(core.journal)
                if place < told_before:
                    failed = failure if failure is not None and failure[0] == place else None
                    # Told at once: a feature may look at the graph as it was between two steps.
                    error = self._tell_back(step.news(back=True), failed)
                    first_error = first_error or error
        finally:
            self._reverting = False
        core.settle(mark)
        self._told = min(told_before, mark)
        if failure is not None and failure[0] >= mark:
            self._failure = None
        self.drop()
        if first_error is not None:
            raise first_error

    def _tell_back(self, news: Sequence[News], failed: tuple[int, int, list[Feature]] | None) -> Exception | None:
        """Report the undoing of a step to the features that were told of it; return the first error."""
        first_error: Exception | None = None
        for number in reversed(range(len(news) if failed is None else failed[1] + 1)):
            name, args = news[number]
            listeners = failed[2] if failed is not None and failed[1] == number else None
            for feature, method in self.callbacks(name):
                if listeners is None or any(feature is listener for listener in listeners):
                    try:
                        method(self._graph, *args)
                    except Exception as error:  # noqa: BLE001 - the others must hear before it is raised
                        note_feature(error, feature, name)
                        first_error = first_error or error
        return first_error

    def _tell(self) -> None:
        journal, graph, cached = self._core.journal, self._graph, self._callbacks
        self._telling = True
        try:
            while self._told < len(journal):
                step = journal[self._told]
                self._told += 1
                only = step.callback
                # Most steps are removals, and most features do not ask for these.
                if only is not None:
                    listeners = cached.get(only) if only else ()
                    if not (self.callbacks(only) if listeners is None else listeners):
                        continue
                for number, (name, args) in enumerate(step.news()):
                    callbacks = cached.get(name)
                    for _, method in self.callbacks(name) if callbacks is None else callbacks:
                        try:
                            method(graph, *args)
                        except BaseException as error:
                            self._note_failure(number, name, method)
                            node = next((x for x in args if isinstance(x, Apply)), None)
                            note_feature(error, getattr(method, "__self__", method), name, node)
                            raise
        finally:
            self._telling = False

    def _note_failure(self, number: int, name: str, failed: Callable[..., object]) -> None:
        """Note which features were told of the news before one failed on it."""
        listeners = []
        for feature, method in self.callbacks(name):
            if method is failed:
                break
            listeners.append(feature)
        self._failure = (self._told - 1, number, listeners)

    # Histories

    def keep(self) -> None:
        """Keep the journal from now on, for a history."""
        self._core.keeping += 1

    def drop(self) -> None:
        """Take back `keep`."""
        core = self._core
        core.keeping -= 1
        if not core.keeping:
            core.clear_journal()
            self._told = 0

    def told_mark(self) -> int:
        """Return the place after the step told last, and after the removals that come directly behind it."""
        journal, place = self._core.journal, self._told
        while place < len(journal) and isinstance(journal[place], Pruned | Listed):
            place += 1
        return place

    def revert(self, mark: int) -> None:
        """Take back every step since a place in the journal, and tell the features."""
        self.keep()
        self.fail(mark)


class Transaction:
    """A context in which edits belong together: an error that leaves it undoes all of them, exactly."""

    __slots__ = ("_mark", "_observers")

    def __init__(self, observers: Observers) -> None:
        self._observers = observers
        self._mark = 0

    def __enter__(self) -> None:
        self._mark = self._observers.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._observers.fail(self._mark)
            return
        try:
            self._observers.finish()
        except BaseException:
            self._observers.fail(self._mark)
            raise
