"""The loops of `benchmarks.loops`, with their gradients, as one would write them for Numba."""

from __future__ import annotations

from math import log, tanh
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from benchmarks.loops import ESCAPE, MOST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@njit  # type: ignore[untyped-decorator]  # numba has no types
def recurrent(w: Array, u: Array, h: Array, x: Array) -> tuple[float, Array, Array, Array]:
    """Return the value of the recurrent network, and its gradients by w, u and h."""
    steps, size = x.shape
    states = np.empty((steps + 1, size))
    states[0] = h
    driven = np.dot(x, u.T)
    total = 0.0
    for t in range(steps):
        row = np.dot(w, states[t])
        for i in range(size):
            new = tanh(row[i] + driven[t, i])
            states[t + 1, i] = new
            total += new * new
    back = np.empty((steps, size))
    flow = np.zeros(size)
    across = np.ascontiguousarray(w.T)
    for t in range(steps - 1, -1, -1):
        for i in range(size):
            state = states[t + 1, i]
            back[t, i] = (flow[i] + 2.0 * state) * (1.0 - state * state)
        flow = np.dot(across, back[t])
    return total, np.dot(back.T, states[:-1]), np.dot(back.T, x), flow


@njit  # type: ignore[untyped-decorator]  # as above
def garch(theta: Array, r: Array) -> tuple[float, Array]:
    """Return the log likelihood, and its gradient, which runs backwards through the variances."""
    w, a, b, total = theta
    days = r.size
    left = 1.0 - a - b
    variances = np.empty(days)
    variance = w / left
    for t in range(days):
        square = r[t] * r[t]
        variances[t] = variance
        total += log(variance) + square / variance
        variance = w + a * square + b * variance
    slope = np.zeros(4)
    flow = 0.0
    for t in range(days - 1, -1, -1):
        square, variance = r[t] * r[t], variances[t]
        slope[0] += flow
        slope[1] += flow * square
        slope[2] += flow * variance
        flow = flow * b - 0.5 * (1.0 / variance - square / (variance * variance))
    slope[0] += flow / left
    slope[1] += flow * w / (left * left)
    slope[2] += flow * w / (left * left)
    slope[3] = -0.5
    return -0.5 * total, slope


@njit  # type: ignore[untyped-decorator]  # as above
def filtered(a: Array, x: Array) -> Array:
    """Return the autoregression."""
    result = np.empty(x.size)
    before, last = a[2], a[2]
    for t in range(x.size):
        before, last = last, a[0] * last + a[1] * before + x[t]
        result[t] = last
    return result


@njit  # type: ignore[untyped-decorator]  # as above
def solved(a: Array, y: Array) -> tuple[float, Array, Array]:
    """Return the square of the end, and its gradients by the matrix and the start."""
    h, steps, size = 1e-3, 1000, y.size
    states = np.empty((steps + 1, size))
    states[0] = y
    for t in range(steps):
        y0 = states[t]
        k1 = np.dot(a, y0)
        k2 = np.dot(a, y0 + h / 2 * k1)
        k3 = np.dot(a, y0 + h / 2 * k2)
        k4 = np.dot(a, y0 + h * k3)
        states[t + 1] = y0 + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    flow = 2 * states[steps]
    slope = np.zeros((size, size))
    across = np.ascontiguousarray(a.T)
    for t in range(steps - 1, -1, -1):
        y0 = states[t]
        y1 = y0 + h / 2 * np.dot(a, y0)
        y2 = y0 + h / 2 * np.dot(a, y1)
        y3 = y0 + h * np.dot(a, y2)
        b4 = h / 6 * flow
        b3 = h / 3 * flow + h * np.dot(across, b4)
        b2 = h / 3 * flow + h / 2 * np.dot(across, b3)
        b1 = h / 6 * flow + h / 2 * np.dot(across, b2)
        for i in range(size):
            for j in range(size):
                slope[i, j] += b4[i] * y3[j] + b3[i] * y2[j] + b2[i] * y1[j] + b1[i] * y0[j]
        flow = flow + np.dot(across, b1 + b2 + b3 + b4)
    return np.sum(states[steps] ** 2), slope, flow


@njit  # type: ignore[untyped-decorator]  # as above
def escapes(re: Array, im: Array) -> Array:
    """Return after how many steps each point leaves, each point by itself."""
    counts = np.zeros(re.shape)
    for i in range(re.shape[0]):
        for j in range(re.shape[1]):
            x = y = 0.0
            count = 0
            while count < MOST and x * x + y * y <= ESCAPE:
                x, y = x * x - y * y + re[i, j], 2 * x * y + im[i, j]
                count += 1
            counts[i, j] = count
    return counts


@njit  # type: ignore[untyped-decorator]  # as above
def sums(x: Array) -> Array:
    """Return bounded cumulative sums."""
    totals = np.empty(x.size)
    total = x[0]
    for t in range(x.size):
        total = min(total + x[t], 1e3)
        totals[t] = total
    return totals


@njit  # type: ignore[untyped-decorator]  # as above
def scalar(x: float) -> float:
    """Return the last of a million steps."""
    last = x + 0.0
    for _ in range(10**6):
        last = last * 0.999 + 0.1
    return last
