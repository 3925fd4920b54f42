"""wrap_torch and complex numbers."""

import numpy as np
import torch

import treadle.tensor as tt
from treadle.link.torch import wrap_torch

Z, D = tt.zvector("z"), tt.dvector("d")
VALUES = {Z: np.array([1 + 2j, 0.3 - 0.5j]), D: np.array([0.4, -1.0])}


def test_results_that_are_only_marked_as_conjugates_are_taken() -> None:
    found = wrap_torch(lambda z: (torch.conj(z), torch.conj(z).imag))(Z)
    for one, expected in zip(found, (VALUES[Z].conj(), -VALUES[Z].imag), strict=True):
        np.testing.assert_array_equal(one.eval({Z: VALUES[Z]}), expected)


def test_gradients_by_complex_numbers_are_those_of_treadle() -> None:
    wrapped = wrap_torch(lambda z, d: torch.exp(z * d) * torch.conj(z))
    for by in (Z, D):
        one, other = (tt.grad(tt.sum(abs(out)), by).eval(VALUES) for out in (wrapped(Z, D), tt.exp(Z * D) * Z.conj()))
        np.testing.assert_allclose(one, other)
