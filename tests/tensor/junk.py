"""Every public function called with arguments of which one is junk, and what it answers.

The calls that the sample records make are the base; a function without a record is called with tensors. One argument
after the other gives way to each kind of junk. `./dev run python -m tests.tensor.junk` prints the counts of all calls.
"""

from __future__ import annotations

import inspect
import random
import re
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, FunctionType
from typing import Any

import numpy as np

import treadle.scan
import treadle.tensor
from tests.tensor.bad_calls import NESTED, RECORDS, Hostile, Kind
from treadle.config import TreadleError
from treadle.graph import FunctionGraph, Op
from treadle.testing.records import SAMPLES

# The calls are wrong on purpose and are not type checked.
tt: Any = treadle.tensor

PLACES = {
    "": tt,
    "linalg.": tt.linalg,
    "fft.": tt.fft,
    "special.": tt.special,
    "signal.": tt.signal,
    "optimize.": tt.optimize,
    "random.": tt.random,
    "scan.": treadle.scan,
}
SECONDS = 6.0

# The kinds of answers of a call.
NAMED, OTHERWISE, SIGNATURE, FOREIGN, TAKEN, SLOW = "named", "another subject", "signature", "foreign", "taken", "slow"
# The error of a function that was passed on, which its caller knows best.
CALLBACK = "of a callback"


class TooSlowError(BaseException):
    """A call did not end in time. Not an Exception, so that nothing handles it by mistake."""


@dataclass(frozen=True)
class Base:
    """A call that is right, or nearly so: its function, and the arguments by name or position."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """The outcome of a call with junk."""

    kind: str
    call: str
    text: str


PLAIN = """
    None True 0 -1 3 2**31 2**63 2**64 -(2**70) 10**30 0.5 1.5 float('nan') float('inf') 1j '' 'a' 'float32' 'nonsense'
    b'x' [] [1] [1.5] ['a'] [None] () (1,2,3) {} {'a':1} set() np.str_('a') np.int64(-2) np.datetime64(0,'s')
    np.array('a') np.array([None]) np.ones(0) np.ones(2) np.ones((2,3,4)) np.longdouble(1) np.array(1.5)
    np.ones(2,'c16') np.ones(2)>3 np.ma.array([1.,2.],mask=[0,1]) np.dtype('f4') np.float64 int object type(x) len x
    tt.dmatrix() tt.dtensor3() tt.lscalar() tt.zvector() tt.scalar(dtype='bool') tt.exp Ellipsis NotImplemented
    range(3) slice(1,2)
"""


def junk() -> dict[str, Any]:
    """Return the values that replace arguments, by how they are written; few functions accept any of them."""
    x = tt.dvector("x")
    plain: dict[str, Any] = {shown: eval(shown, {"np": np, "tt": tt, "x": x}) for shown in PLAIN.split()}
    kind = Kind()
    others = (("[[...]]", NESTED), ("object()", object()), ("Hostile()", Hostile()), ("other", kind("other")))
    return {**plain, **dict(others), "graph": FunctionGraph([x], [x + 1]), "Join(0)": tt.Join(0)}


# Values that are valid for no argument of anything.
SENSELESS = ("{'a':1}", "object()", "NotImplemented", "['a']", "np.array([None])", "b'x'", "Ellipsis")


def public() -> dict[str, Callable[..., Any]]:
    """Return the public functions by name, with the submodule that they are in."""
    functions: dict[str, Callable[..., Any]] = {}
    for prefix, module in PLACES.items():
        listed: list[str] = module.__all__
        for name in listed:
            value = getattr(module, name)
            if isinstance(value, FunctionType | Op) and name not in RECORDS:
                functions[prefix + name] = value
    return functions


def bases(records: bool = True) -> list[Base]:
    """Return one call of each public function: that of its record, where there is one and it is asked for."""
    functions = public()
    recorded = dict(_recorded()) if records else {}
    calls = []
    for name, function in functions.items():
        args, named = recorded.get(_key(function)) or _plain(function)
        calls.append(Base(name, function, args, named))
    return calls


def _key(function: object) -> object:
    """Return what identifies a function by its frame: its code, or the op."""
    whole = inspect.unwrap(function) if isinstance(function, FunctionType) else function
    return whole.__code__ if isinstance(whole, FunctionType) else id(whole)


def _recorded() -> Iterator[tuple[object, tuple[tuple[Any, ...], dict[str, Any]]]]:
    """Yield the calls of treadle's functions that the sample records make: the arguments by name, or by position."""
    calls: list[tuple[object, tuple[tuple[Any, ...], dict[str, Any]]]] = []

    def watch(frame: FrameType, event: str, arg: object) -> None:
        del arg
        if event != "call":
            return
        back, code = frame.f_back, frame.f_code
        if code.co_name == "__call__" and code.co_varnames[:1] == ("self",):
            held = frame.f_locals
            if isinstance(held["self"], Op) and "inputs" in held:
                calls.append((id(held["self"]), (tuple(held["inputs"]), {})))
            return
        while back is not None and back.f_code.co_qualname == "composed.<locals>.call":
            back = back.f_back
        if back is None or not back.f_globals.get("__name__", "").startswith("treadle.testing.records"):
            return
        count = code.co_argcount + code.co_kwonlyargcount
        if not code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            calls.append((code, ((), {n: frame.f_locals[n] for n in code.co_varnames[:count]})))

    for sample in SAMPLES:
        arrays = sample.arrays("float64" if "float64" in sample.dtypes else sample.dtypes[0], "plain")
        inputs = [tt.tensor(dtype=a.dtype, shape=(None,) * a.ndim) for a in arrays]
        sys.setprofile(watch)
        try:
            sample.build(*inputs)
        except TreadleError:
            continue
        finally:
            sys.setprofile(None)
        yield from calls
        calls.clear()


def _plain(function: Callable[..., Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return tensors for the parameters that must be given, and the defaults of the others."""
    if isinstance(function, tt.Elemwise):
        return tuple(tt.dvector() for _ in range(function.nin)), {}
    if isinstance(function, Op):
        known = getattr(function, "parameters", None) or {}
        return (), {**dict.fromkeys(known, 0.5), "size": (2,)}
    parameters = inspect.signature(function).parameters.values()
    named = {
        p.name: tt.dmatrix() if p.default is p.empty else p.default
        for p in parameters
        if p.kind in {p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY}
    }
    return (), named


@contextmanager
def _limited() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def answers(chosen: list[Base], values: dict[str, Any], count: int, seed: int = 0) -> Iterator[Answer]:
    """Yield the answers of each base, with some of the values in place of each argument in turn."""
    rng = random.Random(seed)
    for base in chosen:
        for place in [*range(len(base.args)), *base.named]:
            for shown in rng.sample(list(values), min(count, len(values))):
                value = values[shown]
                if isinstance(place, int):
                    args, named = (*base.args[:place], value, *base.args[place + 1 :]), base.named
                else:
                    args, named = base.args, {**base.named, place: value}
                kind, text = _answer(base, args, named)
                if kind == FOREIGN and text.startswith("TypeError") and callable(value):
                    kind = CALLBACK  # a builtin or a class, which leaves no frame
                yield Answer(kind, f"{base.name}({place}={shown})", text)
        if base.named or base.args:
            kind, text = _answer(base, base.args, {**base.named, "nosuch": 1})
            yield Answer(kind, f"{base.name}(nosuch=1)", text)


def _answer(base: Base, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[str, str]:
    name = base.name.rpartition(".")[2]
    try:
        with _limited():
            base.function(*args, **named)
    except TreadleError as error:
        text = str(error)
        own = re.match(rf"(RandomStream\.)?{name}\b", text) is not None
        return NAMED if own else OTHERWISE, text
    except TooSlowError:
        return SLOW, ""
    except Exception as error:  # noqa: BLE001 - which errors there are is the question
        return _of_python(name, error)
    return TAKEN, ""


def _of_python(name: str, error: Exception) -> tuple[str, str]:
    """Return the kind of an error that is not treadle's."""
    frames = traceback.extract_tb(error.__traceback__)
    text = f"{type(error).__name__}: {error}"
    if "/testing/records/" in frames[-1].filename or frames[-1].filename.startswith("<"):
        return CALLBACK, text
    if isinstance(error, TypeError):
        own = re.match(rf"(\w+\.)?{name}_?\(\)", str(error)) is not None
        return SIGNATURE if own else FOREIGN, text
    return FOREIGN, text


def main(count: int = 10, limit: int = 20) -> None:
    """Print the counts, and the first answers of each kind that is wrong."""
    counts: Counter[str] = Counter()
    shown: dict[str, list[str]] = {}
    senseless = 0
    for answer in answers(bases(), junk(), count):
        counts[answer.kind] += 1
        nonsense = answer.kind == TAKEN and any(f"={word})" in answer.call for word in SENSELESS)
        senseless += nonsense
        if answer.kind not in {NAMED, SIGNATURE, TAKEN, CALLBACK} or nonsense:
            shown.setdefault(answer.kind, []).append(f"{answer.call}: {answer.text[:160]}")
    sys.stdout.write(f"{dict(counts)}, {sum(counts.values())} calls, {senseless} of {TAKEN} without sense\n")
    for kind, lines in shown.items():
        sys.stdout.write("\n".join((f"== {kind}", *lines[:limit], "")))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
