"""DebugMode: the mode in which functions check everything that they do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.compile.debugmode.implementations import chosen_backends
from treadle.compile.debugmode.maker import DebugMaker
from treadle.compile.debugmode.node_checks import KINDS, Checks
from treadle.compile.errors import FunctionTypeError, FunctionValueError
from treadle.compile.mode.mode import Mode
from treadle.config import config, text_of

if TYPE_CHECKING:
    from treadle.link.vm import Backend


class DebugMode(Mode):
    """Mode that evaluates and checks everything in several ways, slowly, and reports where something is wrong.

    A call computes every node with `perform`, which is the reference, and compares it with every other
    implementation: the rules of the Python VM, a program of the node alone on each backend, and programs of the whole
    graph. It compares the values before and after each change that rewriting made, on the arguments of the call, and
    checks what nodes do to memory against their ``destroy_map`` and ``view_map``. A function in this mode never goes
    through the compile cache. If a call fails, shared variables are as before.

    Parameters
    ----------
    optimizer
        As for `Mode`.
    stability_patience
        How often the graph is rewritten again to find rules that depend on chance. Option ``DebugMode__patience`` if
        None.
    check_c_code
        Whether C is compared. Option ``DebugMode__check_c`` if None.
    check_py_code
        Whether Python is compared; if not, `perform` runs only where no other implementation exists. Option
        ``DebugMode__check_py`` if None.
    check_isfinite
        Whether every value must be finite. Option ``DebugMode__check_finite`` if None.
    check_preallocated_output
        Kinds of memory, given beforehand for outputs, that every node is tried with: a text as of the option
        ``DebugMode__check_preallocated_output``, or a sequence of kinds; the option if None.
    require_matching_strides
        Whether implementations must agree in strides: 0 (no), 1 (a warning), 2 (an error). Option
        ``DebugMode__check_strides`` if None.
    linker
        As for `Mode`: what links the whole graph.
    backends
        Further backends to compare, by name: a sequence, or a text with the names separated by ``:``; ``all`` for every
        one that is installed. Option ``DebugMode__backends`` if None.
    name
        Shown in messages.

    Raises
    ------
    FunctionValueError
        If a parameter has no such value, or nothing is to be compared.
    MissingBackendError
        When a function is compiled, if a backend that is asked for is not installed or cannot work.

    Examples
    --------
    >>> from treadle.compile import function
    >>> import treadle.tensor as tt
    >>> x = tt.dscalar("x")
    >>> f = function([x], x * 2, mode=DebugMode(linker="vm", check_c_code=False))
    >>> float(f(3))
    6.0
    """

    __slots__ = (
        "_asked_for_c",
        "backends",
        "check_c_code",
        "check_isfinite",
        "check_preallocated_output",
        "check_py_code",
        "require_matching_strides",
        "stability_patience",
    )

    stability_patience: int
    check_c_code: bool
    check_py_code: bool
    check_isfinite: bool
    check_preallocated_output: tuple[str, ...]
    require_matching_strides: int
    backends: tuple[str, ...]
    _asked_for_c: bool

    def __init__(
        self,
        optimizer: Any = "fast_run",
        stability_patience: int | None = None,
        check_c_code: bool | None = None,
        check_py_code: bool | None = None,
        check_isfinite: bool | None = None,
        check_preallocated_output: Any = None,
        require_matching_strides: int | bool | None = None,
        linker: Any = None,
        backends: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(linker, optimizer, name="DebugMode" if name is None else name)
        patience = _or(stability_patience, config.DebugMode__patience)
        kinds = _or(check_preallocated_output, config.DebugMode__check_preallocated_output)
        strides = _or(require_matching_strides, config.DebugMode__check_strides)
        self._set(
            stability_patience=_count("stability_patience", patience, 1, None),
            check_c_code=bool(_or(check_c_code, config.DebugMode__check_c)),
            check_py_code=bool(_or(check_py_code, config.DebugMode__check_py)),
            check_isfinite=bool(_or(check_isfinite, config.DebugMode__check_finite)),
            check_preallocated_output=_kinds(kinds),
            require_matching_strides=_count("require_matching_strides", strides, 0, 2),
            backends=_names(_or(backends, config.DebugMode__backends)),
            _asked_for_c=check_c_code is True,
        )
        if not (self.check_py_code or self.check_c_code or self.backends):
            msg = (
                "DebugMode: nothing is to be compared, check_py_code and check_c_code are both False and no backends "
                "are named. Set one of them."
            )
            raise FunctionValueError(msg)

    @property
    def function_maker(self) -> type[DebugMaker]:
        """The class whose steps make functions in this mode."""
        return DebugMaker

    def checks(self) -> Checks:
        """Return what is checked of each node, options of the moment included."""
        return Checks(
            finite=self.check_isfinite,
            preallocated=self.check_preallocated_output,
            dims=config.DebugMode__check_preallocated_output_ndim,
            strides=self.require_matching_strides,
            warn_not_reused=config.DebugMode__warn_input_not_reused,
        )

    def backends_to_check(self) -> list[Backend]:
        """Return the backends that nodes, and the whole graph, are compared on.

        Raises
        ------
        MissingBackendError
            If one that was asked for is not installed, or cannot work here.
        """
        check_c = (True if self._asked_for_c else None) if self.check_c_code else False
        return chosen_backends(check_c, self.backends)


def _or(argument: object, option: object) -> Any:
    return option if argument is None else argument


def _count(name: str, argument: object, least: int, most: int | None) -> int:
    number = int(argument) if isinstance(argument, int) else None
    if number is None or number < least or (most is not None and number > most):
        bound = f"at least {least}" if most is None else f"from {least} to {most}"
        msg = f"DebugMode: {name} must be a whole number {bound}, got {text_of(argument)}."
        raise FunctionValueError(msg)
    return number


def _names(argument: object) -> tuple[str, ...]:
    """Return names from a text or a sequence."""
    parts = argument.split(":") if isinstance(argument, str) else argument
    if not isinstance(parts, list | tuple | set | frozenset) or not all(isinstance(part, str) for part in parts):
        msg = f"DebugMode: names must be given as a text with ':' between them, or as a list, got {text_of(argument)}."
        raise FunctionTypeError(msg)
    return tuple(part for part in parts if part)


def _kinds(argument: object) -> tuple[str, ...]:
    names = _names(argument)
    unknown = [name for name in names if name != "ALL" and name not in KINDS]
    if unknown:
        msg = (
            f"DebugMode: check_preallocated_output knows {', '.join(KINDS)} and ALL, got {', '.join(unknown)}. "
            "Name some of these."
        )
        raise FunctionValueError(msg)
    return KINDS if "ALL" in names else tuple(kind for kind in KINDS if kind in names)
