"""Random calls of public functions, methods and constructors with arguments of every kind, most of them wrong."""

from __future__ import annotations

import inspect
import random
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import treadle.compile
import treadle.graph
import treadle.tensor as tt
from treadle.config import TreadleError
from treadle.graph import FunctionGraph, Type, Variable


class Hostile:
    """An object whose methods fail, as those of objects in a broken state do."""

    def _fail(self, *args: object, **kwargs: object) -> Any:
        raise RuntimeError

    __array__ = __repr__ = __str__ = __len__ = __iter__ = __getitem__ = _fail


class Kind(Type):
    """A type of values that are not arrays."""

    def filter(self, data: Any, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        del strict, allow_downcast
        return data


NESTED: list[Any] = []
NESTED.append(NESTED)


def values() -> list[Any]:
    """Return the values that arguments are drawn from."""
    x, m = tt.dvector("x"), tt.dmatrix("m")
    return [
        *(None, True, False, np.True_, 0, 1, 2, -1, 3, 2**31, 2**63, 2**70, -(2**70)),
        *(0.5, float("nan"), float("inf"), -0.0, 1e400, 1j, 1 + 2j),
        *("", "x", "text", "float32", "int64", "floatX", "raise", "ignore", "FAST_RUN", "VM", b"x", "\ud800"),
        *(
            [],
            [1, 2],
            [0],
            (0,),
            (),
            [1.5],
            [[1], [2, 3]],
            [[1, 2], [3, 4]],
            [None],
            ["a"],
            {},
            {"a": 1},
            set(),
            {0, 1},
        ),
        *([x], [x, m], (m, m), [[x, x], [x, x]], {x: m}, [x, 1], [x, "a"], NESTED),
        *(np.int64(1), np.uint8(200), np.float32(1.5), np.complex64(1j), np.str_("a"), np.datetime64(0, "s")),
        *(
            np.array(1),
            np.array(1.5),
            np.array([0, 1]),
            np.array([[1.0, 2.0]]),
            np.array("a"),
            np.array([None]),
            np.zeros((0, 3)),
        ),
        *(
            np.ones((2, 3), "float32"),
            np.ones(2, "c16"),
            np.array([True, False]),
            np.longdouble(1),
            np.ma.array([1.0, 2.0], mask=[False, True]),
        ),
        *(
            np.zeros(1, [("a", "f4")]),
            np.dtype("float32"),
            np.float64,
            int,
            float,
            str,
            object,
            type,
            object(),
            Hostile(),
        ),
        *(range(3), slice(1, 2), Ellipsis, lambda: 1, len, (i for i in (1, 2)), NotImplemented, Exception("x")),
        *(x, m, tt.dscalar("s"), tt.lscalar("i"), tt.lvector("k"), tt.bvector("b"), tt.zvector("z"), tt.fmatrix("f")),
        *(
            tt.vector("mask", dtype="bool"),
            tt.dtensor3("t"),
            tt.row("r"),
            tt.vector("five", shape=(5,)),
            tt.constant([1, 2]),
        ),
        *(
            tt.constant(1),
            tt.shared(np.ones(3)),
            Kind()("other"),
            tt.exp(x),
            tt.exp(x).owner,
            tt.TensorType("float64", (None,)),
        ),
        *(tt.exp, tt.Join(0), Kind(), FunctionGraph([x], [x + 1]), tt.scalar()),
    ]


@dataclass(frozen=True)
class Subject:
    """A callable: its name and a function that looks it up again."""

    name: str
    target: Callable[..., Any]


# Functions without arguments to check: they print, wait for a debugger, or read files.
SKIPPED = frozenset(("dprint", "eval", "clone", "reducer"))
# What backends read and libraries are wrapped with, which users do not make, and what rules read indices with.
RECORDS = frozenset(
    (
        "SpecifyAssumptions",
        "as_index_literal",
        "as_index_variable",
        "advanced_subtensor",
        "basic_part",
        "basic_subtensor",
        "get_canonical_form_slice",
        "get_idx_list",
        "get_slice_elements",
        "grad_not_implemented",
        "grad_undefined",
        "index_vars_to_types",
        "indexed_result_shape",
        "indices_from_subtensor",
        "mask_indices",
        "scalar_from_tensor",
        "subgraph_grad",
        "tensor_from_scalar",
        "unflatten_index_variables",
        "values_eq_approx_always_true",
        "At",
        "LoopParts",
        "enter_array_rules",
        "locking_of",
        "shape_values",
        "Composite",
        "ExternalOp",
        "Gather",
        "Kind",
        "Positions",
        "ScalarOp",
        "Span",
        "Step",
        "beta_tail_integral",
        "bit_generator_functions",
        "compiled_loop",
        "constant_difference",
        "Symbolic",
        "filled_index",
        "gamma_tail_integral",
        "gather_plan",
        "load_families",
        "plain_arrays",
        "quadrature_rule",
        "range_length",
        "sampler_address",
        "stage",
        "static_positions",
        "symbolic_count",
        "wrap_external",
    )
)


def subjects() -> list[Subject]:
    """Return everything public that can be called."""
    callables = [
        Subject(f"tensor.{name}", getattr(tt, name))
        for name in tt.__all__
        if callable(getattr(tt, name)) and name not in RECORDS
    ]
    for var in (tt.dmatrix("m"), tt.lvector("k"), tt.dscalar("s"), tt.shared(np.ones((2, 3)))):
        for name in dir(type(var)):
            if (name.startswith("_") and name not in OPERATORS) or name in SKIPPED:
                continue
            if callable(getattr(type(var), name)):
                callables.append(Subject(f"{var.name or 'shared'}.{name}", getattr(var, name)))
    names_of_compile = ("In", "Out", "Mode", "function", "shared", "get_mode")
    callables += [Subject(f"compile.{name}", getattr(treadle.compile, name)) for name in names_of_compile]
    built = (
        "Apply",
        "Constant",
        "Variable",
        "SharedVariable",
        "IfElse",
        "clone",
        "graph_inputs",
        "ancestors",
    )
    callables += [Subject(f"graph.{name}", getattr(treadle.graph, name)) for name in built]
    return callables


OPERATORS = frozenset(
    f"__{name}__"
    for name in (
        *(
            "add",
            "radd",
            "sub",
            "mul",
            "truediv",
            "floordiv",
            "mod",
            "divmod",
            "pow",
            "rpow",
            "and",
            "or",
            "xor",
            "lshift",
        ),
        *("lt", "ge", "matmul", "rmatmul", "getitem"),
    )
)


def arguments(rng: random.Random, target: Callable[..., Any], pool: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments that Python can bind: for each required parameter one, for others sometimes one.

    The first is often a tensor, so that the others are looked at.
    """
    tensors = [v for v in pool if isinstance(v, tt.TensorVariable)]
    try:
        parameters = list(inspect.signature(target).parameters.values())
    except ValueError:
        parameters = []
    if isinstance(target, tt.Elemwise):
        return [rng.choice(pool) for _ in range(max(0, target.nin + rng.choice((0, 0, 0, 0, 1, -1))))], {}
    args, named = [], {}
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += [rng.choice(pool) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
        elif parameter.kind is parameter.VAR_KEYWORD:
            if rng.random() < 0.02:
                named["unknown"] = rng.choice(pool)
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            args.append(rng.choice(pool if args or rng.random() < 0.3 else tensors))
        elif parameter.default is parameter.empty or rng.random() < 0.4:
            named[parameter.name] = rng.choice(pool)
    return args, named


BINDING = re.compile(r"unexpected keyword argument 'unknown'|missing \d required positional argument")


def fault(error: Exception) -> str | None:
    """Return what is wrong with the error of a call; None if nothing is."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    if isinstance(error, TreadleError):
        named = re.match(r"\S.*?(: | must be )", str(error))
        return None if named else f"the message names no subject: {error}"
    if isinstance(error, TypeError) and not frames:
        return None  # Python's own words about arguments that it cannot bind
    if isinstance(error, TypeError) and BINDING.search(str(error)):
        return None
    inner = [f for f in frames if "/treadle/" in f.filename]
    place = f"{inner[-1].filename.rpartition('/treadle/')[2]}:{inner[-1].lineno}" if inner else "outside"
    return f"{type(error).__name__} at {place}: {error}"


def faults(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Make calls; yield each that ended in an error that is not treadle's, and what is wrong with it."""
    rng = random.Random(seed)
    pool = values()
    constructors = {f"tensor.{name}" for name in tt.constructors.__all__}
    groups = [[s for s in subjects() if (s.name in constructors) is chosen] for chosen in (True, *[False] * 9)]
    for at in range(count):
        if at % 500 == 499:
            pool = values()
        subject = rng.choice(rng.choice(groups))
        args, named = arguments(rng, subject.target, pool)
        try:
            subject.target(*args, **named)
        except Exception as error:  # noqa: BLE001 - which errors there are is the question
            wrong = fault(error)
            if wrong is not None:
                shown = [*map(described, args), *(f"{k}={described(v)}" for k, v in named.items())]
                yield f"{subject.name}({', '.join(shown)})", wrong


def described(value: Any) -> str:
    if isinstance(value, Hostile):
        return "Hostile()"
    return f"{value}: {value.type}" if isinstance(value, Variable) else f"{value!r}"[:60]
