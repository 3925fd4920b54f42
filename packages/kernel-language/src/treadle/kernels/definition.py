"""Kernel: a function in the kernel language, and its versions for dtypes."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from treadle.config import dataclass, lazy_module, new_lock
from treadle.kernels.errors import KernelError
from treadle.kernels.externals import External
from treadle.kernels.kinds import SHORT, value_kind
from treadle.kernels.language import ARRAYS, ELEMENTS, Pointer
from treadle.kernels.sources import syntax_of

if TYPE_CHECKING:
    from treadle.kernels import checking, interpretation
    from treadle.kernels import tree as trees
    from treadle.kernels.tree import Parameter, Specialised
else:
    # Packages declare kernels that few programs call.
    checking = lazy_module("treadle.kernels.checking")
    interpretation = lazy_module("treadle.kernels.interpretation")
    trees = lazy_module("treadle.kernels.tree")

# What is known of an argument: its dtype, and its rank: 0 for a number, -1 for a pointer.
Argument = tuple[str, int]
_PLAIN: Mapping[object, str] = {int: "int64", float: "float64", bool: "bool"}


@dataclass(frozen=True, slots=True)
class Declared:
    """A parameter as the function declares it: a dtype, or the name of the type parameter that stands for one."""

    name: str
    dtype: str
    free: bool
    rank: int


class Kernel:
    """A function in the kernel language, which backends compile; see docs/contributing/kernels.md.

    Parameters
    ----------
    function
        The function. Positional parameters are arguments, keyword-only ones are static: their values are known when the
        kernel is compiled, and decide what is compiled.
    inline
        Whether compilers make it a part of its callers: for what is called for each element.
    compact
        Whether its loops are short or rare, so that compilers need not unroll them.
    source
        The function's text, where it is in no file; see `kernel_of_text`.

    Raises
    ------
    KernelError
        For arguments that it does not take, if it is called as a function of Python, with arrays of NumPy's. All other
        faults are told when it is first compiled or run.

    Examples
    --------
    >>> import numpy as np
    >>> from treadle.kernels.language import Vector, float64
    >>> @kernel
    ... def total(x: Vector[float64]) -> float:
    ...     sum = 0.0
    ...     for i in range(len(x)):
    ...         sum += x[i]
    ...     return sum
    >>> float(total(np.array([1.0, 2.0])))
    3.0
    """

    def __init__(
        self, function: Callable[..., Any], *, inline: bool = False, compact: bool = False, source: str = ""
    ) -> None:
        self.function = function
        self.inline = inline
        self.compact = compact
        self.source = source
        self.name: str = function.__name__
        self.where = f"{function.__module__}.{function.__qualname__}"
        self.__doc__ = function.__doc__
        self._lock = new_lock()
        self._parsed: ast.FunctionDef | None = None
        self._versions: dict[tuple[Any, ...], Specialised] = {}

    def __repr__(self) -> str:
        """Show the name."""
        return f"<kernel {self.where}>"

    def __call__(self, *arguments: Any, **static: Any) -> Any:
        """Run it in Python."""
        return interpretation.run(self, arguments, static)

    @property
    def scope(self) -> Mapping[str, Any]:
        """What names in the function stand for."""
        return self.function.__globals__

    def tree(self) -> ast.FunctionDef:
        """Return the function's syntax.

        Raises
        ------
        KernelError
            If the function has no source, uses variables of a function around it, or is not a plain function.
        """
        if self._parsed is None:
            if not isinstance(self.function, FunctionType):
                msg = f"kernel {self.name}: a function defined by def is needed, got a {type(self.function).__name__}."
                raise KernelError(msg)
            if self.function.__closure__:
                names = ", ".join(self.function.__code__.co_freevars)
                msg = f"kernel {self.name}: it uses {names} of a function around it. Pass them as static parameters."
                raise KernelError(msg)
            try:
                (definition,) = ast.parse(self.source).body if self.source else [syntax_of(self.function)]
            except (OSError, TypeError) as error:
                msg = f"kernel {self.name}: its source is not there ({error}). Define it in a file."
                raise KernelError(msg) from error
            if not isinstance(definition, ast.FunctionDef):
                msg = f"kernel {self.name}: a function defined by def is needed, got a {type(definition).__name__}."
                raise KernelError(msg)
            self._parsed = definition
        return self._parsed

    def declared(self) -> Sequence[Declared]:
        """Return the positional parameters."""
        arguments = self.tree().args
        if arguments.vararg or arguments.kwarg or arguments.defaults or arguments.posonlyargs:
            msg = f"kernel {self.name}: parameters have no defaults and no stars but the one before static ones."
            raise KernelError(msg)
        return [self._declared(a) for a in arguments.args]

    def _declared(self, argument: ast.arg) -> Declared:
        annotation, rank = argument.annotation, 0
        if isinstance(annotation, ast.Subscript):
            outer = self._named(annotation.value)
            rank = -1 if outer is Pointer else ARRAYS.get(outer, 0)
            annotation = annotation.slice if rank else None
        inner = None if annotation is None else self._named(annotation)
        if isinstance(inner, TypeVar):
            return Declared(argument.arg, inner.__name__, True, rank)
        dtype = ELEMENTS.get(inner) or (None if rank else _PLAIN.get(inner))
        if dtype is None:
            msg = (
                f"kernel {self.name}: parameter {argument.arg} has no type of the language. Use int, float, bool, a "
                "type parameter T, or Pointer[T], Vector[T], Matrix[T] …, also with int32 and other elements for T."
            )
            raise KernelError(msg)
        return Declared(argument.arg, dtype, False, rank)

    def _named(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.Name):
            return None
        return self.scope.get(node.id, _BUILTIN.get(node.id))

    def bound(self, arguments: Sequence[Argument]) -> dict[str, str]:
        """Return the dtype that each type parameter stands for, given what is known of the arguments.

        Raises
        ------
        KernelError
            If the arguments do not fit.
        """
        declared = self.declared()
        if len(declared) != len(arguments):
            msg = f"kernel {self.name}: it takes {len(declared)} arguments, got {len(arguments)}."
            raise KernelError(msg)
        types: dict[str, str] = {}
        for parameter, (dtype, rank) in zip(declared, arguments, strict=True):
            wanted = types.setdefault(parameter.dtype, dtype) if parameter.free else parameter.dtype
            kinds = (value_kind(wanted), value_kind(dtype)) if rank == 0 else (wanted, dtype)
            if parameter.rank != rank or kinds[0] != kinds[1]:
                msg = (
                    f"kernel {self.name}: parameter {parameter.name} is {_described(wanted, parameter.rank)}, got "
                    f"{_described(dtype, rank)}. Convert the argument."
                )
                raise KernelError(msg)
        return types

    def of_numbers(self, dtypes: Sequence[str]) -> Specialised:
        """Return the version for numbers, each converted to its parameter's type where that is no type parameter.

        Raises
        ------
        KernelError
            If it does not take so many numbers, or the function is not in the language.
        """
        declared = self.declared()
        given = [value_kind(t) if d.free else d.dtype for d, t in zip(declared, dtypes, strict=False)]
        return self.specialised([(dtype, 0) for dtype in given], {})

    def specialised(self, arguments: Sequence[Argument], static: Mapping[str, Any]) -> Specialised:
        """Return the version for arguments and static values; each is made once.

        Raises
        ------
        KernelError
            If they do not fit, or the function is not in the language.
        """
        key = (tuple(arguments), tuple(sorted(static.items())))
        with self._lock:
            known = self._versions.get(key)
        if known is not None:
            return known
        types = self.bound(arguments)
        wanted = {a.arg for a in self.tree().args.kwonlyargs}
        if wanted != static.keys():
            msg = f"kernel {self.name}: its static parameters are {sorted(wanted)}, got {sorted(static)}."
            raise KernelError(msg)
        declared = self.declared()
        parameters: list[Parameter] = []
        for parameter, (dtype, rank) in zip(declared, arguments, strict=True):
            name = parameter.name
            parameters.append(trees.Parameter(name, f"*{dtype}" if rank else value_kind(dtype)))
            parameters += [trees.Parameter(f"{name}_{part}{d}", "int64") for part in "ns" for d in range(max(rank, 0))]
        parts = [self.name, *(_static_text(name, value) for name, value in sorted(static.items()))]
        parts += [SHORT[dtype] for dtype in types.values()] or ["i64"]
        checker = checking.Checker(
            self,
            types,
            static,
            {p.name: p.kind for p in parameters},
            dict(zip((p.name for p in declared), (rank for _, rank in arguments), strict=True)),
        )
        version = checker.specialised("_".join(parts), parameters, arguments)
        with self._lock:
            return self._versions.setdefault(key, version)


_BUILTIN = {"int": int, "float": float, "bool": bool}


def _static_text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return name if value else f"not_{name}"
    if isinstance(value, int) and value >= 0:
        return f"{name}{value}"
    if isinstance(value, str) and value.isidentifier():
        return f"{name}_{value}"
    if isinstance(value, Kernel | External):
        return f"{name}_{value.name}"
    msg = (
        f"kernel: static parameter {name} is {value!r}. Use a bool, an int that is not negative, a word, a kernel, or "
        "what external declares."
    )
    raise KernelError(msg)


def _described(dtype: str, rank: int) -> str:
    what = {0: "a number", -1: "a pointer"}.get(rank, f"an array of rank {rank}")
    return f"{what} of {dtype}"


def kernel_of_text(
    name: str, text: str, scope: Mapping[str, Any], *, inline: bool = False, compact: bool = False
) -> Kernel:
    """Return the kernel that a text defines under a name; names in it stand for what `scope` has.

    For rules that put kernels together, such as a loop around one that a user of the rule passes.
    """
    names = dict(scope)
    exec(compile(text, f"<kernel {name}>", "exec"), names)
    return Kernel(names[name], inline=inline, compact=compact, source=text)


class TextKernels:
    """Kernels that rules put together by their texts, each made once."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._known: dict[str, Kernel] = {}

    def get(self, name: str, text: str, scope: Mapping[str, Any], *, compact: bool = False) -> Kernel:
        """Return the kernel of a text, in which ``NAME`` is the kernel's name; see `kernel_of_text`."""
        with self._lock:
            if text not in self._known:
                own = f"{name}_{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
                self._known[text] = kernel_of_text(own, text.replace("NAME", own), scope, compact=compact)
            return self._known[text]


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(*, inline: bool = ...) -> Callable[[Callable[..., Any]], Kernel]: ...
def kernel(
    function: Callable[..., Any] | None = None, *, inline: bool = False
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make a function a `Kernel`; a decorator, also with arguments: ``@kernel(inline=True)``."""
    if function is None:
        return lambda own: Kernel(own, inline=inline)
    return Kernel(function, inline=inline)
