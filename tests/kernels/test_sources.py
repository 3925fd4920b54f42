"""The syntax of functions is found as `inspect` finds it."""

import argparse
import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import pytest

from treadle.kernels.sources import syntax_of
from treadle.tensor.lower_kernels.indexing import picking, searching
from treadle.tensor.lower_kernels.sorting import sorting


def same(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


@same
def with_marks_at_the_margin(
    first: int,
    *,
    second: str = ")",
) -> str:
    # fmt: off
    text = """
def not_a_function(): pass
@also_not_a_decorator
"""
    # A comment at the margin.
    numbers = [
1, 2,
    ]
    # fmt: on
    return f"{first}{second}{text}{numbers}"


def outer() -> Callable[..., Any]:
    @same
    def inner(x: int) -> int:
        if x:
            return x
        return 0

    return inner


def of_inspect(function: Callable[..., Any]) -> ast.stmt:
    lines, first = inspect.getsourcelines(function)
    (found,) = ast.parse(textwrap.dedent("".join(lines))).body
    ast.increment_lineno(found, first - 1)
    return found


@pytest.mark.parametrize("function", [with_marks_at_the_margin, outer, outer(), same], ids=lambda f: f.__name__)
def test_finds_what_inspect_finds(function: Callable[..., Any]) -> None:
    found = syntax_of(function)
    assert ast.dump(found, include_attributes=True) == ast.dump(of_inspect(function), include_attributes=True)


@pytest.mark.parametrize("module", [picking, searching, sorting, argparse, textwrap, dataclasses, ast])
def test_finds_all_functions_of_modules(module: ModuleType) -> None:
    things = [*vars(module).values()]
    things += [method for thing in things if isinstance(thing, type) for method in vars(thing).values()]
    functions = (getattr(thing, "function", thing) for thing in things)
    own = [f for f in functions if isinstance(f, FunctionType) and f.__module__ == module.__name__]
    compared = 0
    for function in own:
        is_plain = function.__name__ != "<lambda>" and not hasattr(function, "__wrapped__")
        if is_plain and function.__code__.co_filename == module.__file__:
            assert ast.dump(syntax_of(function)) == ast.dump(of_inspect(function))
            compared += 1
    assert compared > 3


def test_passes_on_a_function_without_source() -> None:
    scope: dict[str, Any] = {}
    exec("def hidden(x):\n    return x\n", scope)
    with pytest.raises(OSError, match="could not get source"):
        syntax_of(scope["hidden"])
