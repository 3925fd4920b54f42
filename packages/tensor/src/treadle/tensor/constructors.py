"""Constructors of input variables: ``matrix("x")``, ``dvector()``, ``tensor("x", shape=(None, 3))``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.tensor.errors import TensorTypeError
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.tensor.variable import TensorVariable

RANKS: dict[str, tuple[int | None, ...]] = {
    "scalar": (),
    "vector": (None,),
    "matrix": (None, None),
    "row": (1, None),
    "col": (None, 1),
    "tensor3": (None,) * 3,
    "tensor4": (None,) * 4,
    "tensor5": (None,) * 5,
}
LETTERS = {
    "b": "int8",
    "w": "int16",
    "i": "int32",
    "l": "int64",
    "f": "float32",
    "d": "float64",
    "c": "complex64",
    "z": "complex128",
}


def tensor(
    name: str | None = None, *, dtype: Any = None, shape: Sequence[int | None] | None = None, ndim: int | None = None
) -> TensorVariable:
    """Return an input variable.

    Parameters
    ----------
    name
        Its name.
    dtype
        Its dtype; floatX if None.
    shape
        Length of each dimension, None where unknown.
    ndim
        Rank, in place of `shape`.

    Raises
    ------
    TensorTypeError
        If neither shape nor rank is given, or they disagree.
    """
    if shape is None:
        if ndim is None:
            msg = "tensor: shape or ndim is needed. Pass shape=(None, 3) or ndim=2, for instance."
            raise TensorTypeError(msg)
        shape = (None,) * ndim
    elif ndim is not None and ndim != len(shape):
        msg = f"tensor: ndim is {ndim}, but shape {tuple(shape)} has {len(shape)} dimensions. Give one of the two."
        raise TensorTypeError(msg)
    result: Any = TensorType(dtype or "floatX", tuple(shape)).make_variable(name)
    return result  # type: ignore[no-any-return]  # TensorType makes tensor variables


def _generic(rank: str) -> Callable[..., TensorVariable]:
    ndim = len(RANKS[rank])

    def construct(
        name: str | None = None, *, dtype: Any = None, shape: Sequence[int | None] | None = None
    ) -> TensorVariable:
        if shape is not None and len(shape) != ndim:
            msg = f"{rank}: a shape with {ndim} dimensions is needed, got {tuple(shape)}."
            raise TensorTypeError(msg)
        return tensor(name, dtype=dtype, shape=RANKS[rank] if shape is None else shape)

    construct.__name__ = construct.__qualname__ = rank
    construct.__doc__ = f"Return an input variable of shape {RANKS[rank]}; dtype floatX unless given."
    return construct


def _typed(letter: str, rank: str) -> Callable[..., TensorVariable]:
    generic = _generic(rank)

    def construct(name: str | None = None, *, shape: Sequence[int | None] | None = None) -> TensorVariable:
        return generic(name, dtype=LETTERS[letter], shape=shape)

    construct.__name__ = construct.__qualname__ = letter + rank
    construct.__doc__ = f"Return an input variable of dtype {LETTERS[letter]} and shape {RANKS[rank]}."
    return construct


def _several(one: Callable[..., TensorVariable]) -> Callable[..., list[TensorVariable]]:
    def construct(*names: Any, **options: Any) -> list[TensorVariable]:
        wanted = [None] * names[0] if len(names) == 1 and isinstance(names[0], int) else names
        return [one(name, **options) for name in wanted]

    construct.__name__ = construct.__qualname__ = plural(one.__name__)
    construct.__doc__ = f"Return several variables as `{one.__name__}` makes them: by names, or by their number."
    return construct


def plural(name: str) -> str:
    """Return the plural of a constructor's name."""
    return ({"matrix": "matrices"}.get(name[-6:], "") and name[:-6] + "matrices") or name + "s"


SINGLE: dict[str, Callable[..., TensorVariable]] = {
    **{rank: _generic(rank) for rank in RANKS},
    **{letter + rank: _typed(letter, rank) for letter in LETTERS for rank in RANKS},
}
SEVERAL: dict[str, Callable[..., list[TensorVariable]]] = {plural(name): _several(one) for name, one in SINGLE.items()}


def _of_rank(rank: str) -> list[Callable[..., TensorVariable]]:
    """Return the constructors of one rank, one for each dtype."""
    return [SINGLE[letter + rank] for letter in LETTERS]


scalar, vector, matrix, row, col = (SINGLE[n] for n in ("scalar", "vector", "matrix", "row", "col"))
tensor3, tensor4, tensor5 = (SINGLE[n] for n in ("tensor3", "tensor4", "tensor5"))
scalars, vectors, matrices = (SEVERAL[n] for n in ("scalars", "vectors", "matrices"))
bscalar, wscalar, iscalar, lscalar, fscalar, dscalar, cscalar, zscalar = _of_rank("scalar")
bvector, wvector, ivector, lvector, fvector, dvector, cvector, zvector = _of_rank("vector")
bmatrix, wmatrix, imatrix, lmatrix, fmatrix, dmatrix, cmatrix, zmatrix = _of_rank("matrix")
brow, wrow, irow, lrow, frow, drow, crow, zrow = _of_rank("row")
bcol, wcol, icol, lcol, fcol, dcol, ccol, zcol = _of_rank("col")
btensor3, wtensor3, itensor3, ltensor3, ftensor3, dtensor3, ctensor3, ztensor3 = (
    SINGLE[c + "tensor3"] for c in LETTERS
)
btensor4, wtensor4, itensor4, ltensor4, ftensor4, dtensor4, ctensor4, ztensor4 = (
    SINGLE[c + "tensor4"] for c in LETTERS
)
btensor5, wtensor5, itensor5, ltensor5, ftensor5, dtensor5, ctensor5, ztensor5 = (
    SINGLE[c + "tensor5"] for c in LETTERS
)
