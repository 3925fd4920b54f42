"""Programs of one line that PyTensor and treadle both run, and what PyTensor gives for them.

A program is an expression of the names of `names_of`. What it gives is written as plain data in programs.tsv, whose
values are of the version in `VERSION`. In an environment that has it, this fills in those that are empty:

    PYTENSOR_FLAGS=linker=py,cxx= python tests/from_pytensor/programs.py
"""

from __future__ import annotations

import csv
import json
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

TABLE = Path(__file__).parent / "programs.tsv"
VERSION = "3.0.7"
INPUTS: Mapping[str, np.ndarray] = {
    "x": np.array([0.5, -1.25, 2.0, 0.0]),
    "y": np.array([0.5, 2.0, -0.75, 1.5]),
    "u": np.array([0.1, 0.35, 0.5, 0.9]),
    "p": np.array([0.4, 1.0, 2.5, 3.75]),
    "i": np.array([3, -2, 0, 1]),
    "j": np.array([2, 3, -2, 4]),
    "i8": np.array([5, -3, 2, 0], "int8"),
    "i8b": np.array([2, 2, 3, 4], "int8"),
    "b": np.array([True, False, True, True]),
    "f": np.array([0.5, 1.25, -2.0, 3.0], "float32"),
    "huge": np.array([1e8, 1.0, -1e8], "float32"),
    "z": np.array([1.0 + 2.0j, -0.5j]),
    "k": np.array([0.0, 1.0, 2.5, 4.0]),
    "w": np.array([1.0, -1.0, 3.0, 5.0]),
    "q": np.array([-1.0, 0.0, 0.3, 0.5, 1.0, 1.75, 2.0, 2.5, 3.25, 3.9, 4.0, 5.0]),
    "m": np.array([[2.0, -1.0, 0.5], [0.25, 3.0, 1.0], [1.5, 0.0, 4.0]]),
    "s": np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]),
    "t3": np.arange(18.0).reshape(2, 3, 3) / 4 - 1,
}


class Row(NamedTuple):
    """A program of the table.

    Attributes
    ----------
    path
        The documented name that it is about.
    claim
        ``same`` where treadle gives what PyTensor gives, ``differs`` where the page says that it does not.
    program
        The expression.
    instead
        What treadle gives where it differs: an expression of NumPy's functions and arrays, or ``raises`` and a class.
    pytensor
        What PyTensor gave, as JSON.
    """

    path: str
    claim: str
    program: str
    instead: str
    pytensor: str


def rows() -> list[Row]:
    """Return the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def names_of(library: str) -> dict[str, Any]:
    """Return the names that programs use, of ``pytensor`` or of ``treadle``."""

    def module(path: str) -> Any:
        return import_module(f"{library}.{path}")

    tt = module("tensor")
    for path in ("fft", "fourier", "xlogx", "linalg", "special", "signal"):
        module(f"tensor.{path}")
    scans = module("scan")
    names: dict[str, Any] = {
        "np": np,
        "tt": tt,
        "gradient": module("gradient"),
        "grad": module("gradient").grad,
        "scan": scans.scan,
        "scan_module": scans,
        "ifelse": module("ifelse").ifelse,
        "xlogx": module("tensor.xlogx"),
        "rnd": module("tensor.random"),
        "raise_op": module("raise_op"),
        "assumptions": module("assumptions"),
        "scalar": module("scalar"),
        "OpFromGraph": module("compile.builders").OpFromGraph,
        "vectorize_graph": module("graph.replace").vectorize_graph,
        **{name: getattr(module("tensor.elemwise"), name) for name in ("Elemwise", "CAReduce", "DimShuffle")},
        **{name: getattr(module("tensor.math"), name) for name in ("Sum", "Prod", "Max", "Min", "Argmax")},
        **{name: getattr(module("tensor.math"), name) for name in ("All", "Any")},
        "CumOp": module("tensor.extra_ops").CumOp,
    }
    for name, value in INPUTS.items():
        names[name] = tt.TensorType(str(value.dtype), (None,) * value.ndim)(name)
    return names


def outcomes(programs: Sequence[str], names: Mapping[str, Any], library: str) -> list[Any]:
    """Run programs together, in one compiled function; return what each gives as plain data."""
    variables = {name: names[name] for name in INPUTS}
    compiled = import_module(f"{library}.compile").function
    leaves_of_programs = [list(_leaves(_built(program, names))) for program in programs]
    symbolic = [leaf for leaves in leaves_of_programs for leaf in leaves if hasattr(leaf, "owner")]
    run = compiled(list(variables.values()), symbolic, mode="FAST_COMPILE", on_unused_input="ignore")
    values = iter(run(*INPUTS.values()))
    return [
        [_plain(next(values) if hasattr(leaf, "owner") else leaf) for leaf in leaves] for leaves in leaves_of_programs
    ]


def _built(program: str, names: Mapping[str, Any]) -> Any:
    fresh = {"rng": names["tt"].random.shared_rng(np.random.default_rng(3))} if "rng" in program else {}
    return eval(program, {**names, **fresh})


def outcome(program: str, names: Mapping[str, Any], library: str) -> Any:
    """Run a program by itself; return what it gives as plain data, or the builtin classes of what it raises."""
    try:
        return outcomes([program], names, library)[0]
    except Exception as error:  # noqa: BLE001 - what it raises is what the program gives
        return {"raises": sorted(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins")}


def numeric_outcome(instead: str) -> Any:
    """Return what an expression of NumPy's gives, as plain data; the class of an error that is named."""
    if instead.startswith("raises "):
        return {"raises": [instead.removeprefix("raises ")]}
    return [_plain(leaf) for leaf in _leaves(eval(instead, {"np": np, "special": special, **INPUTS}))]


def _leaves(result: Any) -> Iterable[Any]:
    if isinstance(result, list | tuple):
        for part in result:
            yield from _leaves(part)
    elif not (isinstance(result, dict) and not result):  # the empty updates of a loop
        yield result


def _plain(value: Any) -> Any:
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "US":
        return str(value)
    parts = [array.real, array.imag] if array.dtype.kind == "c" else [array]
    return {"dtype": str(array.dtype), "shape": list(array.shape), "values": [part.ravel().tolist() for part in parts]}


def text(result: Any) -> str:
    """Return an outcome as JSON."""
    return json.dumps(result, sort_keys=True)


def agree(ours: Any, theirs: Any, rtol: float = 1e-7) -> bool:
    """Whether two outcomes say the same: errors of one class, or results of one dtype and shape, and equal values."""
    if isinstance(ours, dict) and "raises" in ours:
        common = set(ours["raises"]) & set(theirs.get("raises", ())) if isinstance(theirs, dict) else set()
        return bool(common - {"object", "BaseException", "Exception"})
    if not isinstance(theirs, list) or len(ours) != len(theirs):
        return False
    return all(_equal(a, b, rtol) for a, b in zip(ours, theirs, strict=True))


def _equal(ours: Any, theirs: Any, rtol: float) -> bool:
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return bool(ours == theirs)
    if (ours["dtype"], ours["shape"]) != (theirs["dtype"], theirs["shape"]):
        return False
    tolerance = {"float16": 2e-3, "float32": 1e-5}.get(ours["dtype"], rtol)
    return bool(
        np.allclose(np.array(ours["values"]), np.array(theirs["values"]), rtol=tolerance, atol=1e-12, equal_nan=True)
    )


def record() -> None:
    """Fill in PyTensor's results where the table lacks them."""
    names = names_of("pytensor")
    filled = [
        row if row.pytensor else row._replace(pytensor=text(outcome(row.program, names, "pytensor"))) for row in rows()
    ]
    TABLE.write_text("".join("\t".join(row) + "\n" for row in (Row._fields, *filled)), encoding="utf-8")


if __name__ == "__main__":
    record()
