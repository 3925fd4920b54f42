"""Every backend keeps the contract: backends x op records x dtypes, and derivatives."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.contract.backends import BACKENDS
from treadle.tensor.linalg.records import RECORDS
from treadle.testing import FAILURES, KINDS, Check, Failure, Sample, contract, run_check, run_failure

# PyTorch's compiler takes most of a second for a tiny graph, and several for a group: what is checked in breadth runs
# without it, and each family once with it.
EAGER = {"torch__compile": False}
# The virtual machine is checked at every dtype and in every way, and C at every kind and size of dtype (every scalar op
# at every dtype: tests/link_c); CVM is both, so composed graphs say that they are put together rightly.
# Second derivatives and rewritten graphs are graphs of the ops that values and first derivatives check: but for
# composed ones of double on C, other backends run them with -m slow. With the compilers that take longer, so do dtypes
# that only differ in width from these, integers and complex numbers where the family is checked in double, and first
# derivatives on Numba and JAX, which are graphs of the ops whose values are checked.
FEW = {"int64", "float64", "complex128"}
MOST = {
    "bool", "int8", "int32", "int64", "uint8", "uint64", "float16", "float32", "float64", "complex64", "complex128",
}  # fmt: skip
NONE = set[str]()
TRACED = {"values": FEW, "scalars": {"float64"}, "rewritten": NONE, "second": NONE}
BY_KIND = {
    # Nothing is compiled, and the graphs are the virtual machine's: what its rules compute is checked.
    "array_api": {"values": {"float64"}, "other": NONE},
    "c": {"values": MOST, "first": {"float64"}, "second": NONE, "rewritten": {"float64"}, "known": NONE},
    "cvm": {"values": {"float64"}, "other": NONE},
    "jax": {**TRACED, "first": NONE, "known": NONE},
    "numba": {"values": FEW, "scalars": {"float64"}, "other": NONE},
    "pytorch": TRACED,
}

# Families whose rules differ by dtype in the backend of the array API.
BY_DTYPE = {"arithmetic", "comparison", "complex", "indexing", "logic", "reduction"}

# Graphs of linear algebra are large: the compilers that take longer check them in real double only.
TRACING = {"jax", "numba", "pytorch"}
IN_DOUBLE = {p.values[1].family for p in contract("vm", ("values",)) if p.values[1].dtype == "float64"}
LINALG = {
    record.family for record in RECORDS if isinstance(record, Sample) and not record.family.startswith("composed.")
}


def _dtypes(backend: str, check: Check) -> set[str] | None:
    """Return the dtypes that a check runs at without -m slow; None for all."""
    chosen = BY_KIND.get(backend, {})
    dtypes = chosen.get(check.kind, chosen.get("other"))
    if backend == "array_api" and check.kind == "values" and check.family in BY_DTYPE:
        return FEW
    if check.family in LINALG and backend in TRACING:
        return {"float64"} if dtypes is None else dtypes & {"float64"}
    if check.dtype in {"int64", "complex128"} and check.family in IN_DOUBLE and backend in TRACING:
        return NONE
    if (backend, check.kind) in {("c", "rewritten"), ("cvm", "values")} and not check.family.startswith("composed."):
        return NONE
    return dtypes


def _marked(parameter: Any, suffix: str, *marks: pytest.MarkDecorator, **changes: Any) -> Any:
    """Return a parameter with more marks, and with changes to its check."""
    backend, check, flags = parameter.values
    changed = replace(check, **changes)
    return pytest.param(backend, changed, flags, id=f"{parameter.id}{suffix}", marks=[*parameter.marks, *marks])


def _costly_apart(parameter: Any) -> list[Any]:
    """Return the check of the samples that are quick on a backend, and with -m slow that of the others."""
    backend, check, _ = parameter.values
    samples = check.samples()
    costly = tuple(s.name for s in samples if s.is_costly(backend, check.kind))
    if not costly:
        return [parameter]
    quick = tuple(s.name for s in samples if s.name not in costly)
    if not quick:
        return [_marked(parameter, "", pytest.mark.slow)]
    return [
        _marked(parameter, "", without=(*check.without, *costly)),
        _marked(parameter, "-costly", pytest.mark.slow, without=(*check.without, *quick)),
    ]


def _with_marks(parameter: Any) -> list[Any]:
    backend, check, _ = parameter.values
    dtypes = _dtypes(backend, check)
    if dtypes is None or check.dtype in dtypes:
        return _costly_apart(parameter)
    return [_marked(parameter, "", pytest.mark.slow)]


BREADTH = [
    marked
    for backend in BACKENDS
    for parameter in contract(backend, KINDS, flags=EAGER if backend == "pytorch" else None)
    for marked in _with_marks(parameter)
]
# XLA's optimisations take half of its time: what is checked in breadth runs without them, rewritten graphs with them.
XLA = contract("jax", [kind for kind in KINDS if kind != "rewritten"]) if "jax" in BACKENDS else []
INDUCTOR = contract("pytorch", ("once",), flags={"torch__compile": True}) if "pytorch" in BACKENDS else []


@pytest.mark.parametrize(("backend", "check", "flags"), BREADTH)
def test_backend_keeps_the_contract(
    backend: str, check: Check, flags: Mapping[str, object] | None, request: pytest.FixtureRequest
) -> None:
    if backend == "jax" and check.kind != "rewritten":
        request.getfixturevalue("quick_xla")
    run_check(backend, check, flags, may_refuse=())


@pytest.mark.slow
@pytest.mark.parametrize(("backend", "check", "flags"), XLA)
def test_optimised_jax_keeps_the_contract(backend: str, check: Check, flags: Mapping[str, object] | None) -> None:
    run_check(backend, check, flags, may_refuse=())


# A family of each kind of generated code; the others with -m slow.
COMPILED = {
    "arithmetic", "exponential", "comparison", "reduction", "fused_reduction", "joining", "loops", "product",
    "from_graph", "conditional", "broadcasting", "convolution",
}  # fmt: skip


def _compiled(parameter: Any) -> list[Any]:
    _, check, _ = parameter.values
    return _costly_apart(parameter) if check.family in COMPILED else [_marked(parameter, "", pytest.mark.slow)]


@pytest.mark.parametrize(("backend", "check", "flags"), [q for p in INDUCTOR for q in _compiled(p)])
def test_compiled_pytorch_keeps_the_contract(backend: str, check: Check, flags: Mapping[str, object] | None) -> None:
    run_check(backend, check, flags, may_refuse=())


# Forward mode is a matter of graphs, of ops that values and first derivatives check: other backends with -m slow.
FORWARD = [
    pytest.param(*p.values, id=p.id, marks=p.marks if backend == "vm" else [*p.marks, pytest.mark.slow])
    for backend in BACKENDS
    for p in contract(backend, ("forward",), flags=EAGER if backend == "pytorch" else None)
]


@pytest.mark.parametrize(("backend", "check", "flags"), FORWARD)
def test_forward_mode_keeps_the_contract(backend: str, check: Check, flags: Mapping[str, object] | None) -> None:
    run_check(backend, check, flags, may_refuse=())


@pytest.mark.parametrize("rewritten", [False, True], ids=["plain", "rewritten"])
@pytest.mark.parametrize("failure", FAILURES, ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_failure_names_op_and_line(backend: str, failure: Failure, rewritten: bool) -> None:
    assert failure.op in run_failure(backend, failure, rewritten)
