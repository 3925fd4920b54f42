"""Denoising by Fourier transform: the threshold is learnt by its gradient through the transform.

A chord of three tones is heard under noise three times as strong. Its spectrum is shrunk towards zero, softly, by
weights that depend on one threshold; the inverse transform gives the signal back. As the derivatives of the transforms
are transforms, the threshold is fitted on one recording by gradient descent, and tried on another.

Run it with ``./dev run python examples/fft_denoise.py``. It prints the noise before and after, and saves both signals
as ``fft_denoise.png`` beside itself.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

import treadle.tensor as tt
from treadle.compile import function, shared

PICTURE = Path(__file__).with_suffix(".png")

RATE, POINTS, STEPS = 8000, 8192, 300
TONES = ((440.0, 1.0), (554.37, 0.8), (659.26, 0.6))


def record(rng: np.random.Generator) -> tuple[Any, Any]:
    """Return one second of the chord, and what is heard of it."""
    t = np.arange(POINTS) / RATE
    clean = sum(a * np.sin(2 * np.pi * f * t + rng.uniform(0, 2 * np.pi)) for f, a in TONES)
    return clean, clean + 3 * np.std(clean) * rng.normal(size=POINTS)


def denoised(heard: Any, threshold: Any) -> Any:
    """Return a signal whose coefficients are kept as far as they stand out above a threshold."""
    spectrum = tt.fft.rfft(heard, norm="ortho")
    power = spectrum.real**2 + spectrum.imag**2
    weights = tt.sigmoid(4 * (tt.log(power + 1e-12) - 2 * tt.log(threshold)))
    return tt.fft.irfft(spectrum * weights, POINTS, norm="ortho")


def draw(clean: Any, heard: Any, found: Any, path: Path) -> None:
    """Save a piece of the signals."""
    import matplotlib as mpl  # noqa: PLC0415 - only who draws pays for it

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415 - as above

    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    t = 1000 * np.arange(240) / RATE
    axes.plot(t, heard[:240], color="0.8", label="heard")
    axes.plot(t, clean[:240], label="chord")
    axes.plot(t, found[:240], "--", label="denoised")
    axes.set(xlabel="ms")
    axes.legend(loc="upper right", fontsize=8)
    figure.savefig(path, dpi=80)


def main() -> int:
    """Fit the threshold, try it, and draw; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=PICTURE, help="where to save the picture")
    given = parser.parse_args()

    rng = np.random.default_rng(0)
    heard, clean = tt.dvector("heard"), tt.dvector("clean")
    log_threshold = shared(0.0, name="log_threshold")
    made = denoised(heard, tt.exp(log_threshold))
    loss = ((made - clean) ** 2).mean()
    slope = tt.grad(loss, log_threshold)
    fit = function([heard, clean], loss, updates={log_threshold: log_threshold - 0.1 * slope}, name="fit")
    clean_value, heard_value = record(rng)
    losses = [float(fit(heard_value, clean_value)) for _ in range(STEPS)]

    clean_value, heard_value = record(rng)
    found = function([heard], made, name="denoise")(heard_value)
    before, after = (float(np.std(x - clean_value)) for x in (heard_value, found))
    print(f"threshold {np.exp(log_threshold.get_value()):.2f}; error while fitting {losses[0]:.3f} -> {losses[-1]:.3f}")
    print(
        f"noise of another recording: {before:.2f} before, {after:.2f} after ({20 * np.log10(before / after):.1f} dB)"
    )
    draw(clean_value, heard_value, found, given.output)
    print(f"picture: {given.output}")
    return 0 if after < before / 5 else 1


if __name__ == "__main__":
    sys.exit(main())
