"""XBlockwise: ops on matrices and the like along named dimensions; and graphs applied along further dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import treadle.tensor as plain
from treadle.graph import GraphTypeError, Op, Variable, static_op
from treadle.graph import vectorize_graph as vectorize_plainly
from treadle.named.conversion import as_xtensor
from treadle.named.errors import DimsError
from treadle.named.ops.elementwise import XElemwise
from treadle.named.ops.named_op import Lowered, XOp
from treadle.named.shape import expand_dims, transpose
from treadle.named.types.casts import aligned, tensor_of
from treadle.named.types.labels import labelled
from treadle.named.types.named_type import Input, XTensorType, as_dims, joined_lengths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from treadle.tensor import TensorVariable

    Cores = tuple[tuple[str, ...], ...]
    CoresLike = tuple[Sequence[str | Sequence[str]], Sequence[str | Sequence[str]]]


def check_cores(what: str, inputs: Sequence[Input], cores: Sequence[Sequence[str]]) -> set[str]:
    """Refuse inputs that lack one of their core dimensions, or have one of another input's; return all of these.

    Raises
    ------
    DimsError
        If an input does.
    """
    every = {d for core in cores for d in core}
    for i, (x, core) in enumerate(zip(inputs, cores, strict=True)):
        absent = [d for d in core if d not in x.type.dims]
        if absent:
            msg = f"{what}: input {i} has the dimensions {x.type.dims} and lacks {tuple(absent)}. Name others."
            raise DimsError(msg)
        foreign = sorted(set(x.type.dims) & (every - set(core)))
        if foreign:
            msg = (
                f"{what}: {tuple(foreign)} are core dimensions of other inputs, and input {i} has them as well, whose "
                f"core dimensions are {tuple(core)}. Rename them in one."
            )
            raise DimsError(msg)
    return every


@static_op
class XBlockwise(XOp):
    """An op on parts of tensors that named core dimensions span, for all others.

    Parameters
    ----------
    core_op
        The op on plain tensors.
    core_dims
        The core dimensions of each input, and of each output.
    signature
        The op's signature, such as ``(m,n),(n)->(m)``; made of the core dimensions if None.
    """

    core_op: Op
    core_dims: tuple[Cores, Cores]
    signature: str | None = None

    def __init__(self, core_op: Op, core_dims: CoresLike, signature: str | None = None) -> None:
        object.__setattr__(self, "core_op", core_op)
        ins, outs = core_dims
        cores = tuple(as_dims("XBlockwise", c) for c in ins), tuple(as_dims("XBlockwise", c) for c in outs)
        object.__setattr__(self, "core_dims", cores)
        object.__setattr__(self, "signature", signature)

    def lower(self, *inputs: Input) -> Sequence[Lowered]:
        """Return the op applied blockwise, core dimensions last."""
        ins, outs = self.core_dims
        what = str(self.core_op)
        if len(inputs) != len(ins):
            msg = f"{what}: {len(ins)} inputs are needed, got {len(inputs)}. Pass one for each."
            raise DimsError(msg)
        cores = check_cores(what, inputs, ins)
        batch = tuple(d for d in joined_lengths(what, [x.type for x in inputs]) if d not in cores)
        tensors = [aligned(x, (*batch, *core)) for x, core in zip(inputs, ins, strict=True)]
        signature = self.signature or getattr(self.core_op, "gufunc_signature", None) or self._signature()
        results = plain.Blockwise(self.core_op, signature)(*tensors, return_list=True)
        return [Lowered(y, (*batch, *core)) for y, core in zip(plain.tensors(results), outs, strict=True)]

    def _signature(self) -> str:
        """Return the signature that the names make: a letter and number for each."""
        ins, outs = self.core_dims
        letters = {d: f"d{i}" for i, d in enumerate(dict.fromkeys(d for core in (*ins, *outs) for d in core))}
        sides = [",".join(f"({','.join(letters[d] for d in core)})" for core in side) for side in (ins, outs)]
        return "->".join(sides)

    def __str__(self) -> str:
        return f"XBlockwise{{{self.core_op}}}"

    __repr__ = __str__


def vectorize_graph(
    outputs: Variable | Sequence[Variable],
    replace: Mapping[Variable, Variable],
    *,
    new_tensor_dims: str | Sequence[str] = (),
) -> Input:
    """Return outputs for inputs that have further dimensions; named and plain tensors may be mixed.

    Parameters
    ----------
    outputs
        One variable, or a sequence.
    replace
        For each variable that gets further dimensions, the variable that stands for it. A named one may have them
        anywhere, a plain one has them in front.
    new_tensor_dims
        Names of the further dimensions of plain tensors, from left to right.

    Returns
    -------
    A variable or a list of them. Named results have the new dimensions in front: those that only named inputs bring,
    then `new_tensor_dims`.

    Raises
    ------
    DimsError
        If a replacement lacks a dimension, or a plain one has further ones without names.
    VectorizeError
        If an op cannot be vectorised.

    Examples
    --------
    >>> from treadle.named import xtensor
    >>> from treadle.named.vectorization import vectorize_graph
    >>> x, y = xtensor("x", dims=("a",)), xtensor("y", dims=("a",))
    >>> wide = xtensor("wide", dims=("a", "draw"))
    >>> vectorize_graph(x + y, {x: wide}).dims
    ('draw', 'a')
    """
    labels = as_dims("vectorize_graph", new_tensor_dims)
    single = isinstance(outputs, Variable)
    outs: list[Input] = [outputs] if single else list(outputs)  # type: ignore[arg-type]  # see above
    if not hasattr(replace, "items"):
        msg = "vectorize_graph: replace maps variables to those with further dimensions. Pass a dictionary."
        raise GraphTypeError(msg)
    sizes = _new_sizes(replace, labels)
    order = (*(d for d in sizes if d not in labels), *labels)
    wide = {old: _with_batch(old, new, order) for old, new in replace.items()}
    with labelled(order):
        results = vectorize_plainly(outs, wide)
    named = [_completed(old, new, order, sizes) for old, new in zip(outs, results, strict=True)]
    return named[0] if single else named


def _new_sizes(replace: Mapping[Input, Input], labels: tuple[str, ...]) -> dict[str, TensorVariable]:
    """Return the length of each new dimension, by name."""
    sizes: dict[str, TensorVariable] = {}
    for old, new in replace.items():
        if isinstance(new.type, XTensorType):
            absent = sorted(set(old.type.dims) - set(new.type.dims))
            if absent:
                msg = f"vectorize_graph: {new}, in place of {old}, lacks its dimensions {tuple(absent)}. Add them."
                raise DimsError(msg)
            own = [(i, d) for i, d in enumerate(new.type.dims) if d not in old.type.dims]
            sizes.update({d: tensor_of(new).shape[i] for i, d in own if d not in sizes})
        elif isinstance(new.type, plain.TensorType):
            count = new.ndim - old.ndim
            if count > len(labels):
                msg = (
                    f"vectorize_graph: {new}, in place of {old}, has {count} new dimensions, of which new_tensor_dims "
                    f"names {len(labels)}. Name all of them."
                )
                raise DimsError(msg)
            for i, d in enumerate(labels[len(labels) - count :]):
                if new.type.shape[i] != 1:
                    sizes.setdefault(d, new.shape[i])
    return sizes


def _with_batch(old: Input, new: Input, order: tuple[str, ...]) -> Input:
    """Return a replacement with the new dimensions in order; a plain one has all of them."""
    if isinstance(new.type, XTensorType):
        return transpose(new, *(d for d in order if d in new.type.dims and d not in old.type.dims), *old.type.dims)
    if isinstance(new.type, plain.TensorType):
        return plain.shape_padleft(new, len(order) - (new.ndim - old.ndim)) if new.ndim > old.ndim else new
    return new


def _completed(old: Input, new: Input, order: tuple[str, ...], sizes: Mapping[str, TensorVariable]) -> Input:
    """Return a named result with all new dimensions, in order, in front."""
    if not isinstance(old.type, XTensorType):
        return new
    absent = {d: sizes.get(d, 1) for d in order if d not in new.type.dims}
    return transpose(expand_dims(new, absent) if absent else new, *order, *old.type.dims)


def apply_blockwise(
    core_op: Op, core_dims: CoresLike, *inputs: object, signature: str | None = None, return_list: bool = False
) -> Input:
    """Return the results of an op along core dimensions of named tensors."""
    return XBlockwise(core_op, core_dims, signature)(*map(as_xtensor, inputs), return_list=return_list)


__all__ = ["XBlockwise", "XElemwise", "vectorize_graph"]
