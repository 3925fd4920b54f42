"""Minima of functions of a scalar, by loops of ops; sources in `treadle.tensor.optimize.search_loops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.elementwise.arithmetic import abs_, maximum, minimum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, isfinite, le, lt
from treadle.tensor.elementwise.logic import invert, or_
from treadle.tensor.loops.plain import while_loop
from treadle.tensor.optimize.search_problem import all_of, no_steps

if TYPE_CHECKING:
    from treadle.tensor.optimize.search_problem import Options, Problem, Solution, State
    from treadle.tensor.variables.variable import TensorVariable

# The smaller part of the golden section.
GOLDEN = (3 - 5**0.5) / 2


def _brent_minimum(
    problem: Problem, low: Any, high: Any, start: Any, relative: float, absolute: float, most: int
) -> Solution:
    number = problem.number
    begin: State = {"a": low, "b": high, "x": start, "w": start, "v": start, "step": number(0), "before": number(0),
                    "steps": no_steps()}  # fmt: skip
    for name in ("x", "w", "v"):
        begin[f"f{name}"] = problem.value(start)

    def room(s: State) -> TensorVariable:
        return relative * abs_(s["x"]) + number(absolute)

    def is_open(s: State) -> TensorVariable:
        middle = (s["a"] + s["b"]) / 2
        return gt(abs_(s["x"] - middle), 2 * room(s) - (s["b"] - s["a"]) / 2)

    def step(s: State) -> State:
        a, b, x, w, v = (s[name] for name in "abxwv")
        tol, middle = room(s), (a + b) / 2
        r, q = (x - w) * (s["fx"] - s["fv"]), (x - v) * (s["fx"] - s["fw"])
        p, q = (x - v) * q - (x - w) * r, 2 * (q - r)
        p, q = switch(gt(q, 0), -p, p), abs_(q)
        fits = all_of(
            gt(abs_(s["before"]), tol), lt(abs_(p), abs_(q * s["before"] / 2)), gt(p, q * (a - x)), lt(p, q * (b - x))
        )
        bent = p / switch(eq(q, 0), number(1), q)
        near = or_(lt(x + bent - a, 2 * tol), lt(b - x - bent, 2 * tol))
        bent = switch(near, switch(lt(x, middle), tol, -tol), bent)
        wide = switch(lt(x, middle), b - x, a - x)
        before = switch(fits, s["step"], wide)
        move = switch(fits, bent, number(GOLDEN) * wide)
        u = x + switch(ge(abs_(move), tol), move, switch(gt(move, 0), tol, -tol))
        fu = problem.value(u)
        better = le(fu, s["fx"])
        a2 = switch(better, switch(lt(u, x), a, x), switch(lt(u, x), u, a))
        b2 = switch(better, switch(lt(u, x), x, b), switch(lt(u, x), b, u))
        second = all_of(invert(better), or_(le(fu, s["fw"]), eq(w, x)))
        third = all_of(invert(better), invert(second), or_(le(fu, s["fv"]), or_(eq(v, x), eq(v, w))))
        after = {"a": a2, "b": b2, "step": move, "before": before, "steps": s["steps"] + 1}
        for f in ("", "f"):
            new, best, next_, last = (u, x, w, v) if not f else (fu, s["fx"], s["fw"], s["fv"])
            after[f"{f}x"] = switch(better, new, best)
            after[f"{f}w"] = switch(better, best, switch(second, new, next_))
            after[f"{f}v"] = switch(or_(better, second), next_, switch(third, new, last))
        return {name: x.astype(begin[name].dtype) for name, x in after.items()}

    final = while_loop(
        lambda s: all_of(is_open(s), lt(s["steps"], most), isfinite(s["fx"])), step, begin, name="minimize_scalar"
    )
    return final["x"], all_of(invert(is_open(final)), isfinite(final["fx"]))


def brent(problem: Problem, options: Options) -> Solution:
    """Bracket a minimum by going downhill, then find it by Brent's method."""
    ends = options["bracket"] or (0.0, 1.0)
    points = [problem.number(float(x)) for x in ends]
    if len(points) == 2:
        a, b = points
        fa, fb = problem.value(a), problem.value(b)
        up = gt(fb, fa)
        a, b, fb = switch(up, b, a), switch(up, a, b), switch(up, fa, fb)
        c = b + (a * 0 + 1 / GOLDEN - 1).astype(problem.dtype) * (b - a)
        begin = {"a": a, "b": b, "c": c, "fb": fb, "fc": problem.value(c), "steps": no_steps()}

        def step(s: State) -> State:
            far = s["c"] + problem.number(1 / GOLDEN - 1) * (s["c"] - s["b"])
            return {"a": s["b"], "b": s["c"], "c": far, "fb": s["fc"], "fc": problem.value(far),
                    "steps": s["steps"] + 1}  # fmt: skip

        s = while_loop(
            lambda s: all_of(lt(s["fc"], s["fb"]), lt(s["steps"], 1000)), step, begin, name="minimize_scalar"
        )
        points = [s["a"], s["b"], s["c"]]
    a, b, c = points
    solution, success = _brent_minimum(
        problem, minimum(a, c), maximum(a, c), b, max(float(options["xtol"]), 4 * problem.eps), 1e-11,
        int(options["maxiter"]),
    )  # fmt: skip
    return solution, success


def bounded(problem: Problem, options: Options) -> Solution:
    """Find a minimum between two points, by golden sections and parabolas."""
    low, high = (problem.number(float(x)) for x in options["bounds"])
    start = low + problem.number(GOLDEN) * (high - low)
    return _brent_minimum(
        problem, low, high, start, problem.eps**0.5, float(options["xatol"]) / 3, int(options["maxiter"])
    )
