"""Loops: treadle, JAX and PyTensor run one definition each; Numba runs loops and gradients written by hand."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.worker import START, per_call, settle, sum_of

if TYPE_CHECKING:
    from collections.abc import Callable

    Tree = tuple[Any, ...]
    Body = Callable[[Tree, Tree], tuple[Tree, Tree]]

NUMBA = "Numba by hand"
SEED = 20260101
HIDDEN, STEPS, DAYS, STATES, GRID = 64, 100, 10_000, 8, 200
ESCAPE, MOST = 4.0, 200


class Library:
    """What a loop is written with: an array module, and loops over it.

    Attributes
    ----------
    xp
        The array module.
    """

    xp: Any

    def scan(self, body: Body, init: Tree, xs: Tree, length: int) -> tuple[Tree, Tree]:
        """Return the last carry and the stacked results of ``body(carry, rows) -> (carry, results)``."""
        raise NotImplementedError

    def repeat(self, cond: Callable[[Tree], Any], body: Callable[[Tree], Tree], init: Tree, most: int) -> Tree:
        """Return the last carry of a loop that ends when a condition fails, or after `most` steps."""
        raise NotImplementedError


class Treadle(Library):
    """treadle."""

    def __init__(self) -> None:
        import treadle.tensor as tt  # noqa: PLC0415 - each process imports one system

        self.xp = tt

    def scan(self, body: Body, init: Tree, xs: Tree, length: int) -> tuple[Tree, Tree]:
        """Build the loop."""
        result: tuple[Tree, Tree] = self.xp.scan_with_carry(body, init, xs, length)
        return result

    def repeat(self, cond: Callable[[Tree], Any], body: Callable[[Tree], Tree], init: Tree, most: int) -> Tree:
        """Build the loop; the condition counts the steps too."""
        del most
        result: Tree = self.xp.while_loop(cond, body, init)
        return result


class Jax(Library):
    """JAX."""

    def __init__(self) -> None:
        import jax  # noqa: PLC0415 - as above
        from jax import numpy as jnp  # noqa: PLC0415 - as above

        self.xp, self.lax = jnp, jax.lax

    def scan(self, body: Body, init: Tree, xs: Tree, length: int) -> tuple[Tree, Tree]:
        """Build the loop."""
        return self.lax.scan(body, init, xs, length)

    def repeat(self, cond: Callable[[Tree], Any], body: Callable[[Tree], Tree], init: Tree, most: int) -> Tree:
        """Build the loop; the condition counts the steps too."""
        del most
        result: Tree = self.lax.while_loop(cond, body, init)
        return result


class Pytensor(Library):
    """PyTensor."""

    def __init__(self) -> None:
        import pytensor  # noqa: PLC0415 - as above
        import pytensor.tensor as pt  # noqa: PLC0415 - as above

        self.xp, self._scan = pt, pytensor.scan
        from pytensor.scan import until  # noqa: PLC0415 - as above

        self._until = until

    def scan(self, body: Body, init: Tree, xs: Tree, length: int) -> tuple[Tree, Tree]:
        """Build the loop from a function of rows and carries, which are stacked too."""
        carries, count = [self.xp.as_tensor_variable(x) for x in init], len(xs)
        names: list[int] = []

        def step(*values: Any) -> list[Any]:
            after, results = body(tuple(values[count:]), tuple(values[:count]))
            names.append(len(results))
            return [*after, *results]

        trial = [x[0] for x in xs]
        extra = len(body(tuple(carries), tuple(trial))[1])
        rows = self._listed(
            self._scan(step, sequences=list(xs), outputs_info=[*carries, *[None] * extra], n_steps=length)[0]
        )
        return tuple(x[-1] for x in rows[: len(carries)]), tuple(rows[len(carries) :])

    def repeat(self, cond: Callable[[Tree], Any], body: Callable[[Tree], Tree], init: Tree, most: int) -> Tree:
        """Build a loop that ends after the step whose carry fails the condition."""
        carries = [self.xp.as_tensor_variable(x) for x in init]

        def step(*carried: Any) -> tuple[list[Any], Any]:
            after = body(tuple(carried))
            return list(after), self._until(self.xp.invert(cond(after)))

        rows = self._listed(self._scan(step, outputs_info=carries, n_steps=most)[0])
        return tuple(x[-1] for x in rows)

    @staticmethod
    def _listed(results: Any) -> list[Any]:
        return list(results) if isinstance(results, list | tuple) else [results]


@dataclass(frozen=True, slots=True)
class Case:
    """A loop to measure.

    Attributes
    ----------
    title
        What the table calls it.
    values
        Makes the arguments.
    expression
        Takes a library and the arguments; returns the output.
    slopes
        Positions of arguments whose gradients are outputs too.
    by_hand
        Name of the function of `benchmarks.loops_by_hand` that returns the same.
    """

    title: str
    values: Callable[[np.random.Generator], list[Any]]
    expression: Callable[..., Any]
    slopes: tuple[int, ...]
    by_hand: str


def _recurrent(lib: Library, w: Any, u: Any, h: Any, x: Any) -> Any:
    """Return the squares of all states of a recurrent network."""
    xp = lib.xp

    def body(carry: Tree, rows: Tree) -> tuple[Tree, Tree]:
        new = xp.tanh(xp.dot(w, carry[0]) + xp.dot(u, rows[0]))
        return (new,), (new,)

    return (lib.scan(body, (h,), (x,), STEPS)[1][0] ** 2).sum()


def _garch(lib: Library, theta: Any, r: Any) -> Any:
    """Return the log likelihood of returns whose variance follows GARCH(1, 1)."""
    xp = lib.xp

    def body(carry: Tree, rows: Tree) -> tuple[Tree, Tree]:
        variance, total = carry
        square = rows[0] * rows[0]
        return (theta[0] + theta[1] * square + theta[2] * variance, total + xp.log(variance) + square / variance), ()

    return -0.5 * lib.scan(body, (theta[0] / (1 - theta[1] - theta[2]), theta[3]), (r,), DAYS)[0][1]


def _filtered(lib: Library, a: Any, x: Any) -> Any:
    """Return an autoregression of order 2."""

    def body(carry: Tree, rows: Tree) -> tuple[Tree, Tree]:
        new = a[0] * carry[0] + a[1] * carry[1] + rows[0]
        return (new, carry[0]), (new,)

    return lib.scan(body, (a[2], a[2]), (x,), DAYS)[1][0]


def _solved(lib: Library, a: Any, y: Any) -> Any:
    """Return the square of the end of a linear differential equation, by the classical method of order 4."""
    xp, h = lib.xp, 1e-3

    def body(carry: Tree, rows: Tree) -> tuple[Tree, Tree]:
        del rows
        y0 = carry[0]
        k1 = xp.dot(a, y0)
        k2 = xp.dot(a, y0 + h / 2 * k1)
        k3 = xp.dot(a, y0 + h / 2 * k2)
        k4 = xp.dot(a, y0 + h * k3)
        return (y0 + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4),), ()

    return (lib.scan(body, (y,), (), 1000)[0][0] ** 2).sum()


def _escapes(lib: Library, re: Any, im: Any) -> Any:
    """Return after how many steps each point leaves the Mandelbrot set's circle."""
    xp = lib.xp

    def cond(carry: Tree) -> Any:
        return (carry[0] < MOST) & xp.any(carry[1] * carry[1] + carry[2] * carry[2] <= ESCAPE)

    def body(carry: Tree) -> Tree:
        step, x, y, count = carry
        inside = x * x + y * y <= ESCAPE
        return (
            step + 1,
            xp.where(inside, x * x - y * y + re, x),
            xp.where(inside, 2 * x * y + im, y),
            count + xp.where(inside, 1.0, 0.0),
        )

    zeros = 0.0 * re
    return lib.repeat(cond, body, (np.int64(0), zeros, zeros, zeros), MOST)[3]


def _sums(lib: Library, x: Any) -> Any:
    """Return cumulative sums, of which each is bounded so that it stays a loop."""

    def body(carry: Tree, rows: Tree) -> tuple[Tree, Tree]:
        new = lib.xp.minimum(carry[0] + rows[0], 1e3)
        return (new,), (new,)

    return lib.scan(body, (x[0],), (x,), 10**5)[1][0]


def _scalar(lib: Library, x: Any) -> Any:
    """Return the last of a million steps that are next to nothing."""

    def body(carry: Tree, rows: Tree) -> tuple[Tree, Tree]:
        del rows
        return (carry[0] * 0.999 + 0.1,), ()

    return lib.scan(body, (x,), (), 10**6)[0][0]


def _network(rng: np.random.Generator) -> list[Any]:
    w, u = rng.normal(size=(2, HIDDEN, HIDDEN)) / 10
    return [w, u, rng.normal(size=HIDDEN), rng.normal(size=(STEPS, HIDDEN))]


def _plane(rng: np.random.Generator) -> list[Any]:
    del rng
    re, im = np.meshgrid(np.linspace(-2.0, 0.6, GRID), np.linspace(-1.2, 1.2, GRID))
    return [re, im]


CASES = {
    "rnn": Case("RNN 64 x 100, value and gradient", _network, _recurrent, (0, 1, 2), "recurrent"),
    "garch": Case(
        "GARCH(1, 1) of 10,000 steps, value and gradient",
        lambda rng: [np.array([0.05, 0.1, 0.85, 0.0]), rng.normal(size=DAYS)],
        _garch,
        (0,),
        "garch",
    ),
    "ar2": Case(
        "AR(2) filter of 10,000 steps",
        lambda rng: [np.array([0.5, -0.3, 0.1]), rng.normal(size=DAYS)],
        _filtered,
        (),
        "filtered",
    ),
    "ode": Case(
        "linear ODE of size 8 by RK4, 1,000 steps, value and gradient",
        lambda rng: [rng.normal(size=(STATES, STATES)), rng.normal(size=STATES)],
        _solved,
        (0, 1),
        "solved",
    ),
    "mandelbrot": Case("Mandelbrot 200 x 200 by while_loop, 200 steps at most", _plane, _escapes, (), "escapes"),
    "sums": Case("bounded cumulative sums of 100,000", lambda rng: [rng.normal(size=10**5)], _sums, (), "sums"),
    "scalar": Case("a million scalar steps", lambda rng: [np.asarray(rng.normal())], _scalar, (), "scalar"),
}


def columns() -> list[str]:
    """Return what can be measured here."""
    installed = {name: importlib.util.find_spec(name) is not None for name in ("numba", "jax", "pytensor")}
    names = [
        "treadle-C",
        *(["treadle-NUMBA"] if installed["numba"] else []),
        *(["treadle-JAX"] if installed["jax"] else []),
    ]
    names += ["pytensor-C", "pytensor-NUMBA"] if installed["pytensor"] else []
    return [*names, *(["jax"] if installed["jax"] else []), *([NUMBA] if installed["numba"] else [])]


def measure(name: str, system: str) -> dict[str, Any]:
    """Return the seconds of a call, those until the first result was there, and a sum of the results."""
    case = CASES[name]
    values = case.values(np.random.default_rng(SEED))
    run = _made(case, system, values)
    result = run(*values)
    answer = {"first": time.perf_counter() - START, "check": sum_of(result)}
    settle(system)
    return {**answer, "seconds": per_call(run, values)}


def graph(case: Case, lib: Library, values: list[Any]) -> tuple[list[Any], Any]:
    """Return the loop's arguments, and its output, or a list of it and of gradients."""
    arguments = [lib.xp.tensor(f"x{i}", dtype=x.dtype.name, shape=x.shape) for i, x in enumerate(values)]
    output = case.expression(lib, *arguments)
    outputs = [output, *lib.xp.grad(output, [arguments[i] for i in case.slopes])] if case.slopes else output
    return arguments, outputs


def _made(case: Case, system: str, values: list[Any]) -> Callable[..., Any]:
    library, _, mode = system.partition("-")
    if system == NUMBA:
        from benchmarks import loops_by_hand  # noqa: PLC0415 - it imports Numba

        by_hand: Callable[..., Any] = getattr(loops_by_hand, case.by_hand)
        return by_hand
    if library == "jax":
        return _jax(case)
    lib = Treadle() if library == "treadle" else Pytensor()
    arguments, outputs = graph(case, lib, values)
    compiled: Callable[..., Any]
    if library == "treadle":
        from treadle.compile import function  # noqa: PLC0415 - as above

        compiled = function(arguments, outputs, mode=mode)
    else:
        import pytensor  # noqa: PLC0415 - as above
        from pytensor.compile.mode import Mode  # noqa: PLC0415 - as above

        compiled = pytensor.function(arguments, outputs, mode=Mode("cvm", "fast_run") if mode == "C" else mode)
    return compiled


def _jax(case: Case) -> Callable[..., Any]:
    import jax  # noqa: PLC0415 - as above

    lib = Jax()

    def expression(*arguments: Any) -> Any:
        return case.expression(lib, *arguments)

    whole = expression
    if case.slopes:
        derived = jax.value_and_grad(expression, case.slopes)

        def whole(*arguments: Any) -> Any:
            value, slopes = derived(*arguments)
            return [value, *slopes]

    compiled = jax.jit(whole)
    ready: Callable[[Any], Any] = jax.block_until_ready
    return lambda *values: ready(compiled(*values))
