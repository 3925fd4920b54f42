"""The dtypes that a device has."""

from __future__ import annotations

import torch

from treadle.graph import FunctionGraph, LoweringError, Variable
from treadle.link.torch.programs.storage import STORAGE_DTYPES


def check_dtypes(fgraph: FunctionGraph, place: torch.device) -> None:
    """Raise where values of a graph are of dtypes that the device has not, such as float64 on Apple's GPUs."""
    if place.type == "cpu":
        return
    by_dtype: dict[str, Variable] = {}
    order = fgraph.toposort()
    computed = [v for node in order for v in node.outputs]
    for var in (*fgraph.inputs, *computed, *(v for node in order for v in node.inputs)):
        by_dtype.setdefault(str(getattr(var.type, "dtype", "")), var)
    lacking = {dtype: var for dtype, var in by_dtype.items() if dtype in STORAGE_DTYPES and not _has(dtype, place)}
    if not lacking:
        return
    first = "; ".join(f"{dtype}, first of {_named(var)}" for dtype, var in lacking.items())
    msg = (
        f"pytorch: the device {place} has no numbers of these dtypes: {first}. Build the expressions with float32 "
        "(option floatX, tt.cast), or run on another device (option torch__device)."
    )
    raise LoweringError(msg)


def _named(var: Variable) -> str:
    return str(var) if var.owner is None else f"{var.owner.op}{var.owner.where()}"


def _has(dtype: str, place: torch.device) -> bool:
    try:
        torch.empty(0, dtype=STORAGE_DTYPES[dtype], device=place)
    except (TypeError, RuntimeError):
        return False
    return True
