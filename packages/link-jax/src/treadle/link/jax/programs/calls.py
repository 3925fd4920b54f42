"""The quick way to call a program: compiled code at once, and nothing in Python that it would find out itself.

The functions are written for the number of their arguments: a microsecond less than with ``*args``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from sys import getrefcount
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import Array

from treadle.link.jax.processes import HOME
from treadle.link.jax.programs.array_class import array_class
from treadle.link.jax.programs.executables import Executables, Form, copied
from treadle.link.jax.programs.ownership import LEAST_TAKEN_OVER, owned
from treadle.link.vm import OwnReferences

if TYPE_CHECKING:
    from treadle.graph import Type

    # Puts the new values among a program's results into their cells; or those at some positions of the results.
    Write = Callable[..., None]
    # Whether all integers among a form's arguments are within its bounds; None where it has none.
    Admits = Callable[..., bool] | None
    # Takes what computes results, or raises, or None; the look at its arguments; and what makes a NumPy array of a
    # result.
    Take = Callable[[Callable[..., Any] | None, Admits, Callable[[Array], np.ndarray]], None]

# Puts a value for "64-bit dtypes are on" in place of the calling thread's own, and returns that: what the context
# manager jax.enable_x64 does, in a tenth of its time.
swap_x64: Callable[[object], object] = jax.enable_x64.swap_local
# Returns that value. It is asked for before: a call may be interrupted when `swap_x64` has returned, and what that
# returned is lost then.
x64_before: Callable[[], object] = jax.enable_x64.get_local


# Stands for an argument that is not given.
ABSENT = object()
# After so many calls that fitted the form of the call before not, nothing is expected of the next one any more.
MOST_MISSES = 16
# More arrays than these take longer to copy than to wait for results, and so do arrays of more bytes.
_MOST_COPIED = 3
_LARGEST_COPIED = 1 << 12


# Where `_taking_over` counts them: two calls below the caller.
own_references = OwnReferences(2)


def quick_caller(
    forms: Executables,
    kinds: Sequence[Type],
    native: Sequence[bool],
    single: bool,
    fallback: Callable[..., Any],
    write: Write | None = None,
    *,
    plain: bool = False,
    take: Take | None = None,
) -> Callable[..., Any]:
    """Return a function of arguments of some types that calls the compiled form that was right the last time.

    If `plain`, all arguments are there, by position.

    It looks at the classes of the arguments, and at the dtypes of NumPy's; the rest compiled code looks at. What does
    not fit, and everything after a failure, it leaves to `fallback`. So it does with forms whose results take over the
    memory of arguments, without `write`.

    `take` is given each form that is called from then on, and what makes a NumPy array of a result. Such a form, like
    ``run`` in the text, returns one output as it is.
    """
    names = [f"x{i}" for i in range(len(kinds))]
    constants = {f"k{i}": value for i, value in enumerate(forms.arguments)}
    misses = 0

    def other(
        args: Sequence[object], rest: Sequence[object] = (), kw: Mapping[str, object] = MappingProxyType({})
    ) -> Any:
        nonlocal misses
        result = fallback(*[x for x in (*args, *rest) if x is not ABSENT], **kw)
        form, misses = forms.latest if misses < MOST_MISSES else None, misses + 1
        admits = None if form is None else _admits(form, names)
        if form is None or not form.donated:
            run = None if form is None else _checked(form, forms.count)
        else:
            run = None if write is None else _taking_over(forms, form, [*names, *constants], write, fallback)
        # In one, since another thread may call in between: the bounds of one form are not those of another.
        scope["now"] = run, admits
        if not all(native) or not native:
            results = [result] if single else result
            scope["own"] = np.array if all(x.nbytes < LEAST_TAKEN_OVER for x in results) else owned
        if take is not None and write is not None:
            given = [*names, *constants]
            run = None if form is None else form.call
            if form is not None and form.checks:
                run = _taking_over(forms, form, given, write, fallback, alone=True)
            take(run, admits, scope["own"])
        return result

    scope: dict[str, Any] = {
        "ABSENT": ABSENT, "classes": frozenset((np.ndarray, array_class())), "device": array_class(),
        "home": HOME, "host": np.ndarray, "lost": lost, "now": (None, None), "other": other, "own": owned,
        "swap": swap_x64, "x64": x64_before, **constants,
    }  # fmt: skip
    packed = _packed(names)
    otherwise = f"return other({packed})" if plain else f"return other({packed}, rest, kw)"
    scope |= {f"{name}_dtype": getattr(kind, "numpy_dtype", None) for name, kind in zip(names, kinds, strict=True)}
    run = [
        f"values = run({', '.join([*names, *constants])})",
        "except Exception:",
        # Whatever it is, the fallback meets it again, and explains it.
        "  values = None",
        *([f"  if lost({packed}): raise"] if write is not None else []),
    ]
    last = "values" if forms.count == 1 else "values[-1]"
    taken, waits = kept_arrays(names, "host", last) if all(native) and native else ([], [])
    result = _result_text(native, forms.count, single, plain)
    if plain:
        head = [
            f"def call({', '.join(names)}):",
            "  run, admits = now",
            f"  if run is None or home.is_forked: {otherwise}",
        ]
    else:
        parameters = [*(f"{name}=ABSENT" for name in names), *(["/"] if names else []), "*rest", "**kw"]
        head = [
            f"def call({', '.join(parameters)}):",
            "  run, admits = now",
            f"  if rest or kw or run is None or home.is_forked: {otherwise}",
        ]
    refused = f"if admits is not None and not admits({', '.join(names)}): {otherwise}"
    lines = [
        *head,
        f"  if {' and '.join(f'{name}.__class__ is device' for name in names) or 'True'}:",
        f"    {refused}",
        f"    try: {run[0]}",
        *[f"    {line}" for line in run[1:]],
        f"    if values is None: {otherwise}",
        f"    return {result}",
        f"  if not ({_fits_text(names)}): {otherwise}",
        f"  {refused}",
        *[f"  {line}" for line in taken],
        # What is 64 bits wide already stays that.
        "  before = x64()",
        f"  try: swap(True); {run[0]}",
        *[f"  {line}" for line in run[1:]],
        "  finally: swap(before)",
        f"  if values is None: {otherwise}",
        *[f"  {line}" for line in waits],
        f"  return {result}",
    ]
    return _written(lines, scope)


def _fits_text(names: Sequence[str]) -> str:
    """Return an expression that holds where arguments are arrays, and NumPy's among them have the inputs' dtypes.

    Compiled code would take the bytes of the other order as they are.
    """
    if len(names) < 2:
        return "".join(f"{x}.__class__ is host and ({x}.dtype is {x}_dtype or {x}.dtype == {x}_dtype)" for x in names)
    kinds = ", ".join(f"{name}.__class__" for name in names)
    fits = [f"({name}.dtype is {name}_dtype or {name}.dtype == {name}_dtype)" for name in names]
    return " and ".join([f"{{{kinds}}} <= classes", *fits])


def kept_arrays(names: Sequence[str], host: str, result: str) -> tuple[list[str], list[str]]:
    """Return statements for before and after a call whose results JAX may still compute when it returns.

    JAX reads a NumPy argument while it computes (tried: a change of the argument then changes the result), and the
    caller may change its arrays once the call returns. It is given copies of a few small arrays; for others it waits.

    Parameters
    ----------
    names
        The arguments.
    host
        The name of the class of NumPy's arrays.
    result
        The expression of a result. They are all ready at once.
    """
    on_host = [f"{name}.__class__ is {host}" for name in names]
    wait = f"if waits: {result}.block_until_ready()"
    if len(names) > _MOST_COPIED:
        return [f"waits = {' or '.join(on_host)}"], [wait]
    lines = ["waits = False"]
    for name, test in zip(names, on_host, strict=True):
        lines += [
            f"if {test}:",
            f"  if {name}.nbytes > {_LARGEST_COPIED}: waits = True",
            f"  else: {name} = {name}.copy()",
        ]
    return lines, [wait]


def _result_text(native: Sequence[bool], count: int, single: bool, plain: bool) -> str:
    """Return the expression of what a call returns: a list for users, and any sequence for a plain call."""
    if count == 1:
        result = "values" if any(native) else "own(values)"
        return result if single else f"({result},)" if plain else f"[{result}]"
    if not any(native):
        return "[*map(own, values)]"
    if all(native):
        return "values" if plain else "[*values]"
    # What becomes NumPy's array is waited for.
    return f"[{', '.join(f'values[{k}]' if is_native else f'own(values[{k}])' for k, is_native in enumerate(native))}]"


def _admits(form: Form, names: Sequence[str]) -> Admits:
    """Return a function of arrays that looks at the integers among them."""
    if not form.bounds:
        return None
    tests = [f"({names[b.at]} is bounds{k}.latest() or bounds{k}({names[b.at]}))" for k, b in enumerate(form.bounds)]
    lines = [
        f"def call({', '.join(names)}):",
        f"  try: return {' and '.join(tests)}",
        # An array that cannot be read, the fallback meets again.
        "  except Exception: return False",
    ]
    return _written(lines, {f"bounds{k}": b for k, b in enumerate(form.bounds)})


def _checked(form: Form, count: int) -> Callable[..., Any]:
    """Return a function that returns the outputs of a form, one as it is; None where they are not valid."""
    if not form.checks:
        return form.call
    call = form.call

    def checked(*args: object) -> list[Array] | None:
        *values, failed = call(*args)
        return None if np.asarray(failed) else values

    def checked_alone(*args: object) -> Array | None:
        value, failed = call(*args)
        return None if np.asarray(failed) else value

    return checked_alone if count == 1 else checked


def _written(lines: Sequence[str], scope: dict[str, Any]) -> Callable[..., Any]:
    """Return the function ``call`` that lines define; the scope has what they name."""
    exec(compile("\n".join(lines), "<treadle jax call>", "exec"), scope)
    function: Callable[..., Any] = scope["call"]
    return function


def _packed(names: Sequence[str]) -> str:
    """Return the text of a tuple."""
    return f"({''.join(f'{name}, ' for name in names)})"


def lost(args: Sequence[object]) -> bool:
    """Whether a form that failed took the memory of arguments over, so that nothing can be computed again."""
    return any(isinstance(x, Array) and x.is_deleted() for x in args)


def _taking_over(
    forms: Executables,
    form: Form,
    names: Sequence[str],
    write: Write,
    fallback: Callable[..., Any],
    *,
    alone: bool = False,
) -> Callable[..., Any]:
    """Return a function that calls a form whose results take over the memory of arguments.

    If `alone`, its caller has found that nobody else holds these.

    It has new values written at once: the old ones are gone then, whatever interrupts the rest of the call. What
    somebody else holds too is copied before. Where a check fails, results are what the arguments were: these are
    written, and `fallback` is called with them, which raises.
    """
    own = names[: len(names) - len(forms.arguments)]
    restored = {i: o for i, o in forms.replaced if i in form.donated}
    kept = tuple(restored.values())

    bare = forms.count == 1

    def finish(outputs: Any) -> bool:
        if not form.checks:
            write((outputs,) if bare else outputs)
            return True
        if kept:
            write(outputs, kept)
        if np.asarray(outputs[-1]):
            return False
        write(outputs)
        return True

    scope: dict[str, Any] = {
        "copied": copied, "count": getrefcount, "fallback": fallback, "finish": finish, "form": form.call,
        "host": np.ndarray, "most": own_references,
    }  # fmt: skip
    donated = [names[i] for i in form.donated]
    again = ", ".join(f"done[0][{restored[i]}]" if i in restored else name for i, name in enumerate(own))
    lines = [
        f"def call({', '.join(names)}):",
        *[f"  if {x}.__class__ is host or count({x}) > most(): {x} = copied({x})" for x in donated if not alone],
        "  done = ()",
        "  try:",
        # Nothing can interrupt this between the call and the note of its results.
        f"    done = [*map(form, {', '.join(f'({name},)' for name in names)})]",
        "    valid = finish(done[0])",
        "  except BaseException:",
        "    if done: finish(done[0])",
        "    raise",
        f"  return {'done[0][0]' if bare and form.checks else 'done[0]'} if valid else fallback({again}){'[0]' * bare}",
    ]
    return _written(lines, scope)
