"""wrap_torch: complex numbers, and batches."""

import numpy as np
import torch

import treadle.tensor as tt
from treadle.graph import vectorize_graph
from treadle.link.torch import wrap_torch

Z, D = tt.zvector("z"), tt.dvector("d")
VALUES = {Z: np.array([1 + 2j, 0.3 - 0.5j]), D: np.array([0.4, -1.0])}


def test_results_that_are_only_marked_as_conjugates_are_taken() -> None:
    results = wrap_torch(lambda z: (torch.conj(z), torch.conj(z).imag))(Z)
    for one, expected in zip(results, (VALUES[Z].conj(), -VALUES[Z].imag), strict=True):
        np.testing.assert_array_equal(one.eval({Z: VALUES[Z]}), expected)


def test_gradients_by_complex_numbers_are_those_of_treadle() -> None:
    wrapped = wrap_torch(lambda z, d: torch.exp(z * d) * torch.conj(z))
    for by in (Z, D):
        one, other = (tt.grad(tt.sum(abs(out)), by).eval(VALUES) for out in (wrapped(Z, D), tt.exp(Z * D) * Z.conj()))
        np.testing.assert_allclose(one, other)


def test_batches_and_their_gradients_are_the_librarys_own() -> None:
    x, w, wide = tt.dvector("x"), tt.dmatrix("w"), tt.dmatrix("wide")
    out = vectorize_graph(wrap_torch(lambda a, b: torch.sin(b @ a))(x, w), {x: wide})
    values = {wide: np.arange(6.0).reshape(2, 3), w: np.ones((4, 3))}
    results = []
    for whole in (out, tt.sin(wide @ w.T)):
        first = tt.grad(whole.sum(), [wide, w])
        results.append([part.eval(values) for part in (whole, *first, tt.grad(first[0].sum(), w))])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
