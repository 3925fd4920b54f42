"""Constructors of input variables: ``matrix("x")``, ``dvector()``, ``tensor("x", shape=(None, 3))``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle.graph import GraphValueError
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.errors import ShapeError, TensorTypeError
from treadle.tensor.types.tensor_type import CONSTRUCTORS, DTYPES, TensorType, as_rank

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.tensor.variables.variable import TensorVariable

__all__ = [
    "bcol", "bcols", "bmatrices", "bmatrix", "brow", "brows", "bscalar", "bscalars", "btensor3", "btensor3s",
    "btensor4", "btensor4s", "btensor5", "btensor5s", "btensor6", "btensor6s", "btensor7", "btensor7s", "bvector",
    "bvectors", "ccol", "ccols", "cmatrices", "cmatrix", "col", "cols", "crow", "crows", "cscalar", "cscalars",
    "ctensor3", "ctensor3s", "ctensor4", "ctensor4s", "ctensor5", "ctensor5s", "ctensor6", "ctensor6s", "ctensor7",
    "ctensor7s", "cvector", "cvectors", "dcol", "dcols", "dmatrices", "dmatrix", "drow", "drows", "dscalar", "dscalars",
    "dtensor3", "dtensor3s", "dtensor4", "dtensor4s", "dtensor5", "dtensor5s", "dtensor6", "dtensor6s", "dtensor7",
    "dtensor7s", "dvector", "dvectors", "fcol", "fcols", "fmatrices", "fmatrix", "frow", "frows", "fscalar", "fscalars",
    "ftensor3", "ftensor3s", "ftensor4", "ftensor4s", "ftensor5", "ftensor5s", "ftensor6", "ftensor6s", "ftensor7",
    "ftensor7s", "fvector", "fvectors", "icol", "icols", "imatrices", "imatrix", "irow", "irows", "iscalar", "iscalars",
    "itensor3", "itensor3s", "itensor4", "itensor4s", "itensor5", "itensor5s", "itensor6", "itensor6s", "itensor7",
    "itensor7s", "ivector", "ivectors", "lcol", "lcols", "lmatrices", "lmatrix", "lrow", "lrows", "lscalar", "lscalars",
    "ltensor3", "ltensor3s", "ltensor4", "ltensor4s", "ltensor5", "ltensor5s", "ltensor6", "ltensor6s", "ltensor7",
    "ltensor7s", "lvector", "lvectors", "matrices", "matrix", "row", "rows", "scalar", "scalars", "tensor", "tensor3",
    "tensor3s", "tensor4", "tensor4s", "tensor5", "tensor5s", "tensor6", "tensor6s", "tensor7", "tensor7s", "vector",
    "vectors", "wcol", "wcols", "wmatrices", "wmatrix", "wrow", "wrows", "wscalar", "wscalars", "wtensor3", "wtensor3s",
    "wtensor4", "wtensor4s", "wtensor5", "wtensor5s", "wtensor6", "wtensor6s", "wtensor7", "wtensor7s", "wvector",
    "wvectors", "zcol", "zcols", "zmatrices", "zmatrix", "zrow", "zrows", "zscalar", "zscalars", "ztensor3",
    "ztensor3s", "ztensor4", "ztensor4s", "ztensor5", "ztensor5s", "ztensor6", "ztensor6s", "ztensor7", "ztensor7s",
    "zvector", "zvectors",
]  # fmt: skip

RANKS: dict[str, tuple[int | None, ...]] = {
    "scalar": (),
    "vector": (None,),
    "matrix": (None, None),
    "row": (1, None),
    "col": (None, 1),
    **{f"tensor{n}": (None,) * n for n in range(3, 8)},
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
# More variables at once are a mistake rather than a wish.
_MOST = 10_000


def tensor(name: str | None = None, *, dtype: Any = None, shape: Any = None, ndim: Any = None) -> TensorVariable:
    """Return an input variable.

    Parameters
    ----------
    name
        Its name.
    dtype
        Its dtype; floatX if None.
    shape
        Length of each dimension, None where unknown; one length for a vector.
    ndim
        Rank, in place of `shape`.

    Raises
    ------
    TensorTypeError
        If neither shape nor rank is given, they disagree, or one of the arguments is of a wrong kind.
    GraphValueError
        If a dtype is given in place of the name.

    Examples
    --------
    >>> tt.tensor("x", shape=(None, 3)).type
    TensorType(float64, shape=(None, 3))
    """
    if dtype is None and isinstance(name, str) and (name in DTYPES or name == "floatX"):
        msg = f"tensor: the name {name!r} is that of a dtype. Pass it as dtype={name!r}, or choose another name."
        raise GraphValueError(msg)
    rank = None if ndim is None else as_rank("tensor: ndim", ndim)
    if shape is None:
        if rank is None:
            msg = "tensor: shape or ndim is needed, got neither. Pass shape=(None, 3) or ndim=2, for instance."
            raise TensorTypeError(msg)
        shape = (None,) * rank
    kind = TensorType("floatX" if dtype is None else dtype, shape)
    if rank is not None and rank != kind.ndim:
        msg = f"tensor: ndim is {rank}, but shape {kind.shape} has {kind.ndim} dimensions. Give one of the two."
        raise TensorTypeError(msg)
    return kind.make_variable(name)


def _generic(rank: str) -> Callable[..., TensorVariable]:
    pattern = RANKS[rank]

    def construct(name: str | None = None, *, dtype: object = None, shape: object = None) -> TensorVariable:
        variable = tensor(name, dtype=dtype, shape=pattern if shape is None else shape)
        shape_ = variable.type.shape
        if len(shape_) != len(pattern):
            msg = (
                f"{rank}: a shape with {len(pattern)} dimensions is needed, got {shape_}. Use tensor for another rank."
            )
            raise TensorTypeError(msg)
        if any(n is not None and n != m for n, m in zip(pattern, shape_, strict=True)):
            msg = f"{rank}: a shape that fits {pattern} is needed, got {shape_}. Use matrix for another."
            raise ShapeError(msg)
        return variable

    construct.__name__ = construct.__qualname__ = rank
    construct.__doc__ = f"""Return an input variable of shape {pattern}; dtype floatX unless given.

    Parameters
    ----------
    name
        Its name.
    dtype
        Its dtype; floatX if None.
    shape
        Length of each dimension, None where unknown; of another rank than {len(pattern)} it is refused.

    Raises
    ------
    TensorTypeError
        If the shape is of another rank, or an argument of a wrong kind.
    ShapeError
        If the shape does not fit {pattern}.

    Examples
    --------
    >>> tt.{rank}("x", dtype="float32").type
    {TensorType("float32", pattern)!r}
    """
    return construct


def _names(what: str, names: tuple[object, ...]) -> list[object]:
    """Return the name of each variable, None for one without."""
    if len(names) != 1:
        return list(names)
    (only,) = names
    if isinstance(only, list | tuple):
        return list(only)
    if isinstance(only, str):
        if not only.isalpha():
            msg = f"{what}: a text alone names one variable by each of its letters, got {only!r}. List the names."
            raise GraphValueError(msg)
        return list(only)
    count = as_integer(f"{what}: the number of variables", only, 0)
    if count > _MOST:
        msg = f"{what}: the number of variables must be {_MOST} at most, got {count}. Make them as one tensor."
        raise GraphValueError(msg)
    return [None] * count


def _several(name: str, one: Callable[..., TensorVariable]) -> Callable[..., Any]:
    title = plural(name)

    def make(names: tuple[object, ...], options: dict[str, object]) -> list[TensorVariable] | TensorVariable:
        variables = [one(name, **options) for name in _names(title, names)]
        # A letter alone is one name, and not a list of one.
        return variables[0] if len(names) == len(variables) == 1 and isinstance(names[0], str) else variables

    def of_any_dtype(*names: object, dtype: object = None, shape: object = None) -> Any:
        return make(names, {"dtype": dtype, "shape": shape})

    def of_dtype(*names: object, shape: object = None) -> Any:
        return make(names, {"shape": shape})

    construct: Callable[..., Any] = of_dtype if isinstance(one, TensorType) else of_any_dtype
    dtype_text = "" if isinstance(one, TensorType) else "\n    dtype\n        The dtype; floatX if None."
    construct.__name__ = construct.__qualname__ = title
    construct.__doc__ = f"""Return a list of variables as `{name}` makes them; for one letter alone, the variable.

    Parameters
    ----------
    names
        The names; or one text of which each letter is a name, a list of names, or the number of variables.
    shape
        Length of each dimension, None where unknown.{dtype_text}

    Raises
    ------
    GraphValueError
        If one text of several letters is none, or the number of variables is negative or too large.

    Examples
    --------
    >>> x, y = tt.{title}("x", "y")
    >>> [x.name, y.name]
    ['x', 'y']
    """
    return construct


def plural(name: str) -> str:
    """Return the plural of a constructor's name."""
    return ({"matrix": "matrices"}.get(name[-6:], "") and name[:-6] + "matrices") or name + "s"


TYPES = {letter + rank: TensorType(dtype, shape) for letter, dtype in LETTERS.items() for rank, shape in RANKS.items()}
CONSTRUCTORS.update(TYPES)
SINGLE = {rank: _generic(rank) for rank in RANKS}
SEVERAL = {plural(name): _several(name, one) for name, one in (SINGLE | TYPES).items()}


def _typed_of_rank(rank: str) -> list[TensorType]:
    """Return the types of one rank, one for each dtype; calling one makes a variable."""
    return [TYPES[letter + rank] for letter in LETTERS]


def _several_of_rank(rank: str) -> list[Callable[..., Any]]:
    """Return the constructors of several variables of one rank: those of any dtype, then one for each dtype."""
    return [SEVERAL[plural(letter + rank)] for letter in ("", *LETTERS)]


# Written out, so that type checkers and readers find them.
scalar, vector, matrix, row, col, tensor3, tensor4, tensor5, tensor6, tensor7 = SINGLE.values()
bscalar, wscalar, iscalar, lscalar, fscalar, dscalar, cscalar, zscalar = _typed_of_rank("scalar")
bvector, wvector, ivector, lvector, fvector, dvector, cvector, zvector = _typed_of_rank("vector")
bmatrix, wmatrix, imatrix, lmatrix, fmatrix, dmatrix, cmatrix, zmatrix = _typed_of_rank("matrix")
brow, wrow, irow, lrow, frow, drow, crow, zrow = _typed_of_rank("row")
bcol, wcol, icol, lcol, fcol, dcol, ccol, zcol = _typed_of_rank("col")
btensor3, wtensor3, itensor3, ltensor3, ftensor3, dtensor3, ctensor3, ztensor3 = _typed_of_rank("tensor3")
btensor4, wtensor4, itensor4, ltensor4, ftensor4, dtensor4, ctensor4, ztensor4 = _typed_of_rank("tensor4")
btensor5, wtensor5, itensor5, ltensor5, ftensor5, dtensor5, ctensor5, ztensor5 = _typed_of_rank("tensor5")
btensor6, wtensor6, itensor6, ltensor6, ftensor6, dtensor6, ctensor6, ztensor6 = _typed_of_rank("tensor6")
btensor7, wtensor7, itensor7, ltensor7, ftensor7, dtensor7, ctensor7, ztensor7 = _typed_of_rank("tensor7")
scalars, bscalars, wscalars, iscalars, lscalars, fscalars, dscalars, cscalars, zscalars = _several_of_rank("scalar")
vectors, bvectors, wvectors, ivectors, lvectors, fvectors, dvectors, cvectors, zvectors = _several_of_rank("vector")
matrices, bmatrices, wmatrices, imatrices, lmatrices, fmatrices, dmatrices, cmatrices, zmatrices = _several_of_rank(
    "matrix"
)
rows, brows, wrows, irows, lrows, frows, drows, crows, zrows = _several_of_rank("row")
cols, bcols, wcols, icols, lcols, fcols, dcols, ccols, zcols = _several_of_rank("col")
tensor3s, btensor3s, wtensor3s, itensor3s, ltensor3s, ftensor3s, dtensor3s, ctensor3s, ztensor3s = _several_of_rank(
    "tensor3"
)
tensor4s, btensor4s, wtensor4s, itensor4s, ltensor4s, ftensor4s, dtensor4s, ctensor4s, ztensor4s = _several_of_rank(
    "tensor4"
)
tensor5s, btensor5s, wtensor5s, itensor5s, ltensor5s, ftensor5s, dtensor5s, ctensor5s, ztensor5s = _several_of_rank(
    "tensor5"
)
tensor6s, btensor6s, wtensor6s, itensor6s, ltensor6s, ftensor6s, dtensor6s, ctensor6s, ztensor6s = _several_of_rank(
    "tensor6"
)
tensor7s, btensor7s, wtensor7s, itensor7s, ltensor7s, ftensor7s, dtensor7s, ctensor7s, ztensor7s = _several_of_rank(
    "tensor7"
)
