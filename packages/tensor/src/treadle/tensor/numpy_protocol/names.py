"""Counterparts of NumPy's functions by name: ``numpy.cumsum`` is `cumsum`, ``numpy.linalg.norm`` is `linalg.norm`."""

from __future__ import annotations

import inspect
import sys
from dataclasses import field
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from treadle.config import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_FOLDERS = frozenset({"fft", "linalg", "special"})
# Functions that mean something else here: splits are given by lengths, not by positions; NumPy changes an argument.
_OTHERWISE = frozenset({"split", "copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"})


@dataclass(frozen=True, slots=True)
class Counterpart:
    """What stands for a function of NumPy.

    `parameters` has its own name of each of NumPy's parameters that it has, `defaults` NumPy's defaults where its own
    differ, `by_place` the names of parameters that it takes by position only. `takes_further`: it takes any keyword.
    """

    function: Callable[..., object]
    parameters: Mapping[str, str]
    defaults: Mapping[str, object] = field(default_factory=dict)
    takes_further: bool = False
    by_place: Sequence[str] = ()


def function_of(name: str) -> Callable[..., Any] | None:
    """Return the public function of treadle.tensor, or of a module of it, that has a name of NumPy's; None if none."""
    *folders, own = name.split(".")
    home = ".".join(["treadle.tensor", *folders])
    function = None
    if not own.startswith("_") and all(folder in _FOLDERS for folder in folders):
        function = getattr(import_module(home), own, None) if find_spec(home) is not None else None
    is_function = callable(function) and not isinstance(function, type | ModuleType)
    return function if is_function else None


@cache
def counterpart(name: str, theirs: Callable[..., object]) -> Counterpart | None:
    """Return what stands for a function of NumPy by its name, or None.

    Parameters are those of the same name. Where one side has a name that the other lacks, in the same place, both are
    taken to mean the same, as in ``numpy.sort(a)`` and ``sort(x)``.
    """
    ours = None if name in _OTHERWISE else function_of(name)
    if ours is None:
        return None
    signature, own_parameters = inspect.signature(theirs).parameters, _parameters(ours)
    places = [p.name for p in own_parameters.values() if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    names: dict[str, str] = {}
    defaults: dict[str, object] = {}
    for at, parameter in enumerate(signature.values()):
        own = parameter.name
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            continue
        if own not in own_parameters:
            if at >= len(places) or places[at] in signature:
                continue
            own = places[at]
        names[parameter.name] = own
        default = parameter.default
        if isinstance(default, bool | int | float | str | None) and default != own_parameters[own].default:
            defaults[own] = default
    by_place = [p.name for p in own_parameters.values() if p.kind is p.POSITIONAL_ONLY]
    return Counterpart(ours, names, defaults, any(p.kind is p.VAR_KEYWORD for p in own_parameters.values()), by_place)


def _parameters(function: Callable[..., object]) -> Mapping[str, inspect.Parameter]:
    """Return a function's parameters; an elementwise one takes operands by place only."""
    scalar_op = getattr(function, "scalar_op", None)
    if scalar_op is None:
        return inspect.signature(function).parameters
    kind = inspect.Parameter.POSITIONAL_ONLY
    return {f"x{i}": inspect.Parameter(f"x{i}", kind) for i in range(getattr(function, "nin", 1))}


@cache
def elementwise_of(ufunc: Callable[..., object]) -> Callable[..., Any] | None:
    """Return the function of the name of a ufunc, of NumPy's or of scipy.special's, or None."""
    name = ufunc.__name__
    libraries = {"numpy": "", "scipy.special": "special."}
    for library, folder in libraries.items():
        if getattr(sys.modules.get(library), name, None) is ufunc:
            return function_of(f"{folder}{name}") or function_of(name)
    return None
