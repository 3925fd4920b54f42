"""Records with complex numbers, which a third-party backend may refuse."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

import numpy as np

from treadle import tensor as tt
from treadle.testing.domain import NONZERO, POSITIVE, REAL, SMALL, UNIT, Array, Domain
from treadle.testing.operands import of_shape, positions
from treadle.testing.records.elementwise.function_samples import elementwise
from treadle.testing.sample import Checked, Function, Operand, Sample, Traits

F = "complex"
_PLANE = Domain(-2.0, 2.0, special=False)
_OFF_ZERO = Domain(-2.0, 2.0, kinks=(0.0,), special=False)
_RIGHT = Domain(0.3, 2.0, special=False)
_DISK = Domain(-0.6, 0.6, special=False)
_COMPLEX = ("complex64", "complex128")
_PARTS = ("float32", "float64")
_LOSSY = {"complex64": (2e-4, 2e-5), "complex128": (1e-10, 1e-11)}
_MATRIX = of_shape((3, 4), domain=_OFF_ZERO)


def _of(
    name: str,
    build: Function,
    oracle: Function,
    *domains: Domain,
    fixed: tuple[str | None, ...] = (),
    **record: Unpack[Checked],
) -> Sample:
    """Return the record of an elementwise function of complex numbers, or of complex numbers and floats."""
    options: Checked = {"dtypes": _COMPLEX, "wrt": tuple(range(len(domains))), "tolerances": _LOSSY, **record}
    return elementwise(F, name, build, oracle, *domains, fixed=fixed, takes_all=False, **options)


def _with(name: str, build: Function, oracle: Function, *operands: Operand, **record: Unpack[Traits]) -> Sample:
    traits: Traits = {
        "dtypes": _COMPLEX,
        "wrt": tuple(range(len(operands))),
        "tolerances": _LOSSY,
        "variants": ("plain", "fortran", "strided", "reversed"),
        **record,
    }
    return Sample(name, F, build, oracle, operands, **traits)


def _complex(a: Array, b: Array) -> Array:
    """Return the complex numbers with two parts; 1j * b would be NaN for an infinite b."""
    combined = np.zeros(np.broadcast_shapes(a.shape, b.shape), np.result_type(a, b, 1j))
    combined.real, combined.imag = a, b
    return combined


def _polar(r: Array, phi: Array) -> Array:
    return _complex(r * np.cos(phi), r * np.sin(phi))


_ONE_OPERAND: tuple[tuple[str, Function, Function, Domain], ...] = (
    ("neg", tt.neg, np.negative, _PLANE),
    ("abs", tt.abs, np.absolute, _OFF_ZERO),
    ("sign", tt.sign, np.sign, _OFF_ZERO),
    ("sqr", tt.sqr, np.square, _PLANE),
    ("reciprocal", tt.reciprocal, np.reciprocal, _OFF_ZERO),
    ("sqrt", tt.sqrt, np.sqrt, _RIGHT),
    ("exp", tt.exp, np.exp, _PLANE),
    ("log", tt.log, np.log, _RIGHT),
    ("log10", tt.log10, np.log10, _RIGHT),
    ("sin", tt.sin, np.sin, _PLANE),
    ("cos", tt.cos, np.cos, _PLANE),
    ("tan", tt.tan, np.tan, _DISK),
    ("sinh", tt.sinh, np.sinh, _PLANE),
    ("cosh", tt.cosh, np.cosh, _PLANE),
    ("tanh", tt.tanh, np.tanh, _DISK),
    ("identity", tt.identity, np.array, _PLANE),
    ("real", tt.real, np.real, _PLANE),
    ("imag", tt.imag, np.imag, _PLANE),
    ("conj", tt.conj, np.conj, _PLANE),
    ("angle", tt.angle, np.angle, _RIGHT),
    ("methods", lambda z: (z.real, z.imag, z.conj()), lambda z: (z.real, z.imag, z.conj()), _PLANE),
    ("powers", lambda z: (z**2, z**3, z**-1.0), lambda z: (z**2, z**3, z**-1.0), _RIGHT),
)
# Functions that PyTorch does not have, or that it computes otherwise for some complex numbers.
_RARE: tuple[tuple[str, Function, Function, Domain], ...] = (
    ("exp2", tt.exp2, np.exp2, _PLANE),
    ("expm1", tt.expm1, np.expm1, _PLANE),
    ("log2", tt.log2, np.log2, _RIGHT),
    ("log1p", tt.log1p, np.log1p, _RIGHT),
    ("arcsin", tt.arcsin, np.arcsin, _DISK),
    ("arccos", tt.arccos, np.arccos, _DISK),
    ("arctan", tt.arctan, np.arctan, _DISK),
    ("arcsinh", tt.arcsinh, np.arcsinh, _DISK),
    ("arccosh", tt.arccosh, np.arccosh, Domain(1.3, 2.0, special=False)),
    ("arctanh", tt.arctanh, np.arctanh, _DISK),
)

# Second derivatives of these follow from the others by the chain rule.
_ONCE = {"sqrt", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh", "neg", *(name for name, *_ in _RARE)}

_ALL = (
    *(
        _of(name, build, oracle, domain, order=1 if name in _ONCE else 2)
        for name, build, oracle, domain in (*_ONE_OPERAND, *_RARE)
    ),
    _of("add", tt.add, np.add, _PLANE, _PLANE),
    _of("sub", tt.sub, np.subtract, _PLANE, _PLANE),
    _of("mul", tt.mul, np.multiply, _PLANE, _PLANE),
    _of("true_div", tt.true_div, np.true_divide, _PLANE, _OFF_ZERO),
    _of("pow", tt.power, np.power, _RIGHT, _PLANE),
    _of("eq", tt.eq, np.equal, _PLANE, _PLANE, wrt=()),
    _of("order", lambda x, y: (tt.lt(x, y), tt.le(x, y), tt.gt(x, y), tt.ge(x, x)),
        lambda x, y: (x < y, x <= y, x > y, x >= x), _PLANE, _PLANE, wrt=()),
    _of("extrema", lambda x, y: (tt.maximum(x, y), tt.minimum(x, y), tt.fmax(x, y), tt.fmin(x, y)),
        lambda x, y: (np.maximum(x, y), np.minimum(x, y), np.fmax(x, y), np.fmin(x, y)), _PLANE, _PLANE, wrt=()),
    _of("finite", lambda z: (tt.isnan(z), tt.isinf(z), tt.isfinite(z), tt.logical_not(z), tt.iscomplex(z)),
        lambda z: (np.isnan(z), np.isinf(z), np.isfinite(z), np.logical_not(z), np.iscomplex(z)), REAL, wrt=()),
    _of("rint", tt.rint, np.rint, _PLANE, wrt=()),
    _of("switch", tt.switch, np.where, REAL, _PLANE, _PLANE, fixed=("bool", None, None), wrt=(1, 2)),
    # Operands of which one is real: what flows back to it is real.
    *(
        _of(f"{name}_real", build, oracle, _RIGHT, Domain(0.3, 2.0, special=False), fixed=(None, "float64"))
        for name, build, oracle in (
            ("add", tt.add, np.add), ("mul", tt.mul, np.multiply), ("true_div", tt.true_div, np.true_divide),
            ("pow", tt.power, np.power),
        )
    ),
    _of("real_pow", tt.power, np.power, Domain(0.3, 2.0, special=False), _PLANE, fixed=("float64", None)),
    # Complex numbers made of real ones.
    _of("complex", tt.complex, _complex, SMALL, SMALL, dtypes=_PARTS),
    _of("complex_from_polar", tt.complex_from_polar, _polar, POSITIVE, UNIT, dtypes=_PARTS),
    _of("angle_of_real", tt.angle, np.angle, NONZERO, dtypes=_PARTS, tolerances={}),
    *(
        _of(f"cast_{dtype}", tt.CASTS[dtype], lambda x, dtype=dtype: x.astype(dtype), NONZERO, dtypes=_PARTS,
            wrt=(0,) if dtype == "complex128" else ())
        for dtype in _COMPLEX
    ),
    _with("sum", lambda z: tt.sum(z, axis=0), lambda z: np.sum(z, axis=0), _MATRIX),
    _with("prod", lambda z: tt.prod(z, axis=1), lambda z: np.prod(z, axis=1), _MATRIX),
    _with("sum_as_complex", lambda x: tt.sum(x, axis=0, dtype="complex128"),
          lambda x: np.sum(x, axis=0, dtype="complex128"), of_shape((3, 4)), dtypes=_PARTS),
    _with("mean", tt.mean, np.mean, _MATRIX),
    _with("max", lambda z: (tt.max(z, axis=0), tt.min(z)), lambda z: (np.max(z, axis=0), np.min(z)), _MATRIX,
          order=1),
    _with("argmax", lambda z: (tt.argmax(z, axis=1), tt.argmin(z)), lambda z: (np.argmax(z, axis=1), np.argmin(z)),
          _MATRIX, wrt=()),
    _with("var", lambda z: tt.var(z, axis=1), lambda z: np.var(z, axis=1), _MATRIX,
          tolerances={"float32": (1e-4, 1e-5), "float64": (1e-10, 1e-11)}),
    _with("matmul", tt.matmul, np.matmul, _MATRIX, of_shape((4, 2), domain=_PLANE)),
    _with("matmul_real", tt.matmul, np.matmul, _MATRIX, of_shape((4, 2), dtype="float64")),
    _with("join", lambda z, x: tt.join(0, z, x), lambda z, x: np.concatenate([z, x]), _MATRIX,
          of_shape((2, 4), dtype="float64")),
    _with("set", lambda z, x: z[1].set(x), lambda z, x: np.concatenate([z[:1], [x], z[2:]]).astype(z.dtype), _MATRIX,
          of_shape((4,), dtype="float64"), dtypes=("complex128",)),
    _with("picked", lambda z, i: z[i].T, lambda z, i: z[i].T, _MATRIX, positions(2, 0, 2), wrt=(0,)),
)  # fmt: skip

SAMPLES: tuple[Sample, ...] = tuple(
    replace(sample, optional=not set(sample.dtypes) <= set(_COMPLEX)) for sample in _ALL
)
