"""The part of docs/ops.md about the distributions of treadle.tensor.random."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from treadle.graph import Op
from treadle.tensor import random
from treadle.tensor.random.names import NAMES
from treadle.testing.published import families

if TYPE_CHECKING:
    from treadle.testing import Distribution

# Public functions of the package that draw nothing: they make generators, or are about sizes.
TOOLS = {
    *(
        "rng",
        "shared_rng",
        "default_rng",
        "portable_rng",
        "normalize_size_param",
        "broadcast_params",
        "compute_batch_shape",
    ),
    *("custom_rng_deepcopy", "explicit_expand_dims", "params_broadcast_shapes", "supp_shape_from_ref_param_shape"),
    *("random_generator_type", "portable_generator_type"),
}


def functions() -> dict[str, Any]:
    """Return the drawing functions by name: ops of random variables, and functions that apply them."""
    names = {name for listed in NAMES["treadle.tensor.random"].values() for name in listed.split()}
    values = {name: getattr(random, name) for name in names - TOOLS}
    return {name: value for name, value in values.items() if callable(value) and not inspect.isclass(value)}


def records() -> dict[str, Distribution]:
    """Return the records by name."""
    return {record.name: record for members in families().values() for record in members}


def _identity(value: Any) -> object:
    """Return an identity that a distribution and its aliases share."""
    return value if isinstance(value, Op) else id(inspect.unwrap(value))


def unchecked() -> list[str]:
    """Return the names of those without a record, other names of recorded ones left out."""
    known = {_identity(getattr(random, name)) for name in records()}
    return sorted(f"random.{name}" for name, value in functions().items() if _identity(value) not in known)


def _parameters(value: Any) -> str:
    """Return the parameters of a distribution."""
    names = getattr(value, "parameters", None)
    if names is None:
        listed = inspect.signature(value).parameters.values()
        return ", ".join(str(p.replace(annotation=p.empty)) for p in listed)
    shown = [
        name if callable(default) or type(default) is object else f"{name}={default}" for name, default in names.items()
    ]
    return ", ".join([*shown, "size=None"])


def _of_numpy(record: Distribution) -> str:
    """Return how NumPy's generator gives a distribution's numbers, found by drawing and comparing."""
    if record.numpy is None:
        return ""
    method = getattr(np.random.Generator, record.name, None)
    if method is None:
        return "by methods"
    if record.make is not None:
        return "yes"  # called in a way of its own, by the names of NumPy's arguments
    first = record.parameters[0]
    drawn = record.numpy(np.random.default_rng(1), *first, (5, 3))
    try:
        same = np.array_equal(drawn, method(np.random.default_rng(1), *first, size=(5, 3)))
    except TypeError:
        same = True  # of the methods without a size
    return "yes" if same else "other arguments"


def lines() -> list[str]:
    """Return the lines of the section."""
    known = records()
    page_lines = [
        "## Distributions",
        "",
        "In `treadle.tensor.random`; each also takes `rng`, `dtype`, `name` and `return_next_rng`. `NumPy`: with a",
        "generator of NumPy's, `yes` gives the numbers of the method of `numpy.random.Generator` of that name with the",
        "same arguments, bit for bit; `other arguments` those of this method, whose arguments mean something else;",
        "`by methods` those of methods of other names. `derivatives`: by which parameters draws are differentiated.",
        "`choices`: for how many parameters the draws are compared with the distribution itself.",
        "",
        "| distribution | NumPy | derivatives | choices |",
        "|---|---|---|---|",
    ]
    for name, value in sorted(functions().items()):
        record = known.get(name)
        cells = [f"`{name}({_parameters(value)})`".replace("|", "\\|")]
        if record is None:
            others = [other for other in known if getattr(random, other) is value]
            cells += [f"another name of `{others[0]}`" if others else "", "", ""]
        else:
            names = list(getattr(value, "parameters", None) or inspect.signature(value).parameters)
            smooth = ", ".join(f"`{names[k]}`" for k in record.smooth)
            cells += [_of_numpy(record), smooth, str(len(record.parameters))]
        page_lines.append(f"| {' | '.join(cells)} |")
    return [*page_lines, ""]
