"""ScalarTable: what one backend computes scalar ops with."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from treadle.graph import DuplicateRegistrationError, LoweringTable, Unsupported
from treadle.tensor.elementwise.elemwise import Elemwise
from treadle.tensor.reductions.fused_reduction import FusedReduction
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from treadle.graph import Apply, Op
    from treadle.kernels import Kernel
    from treadle.tensor.elementwise.scalar_op import ScalarOp

E = TypeVar("E")
F = TypeVar("F")
ALL_KINDS = "biufc"


class ScalarTable(Generic[E]):
    """Texts or functions for scalar ops, by name and by the kind of dtype that is computed with.

    Kinds are NumPy's letters: b, i, u, f and c. A scalar op with a body needs no entry; an entry for it
    is used instead of the body.

    Parameters
    ----------
    backend
        Name of the backend, for messages.
    module
        The module, or package, that registers the backend's own entries; it is imported at the first lookup.
    of_ufunc
        What the backend has by the names of NumPy's ufuncs, for a kind of dtype: for scalar ops without entry and body.
    beside
        A table that several backends share, for scalar ops that have no entry here.
    """

    __slots__ = (
        "__weakref__", "_added", "_beside", "_entries", "_finders", "_loaded", "_of_ufunc", "backend", "module",
    )  # fmt: skip

    def __init__(
        self,
        backend: str,
        module: str,
        of_ufunc: Callable[[str, str], E | None] | None = None,
        beside: ScalarTable[Any] | None = None,
    ) -> None:
        self.backend = backend
        self.module = module
        self._of_ufunc = of_ufunc
        self._beside = beside
        self._loaded = False
        self._entries: dict[str, dict[str, E]] = {}
        self._added: list[tuple[str, dict[str, E]]] = []
        self._finders: list[tuple[type, Callable[[ScalarOp, str], E | None]]] = []
        LoweringTable.tables.add(self)

    def register(self, name: str, entries: Mapping[str, E]) -> None:
        """Say how a scalar op is computed.

        Parameters
        ----------
        name
            Name of the scalar op.
        entries
            For each of some kinds of dtype, ``"f"`` or ``"iu"``, what the backend takes; its documentation says what
            that is.

        Raises
        ------
        DuplicateRegistrationError
            If there is something for one of the kinds already.
        """
        self._register(name, entries, sys._getframe(1).f_globals.get("__name__", ""))

    def _register(self, name: str, entries: Mapping[str, E], by: str) -> None:
        if not self._loaded:
            # The backend's own entries come first, so that a later duplicate is refused.
            import_module(self.module)
        known = self._entries.setdefault(name, {})
        # The backend's own entries may take the place of those that several share.
        own = by == self.module or by.startswith(f"{self.module}.")
        shared = {} if own or self._beside is None else self._beside.known(name)
        for kinds, entry in entries.items():
            for kind in kinds:
                if kind in known or kind in shared:
                    msg = (
                        f"{self.backend}: the scalar op {name!r} is registered for dtypes of kind {kind!r} already. "
                        "Remove one of the two."
                    )
                    raise DuplicateRegistrationError(msg)
                known[kind] = entry
        if not own:
            self._added.append((name, dict(entries)))

    def known(self, name: str) -> Mapping[str, E]:
        """Return what is registered for a scalar op, by kinds of dtype."""
        self._load()
        return self._entries.get(name, {})

    def find_by(self, kind_of_op: type, find: Callable[[ScalarOp, str], E | None]) -> None:
        """Let a function be asked first of scalar ops of a class, as ``find(scalar_op, kind)``; None has others asked.

        The last one registered is asked before those before it.
        """
        self._finders.insert(0, (kind_of_op, find))

    def added(self) -> list[tuple[type, object]]:
        """Return names and entries that others than the backend registered, for each type of ops that applies them.

        What is asked of scalar ops of a class is there with that class.
        """
        return [*((op_type, each) for each in self._added for op_type in (Elemwise, FusedReduction)), *self._finders]

    def function(self, *names: str, kinds: str = ALL_KINDS) -> Callable[[F], F]:
        """Return a decorator that registers a function for scalar ops, which it computes for some kinds of dtype."""
        by = sys._getframe(1).f_globals.get("__name__", "")

        def decorate(entry: F) -> F:
            for name in names:
                self._register(name, {kinds: cast("E", entry)}, by)
            return entry

        return decorate

    def _load(self) -> None:
        if not self._loaded:
            import_module(self.module)
            self._loaded = True

    def find(self, scalar_op: ScalarOp, kind: str) -> E | None:
        """Return what is registered for a scalar op and a kind of dtype, or known by its ufunc's name; else None."""
        self._load()
        for kind_of_op, find in self._finders:
            if not isinstance(scalar_op, kind_of_op):
                continue
            found = find(scalar_op, kind)
            if found is not None:
                return found
        entry = self._entries.get(scalar_op.name, {}).get(kind)
        if entry is None and self._beside is not None:
            entry = self._beside.find(scalar_op, kind)
        if entry is None and self._of_ufunc is not None and scalar_op.body is None and scalar_op.ufunc is not None:
            return self._of_ufunc(scalar_op.ufunc, kind)
        return entry

    def covers(self, op: Op) -> bool:
        """Whether something is registered for each scalar op that an op applies, or it has a body."""
        self._load()
        elementwise = op.elementwise if isinstance(op, FusedReduction) else op
        scalar_ops = elementwise.scalar_ops if isinstance(elementwise, Elemwise) else ()
        return all(s.body is not None or any(self.find(s, kind) is not None for kind in ALL_KINDS) for s in scalar_ops)

    def check(
        self,
        node: Apply,
        dtypes: Container[str],
        takes: Callable[[ScalarOp, Sequence[str]], bool],
        title: str,
        *,
        real_only: bool,
    ) -> None:
        """Refuse a node with dtypes that the backend, called `title` in messages, lacks, or with such scalar ops.

        Raises
        ------
        Unsupported
            If a value's type is none of `dtypes`, or complex where the node's rule is `real_only`, or `takes` says that
            there is nothing for a scalar op and the dtypes of its operands.
        """
        for kind in (var.type for var in (*node.inputs, *node.outputs)):
            if not isinstance(kind, TensorType) or kind.dtype not in dtypes:
                lacking = kind.dtype if isinstance(kind, TensorType) else f"values of type {kind}"
                msg = f"{title} has no {lacking}"
                raise Unsupported(msg)
            if real_only and kind.numpy_dtype.kind == "c":
                msg = f"{title} has no {type(node.op).__name__} of complex numbers"
                raise Unsupported(msg)
        op = node.op.elementwise if isinstance(node.op, FusedReduction) else node.op
        for step in op.expanded(node, takes).steps if isinstance(op, Elemwise) else ():
            without = next((dtype for dtype in (*step.loops, step.out) if dtype not in dtypes), None)
            if without is not None:
                msg = f"{title} has no {without}"
                raise Unsupported(msg)
            if not takes(step.scalar_op, step.loops):
                msg = f"the scalar op {step.scalar_op.name} has no text of {title} for {step.loops[0]}"
                raise Unsupported(msg, f"register its text in treadle.link.{self.backend}.SCALARS")

    def entries(self, name: str) -> list[E]:
        """Return all that is registered for a scalar op so far."""
        return list(self._entries.get(name, {}).values())


# Kernels that compute scalar ops on all compiling backends, and expressions that these have alike.
SCALAR_KERNELS: ScalarTable[Kernel | str] = ScalarTable("kernels", "treadle.tensor.lower_kernels")
# Kernels (n, x, o) that compute scalar ops of one operand for many numbers at once, quicker than one by one.
BLOCK_KERNELS: ScalarTable[Kernel] = ScalarTable("kernels", "treadle.tensor.lower_kernels")
