"""Write docs/ops.md: every public function of treadle.tensor, what it answers to, and where it is checked.

What a function's samples are is found by building all samples and noting which public functions each calls first: the
page says nothing that no test holds.
"""

from __future__ import annotations

import csv
import inspect
import sys
from collections import defaultdict
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.signal
import scipy.special

import treadle.tensor as tt
from tools import coverage, distributions, lowerings, names
from treadle.graph import Op, toposort
from treadle.tensor.lazy import SUBMODULES
from treadle.testing import SAMPLES
from treadle.testing.parts import value_part

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from treadle.tensor import ScalarOp, ScalarTable
    from treadle.testing import Sample

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ops.md"
ACCURACY = ROOT / "docs" / "accuracy.tsv"
# Backends with a table of scalar ops of their own, and the heading of each. The virtual machine runs every op.
TABLES = {"c": "C", "numba": "Numba", "jax": "JAX", "pytorch": "PyTorch", "array_api": "array API"}
LIBRARIES = (np, np.linalg, scipy.special, np.fft, scipy.signal)
# Public functions that are not functions of tensors: what backends, rules and tools use.
TOOLS = {
    *("as_op", "as_tensor", "as_tensor_variable", "constant", "constant_difference", "filled_index", "gather_plan"),
    *("grad", "ifelse", "load_families", "range_length", "shared", "stage", "static_positions", "symbolic_count"),
    "plain_arrays",
    *("TensorNode", "tensors", "wrap_external", "wrap_py", "none_type_t", "slicetype", "compiled_loop", "assert_op"),
    # Of whole graphs, and of functions, which have tests of their own:
    *("Lop", "Rop", "grad_not_implemented", "grad_undefined", "hessian", "hessian_vector_product", "jacobian"),
    *("pullback", "pushforward", "subgraph_grad", "apply_along_axis", "apply_over_axes", "vectorize"),
    *("as_list_or_tuple", "consider_constant", "construct_nominal_fgraph", "gauss_newton_vector_product"),
    *(
        "mode_not_slow",
        "labelled",
        "register_array",
        "register_conversion",
        "pushforward_through_pullback",
        "scan_checkpoints",
        "value_and_grad",
        "verify_grad",
        "vmap",
    ),
    # Of loops, for linkers:
    *("basic_part", "enter_array_rules", "locking_of", "shape_values"),
    # What is known when a graph is built, and parts of indices:
    *("advanced_subtensor", "as_index_literal", "as_index_variable", "basic_subtensor", "get_canonical_form_slice"),
    *("get_idx_list", "get_scalar_constant_value", "get_scalar_type", "get_slice_elements", "get_vector_length"),
    *("get_underlying_scalar_constant_value", "index_vars_to_types", "indexed_result_shape", "is_flat", "isscalar"),
    *("indices_from_subtensor", "iscomplexobj", "isrealobj", "ndim", "parse_gufunc_signature", "safe_signature"),
    *("slice_at_axis", "unflatten_index_variables", "values_eq_approx_always_true", "broadcast_shapes", "make_slice"),
    *("as_scalar", "scalar_from_tensor", "tensor_from_scalar", "transfer", "quadrature_rule"),
    # NumPy's compiled samplers, for backends:
    *("bit_generator_functions", "sampler_address"),
    # Of networks: what is not a function of tensors alone, with tests of its own (tests/tensor/test_nn.py).
    *("adadelta", "adagrad", "adam", "adamw", "lbfgs", "lion", "nadam", "rmsprop", "sgd"),
    *("clip_by_norm", "clip_by_value", "global_norm", "dropout"),
    *("constant_schedule", "cosine_decay", "exponential_decay", "linear_warmup", "piecewise_constant", "step_decay"),
    *("glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform"),
    *("kaiming_normal", "kaiming_uniform", "xavier_normal", "xavier_uniform", "orthogonal", "truncated_normal"),
    # Integrals that derivatives of other functions are computed with:
    *("beta_tail_integral", "gamma_tail_integral"),
}


class Checked(NamedTuple):
    """What the samples of one function cover: how many, the order of derivatives, the ops, whether refusable."""

    samples: int
    order: int
    ops: frozenset[type[Op]]
    optional: bool


def functions() -> dict[str, Any]:
    """Return the public functions by dotted name below treadle.tensor, elementwise ones included."""
    modules = {"": tt} | {
        f"{name}.": import_module(f"treadle.tensor.{name}")
        for name in (*SUBMODULES, *names.rooms())
        if name not in {"array_api", "random"}
    }
    typed = set(tt.constructors.__all__)
    public = {
        prefix + name: getattr(module, name)
        for prefix, module in modules.items()
        for name in module.__all__
        if name not in typed | TOOLS and not inspect.isclass(getattr(module, name))
    }
    of_package = {identity(value) for name, value in public.items() if "." not in name}
    return {
        name: value
        for name, value in public.items()
        if callable(value) and ("." not in name or identity(value) not in of_package)
    }


def identity(value: Any) -> object:
    """Return an identity that a function and its aliases share."""
    return value if isinstance(value, Op) else id(inspect.unwrap(value) if callable(value) else value)


def by_object() -> dict[object, list[str]]:
    """Return the names of each public function, by its identity."""
    names = defaultdict(list)
    for name, value in functions().items():
        names[identity(value)].append(name)
    return names


@cache
def checked() -> dict[str, Checked]:
    """Return what the samples cover, by the name of the function that they call first."""
    names = by_object()
    plain = ((value, inspect.unwrap(value)) for value in functions().values())
    codes = {function.__code__: identity(value) for value, function in plain if inspect.isfunction(function)}
    apply = tt.Elemwise.__call__.__code__
    samples: dict[str, list[tuple[Sample, frozenset[type[Op]]]]] = defaultdict(list)
    for sample in SAMPLES:
        if sample.build.__module__.startswith("treadle.sparse."):
            # Records of sparse matrices call functions of tensors on the way: they say nothing of these.
            continue
        called: set[object] = set()
        outer: list[FrameType] = []

        def note(
            frame: FrameType, event: str, _: object, called: set[object] = called, outer: list[Any] = outer
        ) -> None:
            if event == "call" and not outer:
                callee = identity(frame.f_locals.get("self")) if frame.f_code is apply else codes.get(frame.f_code)
                if callee in names:
                    called.add(callee)
                # The parts of an elementwise op without a public name are built once for all samples.
                if callee in names or frame.f_code is apply:
                    outer.append(frame)
            elif event == "return" and outer and frame is outer[-1]:
                outer.pop()

        dtype = "float64" if "float64" in sample.dtypes else sample.dtypes[0]
        sys.setprofile(note)
        try:
            part = value_part(sample, dtype)
        finally:
            sys.setprofile(None)
        ops = frozenset(type(node.op) for node in toposort(part.outputs))
        for callee in called:
            for name in names[callee]:
                samples[name].append((sample, ops))
    return {name: _summary(recorded) for name, recorded in samples.items()}


def _summary(recorded: list[tuple[Sample, frozenset[type[Op]]]]) -> Checked:
    return Checked(
        len(recorded),
        max((min(sample.order, 2) if sample.wrt else 0) for sample, _ in recorded),
        frozenset().union(*(ops for _, ops in recorded)),
        all(sample.optional for sample, _ in recorded),
    )


@cache
def _reference() -> dict[str, str]:
    known: dict[str, str] = {}
    for row in coverage.rows():
        for path in row.path.split():
            if path.startswith("tensor.") and row.equivalent:
                known.setdefault(path.removeprefix("tensor."), row.equivalent)
    return known


def equivalent(name: str) -> str:
    """Return the function of NumPy or SciPy that a function answers to."""
    if name in _reference():
        return _reference()[name]
    last = name.rpartition(".")[2]
    for library in LIBRARIES:
        if callable(getattr(library, last, None)):
            return f"{library.__name__}.{last}"
    return ""


def _slope(scalar_op: ScalarOp) -> str:
    """Describe the derivative of an elementwise function."""
    if scalar_op.pullback is not None:
        return "exact"
    if scalar_op.body is not None:
        return "of the body"
    return "0" if scalar_op.discrete else "none"


def _backends(scalar_op: ScalarOp, tables: dict[str, ScalarTable[Any]]) -> str:
    """Say which backends run an elementwise function, and which as a step of Python (or not at all)."""
    without = [
        heading
        for backend, heading in TABLES.items()
        if scalar_op.body is None and all(tables[backend].find(scalar_op, kind) is None for kind in tt.ALL_KINDS)
    ]
    return "all" if not without else f"not {', '.join(without)}"


def _errors() -> dict[str, str]:
    """Return the worst errors that were measured, by function: the worst of all backends, for each dtype."""
    if not ACCURACY.exists():
        return {}
    with ACCURACY.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    worst: dict[str, dict[str, tuple[float, str]]] = defaultdict(dict)
    for row in rows:
        error = float(row["ulp"])
        known = worst[row["function"]].get(row["dtype"], (-1.0, ""))
        worst[row["function"]][row["dtype"]] = max(known, (error, row["backend"]))
    return {
        name: "; ".join(f"{dtype}: {error:.3g} ({backend})" for dtype, (error, backend) in sorted(errors.items()))
        for name, errors in worst.items()
    }


def _signature(function: Callable[..., Any]) -> str:
    """Return the parameters of a function, without their types."""
    parameters = inspect.signature(function).parameters.values()
    return str(inspect.Signature([parameter.replace(annotation=parameter.empty) for parameter in parameters]))


def _orders(order: int) -> str:
    return ("no", "first", "first, second")[order]


def _runs(summary: Checked, tables: dict[str, Any]) -> str:
    """Say where the ops of a function's samples run."""
    steps = [
        heading
        for backend, heading in TABLES.items()
        if any(lowerings.cell(tables[backend], kind) == "-" and kind is not tt.Elemwise for kind in summary.ops)
    ]
    text = "all" if not steps else f"a step of Python in {', '.join(steps)}"
    return text + (", or refused by a backend that must know all shapes" if summary.optional else "")


def unchecked() -> list[str]:
    """Return the public functions that no sample calls, and the distributions without a record."""
    return sorted(name for name in functions() if name not in checked()) + distributions.unchecked()


def page() -> str:
    """Return the page's text."""
    public = functions()
    aliases = by_object()
    errors = _errors()
    scalars = {backend: import_module(f"treadle.link.{_package(backend)}").SCALARS for backend in TABLES}
    tables = lowerings.tables()
    lines = [
        "# Functions",
        "",
        "Written by `./dev pages`. Each is tested by sample records, on every backend, against the function of NumPy",
        "or SciPy that it answers to; derivatives are compared with finite differences of that. Distributions",
        "are at the end.",
        "",
        "## Elementwise functions",
        "",
        "`gradient`: `exact`, a formula of its own; `of the body`, that of the functions it is made of; `0`, constant",
        "in pieces. `worst error`: in units of the last place, over the whole domain, against mpmath, and on which",
        "backend (docs/accuracy.tsv has all of them).",
        "",
        "| function | answers to | gradient | backends | samples | worst error |",
        "|---|---|---|---|---|---|",
    ]
    done: set[object] = set()
    for name, value in sorted(public.items()):
        if not isinstance(value, tt.Elemwise) or identity(value) in done:
            continue
        done.add(identity(value))
        scalar_op = value.scalar_ops[0]
        names = ", ".join(f"`{alias}`" for alias in sorted(aliases[identity(value)]))
        samples = checked()[name].samples if name in checked() else 0
        cells = [names, equivalent(name), _slope(scalar_op), _backends(scalar_op, scalars), str(samples)]
        lines.append(f"| {' | '.join([*cells, errors.get(scalar_op.name, '')])} |")
    lines += [
        "",
        "## Other functions",
        "",
        "`derivatives`: the orders that are checked against finite differences.",
        "",
        "| function | answers to | derivatives | backends | samples |",
        "|---|---|---|---|---|",
    ]
    for name, value in sorted(public.items()):
        if isinstance(value, tt.Elemwise) or identity(value) in done:
            continue
        done.add(identity(value))
        checks = checked().get(name)
        others = "".join(f", `{alias}`" for alias in sorted(aliases[identity(value)]) if alias != name)
        cells = [f"`{name}{_signature(value)}`{others}".replace("|", "\\|"), equivalent(name)]
        cells += [_orders(checks.order), _runs(checks, tables), str(checks.samples)] if checks else ["", "", "0"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", *distributions.lines()])


def _package(backend: str) -> str:
    return "torch" if backend == "pytorch" else backend
