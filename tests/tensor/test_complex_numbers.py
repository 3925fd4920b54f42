"""Complex numbers: their parts, what is refused, and gradients d/da + i d/db beside PyTorch's."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Mode, function
from treadle.tensor import DtypeError

Z = tt.zvector("z")
W = tt.zvector("w")
D = tt.dvector("d")
POINT = (np.array([1 + 2j, 0.5 - 1j, -0.3 - 0.7j]), np.array([0.3 + 0.2j, -1.5 - 1j, 2j]), np.array([1, -2, 0.5]))
UNREWRITTEN = Mode(linker="vm", optimizer=None)


def compiled(outputs: Sequence[Any]) -> Any:
    return function([Z, W, D], outputs, mode=UNREWRITTEN, on_unused_input="ignore")


def slopes(costs: Sequence[Any]) -> list[Any]:
    """Return the gradients of all costs by Z, then of all by D."""
    gradients = [tt.grad(cost, by, disconnected_inputs="ignore") for by in (Z, D) for cost in costs]
    return list(compiled(gradients)(*POINT))


def differences(costs: Sequence[Any], h: float = 1e-6) -> list[Any]:
    """Return the same by central differences: d/da + i d/db."""
    run = compiled(costs)

    def by(at: int) -> Any:
        result = np.zeros((len(costs), len(POINT[at])), POINT[at].dtype)
        for i in range(len(POINT[at])):
            for way in (1, 1j) if result.dtype.kind == "c" else (1,):
                step = np.zeros_like(POINT[at])
                step[i] = h * way
                up, down = ([*POINT[:at], POINT[at] + side, *POINT[at + 1 :]] for side in (step, -step))
                result[:, i] += way * (np.array(run(*up)) - np.array(run(*down))) / (2 * h)
        return result

    return [*by(0), *by(2)]


def size(x: Any) -> Any:
    return tt.sum(abs(x))


COSTS = {
    "square": size(Z * Z),
    "product": size(Z * W),
    "quotient": size(Z / W),
    "exponential": size(tt.exp(Z) + W),
    "logarithm": size(tt.log(Z)),
    "power": size(Z**3),
    "complex power": size(Z**W),
    "root": size(tt.sqrt(Z) - 1),
    "sine": size(tt.sin(Z)),
    "sign": tt.sum(tt.sign(Z).real * D),
    "angle": tt.sum(tt.angle(Z) * D),
    "conjugate": tt.sum((Z.conj() ** 2 * W).imag),
    "parts": tt.sum(Z.real**2 * Z.imag),
    "from parts": size(tt.complex(D, D**2) * Z),
    "polar": size(tt.complex_from_polar(D, D) + Z),
    "matrix": abs(tt.dot(Z, W)),
    "norm": tt.sum((Z * Z.conj()).real),
    "joined": size(tt.concatenate([Z, D]) ** 2 * tt.concatenate([W, W])),
    "written": size(tt.set_subtensor(Z[1:], D[1:]) * W),
    "product over all": abs(tt.prod(Z)),
    "variance": tt.var(Z * D),
    "cumulated in complex": abs(tt.sum(D, dtype="complex128") * Z[0]),
    "choice": size(tt.switch(D > 0, Z**2, D)),
}


@pytest.fixture(scope="module")
def first() -> tuple[list[Any], list[Any]]:
    costs = list(COSTS.values())
    return slopes(costs), differences(costs)


@pytest.fixture(scope="module")
def second() -> tuple[list[Any], list[Any]]:
    """The derivatives of the gradients in a direction."""
    gradients = [tt.grad(cost, Z, disconnected_inputs="ignore") for cost in COSTS.values()]
    costs = [tt.sum((gradient * W.conj()).real) for gradient in gradients]
    return slopes(costs), differences(costs)


def check(pair: tuple[list[Any], list[Any]], name: str) -> None:
    for at in (list(COSTS).index(name), list(COSTS).index(name) + len(COSTS)):
        np.testing.assert_allclose(pair[0][at], pair[1][at], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", COSTS)
def test_gradient_is_that_of_finite_differences_in_both_directions(first: Any, name: str) -> None:
    check(first, name)


@pytest.mark.parametrize("name", COSTS)
def test_second_derivative_is_that_of_finite_differences(second: Any, name: str) -> None:
    check(second, name)


def test_gradient_of_an_absolute_square_is_that_of_pytorch() -> None:
    np.testing.assert_allclose(tt.grad(size(Z * Z), Z).eval({Z: np.array([1 + 2j])}), [2 + 4j])


def test_gradient_by_a_real_operand_is_real() -> None:
    assert tt.grad(abs(tt.sum(Z * D)), D).dtype == "float64"


def test_gradient_keeps_complex64() -> None:
    z = tt.cvector("z")
    assert tt.grad(tt.sum(abs(tt.exp(z) / z)), z).dtype == "complex64"


def test_gradients_of_size_sign_and_angle_at_zero_are_zero() -> None:
    z = tt.zscalar("z")
    costs = [abs(z), tt.sign(z).real, tt.angle(z)]
    assert [tt.grad(cost, z).eval({z: 0j}) for cost in costs] == [0, 0, 0]


def test_a_complex_cost_is_refused_with_what_to_take() -> None:
    with pytest.raises(DtypeError, match=r"real\(\), imag\(\) or abs\(\)"):
        tt.grad(tt.sum(Z), Z)


@pytest.mark.parametrize(
    "convert",
    [
        lambda: tt.cast(Z, "float64"),
        lambda: Z.astype("int32"),
        lambda: tt.sum(Z, dtype="float64"),
        lambda: tt.prod(Z, dtype="float32"),
        lambda: tt.mean(Z, dtype="float64"),
        lambda: tt.sum(Z, acc_dtype="float64"),
        lambda: tt.constant(np.array([1j]), dtype="float64"),
        lambda: tt.constant([np.array([1j])], dtype="float64"),
        lambda: tt.constant([1j, 2], dtype="int8"),
        lambda: tt.arange(Z[0], 3, dtype="float64"),
        lambda: tt.full((2,), Z[0], dtype="float64"),
        lambda: tt.softmax(Z),
    ],
)
def test_complex_numbers_never_become_real_silently(convert: Any) -> None:
    with pytest.raises(DtypeError, match=r"real\(\), imag\(\), angle\(\) or abs\(\)"):
        convert()


def test_a_complex_value_is_refused_where_downcasts_are_allowed() -> None:
    with pytest.raises(DtypeError, match=r"real\(\), imag\(\)"):
        D.type.filter(np.array([1j]), allow_downcast=True)


def test_a_complex_number_has_a_truth_value() -> None:
    np.testing.assert_array_equal(tt.cast(Z, "bool").eval({Z: np.array([0j, 1j])}), [False, True])


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "log1mexp"])
def test_stable_functions_of_a_real_number_refuse_complex_ones(name: str) -> None:
    with pytest.raises(DtypeError, match=f"{name}: the function does not take"):
        getattr(tt, name)(Z)


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["real", "imag", "angle"])
def test_parts_have_the_dtypes_of_numpy(name: str, dtype: str) -> None:
    values = np.array([1, 0], dtype)
    x = tt.vector("x", dtype=dtype)
    expected = getattr(np, name)(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part = getattr(tt, name)(x).eval({x: values})
    assert part.dtype == expected.dtype
    np.testing.assert_array_equal(part, expected)


def test_real_and_conjugate_of_a_real_tensor_are_the_tensor() -> None:
    assert D.real is D
    assert D.conj() is D


def test_conjugate_of_a_conjugate_is_the_number() -> None:
    assert Z.conj().conjugate() is Z


def test_infinite_parts_make_no_nan() -> None:
    np.testing.assert_array_equal(tt.complex(np.inf, np.inf).eval(), complex(np.inf, np.inf))


def test_complex_refuses_complex_parts() -> None:
    with pytest.raises(DtypeError, match="complex: the function does not take"):
        tt.complex(D, Z)


def test_functions_of_numpy_give_parts() -> None:
    values = np.array([1 + 2j, -1j])
    for part in (np.real, np.imag, np.conj, np.angle, lambda z: np.angle(z, deg=True)):
        np.testing.assert_allclose(part(Z).eval({Z: values}), part(values))
