"""Minima of functions of several variables, by loops of ops; sources in `treadle.tensor.optimize.search_loops`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treadle.tensor.differentiation.jacobians import jacobian
from treadle.tensor.elementwise.arithmetic import abs_, maximum, minimum
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, gt, isfinite, le, lt
from treadle.tensor.elementwise.logic import invert, or_
from treadle.tensor.indexing.ranges import eye
from treadle.tensor.joins.joining import concatenate
from treadle.tensor.linalg.linear_systems import solve
from treadle.tensor.loops.plain import while_loop
from treadle.tensor.optimize.search_problem import all_of, chosen, false, largest, no_steps, size_of
from treadle.tensor.products.product import dot, outer
from treadle.tensor.reductions.moments import mean
from treadle.tensor.reductions.reduction import all_, sum_
from treadle.tensor.shapes.broadcasting import zeros
from treadle.tensor.shapes.shape import lengths
from treadle.tensor.types.conversion import constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.optimize.search_problem import Options, Problem, Solution, State
    from treadle.tensor.variables.variable import TensorVariable

# How often a line search tries another length, and how much less than the slope promises is enough.
_MOST_TRIALS, _LEAST_GAIN = 60, 1e-4


def _descent(
    problem: Problem,
    options: Options,
    memory: State,
    direction: Callable[[State, TensorVariable], TensorVariable],
    update: Callable[[State, State], State],
    curvature: float,
) -> Solution:
    """Return where steps along directions of descent end.

    `memory` is what `direction` uses besides the slope, and `update` returns it after a step, given the state before
    and what is known of the step. `curvature` is the part of the slope along the direction that may be left after a
    step.
    """
    gtol, ftol, most = problem.number(options["gtol"]), options.get("ftol"), options["maxiter"]
    value, slope = problem.sloped(problem.start)
    zero, one, endless = problem.number(0), problem.number(1), problem.number(np.inf)
    first = minimum(one, 1.01 / maximum(size_of(slope), problem.number(1e-30)))
    limit = problem.start.size * 200 if most is None else constant(int(most), dtype="int64")
    begin: State = {
        "x": problem.start, "value": value, "slope": slope, "length": first.astype(problem.dtype), "low": zero,
        "high": endless, "steps": no_steps(), "trials": no_steps(), "level": false(), **memory,
    }  # fmt: skip

    def goes_on(s: State) -> TensorVariable:
        return all_of(
            gt(largest(s["slope"]), gtol), invert(s["level"]), lt(s["steps"], limit), lt(s["trials"], _MOST_TRIALS),
            isfinite(s["value"]),
        )  # fmt: skip

    def step(s: State) -> State:
        way = direction(s, s["slope"])
        descent = dot(s["slope"], way)
        x = s["x"] + s["length"] * way
        value, slope = problem.sloped(x)
        left = dot(slope, way)
        flat = all_of(le(value, s["value"] + problem.eps * abs_(s["value"])), le(left, (2 * _LEAST_GAIN - 1) * descent))
        lower = or_(le(value, s["value"] + _LEAST_GAIN * s["length"] * descent), flat)
        lower = all_of(lower, isfinite(value), all_(isfinite(slope)))
        steep = lt(left, curvature * descent)
        accepted = all_of(lower, invert(steep))
        high, low = switch(lower, s["high"], s["length"]), switch(all_of(lower, steep), s["length"], s["low"])
        length = switch(isfinite(high), (low + high) / 2, 2 * s["length"])
        gain, unit = s["value"] - value, maximum(maximum(abs_(value), abs_(s["value"])), one)
        level = false() if ftol is None else le(gain, problem.tolerance(ftol) * unit)
        taken = {"way": way, "move": x - s["x"], "turn": slope - s["slope"], "slope": slope, "old": s["slope"],
                "steps": s["steps"]}  # fmt: skip
        after = {"x": x, "value": value, "slope": slope, "length": one, "low": zero, "high": endless,
                 "steps": s["steps"] + 1, "trials": no_steps(), "level": level, **update(s, taken)}  # fmt: skip
        kept = {**s, "length": length, "low": low, "high": high, "trials": s["trials"] + 1}
        return {name: x.astype(begin[name].dtype) for name, x in chosen(accepted, after, kept).items()}

    last = while_loop(goes_on, step, begin, name="minimize")
    return problem.unflat(last["x"]), or_(le(largest(last["slope"]), gtol), last["level"])


def bfgs(problem: Problem, options: Options) -> Solution:
    """Minimize by an estimate of the inverse of the Hessian, updated after each step."""
    count = lengths(problem.start)[0]

    def update(s: State, taken: State) -> State:
        move, turn = taken["move"], taken["turn"]
        both = dot(move, turn)
        good = gt(both, 0)
        rate = 1 / switch(good, both, problem.number(1))
        # The first matrix is scaled by what the first step tells (Nocedal and Wright, 6.20).
        size = sum_(turn * turn)
        scale = switch(eq(taken["steps"], 0), both / switch(gt(size, 0), size, problem.number(1)), problem.number(1))
        inverse = scale * s["inverse"]
        turned = dot(inverse, turn)
        grown = inverse + (rate + rate * rate * dot(turn, turned)) * outer(move, move)
        grown = grown - rate * (outer(turned, move) + outer(move, turned))
        return {"inverse": switch(good, grown, s["inverse"])}

    memory = {"inverse": eye(count, dtype=problem.dtype)}
    return _descent(problem, options, memory, lambda s, slope: -dot(s["inverse"], slope), update, 0.9)


def limited_memory(problem: Problem, options: Options) -> Solution:
    """Minimize along directions computed from the last steps (L-BFGS)."""
    most = int(options["maxcor"])
    none = zeros((most, lengths(problem.start)[0]), dtype=problem.dtype)

    def direction(s: State, slope: TensorVariable) -> TensorVariable:
        moves, turns = s["moves"], s["turns"]
        both = sum_(moves * turns, axis=1)
        known = gt(both, 0)
        rates = switch(known, 1 / switch(known, both, problem.number(1)), problem.number(0))
        way, parts = slope, []
        for i in reversed(range(most)):
            parts.append(rates[i] * dot(moves[i], way))
            way = way - parts[-1] * turns[i]
        size = sum_(turns[-1] * turns[-1])
        way = way * switch(known[-1], both[-1] / switch(gt(size, 0), size, problem.number(1)), problem.number(1))
        for i, part in enumerate(reversed(parts)):
            way = way + (part - rates[i] * dot(turns[i], way)) * moves[i]
        return -way

    def update(s: State, taken: State) -> State:
        good = gt(dot(taken["move"], taken["turn"]), 0)
        return {
            name: switch(good, concatenate([s[name][1:], taken[name[:-1]].dimshuffle("x", 0)]), s[name])
            for name in ("moves", "turns")
        }

    return _descent(problem, options, {"moves": none, "turns": none}, direction, update, 0.9)


def conjugate(problem: Problem, options: Options) -> Solution:
    """Minimize along conjugate directions: the slope, turned by a share of the last direction."""

    def direction(s: State, slope: TensorVariable) -> TensorVariable:
        # Where the last direction leads upwards, it is left out.
        way = s["turned"] - slope
        return switch(lt(dot(way, slope), 0), way, -slope)

    def update(s: State, taken: State) -> State:
        del s
        size = sum_(taken["old"] * taken["old"])
        share = dot(taken["slope"], taken["turn"]) / switch(gt(size, 0), size, problem.number(1))
        return {"turned": maximum(share, problem.number(0)) * taken["way"]}

    return _descent(problem, options, {"turned": problem.start * 0}, direction, update, 0.4)


def newton_minimum(problem: Problem, options: Options) -> Solution:
    """Minimize by Newton's method with a damped Hessian; the damping grows where a step leads upwards."""
    gtol, xtol, most = options["gtol"], options["xtol"], options["maxiter"]
    count = lengths(problem.start)[0]
    value, slope = problem.sloped(problem.start)
    limit = problem.start.size * 200 if most is None else constant(int(most), dtype="int64")
    begin: State = {"x": problem.start, "value": value, "slope": slope, "damping": problem.number(0),
                    "steps": no_steps(), "done": false()}  # fmt: skip

    def goes_on(s: State) -> TensorVariable:
        test = all_of(invert(s["done"]), lt(s["steps"], limit), isfinite(s["value"]), lt(s["damping"], 1e25))
        return test if gtol is None else all_of(test, gt(largest(s["slope"]), problem.number(gtol)))

    def step(s: State) -> State:
        hessian = jacobian(problem.sloped(s["x"])[1], s["x"], disconnected_inputs="ignore")
        size = maximum(largest(hessian), problem.number(1))
        shift = size * (s["damping"] + problem.number(problem.eps ** (2 / 3)))
        way = solve(hessian + shift * eye(count, dtype=problem.dtype), -s["slope"]).astype(problem.dtype)
        descent = dot(way, s["slope"])
        x = s["x"] + way
        value, slope = problem.sloped(x)
        near = all_of(le(value, s["value"] + problem.eps * abs_(s["value"])), le(largest(slope), largest(s["slope"])))
        lower = or_(le(value, s["value"] + _LEAST_GAIN * descent), near)
        accepted = all_of(lt(descent, 0), lower, all_(isfinite(slope)))
        damping = switch(accepted, switch(gt(s["damping"], 1e-6), s["damping"] / 10, problem.number(0)),
                         maximum(10 * s["damping"], problem.number(1e-3)))  # fmt: skip
        short = false() if xtol is None else all_of(accepted, le(mean(abs_(way)), problem.tolerance(xtol)))
        after = {"x": x, "value": value, "slope": slope, "steps": s["steps"] + 1}
        after_step = chosen(accepted, after, {**s, "steps": s["steps"] + 1})
        stays = eq(largest(s["slope"]), 0)
        return {**after_step, "damping": damping.astype(problem.dtype), "done": or_(short, stays)}

    last = while_loop(goes_on, step, begin, name="minimize")
    done = last["done"]
    return problem.unflat(last["x"]), done if gtol is None else le(largest(last["slope"]), problem.number(gtol))
