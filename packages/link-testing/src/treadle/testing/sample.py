"""Sample: one record per op, from which all checks of all backends are generated."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import TypedDict

import numpy as np

from treadle.config import dataclass
from treadle.graph import Op
from treadle.testing.domain import REAL, Array, Domain
from treadle.testing.errors import DuplicateSampleError

# A function that returns one result or a tuple of them, from variables or from arrays.
Function = Callable[..., object]
Axis = int | tuple[int, ...] | None


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIGNED = INTEGERS[:4]
FLOATS = ("float32", "float64")
NUMBERS = (*INTEGERS, *FLOATS)
REALS = ("bool", *NUMBERS)
DISCRETE = ("bool", *INTEGERS)
# These dtypes are checked with every shape and every way of using an op, the others with every op.
MAJOR = ("bool", "int64", "float32", "float64")
# Dtypes that third-party backends may refuse, with an error that lists the nodes; treadle's backends support them.
OPTIONAL_DTYPES = ("float16", "complex64", "complex128")

# (relative, absolute) error allowed, by dtype of the result.
TOLERANCES: Mapping[str, tuple[float, float]] = {
    "float16": (2e-3, 2e-3),
    "float32": (2e-5, 2e-6),
    "float64": (1e-11, 1e-12),
    "complex64": (2e-5, 2e-6),
    "complex128": (1e-11, 1e-12),
}

# The kinds of checks, which `treadle.testing.contract.Check` describes. Functions that only combine other ops are
# checked as users run them, and by their first derivatives; the ops have their own records.
KINDS = ("values", "known", "scalars", "rewritten", "first", "second")
COMPOSED = ("rewritten", "first")

# Variants of inputs with particular shapes or values.
SHAPES = ("plain", "broadcast", "empty", "long", "special")
# Variants with the plain values in other memory layouts.
LAYOUTS = ("fortran", "strided", "reversed", "readonly")
VARIANTS = (*SHAPES, *LAYOUTS)

PLAIN = (3, 4)
LONG = (11, 97)


@dataclass(frozen=True, slots=True)
class Operand:
    """One input of a sample.

    Parameters
    ----------
    shapes
        The shapes by variant; ``plain`` is needed, and is the default for the others.
    domain
        The numbers that it is drawn from.
    dtype
        Its dtype, if that is not the group's.
    values
        A function from a shape to the array, instead of samples from the domain, as for positions.
    static
        The lengths that must be known when the graph is built, None for others; all are unknown if it is empty.
    """

    shapes: Mapping[str, tuple[int, ...]]
    domain: Domain = REAL
    dtype: str | None = None
    values: Callable[[np.random.Generator, tuple[int, ...]], object] | None = None
    static: tuple[int | None, ...] = ()

    def array(self, rng: np.random.Generator, dtype: str, variant: str) -> Array:
        """Return the array of a variant."""
        target = np.dtype(self.dtype or dtype)
        shape = self.shapes.get(variant, self.shapes["plain"])
        if self.values is not None:
            return np.asarray(self.values(rng, shape)).astype(target)
        if variant == "special" and self.domain.special and shape:
            return np.resize(self.domain.specials(target), shape)
        return self.domain.draw(rng, target, shape)

    def static_shape(self, known: bool) -> tuple[int | None, ...]:
        """Return the static shape of the variable: that of the plain variant if `known`."""
        plain = self.shapes["plain"]
        return plain if known else self.static or (None,) * len(plain)


class Checked(TypedDict, total=False):
    """How a sample is checked, as `Sample` describes it."""

    dtypes: tuple[str, ...]
    wrt: tuple[int, ...]
    order: int
    tolerances: Mapping[str, tuple[float, float]]


class Traits(Checked, total=False):
    """How a sample is checked, and its dtypes and variants."""

    variants: tuple[str, ...]
    optional: bool
    kinds: tuple[str, ...]
    ragged: tuple[int, ...]
    computed_shape: bool
    fixed_shapes: bool
    refuses_empty: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """The record of one op, or of one way of using it.

    Parameters
    ----------
    name
        Its name; unique in the family.
    family
        The module of ``treadle.tensor`` that it belongs to, or what a composed function is about.
    build
        A function from variables to the result or a tuple of results.
    oracle
        A function from arrays to the results of NumPy (or SciPy), with the right dtype.
    operands
        The inputs.
    dtypes
        The dtypes that the group may have: REALS or some of them, and optional ones.
    wrt
        The positions of the inputs that it can be differentiated by.
    order
        The highest order of derivatives that is checked.
    variants
        The variants that make sense for it.
    signed_zeros
        Whether the sign of zeros is defined.
    tolerances
        The (relative, absolute) errors allowed, by dtype of the result, where they are not the default.
    takes_all
        Whether `dtypes` lists all real dtypes that it takes, so that building it with others must fail.
    any_rank
        Whether it works on scalars too: it is elementwise.
    optional
        Whether a backend may refuse it when linking, with an error that lists the nodes.
    kinds
        How it is checked: all of `KINDS`, or `COMPOSED`.
    ragged
        Positions of the inputs whose values decide the shape of the result, or of a step on the way to it: results for
        a batch of these would be ragged, so that it must be refused.
    computed_shape
        Whether the shape of the result is found only by computing: from masks, counts and distinct values, by a choice
        between results of two shapes, or by a loop whose state may change its shape.
    fixed_shapes
        Whether what is built for inputs of some static shapes refuses others.
    refuses_empty
        Whether its reference in NumPy refuses some arrays without elements, which a backend may take.
    costly
        Patterns (as in fnmatch) of ``backend-kind``, for checks whose compilation takes a quarter of a minute or more:
        ``jax-first``, ``jax-*``. Treadle's own tests make these with -m slow only.
    """

    name: str
    family: str
    build: Function
    oracle: Function
    operands: tuple[Operand, ...]
    dtypes: tuple[str, ...] = REALS
    wrt: tuple[int, ...] = ()
    order: int = 2
    variants: tuple[str, ...] = VARIANTS
    signed_zeros: bool = False
    tolerances: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    takes_all: bool = False
    any_rank: bool = False
    optional: bool = False
    kinds: tuple[str, ...] = KINDS
    ragged: tuple[int, ...] = ()
    computed_shape: bool = False
    fixed_shapes: bool = False
    refuses_empty: bool = False
    costly: tuple[str, ...] = ()

    def arrays(self, dtype: str, variant: str) -> tuple[Array, ...]:
        """Return the inputs of a variant, or those of ``plain`` if it makes no sense for this sample."""
        used = variant if variant in self.variants else "plain"
        base = "plain" if used in LAYOUTS else used
        rng = np.random.default_rng(zlib.crc32(f"{self.family} {self.name} {base}".encode()))
        arrays = [operand.array(rng, dtype, base) for operand in self.operands]
        return tuple(laid_out(x, used) for x in arrays)

    def expected(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Return the oracle's results for arrays."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            # NumPy's statistics of no elements are NaN, with a warning.
            warnings.simplefilter("ignore", RuntimeWarning)
            expected = self.oracle(*(np.array(x) for x in arrays))
        return tuple(np.asarray(x) for x in expected) if isinstance(expected, tuple) else (np.asarray(expected),)

    def __str__(self) -> str:
        """Show as ``arithmetic.add``."""
        return f"{self.family}.{self.name}"

    def is_costly(self, backend: str, kind: str) -> bool:
        """Whether a kind of check takes a backend long, as `costly` says."""
        return any(fnmatchcase(f"{backend}-{kind}", pattern) for pattern in self.costly)

    def tolerance(self, dtype: str) -> tuple[float, float]:
        """Return the (relative, absolute) error allowed for a result of a dtype."""
        return self.tolerances.get(dtype, TOLERANCES.get(dtype, (0.0, 0.0)))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Dtypes at which an op has no record, though there are records of it.

    Parameters
    ----------
    op
        The class of the op.
    dtypes
        The dtypes: those that it refuses, or that no record needs.
    """

    op: type[Op]
    dtypes: tuple[str, ...]


def costly(patterns: tuple[str, ...], *samples: Sample) -> tuple[Sample, ...]:
    """Return samples of one family that are costly together, as `Sample.costly` describes it."""
    return tuple(replace(sample, costly=patterns) for sample in samples)


def laid_out(x: Array, layout: str) -> Array:
    """Return an array with the same values in another memory layout."""
    if layout == "fortran" and x.ndim:
        return np.asfortranarray(x)
    if layout == "strided" and x.ndim:
        wide = np.zeros(tuple(2 * n + 1 for n in x.shape), x.dtype)
        view = wide[tuple(slice(1, 2 * n + 1, 2) for n in x.shape)]
        view[...] = x
        return view
    if layout == "reversed" and x.ndim:
        turned = np.array(x[(slice(None, None, -1),) * x.ndim])
        return turned[(slice(None, None, -1),) * x.ndim]
    copy = np.array(x)
    if layout == "readonly":
        copy.flags.writeable = False
    return copy


class SampleTable:
    """Samples by family; two samples with the same name are an error.

    Parameters
    ----------
    samples
        All samples.

    Raises
    ------
    DuplicateSampleError
        If two have the same family and name.
    TypeError
        If a value is not a `Sample`.
    """

    __slots__ = ("_samples",)

    def __init__(self, *samples: Sample) -> None:
        self._samples: dict[tuple[str, str], Sample] = {}
        for sample in samples:
            if not isinstance(sample, Sample):
                msg = f"samples: a treadle.testing.Sample is needed, not {sample!r}."  # type: ignore[unreachable]
                raise TypeError(msg)
            key = (sample.family, sample.name)
            if key in self._samples:
                msg = f"samples: {sample.family} has a sample named {sample.name!r} already. Choose another name."
                raise DuplicateSampleError(msg)
            self._samples[key] = sample

    def families(self) -> list[str]:
        """Return the names of the families, in order."""
        return list(dict.fromkeys(sample.family for sample in self))

    def of(self, family: str) -> list[Sample]:
        """Return the samples of a family."""
        return [sample for sample in self if sample.family == family]

    def __iter__(self) -> Iterator[Sample]:
        """Iterate over all samples."""
        return iter(self._samples.values())
