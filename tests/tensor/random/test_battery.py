"""A small battery of tests of randomness: of one stream, and of streams that differ in a key only.

Seeds are fixed, so that a test fails always or never. A p-value has to lie in [1e-5, 1 - 1e-5]; there are some sixty.
"""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from treadle.tensor.random import PortableGenerator

COUNT = 60_000
LEAST = 1e-5


def consecutive(rng: PortableGenerator) -> np.ndarray:
    """Numbers of one stream, one after the other."""
    numbers: np.ndarray = rng.random(COUNT)
    return numbers


def spawned(rng: PortableGenerator) -> np.ndarray:
    """The first numbers of many spawned streams, interleaved."""
    return np.stack([child.random(60) for child in rng.spawn(COUNT // 60)]).T.ravel()


def folded(rng: PortableGenerator) -> np.ndarray:
    """The first numbers of the streams of consecutive integers, interleaved."""
    return np.stack([rng.fold_in(k).random(60) for k in range(COUNT // 60)]).T.ravel()


def near_keys(rng: PortableGenerator) -> np.ndarray:
    """The first numbers of keys that differ by one, interleaved."""
    key, stream, _ = rng.state
    states = (np.array([key + k, stream, 0]) for k in range(COUNT // 60))
    return np.stack([PortableGenerator.from_state(state).random(60) for state in states]).T.ravel()


def near_streams(rng: PortableGenerator) -> np.ndarray:
    """The first numbers of streams of one key that differ by one, interleaved."""
    key = rng.state[0]
    states = (np.array([key, k, 0]) for k in range(COUNT // 60))
    return np.stack([PortableGenerator.from_state(state).random(60) for state in states]).T.ravel()


def near_seeds(rng: PortableGenerator) -> np.ndarray:
    """The first numbers of generators of consecutive seeds, interleaved."""
    del rng
    return np.stack([PortableGenerator(k).random(60) for k in range(COUNT // 60)]).T.ravel()


def equidistribution(u: np.ndarray) -> float:
    """Chi-square over 256 cells."""
    return float(stats.chisquare(np.bincount((u * 256).astype(int), minlength=256)).pvalue)


def pairs(u: np.ndarray) -> float:
    """Chi-square of consecutive pairs over 32 x 32 cells (Knuth, The Art of Computer Programming, volume 2, 3.3.2)."""
    cells = (u[: len(u) // 2 * 2].reshape(-1, 2) * 32).astype(int)
    return float(stats.chisquare(np.bincount(cells[:, 0] * 32 + cells[:, 1], minlength=1024)).pvalue)


def serial_correlation(u: np.ndarray) -> float:
    """The worst of the correlations at lags 1 to 64, against their normal limit."""
    z = (u - 0.5) * np.sqrt(12.0)
    correlations = [z[lag:] @ z[:-lag] / np.sqrt(len(z) - lag) for lag in range(1, 65)]
    return float(1 - (1 - 2 * stats.norm.sf(np.abs(correlations).max())) ** 64)


def runs(u: np.ndarray) -> float:
    """The number of runs above and below the median (Wald and Wolfowitz)."""
    above = u > 0.5
    n, m = int(above.sum()), int((~above).sum())
    mean = 2 * n * m / (n + m) + 1
    variance = (mean - 1) * (mean - 2) / (n + m - 1)
    return float(2 * stats.norm.sf(abs(1 + np.count_nonzero(np.diff(above)) - mean) / np.sqrt(variance)))


def ups_and_downs(u: np.ndarray) -> float:
    """The number of runs up and down."""
    signs = np.diff(u) > 0
    n = len(u)
    runs = 1 + np.count_nonzero(signs[1:] != signs[:-1])
    return float(2 * stats.norm.sf(abs(runs - (2 * n - 1) / 3) / np.sqrt((16 * n - 29) / 90)))


def birthday_spacings(u: np.ndarray) -> float:
    """Equal spacings of 512 birthdays in a year of 2**24 days (Marsaglia), over all groups: Poisson of mean 2 each."""
    days = np.sort((u[: len(u) // 512 * 512] * 2**24).astype("int64").reshape(-1, 512), axis=1)
    spacings = np.sort(np.diff(days, axis=1), axis=1)
    equal = int(np.count_nonzero(np.diff(spacings, axis=1) == 0))
    mean = 512**3 / (4 * 2**24) * len(days)
    return float(min(1.0, 2 * min(stats.poisson.cdf(equal, mean), stats.poisson.sf(equal - 1, mean))))


def low_bits(u: np.ndarray) -> float:
    """Chi-square over 256 cells of the last eight of the 53 bits."""
    return float(stats.chisquare(np.bincount((u * 2**53).astype("int64") & 255, minlength=256)).pvalue)


Source = Callable[[PortableGenerator], np.ndarray]
SOURCES: list[Source] = [consecutive, spawned, folded, near_keys, near_streams, near_seeds]
TESTS = [equidistribution, pairs, serial_correlation, runs, ups_and_downs, birthday_spacings, low_bits]


@pytest.mark.parametrize("source", SOURCES, ids=lambda f: f.__name__)
def test_numbers_pass_the_battery(source: Source) -> None:
    u = source(PortableGenerator(20_261_122))
    p_values = {test.__name__: test(u) for test in TESTS}
    assert all(LEAST < p <= 1 for p in p_values.values()), p_values


def test_spawned_streams_do_not_meet() -> None:
    parent = PortableGenerator(3)
    children = [*parent.spawn(50), *parent.spawn(50)]
    grandchildren = [child for one in children[:10] for child in one.spawn(10)]
    first = {rng.draw("bits", (), "uint64").item() for rng in (parent, *children, *grandchildren)}
    assert len(first) == 1 + 100 + 100
