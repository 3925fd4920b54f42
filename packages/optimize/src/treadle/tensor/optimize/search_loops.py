"""Searches for minima and roots as loops of ops, for backends whose programs call no Python.

They are named after the methods of SciPy that they stand for, end by the same criteria, and take as many of their
options as have a meaning here:

- ``BFGS``, ``L-BFGS-B`` without bounds (two-loop recursion) and ``CG`` (Polak and Ribiere): Nocedal and Wright,
  Numerical Optimization, 2006, chapters 5 to 7; their line search brackets a point of the weak Wolfe conditions
  (Lewis and Overton, Nonsmooth optimization via quasi-Newton methods, 2013, algorithm 2.6), or of the approximate ones
  of Hager and Zhang (2005) where rounding hides the descent;
- ``Newton-CG``, ``dogleg`` and ``trust-...``: Newton's method with a damping of the Hessian;
- ``hybr`` and ``lm`` for roots: Levenberg and Marquardt's, damped by the residual (Fan and Yuan, On the quadratic
  convergence of the Levenberg-Marquardt method without nonsingularity assumption, 2005);
- ``brent``, ``bounded``, ``brentq``: Brent, Algorithms for Minimization without Derivatives, 1973, chapters 4 and 5.

Each step of a loop computes the expression once: what a line search tries is a step of the same loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Variable
from treadle.tensor.elementwise.arithmetic import abs_
from treadle.tensor.elementwise.cast import switch
from treadle.tensor.elementwise.comparison import eq, isfinite, le, lt
from treadle.tensor.elementwise.logic import invert
from treadle.tensor.loops.plain import while_loop
from treadle.tensor.optimize import bracket_loops, descent_loops, root_loops
from treadle.tensor.optimize.search_problem import Problem, all_of, false, no_steps
from treadle.tensor.reductions.reduction import all_
from treadle.tensor.shapes.shape_specification import specify_shape
from treadle.tensor.types.conversion import as_tensor_variable, constant, tensors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import FrozenFunctionGraph
    from treadle.tensor.optimize.search_problem import Options, Solution, State
    from treadle.tensor.variables.variable import TensorVariable

_QUASI = {"gtol": 1e-5, "maxiter": None, "tol": "gtol"}
_TRUST = {"gtol": 1e-4, "xtol": None, "maxiter": None, "tol": "gtol"}
_BRACKETED = {"bracket": (), "xtol": 2e-12, "rtol": 8.9e-16, "maxiter": 100}
_OPEN = {"xtol": 1.48e-8, "rtol": 0.0, "maxiter": 50, "x1": None, "x0": None}
_ROOT = {"xtol": 1.49012e-8, "maxiter": None, "tol": "xtol"}
# For each search, for each method of SciPy's that has the form of a loop: what makes it, and the options that it takes,
# with their values where they are not given; a string names the option that another one stands for.
METHODS: dict[str, dict[str, tuple[Callable[[Problem, Options], Solution], dict[str, Any]]]] = {
    "minimize": {
        "bfgs": (descent_loops.bfgs, _QUASI),
        "l-bfgs-b": (descent_loops.limited_memory, {**_QUASI, "maxcor": 10, "ftol": 2.2e-9}),
        "cg": (descent_loops.conjugate, _QUASI),
        "newton-cg": (descent_loops.newton_minimum, {"gtol": None, "xtol": 1e-5, "maxiter": None, "tol": "xtol"}),
        "dogleg": (descent_loops.newton_minimum, _TRUST),
        "trust-ncg": (descent_loops.newton_minimum, _TRUST),
        "trust-krylov": (descent_loops.newton_minimum, _TRUST),
        "trust-exact": (descent_loops.newton_minimum, _TRUST),
    },
    "minimize_scalar": {
        "brent": (bracket_loops.brent, {"bracket": None, "xtol": 1.48e-8, "maxiter": 500, "tol": "xtol"}),
        "bounded": (bracket_loops.bounded, {"bounds": (), "xatol": 1e-5, "maxiter": 500, "tol": "xatol"}),
    },
    "root": {"hybr": (root_loops.damped_root, _ROOT), "lm": (root_loops.damped_root, _ROOT)},
    "root_scalar": {
        "bisect": (root_loops.bisect, _BRACKETED),
        "brentq": (root_loops.brentq, _BRACKETED),
        "newton": (root_loops.newton_root, _OPEN),
        "halley": (root_loops.halley, _OPEN),
        "secant": (root_loops.secant, _OPEN),
    },
}


def refusal(search: str, method: str, options: Options) -> str:
    """Return why a search cannot be written as a loop, or an empty text."""
    known = METHODS[search]
    if method.lower() not in known:
        return f"{search} has no form without Python by the method {method}"
    rest = sorted({*options, *options.get("options", {})} - {*known[method.lower()][1], "options", "disp"})
    return f"{search} by the method {method} has no form without Python for {', '.join(rest)}" if rest else ""


def as_loop(
    search: str, method: str, arguments: Options, fgraph: FrozenFunctionGraph, inputs: Sequence[Variable]
) -> list[Variable]:
    """Return the solution of a search and its success, for a method that `refusal` accepts."""
    make, defaults = METHODS[search][method.lower()]
    options = {name: value for name, value in defaults.items() if name != "tol"}
    stands_for: str = defaults.get("tol", "tol")
    for name, value in {**arguments, **arguments.get("options", {})}.items():
        if value is not None and name in defaults:
            options[stands_for if name == "tol" else name] = value
    problem = Problem(fgraph, inputs)
    solution, success = make(problem, options)
    return [solution.astype(problem.dtype), as_tensor_variable(success)]


def iterated(
    fgraph: FrozenFunctionGraph, inputs: Sequence[Variable], tol: float, most: int, *, accelerated: bool
) -> list[Variable]:
    """Return a fixed point of a function of the first input, and whether it was found.

    The loop ends after `most` steps, or where the relative change is at most `tol`. If `accelerated`, every element is
    extrapolated from two calls (Aitken's extrapolation).
    """
    start, *rest = tensors(inputs)
    room = constant(max(tol, 4 * float(np.finfo(start.dtype).eps)), dtype=start.dtype)

    def image(x: TensorVariable) -> TensorVariable:
        return tensors(fgraph.bind([x, *rest]))[0]

    def goes_on(s: State) -> TensorVariable:
        return all_of(invert(s["found"]), s["finite"], lt(s["steps"], most))

    def step(s: State) -> State:
        x = s["x"]
        new = image(x)
        if accelerated:
            last = image(new)
            bend = last - 2 * new + x
            straight = eq(bend, 0)
            new = switch(straight, last, x - (new - x) ** 2 / switch(straight, bend * 0 + 1, bend))
        change = abs_(new - x) / switch(eq(x, 0), constant(1, dtype=start.dtype), abs_(x))
        return {
            "x": specify_shape(new.astype(start.dtype), start.type.shape),
            "found": all_(le(change, room)),
            "finite": all_(isfinite(new)),
            "steps": s["steps"] + 1,
        }

    begin = {"x": start, "found": false(), "finite": all_(isfinite(start)), "steps": no_steps()}
    last_state = while_loop(goes_on, step, begin, name="fixed_point")
    return [last_state["x"], all_of(last_state["found"], last_state["finite"])]
