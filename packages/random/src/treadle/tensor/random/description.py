"""What `help` says of a distribution: the text of its class, and what follows from its parameters and its signature."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from treadle.tensor.random.op import RandomVariable

_OPTIONS = {"size": None, "name": None, "rng": None, "dtype": None, "return_next_rng": False}

_CALL = """
size
    Shape of the batch of draws: an integer, a tuple, a vector of lengths, or None for what the parameters broadcast to.
name
    Name of the draw.
rng
    The generator to draw with, as `shared_rng` and `rng` give it; a new shared one if None.
dtype
    Dtype of the draws{dtype}.
return_next_rng
    Whether to return the generator after the draw too: ``(next_rng, draw)``.

Returns
-------
TensorVariable
    {shape}

Raises
------
ArgumentError
    If parameters are missing, or there are too many.
ShapeError
    If the shapes are known and do not broadcast together.
"""

# Values of parameters in examples, by their names; those of vectors and matrices follow from their ranks.
_VALUES: dict[str, str] = {
    "n": "10", "p": "0.3", "psi": "0.3", "lower": "1", "upper": "6", "low": "0", "high": "10", "ngood": "5",
    "nbad": "7", "nsample": "3", "left": "0.0", "mode": "1.0", "right": "3.0", "loc": "0.0", "eta": "0.0",
    "mean": "1.0", "df": "5.0",
}  # fmt: skip
# Functions of another name than their distribution.
_CALLED = {"beta_binomial": "betabinom", "beta_negative_binomial": "betanbinom"}
_VECTORS = {"p": "[0.4, 0.6]", "cutpoints": "[-1.0, 1.0]", "colors": "[5, 7]"}


def parameters_of(op: RandomVariable, required: object) -> list[inspect.Parameter] | None:
    """Return the parameters of a distribution; None if its class does not tell them."""
    if op.parameters is None:
        return None
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if default is required else default,
        )
        for name, default in op.parameters.items()
    ]


def signature(op: RandomVariable, required: object) -> inspect.Signature | None:
    """Return the signature of a call: the distribution's parameters, and the options of all."""
    own = parameters_of(op, required)
    if own is None:
        return None
    # Defaults end where a parameter without one follows.
    last = max((i for i, p in enumerate(own) if p.default is p.empty), default=-1)
    own = [p.replace(default=p.empty) if i < last else p for i, p in enumerate(own)]
    taken = {p.name for p in own}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in _options(op).items()
        if name not in taken
    ]
    size = [p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in options if p.name == "size"]
    return inspect.Signature([*own, *size, *(p for p in options if p.name != "size")])


def _options(op: RandomVariable) -> Mapping[str, Any]:
    method = getattr(op, "method", None)
    return _OPTIONS if method is None else {**_OPTIONS, "method": method}


def docstring(op: RandomVariable, of_class: str | None, required: object) -> str | None:
    """Return the docstring of a distribution; None if its class does not tell its parameters."""
    own = parameters_of(op, required)
    if own is None or of_class is None:
        return None
    described, _, further = inspect.cleandoc(of_class).partition("\n\nParameters\n")
    called = _CALLED.get(str(op.name), op.name)
    lines = [f"{called}{signature(op, required)}", "", described, "", "Parameters", "----------"]
    for parameter, core in zip(own, op._inputs_cores, strict=False):
        default = "" if parameter.default is parameter.empty else f" Default: {parameter.default!r}."
        lines += [parameter.name, f"    {_rank(core)}{default}"]
    if further:
        lines += further.strip("-\n").splitlines()
    draw = ", ".join(op._output_core)
    shape = f"Of the shape size + ({draw}{',' if len(op._output_core) == 1 else ''})." if draw else "Of the shape size."
    dtype = {"floatX": ", by default that of the option floatX"}.get(str(op.dtype), f", by default {op.dtype}")
    text = "\n".join(lines) + _CALL.format(dtype=dtype, shape=shape)
    values = [_value(p.name, len(core)) for p, core in zip(own, op._inputs_cores, strict=False)]
    call = f"tt.random.{called}({', '.join([*values, 'size=3'])})"
    result = f"({', '.join(['3', *('2' for _ in op._output_core)])}{'' if op._output_core else ','})"
    return f"{text}\nExamples\n--------\n>>> {call}.eval().shape\n{result}\n"


def _rank(core: tuple[str, ...]) -> str:
    if not core:
        return "Tensor, array or number; parameters broadcast."
    kind = {1: "Vector", 2: "Matrix"}.get(len(core), f"Array of rank {len(core)}")
    return f"{kind} of the shape ({', '.join(core)}{',' if len(core) == 1 else ''}), or a batch of such."


def _value(name: str, rank: int) -> str:
    if rank == 1:
        return _VECTORS.get(name, "[1.0, 2.0]")
    return "np.eye(2)" if rank == 2 else _VALUES.get(name, "2.0")
