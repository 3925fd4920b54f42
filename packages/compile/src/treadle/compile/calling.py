"""Writing the function behind ``Function.__call__``: quick tests of the arguments, or the explaining way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import NodeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.compile.executor import Function

# A value the guard passes may share memory with a default or another argument; nothing here writes into arguments.


def _guards(function: Function, names: list[str], scope: dict[str, Any]) -> str | None:
    """Return an expression that holds only for arguments that need no conversion, None if there is none."""
    if function.trust_input:
        return "True"
    tests = []
    for name, item in zip(names, function.maker.specification.inputs, strict=True):
        found = item.variable.type.guard(name)
        if found is None or item.implicit:
            return None
        text, used = found
        tests.append(text)
        scope.update(used)
    return " and ".join(tests) or "True"


def _result(function: Function) -> str:
    """Return the expression of the result, from the sequence ``out`` of outputs."""
    spec = function.maker.specification
    if spec.single:
        return "out[0]"
    return "dict(zip(keys, out))" if spec.keys is not None else "list(out)"


def make_caller(function: Function) -> Callable[..., Any]:
    """Return the callable of a function, written for its inputs, state and outputs."""
    spec = function.maker.specification
    names = [f"x{i}" for i in range(len(spec.inputs))]
    scope: dict[str, Any] = {
        "run": function.run,
        "bind": function.bind,
        "keys": spec.keys,
        "program": function.program,
        "NodeError": NodeError,
        "explain": function.explain,
    }
    stateless = not spec.shared and not spec.updates
    result = _result(function)
    lines = []
    guard = _guards(function, names, scope)
    listed = ", ".join(names) + ("," if len(names) == 1 else "")
    if guard is not None:
        lines.append(f"    if len(args) == {len(names)} and not kwargs:")
        if names:
            lines.append(f"        {listed} = args")
        lines.append(f"        if {guard}:")
        lines.append(
            f"            out = program({', '.join(names)})" if stateless else f"            out = run(({listed}))"
        )
        lines.append(f"            return {result}")
    lines.append("    values = bind(args, kwargs)")
    lines.append("    out = program(*values)" if stateless else "    out = run(values)")
    lines.append(f"    return {result}")
    text = "\n".join(
        [
            *("def call(*args, **kwargs):", "  try:", *lines),
            *("  except NodeError as error:", "    explain(error)", "    raise"),
        ]
    )
    exec(compile(text, "<treadle call>", "exec"), scope)
    made: Callable[..., Any] = scope["call"]
    return made
