"""Draws of the portable generator on C and Numba: those of the definition, whatever the length and the position."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from treadle.compile import function
from treadle.kernels import c_name
from treadle.link.c import HELPERS
from treadle.tensor import PortableDraws, as_tensor_variable, scalar, tensor, vector
from treadle.tensor.random.generators.philox import State
from treadle.tensor.random.generators.samplers import PORTABLE_SAMPLERS
from treadle.tensor.random.lower.c import philox_texts
from treadle.tensor.random.lower.kernels import TILE, blocks_at
from treadle.tensor.random.lower.kernels.philox import blocks
from treadle.tensor.random.lower.kernels.plain import (
    short_bits_of,
    short_exponential_of,
    short_normal_of,
    short_uniform_of,
)
from treadle.testing import compiled_kernel

LOW = np.uint64(2**32 - 1)
PLAIN = [
    (name, dtype) for name, sampler in PORTABLE_SAMPLERS.items() if not sampler.parameters for dtype in sampler.dtypes
]
LENGTHS = (0, 1, 2, 3, 7, 64, 1001, 2050)
Draws = Callable[[str, str, np.ndarray, int], np.ndarray]
# Where the upper half of the position changes, and where it starts again.
POSITIONS = (0, 2**32 - 3, 2**63 - 5, -2)
KEY, STREAM = -123456789012345, 0xDEADBEEF


@pytest.fixture(scope="module", params=["C", "NUMBA"])
def plain(request: pytest.FixtureRequest) -> Draws:
    """Return a function of sampler, dtype, state and length, of samplers without parameters."""
    state, n = vector("state", dtype="int64", shape=(3,)), scalar("n", dtype="int64")
    draws = [PortableDraws(name, dtype, 1)(state, n) for name, dtype in PLAIN]
    every = function([state, n], draws, mode=request.param)
    return lambda name, dtype, s, m: every(s, m)[PLAIN.index((name, dtype))]


def reference(name: str, dtype: str, state: np.ndarray, n: int, *parameters: np.ndarray) -> np.ndarray:
    """Return the draws of the definition."""
    key, stream, position = (int(word) % 2**64 for word in state)
    values: np.ndarray = PORTABLE_SAMPLERS[name].reference(State(key, stream, position), n, dtype, *parameters)
    return values


def assert_same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Compare: integers to the bit, floats to their last digits."""
    assert actual.dtype == expected.dtype
    if actual.dtype.kind == "f":
        np.testing.assert_allclose(actual, expected, rtol=8 * np.finfo(actual.dtype).eps, atol=0)
    else:
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(("name", "dtype"), PLAIN)
def test_draws_are_those_of_the_definition(plain: Draws, name: str, dtype: str) -> None:
    for position in POSITIONS:
        state = np.array([KEY, STREAM, position])
        for n in LENGTHS:
            assert_same(plain(name, dtype, state, n), reference(name, dtype, state, n))


@pytest.mark.parametrize(("name", "dtype"), PLAIN)
def test_draws_do_not_depend_on_the_length(plain: Draws, name: str, dtype: str) -> None:
    state = np.array([KEY, STREAM, 9])
    longest = plain(name, dtype, state, LENGTHS[-1])
    for n in LENGTHS:
        np.testing.assert_array_equal(plain(name, dtype, state, n), longest[:n])


def test_uniform_numbers_are_the_same_to_the_bit(plain: Draws) -> None:
    state = np.array([KEY, STREAM, 0])
    for dtype in ("float64", "float32"):
        draws = plain("random", dtype, state, 999)
        np.testing.assert_array_equal(draws, reference("random", dtype, state, 999))


# Counter and key, and what Random123's known-answer test lists for them.
VECTORS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
@pytest.mark.parametrize("together", [True, False])
def test_blocks_are_those_of_the_published_vectors(mode: str, together: bool) -> None:
    for counter, key, expected in VECTORS:
        c, k = ([int(word, 16) for word in words.split()] for words in (counter, key))
        state = np.array([k[0] | k[1] << 32, c[2], c[0] | c[1] << 32], "uint64").view("int64")
        none, room = np.zeros(TILE, "int64"), np.zeros(TILE, "uint64")
        given = (*state, none, c[3], room, room)
        _, (_, x, y) = (
            compiled_kernel(blocks, *given, mode=mode, together=True)
            if together
            else compiled_kernel(blocks_at, *given, mode=mode)
        )
        assert " ".join(f"{int(half):08x}" for z in (x, y) for half in (z[0] & LOW, z[0] >> 32)) == expected


def test_texts_by_hand_take_the_place_of_kernels() -> None:
    words, room = ("int64", -1), ("uint64", -1)
    number = ("int64", 0)
    versions = [
        blocks.specialised([number, number, number, words, number, room, room], {"together": True}),
        blocks_at.specialised([number, number, number, words, number, room, room], {}),
        short_bits_of.specialised([room, room, ("uint32", -1)], {}),
        *(
            kernel.specialised([room, room, ("float32", -1)], {})
            for kernel in (short_uniform_of, short_exponential_of, short_normal_of)
        ),
    ]
    names = {c_name(version) for version in versions}
    assert names == {name for name in philox_texts.TEXTS if name.startswith("tr_k_")}
    assert names <= HELPERS.texts.keys()


def test_draws_have_the_shape_of_the_batch() -> None:
    state = vector("state", dtype="int64", shape=(3,))
    op = PortableDraws("standard_normal", "float64", 3)
    drawn = function([state], op(state, *(as_tensor_variable(n) for n in (2, 3, 5))), mode="C")
    words = np.array([KEY, STREAM, 1])
    assert_same(drawn(words), reference("standard_normal", "float64", words, 30).reshape(2, 3, 5))


# For each sampler with parameters, some values for every branch that its draws may take.
PARAMETERS: dict[str, list[tuple[float, ...]]] = {
    "integers": [(0, 10), (-5, 2**31), (-(2**63), 2**63 - 1), (0, 2**31 + 1), (7, 8), (0, 2**40 + 5)],
    "standard_gamma": [(2.5,), (0.3,), (0.0,), (1e6,), (np.nan,), (np.inf,)],
    "log_standard_gamma": [(2.5,), (1e-3,), (0.0,), (1e-30,), (np.nan,), (np.inf,)],
    "poisson": [(3.5,), (0.0,), (9.99,), (10.0,), (50.0,), (1e12,)],
    "binomial": [(10, 0.3), (1000, 0.7), (1000, 0.0), (0, 0.5), (50, 1.0), (10**6, 1e-3), (10**15, 0.37)],
    "hypergeometric": [(5, 7, 4), (100, 200, 50), (1000, 20, 1000), (0, 0, 0), (10**6, 10**6, 5000), (40, 30, 60)],
    "vonmises": [(0.0,), (1.0,), (1e-8,), (20.0,), (1e8,)],
    "zipf": [(1.5,), (2.5,), (100.0,)],
}
GIVEN = [(name, dtype) for name in PARAMETERS for dtype in PORTABLE_SAMPLERS[name].dtypes]


def parameter(name: str, at: int, shape: tuple[int, ...] | None = None) -> list[np.ndarray]:
    """Return one of a sampler's parameters; for a shape, all of them in turn."""
    columns = zip(*PARAMETERS[name], strict=True)
    arrays = [
        np.array(column, dtype) for column, dtype in zip(columns, PORTABLE_SAMPLERS[name].parameters, strict=True)
    ]
    return [column[at] for column in arrays] if shape is None else [np.resize(column, shape) for column in arrays]


@pytest.mark.parametrize("mode", ["C", "NUMBA"])
@pytest.mark.parametrize(("name", "dtype"), GIVEN)
def test_draws_with_parameters_are_those_of_the_definition(name: str, dtype: str, mode: str) -> None:
    state, n, m = vector("state", dtype="int64", shape=(3,)), scalar("n", dtype="int64"), scalar("m", dtype="int64")
    kinds = [
        [tensor(dtype=d, shape=shape) for d in PORTABLE_SAMPLERS[name].parameters]
        for shape in ((), (None, None), (None, 1))
    ]
    op = PortableDraws(name, dtype, 2)
    draw = function(
        [state, n, m, *(x for kind in kinds for x in kind)], [op(state, n, m, *kind) for kind in kinds], mode=mode
    )
    for position, k in ((2**32 - 3, 0), (-2, 1), (5, -1)):
        at = np.array([KEY, STREAM, position])
        for rows, columns in ((0, 3), (1, 1), (7, 1), (33, 40)):
            count = rows * columns
            one, each, by_row = parameter(name, k), parameter(name, 0, (rows, columns)), parameter(name, 0, (rows, 1))
            turned = [np.asfortranarray(x) for x in each]
            results = draw(at, rows, columns, *one, *turned, *by_row)
            cases = [
                [np.full(count, x) for x in one],
                [x.reshape(-1) for x in each],
                [np.repeat(x.reshape(-1), columns) for x in by_row],
            ]
            for draws, parameters in zip(results, cases, strict=True):
                same(draws, reference(name, dtype, at, count, *parameters))


def same(actual: np.ndarray, expected: np.ndarray) -> None:
    """Compare draws with those of the definition: differences of small gammas may be larger."""
    assert actual.dtype == expected.dtype
    if actual.dtype.kind == "f":
        np.testing.assert_allclose(actual.ravel(), expected, rtol=1e4 * np.finfo(actual.dtype).eps, atol=1e-12)
    else:
        np.testing.assert_array_equal(actual.ravel(), expected)


def test_c_and_numba_draw_the_same_bits() -> None:
    state, n, shape = vector("state", dtype="int64", shape=(3,)), scalar("n", dtype="int64"), vector("shape")
    plain = [
        PortableDraws(name, "float64", 1)(state, n) for name in ("random", "standard_exponential", "standard_normal")
    ]
    given = [PortableDraws(name, "float64", 1)(state, n, shape) for name in ("standard_gamma", "log_standard_gamma")]
    words, shapes = np.array([KEY, STREAM, 2**32 - 77]), np.random.default_rng(0).uniform(0, 3, 999)
    in_c, on_numba = (function([state, n, shape], [*plain, *given], mode=mode) for mode in ("C", "NUMBA"))
    for x, y in zip(in_c(words, 999, shapes), on_numba(words, 999, shapes), strict=True):
        np.testing.assert_array_equal(x.view("int64"), y.view("int64"))


def test_parameters_that_do_not_broadcast_are_refused() -> None:
    state, n, mean = vector("state", dtype="int64", shape=(3,)), scalar("n", dtype="int64"), vector("mean")
    draw = function([state, n, mean], PortableDraws("poisson", "int64", 1)(state, n, mean), mode="C")
    with pytest.raises(ValueError, match=r"fit together|broadcast"):
        draw(np.array([KEY, STREAM, 0]), 4, np.ones(3))
