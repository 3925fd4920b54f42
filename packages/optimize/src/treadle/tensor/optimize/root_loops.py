"""Roots, by loops of ops; sources in `treadle.tensor.optimize.search_loops`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.tensor.differentiation.jacobians import jacobian
from treadle.tensor.elementwise.arithmetic import abs_, maximum, minimum, sign
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, isfinite, le, lt, neq
from treadle.tensor.elementwise.logic import invert, or_
from treadle.tensor.gradients.gradient import grad
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.linalg.linear_systems import solve
from treadle.tensor.loops.plain import while_loop
from treadle.tensor.optimize.search_problem import all_of, chosen, false, no_steps, size_of
from treadle.tensor.products.product import dot
from treadle.tensor.reductions.reduction import all_
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.optimize.search_problem import Options, Problem, Solution, State
    from treadle.tensor.variables.variable import TensorVariable


def damped_root(problem: Problem, options: Options) -> Solution:
    """Find a root by Levenberg and Marquardt's method; it fails where the linear model predicts no root near."""
    xtol = problem.tolerance(options["xtol"])
    count = lengths(problem.start)[0]
    most = options["maxiter"]
    limit = (count + 1) * 100 if most is None else constant(int(most), dtype="int64")
    begin: State = {"x": problem.start, "value": problem.value(problem.start), "damping": problem.number(1e-4),
                    "steps": no_steps(), "found": false(), "failed": false()}  # fmt: skip

    def goes_on(s: State) -> TensorVariable:
        return all_of(invert(s["found"]), invert(s["failed"]), lt(s["steps"], limit))

    def step(s: State) -> State:
        here = problem.value(s["x"])
        slope = jacobian(here, s["x"], disconnected_inputs="ignore")
        size = size_of(s["value"])
        shift = switch(gt(size, 0), s["damping"] * size, problem.number(1))
        turned = slope.T
        way = solve(
            dot(turned, slope) + shift * eye(count, dtype=problem.dtype), -dot(turned, s["value"]), assume_a="pos"
        ).astype(problem.dtype)
        x = s["x"] + way
        value = problem.value(x)
        lower = all_of(all_(isfinite(value)), lt(size_of(value), size))
        short = le(size_of(way), xtol * (size_of(s["x"]) + xtol))
        fits = le(size_of(s["value"] + dot(slope, way)), size / 2)
        bad = or_(invert(all_(isfinite(way))), invert(all_(isfinite(s["value"]))))
        damping = switch(lower, maximum(s["damping"] / 4, problem.number(1e-8)), 4 * s["damping"])
        return {
            **chosen(lower, {"x": x, "value": value}, s), "damping": damping.astype(problem.dtype),
            "steps": s["steps"] + 1, "found": or_(all_of(short, fits), eq(size, 0)),
            "failed": or_(all_of(short, invert(fits)), bad),
        }  # fmt: skip

    last = while_loop(goes_on, step, begin, name="root")
    return problem.unflat(last["x"]), last["found"]


def _ends(problem: Problem, options: Options) -> State:
    a, b = (problem.number(float(x)) for x in options["bracket"])
    return {"a": a, "b": b, "fa": problem.value(a), "fb": problem.value(b), "steps": no_steps()}


def _room(problem: Problem, options: Options, x: TensorVariable) -> TensorVariable:
    """Return the distance within which x counts as a root."""
    return problem.number(float(options["xtol"])) + problem.tolerance(options["rtol"]) * abs_(x)


def bisect(problem: Problem, options: Options) -> Solution:
    """Find a root by halving an interval at whose ends the expression has different signs."""
    begin = _ends(problem, options)

    def goes_on(s: State) -> TensorVariable:
        return all_of(
            gt(abs_(s["b"] - s["a"]), _room(problem, options, s["b"])), neq(s["fb"], 0),
            lt(s["steps"], int(options["maxiter"])),
        )  # fmt: skip

    def step(s: State) -> State:
        x = (s["a"] + s["b"]) / 2
        value = problem.value(x)
        other = gt(sign(value) * sign(s["fb"]), 0)
        return {
            "a": switch(other, s["a"], s["b"]), "fa": switch(other, s["fa"], s["fb"]), "b": x, "fb": value,
            "steps": s["steps"] + 1,
        }  # fmt: skip

    # The end that is a root itself comes last.
    swapped = eq(begin["fa"], 0)
    begin = {
        "a": switch(swapped, begin["b"], begin["a"]), "fa": switch(swapped, begin["fb"], begin["fa"]),
        "b": switch(swapped, begin["a"], begin["b"]), "fb": switch(swapped, begin["fa"], begin["fb"]),
        "steps": begin["steps"],
    }  # fmt: skip
    last = while_loop(goes_on, step, begin, name="root_scalar")
    return _within(problem, begin, last["b"], invert(goes_on({**last, "steps": no_steps()})))


def _within(problem: Problem, ends: State, x: TensorVariable, success: TensorVariable) -> Solution:
    """Return a root and whether it is one; NaN where the expression has the same sign at both ends."""
    brackets = le(sign(ends["fa"]) * sign(ends["fb"]), 0)
    return switch(brackets, x, problem.number(float("nan"))), all_of(brackets, success)


def brentq(problem: Problem, options: Options) -> Solution:
    """Find a root by Brent's method: secants and inverse parabolas, halving where these leave the bracket."""
    ends = _ends(problem, options)
    names = ("a", "b", "c", "fa", "fb", "fc", "step", "before", "steps")

    def arranged(s: State) -> State:
        """Let the root be between b and c, and b the better of the two."""
        same = gt(sign(s["fb"]) * sign(s["fc"]), 0)
        move = s["b"] - s["a"]
        new = {"c": s["a"], "fc": s["fa"], "step": move, "before": move}
        s = {**s, **chosen(same, new, s)}
        worse = lt(abs_(s["fc"]), abs_(s["fb"]))
        new = {"a": s["b"], "b": s["c"], "c": s["b"], "fa": s["fb"], "fb": s["fc"], "fc": s["fb"]}
        return {**s, **chosen(worse, new, s)}

    def room(s: State) -> TensorVariable:
        return _room(problem, options, s["b"]) / 2

    def is_open(s: State) -> TensorVariable:
        return all_of(gt(abs_(s["c"] - s["b"]) / 2, room(s)), neq(s["fb"], 0))

    def step(s: State) -> State:
        a, b, c, fa, fb, fc = (s[name] for name in names[:6])
        tol, middle = room(s), (c - b) / 2

        def over(x: TensorVariable, y: TensorVariable) -> TensorVariable:
            return x / switch(eq(y, 0), problem.number(1), y)

        t, q, r = over(fb, fa), over(fa, fc), over(fb, fc)
        line = eq(a, c)
        p = switch(line, 2 * middle * t, t * (2 * middle * q * (q - r) - (b - a) * (r - 1)))
        q = switch(line, 1 - t, (q - 1) * (r - 1) * (t - 1))
        q, p = switch(gt(p, 0), -q, q), abs_(p)
        fits = all_of(
            ge(abs_(s["before"]), tol), gt(abs_(fa), abs_(fb)),
            lt(2 * p, minimum(3 * middle * q - abs_(tol * q), abs_(s["before"] * q))),
        )  # fmt: skip
        before = switch(fits, s["step"], middle)
        move = switch(fits, over(p, q), middle)
        x = b + switch(gt(abs_(move), tol), move, switch(gt(middle, 0), tol, -tol))
        after = {"a": b, "fa": fb, "b": x, "fb": problem.value(x), "c": c, "fc": fc, "step": move, "before": before}
        return {**{name: x.astype(problem.dtype) for name, x in arranged(after).items()}, "steps": s["steps"] + 1}

    begin = {**ends, "c": ends["a"], "fc": ends["fa"], "step": ends["b"] - ends["a"], "before": ends["b"] - ends["a"]}
    begin = arranged(begin)
    last = while_loop(
        lambda s: all_of(is_open(s), lt(s["steps"], int(options["maxiter"]))), step, begin, name="root_scalar"
    )
    return _within(problem, ends, last["b"], invert(is_open(last)))


def newton_root(problem: Problem, options: Options, *, cubic: bool = False) -> Solution:
    """Find a root by Newton's method; where `cubic`, by Halley's, which uses the curvature too."""

    def step(x: TensorVariable) -> TensorVariable:
        value, slope = problem.sloped(x)
        move = value / slope
        if cubic:
            bend = grad(slope, x, disconnected_inputs="ignore", add_names=False)
            share = move * bend / slope / 2
            move = switch(lt(abs_(share), 1), move / (1 - share), move)
        return x - switch(eq(value, 0), problem.number(0), move)

    return _iterated(problem, options, lambda s: {"x": step(s["x"])}, {"x": problem.start})


def halley(problem: Problem, options: Options) -> Solution:
    """Find a root by Halley's method."""
    return newton_root(problem, options, cubic=True)


def secant(problem: Problem, options: Options) -> Solution:
    """Find a root by the secant method: along the line through the last two points."""
    start = problem.start
    if options["x1"] is None:
        other = start * problem.number(1 + 1e-4)
        other = other + switch(ge(other, 0), problem.number(1e-4), problem.number(-1e-4))
    else:
        other = problem.number(float(options["x1"]))
    fa, fb = problem.value(start), problem.value(other)
    swapped = lt(abs_(fb), abs_(fa))
    a, b = switch(swapped, start, other), switch(swapped, other, start)
    fa, fb = switch(swapped, fa, fb), switch(swapped, fb, fa)

    def step(s: State) -> State:
        rise = s["value"] - s["fa"]
        move = s["value"] * (s["x"] - s["a"]) / rise
        x = s["x"] - switch(eq(s["value"], 0), problem.number(0), move)
        return {"x": x, "value": problem.value(x), "a": s["x"], "fa": s["value"]}

    return _iterated(problem, options, step, {"x": b, "value": fb, "a": a, "fa": fa})


def _iterated(problem: Problem, options: Options, step: Callable[[State], State], begin: State) -> Solution:
    """Repeat a step until x changes by no more than the tolerance."""
    room, most = problem.tolerance(options["xtol"]), int(options["maxiter"])

    def goes_on(s: State) -> TensorVariable:
        return all_of(invert(s["found"]), isfinite(s["x"]), lt(s["steps"], most))

    def moved(s: State) -> State:
        new = {name: x.astype(problem.dtype) for name, x in step(s).items()}
        near = le(abs_(new["x"] - s["x"]), room + problem.number(float(options["rtol"])) * abs_(s["x"]))
        return {**new, "steps": s["steps"] + 1, "found": near}

    last = while_loop(goes_on, moved, {**begin, "steps": no_steps(), "found": false()}, name="root_scalar")
    return last["x"], all_of(last["found"], isfinite(last["x"]))
