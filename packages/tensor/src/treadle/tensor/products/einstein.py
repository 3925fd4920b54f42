"""Einstein summation: a sum of products in matrix products, elementwise products and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from treadle.config import dataclass, lazy_module, text_of
from treadle.graph import composed
from treadle.tensor.arguments.values import as_integer, as_items, known_integer
from treadle.tensor.elementwise.arithmetic import add, mul
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.indexing.indexing import subtensor
from treadle.tensor.indexing.ranges import arange
from treadle.tensor.products.product import common_size, converted, matmul, product_of_lengths
from treadle.tensor.reductions.reduction import any_, sum_
from treadle.tensor.shapes.dimshuffle import NEW, dimshuffle, squeeze
from treadle.tensor.shapes.shape import LENGTH, lengths, reshape, shape_i
from treadle.tensor.types.conversion import as_tensor_variable, constant
from treadle.tensor.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterable

    import opt_einsum
    from numpy.typing import DTypeLike

    from treadle.tensor.variables.variable import TensorLike, TensorVariable
else:
    opt_einsum = lazy_module("opt_einsum")

__all__ = ["einsum"]

# A dimension's label: a letter, a number of the form with lists, or minus the position from the right of a dimension
# that an ellipsis stands for.
Label = str | int
Labels = tuple[Label, ...]
Step = tuple[int, ...]
# The length that is assumed for unknown ones where the order of products is chosen.
_USUAL = 32


@dataclass(frozen=True, slots=True)
class _Term:
    """A factor: a tensor and the labels of its dimensions, no label twice."""

    tensor: TensorVariable
    labels: Labels

    def ordered(self, labels: Sequence[Label]) -> TensorVariable:
        """Return the tensor with a dimension for each label, of length 1 where it has none."""
        return dimshuffle(self.tensor, *(self.labels.index(k) if k in self.labels else NEW for k in labels))

    def summed(self, kept: Iterable[Label]) -> _Term:
        """Return the term summed over all labels but these."""
        axes = tuple(d for d, k in enumerate(self.labels) if k not in kept)
        if not axes:
            return self
        x = self.tensor
        total = any_(x, axis=axes) if x.dtype == "bool" else sum_(x, axis=axes, dtype=x.dtype)
        return _Term(total, tuple(k for k in self.labels if k in kept))


@composed
def einsum(
    subscripts: str | TensorLike,
    *operands: TensorLike | Sequence[object],
    dtype: DTypeLike | None = None,
    optimize: object = None,
) -> TensorVariable:
    """Sum products of tensors over labelled dimensions (as numpy.einsum).

    Parameters
    ----------
    subscripts
        Labels of the operands' dimensions and, after ``->``, of the result's, such as ``"ij,jk->ik"``. A label twice in
        one operand takes its diagonal, an ellipsis stands for further dimensions, which broadcast. In place of it,
        operands and lists of labels may alternate: ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.
    operands
        The tensors.
    dtype
        Dtype to compute in; by default that which the operands have in common.
    optimize
        The order in which operands are multiplied: from left to right if False, as opt_einsum finds it if True or the
        name of one of its strategies, or a path as ``numpy.einsum_path`` returns it. By default opt_einsum chooses;
        a length that is not known when the graph is built counts as 32.

    Raises
    ------
    ShapeError
        If subscripts do not fit the operands, or lengths of one label differ and none of them is 1.

    Notes
    -----
    A length that is not known when the graph is built must be that of the other operands: it is 1 and broadcasts only
    where nothing is summed over it. The order of contraction follows D. Smith, J. Gray, "opt_einsum", Journal of Open
    Source Software 3(26), 2018.

    Examples
    --------
    >>> tt.einsum("ij,j->i", [[1, 2], [3, 4]], [1, 1]).eval()
    array([3, 7])
    """
    inputs, result, tensors = _parsed(subscripts, operands)
    common = np.result_type(*(x.type.numpy_dtype for x in tensors)) if dtype is None else TensorType(dtype).numpy_dtype
    tensors = [converted("einsum", x, common) for x in tensors]
    terms = [_diagonal(at, x, ks) for at, (x, ks) in enumerate(zip(tensors, inputs, strict=True))]
    terms = _without_ones(terms)
    for step in _path(terms, result, optimize):
        factors = [terms[at] for at in step]
        terms = [t for at, t in enumerate(terms) if at not in step]
        kept = {*result, *(k for t in terms for k in t.labels)}
        product = factors[0]
        for at, factor in enumerate(factors[1:], 1):
            later = {k for f in factors[at + 1 :] for k in f.labels}
            product = _contracted(product, factor, kept | later, result)
        terms.append(product.summed(kept))
    return terms[0].summed(result).ordered(result)


# Subscripts


def _parsed(
    subscripts: str | TensorLike, operands: Sequence[TensorLike | Sequence[object]]
) -> tuple[list[Labels], Labels, list[TensorVariable]]:
    """Return the labels of the operands and of the result, and the operands."""
    if isinstance(subscripts, str):
        left, arrow, right = subscripts.replace(" ", "").partition("->")
        texts = left.split(",")
        if not operands:
            msg = "einsum: subscripts and at least one operand are needed, got no operand. Pass them after the text."
            raise ShapeError(msg)
        if len(texts) != len(operands):
            msg = f"einsum: {subscripts!r} labels {len(texts)} operands, got {len(operands)}. Pass one for each."
            raise ShapeError(msg)
        tensors = [as_tensor_variable(x) for x in operands]  # type: ignore[arg-type]  # refuses anything else
        labels: list[Sequence[object]] = [_letters(text) for text in texts]
        result = _letters(right) if arrow else None
    else:
        everything = [subscripts, *operands]
        tensors = [as_tensor_variable(x) for x in everything[: len(everything) // 2 * 2 : 2]]  # type: ignore[arg-type]
        if not tensors:
            msg = f"einsum: subscripts and operands are needed, got {text_of(subscripts)}. Pass a text, or lists."
            raise ShapeError(msg)
        labels = [_numbers(ks) for ks in everything[1::2]]
        result = _numbers(everything[-1]) if len(everything) % 2 else None
    inputs = [_expanded(at, ks, x) for at, (ks, x) in enumerate(zip(labels, tensors, strict=True))]
    return inputs, _result(inputs, result), tensors


def _letters(text: str) -> list[object]:
    head, dots, tail = text.partition("...")
    for k in head + tail:
        if not (k.isascii() and k.isalpha()):
            msg = f"einsum: {k!r} in {text!r} is not a label. Labels are letters; one ellipsis '...' may be among them."
            raise ShapeError(msg)
    return [*head, *([Ellipsis] if dots else []), *tail]


def _numbers(labels: object) -> list[object]:
    items: list[object] = as_items("einsum: labels", labels)  # type: ignore[arg-type]  # refuses anything else
    return [k if k is Ellipsis else as_integer("einsum: a label", k, least=0) for k in items]


def _expanded(at: int, labels: Sequence[object], x: TensorVariable) -> Labels:
    """Return one label for each dimension of an operand."""
    named = len(labels) - labels.count(Ellipsis)
    extra = x.ndim - named
    dots = labels.count(Ellipsis)
    if dots > 1 or extra < 0 or (extra > 0 and not dots):
        text = " ".join("..." if k is Ellipsis else str(k) for k in labels)
        msg = (
            f"einsum: the labels {text!r} do not fit operand {at} of rank {x.ndim}. Give each dimension a label; "
            "one ellipsis stands for those without."
        )
        raise ShapeError(msg)
    result: list[Label] = []
    for k in labels:
        if k is Ellipsis:
            result += range(-extra, 0)
        else:
            result.append(k)  # type: ignore[arg-type]  # a label
    return tuple(result)


def _result(inputs: Sequence[Labels], stated: Sequence[object] | None) -> Labels:
    """Return the labels of the result: those given, or all that appear once, in order, after those of the ellipsis."""
    counts = Counter(k for ks in inputs for k in ks)
    extra = sorted(k for k in counts if isinstance(k, int) and k < 0)
    if stated is None:
        once = [k for k, n in counts.items() if n == 1 and not (isinstance(k, int) and k < 0)]
        return (*extra, *sorted(once))
    result: list[Label] = []
    for k in stated:
        if k is Ellipsis:
            result += extra
        else:
            result.append(k)  # type: ignore[arg-type]  # a label
    if extra and Ellipsis not in stated:
        msg = "einsum: the result needs an ellipsis for the dimensions that '...' stands for. Write one after '->'."
        raise ShapeError(msg)
    twice = [k for k, n in Counter(result).items() if n > 1]
    unknown = [k for k in result if k not in counts]
    if twice or unknown:
        what = f"has the label {twice[0]} twice" if twice else f"has the label {unknown[0]}, which no operand has"
        msg = f"einsum: the result {what}. Name labels of operands, each once."
        raise ShapeError(msg)
    return tuple(result)


# Operands


def _diagonal(at: int, x: TensorVariable, labels: Labels) -> _Term:
    """Return an operand with each label once: the diagonal of dimensions that have one label."""
    twice = next((k for k, n in Counter(labels).items() if n > 1), None)
    if twice is None:
        return _Term(x, labels)
    axes = [d for d, k in enumerate(labels) if k == twice]
    known = {n for d in axes if (n := x.type.shape[d]) is not None}
    if len(known) > 1:
        msg = f"einsum: the dimensions {axes} of operand {at} have the label {twice}, and lengths {sorted(known)}."
        raise ShapeError(msg)
    others = [d for d in range(x.ndim) if d not in axes]
    side = shape_i(x, next((d for d in axes if x.type.shape[d] is not None), axes[0]))
    # With its dimensions joined, elements of the diagonal are `step` apart; other lengths do not fit the reshape.
    line = reshape(
        dimshuffle(x, *axes, *others), [product_of_lengths([side] * len(axes)), *(shape_i(x, d) for d in others)]
    )
    step: TensorVariable = constant(1, dtype=LENGTH)
    for _ in axes[1:]:
        step = add(mul(step, side), 1)
    places: TensorVariable = mul(arange(side), step)
    return _diagonal(at, subtensor(line, (places,)), (twice, *(labels[d] for d in others)))


def _without_ones(terms: Sequence[_Term]) -> list[_Term]:
    """Return the terms without dimensions of length 1 where the label is longer elsewhere, or not known to be 1."""
    lengths_by_label: dict[Label, set[int | None]] = {}
    for t in terms:
        for k, n in zip(t.labels, t.tensor.type.shape, strict=True):
            lengths_by_label.setdefault(k, set()).add(n)
    for k, sizes in lengths_by_label.items():
        if len(sizes - {1, None}) > 1:
            shapes = ", ".join(str(t.tensor.type.shape) for t in terms if k in t.labels)
            named = f"label {k}" if isinstance(k, str) or k >= 0 else "dimensions of the ellipsis"
            msg = (
                f"einsum: operands could not be broadcast together: lengths of the {named} differ in shapes {shapes}. "
                "Check the subscripts, or the shapes."
            )
            raise ShapeError(msg)
    result = []
    for t in terms:
        shape = t.tensor.type.shape
        dropped = [d for d, k in enumerate(t.labels) if shape[d] == 1 and lengths_by_label[k] != {1}]
        kept = tuple(k for d, k in enumerate(t.labels) if d not in dropped)
        result.append(_Term(squeeze(t.tensor, tuple(dropped)), kept) if dropped else t)
    return result


def _path(terms: Sequence[_Term], result: Labels, optimize: object) -> Sequence[Step]:
    """Return which terms are multiplied in each step; a product comes after all that are left."""
    count = len(terms)
    in_order = [(0, 1), *((0, n - 1) for n in range(count - 1, 1, -1))] if count > 1 else [(0,)]
    if isinstance(optimize, Sequence) and not isinstance(optimize, str):
        return _given_path(optimize, count)
    if count < 3 or (optimize is not None and not optimize):
        return in_order
    strategy = optimize if isinstance(optimize, str) else "auto"
    sizes: dict[Label, int] = {}
    for t in terms:
        for k, n in zip(t.labels, t.tensor.type.shape, strict=True):
            sizes[k] = sizes.get(k, 1) if n == 1 else sizes.get(k, _USUAL) if n is None else n
    shapes = [tuple(sizes[k] for k in t.labels) for t in terms]
    number = {k: i for i, k in enumerate(dict.fromkeys(k for t in terms for k in t.labels))}
    symbol = opt_einsum.get_symbol
    written = ",".join("".join(symbol(number[k]) for k in t.labels) for t in terms)
    try:
        path, _ = opt_einsum.contract_path(
            f"{written}->{''.join(symbol(number[k]) for k in result)}",
            *shapes,
            shapes=True,
            optimize=strategy,
        )
    except (KeyError, ValueError) as error:
        msg = f"einsum: opt_einsum finds no path with optimize={text_of(optimize)} ({error}). Pass True or False."
        raise TensorTypeError(msg) from error
    return [tuple(step) for step in path]


def _given_path(path: Sequence[object], count: int) -> list[Step]:
    """Check a path that was given: `numpy.einsum_path` puts a name before its steps."""
    steps: list[Step] = []
    for item in path[1:] if path and isinstance(path[0], str) else path:
        step = tuple(known_integer(at) for at in item) if isinstance(item, Sequence) else ()
        if not step or len(set(step)) < len(step) or any(at is None or not 0 <= at < count for at in step):
            msg = f"einsum: {text_of(item)} is not a step of a path for {count} terms. Pass positions, each once."
            raise TensorTypeError(msg)
        steps.append(tuple(at for at in step if at is not None))
        count -= len(step) - 1
    if count != 1:
        msg = f"einsum: the path {text_of(path)} leaves {count} terms. Multiply all of them."
        raise TensorTypeError(msg)
    return steps


# Contraction of two


def _contracted(a: _Term, b: _Term, kept: set[Label], result: Labels) -> _Term:
    """Return the product of two terms, summed over the labels that are not kept."""
    shared = {*a.labels} & {*b.labels}
    a, b = a.summed(kept | shared), b.summed(kept | shared)
    inner = tuple(k for k in a.labels if k in shared and k not in kept)
    batch = tuple(k for k in a.labels if k in shared and k in kept)
    free_a = tuple(k for k in a.labels if k not in shared)
    free_b = tuple(k for k in b.labels if k not in shared)
    if not inner:
        # A product without sum.
        order = (*batch, *free_a, *free_b)
        leading = tuple(k for k in result if k in order)
        order = (*leading, *(k for k in order if k not in leading))
        return _Term(mul(a.ordered(order), b.ordered(order)), order)
    if batch and not (free_a and free_b):
        # Products of many matrices with a vector each: one pass over the matrices, in the order they lie in.
        order = b.labels if free_b else a.labels
        return _Term(mul(a.ordered(order), b.ordered(order)), order).summed(kept)
    first = next((k for k in result if k in free_a or k in free_b), None)
    if first in free_b:
        a, b, free_a, free_b = b, a, free_b, free_a
    x, y = a.ordered((*batch, *free_a, *inner)), b.ordered((*batch, *inner, *free_b))
    nx, ny, at = lengths(x), lengths(y), len(batch)
    count = len(inner)
    stack, rows, columns = nx[:at], nx[at : x.ndim - count], ny[at + count :]
    common = common_size(
        "einsum", a.tensor, b.tensor, [a.labels.index(k) for k in inner], [b.labels.index(k) for k in inner]
    )
    if count > 1 or len(rows) > 1:
        x = reshape(x, [*stack, *_joined(rows), product_of_lengths(nx[x.ndim - count :])])
    if count > 1 or len(columns) > 1:
        y = reshape(y, [*ny[:at], common, *_joined(columns)])
    product = matmul(x, y)
    if len(free_a) > 1 or len(free_b) > 1:
        ends = [ns if free else [] for ns, free in ((rows, free_a), (columns, free_b))]
        product = reshape(product, [*lengths(product)[:at], *ends[0], *ends[1]])
    return _Term(product, (*batch, *free_a, *free_b))


def _joined(ns: Sequence[TensorVariable]) -> list[TensorVariable | int]:
    """Return the length of several dimensions as one; of none, none."""
    return [product_of_lengths(ns)] if ns else []
