"""A graph of all samplers of portable draws, for tests of backends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import treadle.tensor as tt

if TYPE_CHECKING:
    from collections.abc import Sequence

# Parameters of draws with rejection: small and large ones, and those that leave nothing to draw.
_PARAMETERS: dict[str, Sequence[Sequence[float]]] = {
    "integers": [(0, -5, -(2**63), 3, -(2**40)), (10, 2**31, 2**63 - 1, 4, 2**41)],
    "standard_gamma": [(2.5, 0.0, 0.3, 1.0, 1e6)],
    "log_standard_gamma": [(2.5, 1e-300, 0.3, 1.0, 1e6)],
    "poisson": [(3.0, 0.0, 9.9, 30.0, 1e6)],
    "binomial": [(10, 0, 50, 1000, 10**9), (0.3, 0.5, 1.0, 0.2, 1e-6)],
    "hypergeometric": [(20, 0, 500, 1000, 3), (15, 4, 400, 9000, 5), (9, 3, 450, 800, 8)],
    "vonmises": [(1.0, 0.0, 1e-8, 4.0, 1e8)],
    "zipf": [(1.5, 2.0, 4.0, 30.0, 1e3)],
}


class PortableSamples(NamedTuple):
    """Draws by all samplers, their names, and the inputs with values for them: the state, and a length."""

    names: list[str]
    inputs: list[Any]
    outputs: list[Any]
    values: list[np.ndarray]


def portable_samples(names: Sequence[str] | None = None) -> PortableSamples:
    """Return draws of shape (n, 5) by some samplers, or all, in each of their dtypes."""
    state, n = tt.TensorType("int64", (3,))("state"), tt.lscalar("n")
    labels, outputs = [], []
    for name, dtypes in tt.PortableDraws.known().items():
        for dtype in dtypes if names is None or name in names else ():
            op = tt.PortableDraws(name, dtype, 2)
            values_and_dtypes = zip(_PARAMETERS.get(name, ()), op.parameter_dtypes, strict=True)
            outputs.append(
                op(state, n, tt.constant(5), *(tt.constant(np.array(p, kind)) for p, kind in values_and_dtypes))
            )
            labels.append(f"{name} {dtype}")
    # The position wraps around within the draws.
    return PortableSamples(labels, [state, n], outputs, [np.array([-7, 2**32 - 1, -20]), np.array(40)])


def assert_same_draws(samples: PortableSamples, draws: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    """Check integers to the bit, and floats up to the last digits."""
    for name, draw, expected in zip(samples.names, draws, wanted, strict=True):
        assert draw.dtype == expected.dtype, name
        tolerance = 0 if draw.dtype.kind in "iu" else 2e-6 if draw.dtype == "float32" else 1e-12
        np.testing.assert_allclose(draw, expected, tolerance, tolerance, err_msg=name)
