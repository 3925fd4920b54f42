"""A hierarchical model of PyMC's, run twice: on PyTensor and on treadle. The same script, the same numbers, the times.

The data are measurements of radon, a gas that causes cancer, in 919 houses of 85 counties of Minnesota (Gelman and
Hill, Data analysis using regression and multilevel models, 2007). A house has more of it in its basement, a county with
more uranium in its soil has more of it everywhere. Level and effect of the floor vary from county to county, and
together: counties with few houses learn from the others.

Run it with ``./dev pymc --version`` once, which makes the environment, then ``.venv-pymc/bin/python
examples/pymc_radon.py``. It starts itself twice, prints times and posteriors side by side, and saves ``pymc_radon.png``
beside itself.
"""

from __future__ import annotations

import argparse
import json
import logging
import subprocess
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path(__file__).with_suffix(".png")
DATA = Path(__file__).with_name("radon.tsv")
SYSTEMS = ("pytensor", "treadle")
PARAMETERS = ("level", "floor", "uranium", "sigma", "spread of levels", "spread of floors", "correlation")
TIMES = ("import", "model", "first draw", "sampling", "predictions", "whole")


def load() -> dict[str, Any]:
    """Return county (from 0), floor (1 above the basement), and logarithms of the county's uranium and of radon."""
    names, houses = [], []
    for number, line in enumerate(DATA.read_text(encoding="utf-8").splitlines()[1:]):
        name, uranium, *floors = line.split("\t")
        names.append(name)
        houses += [(number, floor, float(uranium), float(x)) for floor in (0, 1) for x in floors[floor].split()]
    county, floor, uranium, radon = np.array(houses).T
    return {
        "county": county.astype("int64"),
        "floor": floor,
        "uranium": uranium,
        "radon": np.log(radon),
        "names": names,
    }


def build(houses: dict[str, Any]) -> Any:
    """Return the model: levels and effects of the floor by county, as correlated normals."""
    import pymc as pm  # noqa: PLC0415 - in processes that fit only
    import pytensor.tensor as pt  # noqa: PLC0415 - as above

    with pm.Model(coords={"county": houses["names"], "effect": ["level", "floor"]}) as model:
        spread = pm.Exponential.dist(1.0, shape=2)
        chol, _, _ = pm.LKJCholeskyCov("chol", n=2, eta=2.0, sd_dist=spread, compute_corr=True)
        mean = pm.Normal("mean", 0, 5, dims="effect")
        uranium = pm.Normal("uranium", 0, 1)
        raw = pm.Normal("raw", 0, 1, dims=("effect", "county"))
        effects = pm.Deterministic("effects", mean + pt.dot(chol, raw).T, dims=("county", "effect"))
        of_house = effects[houses["county"]]
        mu = of_house[:, 0] + of_house[:, 1] * houses["floor"] + uranium * houses["uranium"]
        pm.Normal("radon", mu, pm.Exponential("sigma", 1.0), observed=houses["radon"])
    return model


def fit(draws: int) -> dict[str, Any]:
    """Sample the model; return the times, the draws of the parameters, and what the picture shows."""
    clock = [time.perf_counter()]
    import pymc as pm  # noqa: PLC0415 - the import is part of what is measured

    logging.getLogger("pymc").setLevel(logging.ERROR)
    clock.append(time.perf_counter())
    houses = load()
    model = build(houses)
    clock.append(time.perf_counter())
    common: dict[str, Any] = {"cores": 1, "random_seed": 1, "progressbar": False, "init": "adapt_diag"}
    with model:
        pm.sample(1, tune=0, chains=1, compute_convergence_checks=False, **common)
        clock.append(time.perf_counter())
        trace = pm.sample(draws, tune=draws, chains=2, **common)
        clock.append(time.perf_counter())
        predicted = pm.sample_posterior_predictive(trace, random_seed=1, progressbar=False)
    clock.append(time.perf_counter())
    spans = [after - before for before, after in pairwise(clock)]
    posterior = trace["posterior"]

    def drawn(name: str, *index: int) -> list[float]:
        values = posterior[name].to_numpy()
        return [float(value) for value in np.ravel(values[(slice(None), slice(None), *index)])]

    parameters = [
        drawn("mean", 0),
        drawn("mean", 1),
        drawn("uranium"),
        drawn("sigma"),
        drawn("chol_stds", 0),
        drawn("chol_stds", 1),
        drawn("chol_corr", 0, 1),
    ]
    levels = posterior["effects"].to_numpy()[..., 0].reshape(-1, len(houses["names"]))
    return {
        "times": dict(zip(TIMES, [*spans, clock[-1] - clock[0]], strict=True)),
        "draws": dict(zip(PARAMETERS, parameters, strict=True)),
        "levels": np.quantile(levels, [0.05, 0.5, 0.95], axis=0).tolist(),
        "predicted": float(np.mean(predicted["posterior_predictive"]["radon"].to_numpy())),
    }


def run(system: str, draws: int) -> dict[str, Any]:
    """Run this script on PyTensor or on treadle, in a process of its own; the one line that differs stands here."""
    switch = ["-m", "treadle.as_pytensor"] if system == "treadle" else []
    command = [sys.executable, "-W", "ignore", *switch, __file__, "--fit", "--draws", str(draws)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        msg = f"pymc_radon: the run on {system} failed:\n{done.stderr}"
        raise SystemExit(msg)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def print_tables(answers: dict[str, dict[str, Any]]) -> None:
    """Print times, and mean and deviation of each parameter, side by side."""
    print(f"{'seconds':<18}" + "".join(f"{system:>18}" for system in SYSTEMS))
    for name in TIMES:
        print(f"{name:<18}" + "".join(f"{answers[system]['times'][name]:>18.2f}" for system in SYSTEMS))
    print(f"\n{'mean (deviation)':<18}" + "".join(f"{system:>18}" for system in SYSTEMS))
    for name in PARAMETERS:
        cells = [f"{np.mean(d):.3f} ({np.std(d):.3f})" for d in (answers[s]["draws"][name] for s in SYSTEMS)]
        print(f"{name:<18}" + "".join(f"{cell:>18}" for cell in cells))


def draw_picture(answers: dict[str, dict[str, Any]], houses: dict[str, Any]) -> None:
    """Save levels of counties over uranium, and posteriors of two parameters from both systems."""
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), width_ratios=[2, 1, 1], layout="constrained")
    low, middle, high = np.array(answers["treadle"]["levels"])
    uranium = np.array([houses["uranium"][houses["county"] == county].mean() for county in range(len(middle))])
    counts = np.bincount(houses["county"])
    slope = np.mean(answers["treadle"]["draws"]["uranium"])
    axes[0].vlines(uranium, low + slope * uranium, high + slope * uranium, color="0.75")
    axes[0].scatter(uranium, middle + slope * uranium, s=4 * np.sqrt(counts) ** 1.5, color="tab:blue", zorder=3)
    line = np.array([uranium.min(), uranium.max()])
    axes[0].plot(line, np.mean(answers["treadle"]["draws"]["level"]) + slope * line, color="tab:orange")
    axes[0].set(xlabel="uranium, logarithm", ylabel="radon in basements, logarithm", title="85 counties, on treadle")
    for place, name in zip(axes[1:], ("floor", "correlation"), strict=True):
        for system, style in zip(SYSTEMS, ("tab:gray", "tab:blue"), strict=True):
            place.hist(
                answers[system]["draws"][name], bins=40, density=True, histtype="step", color=style, label=system
            )
        place.set(title=name, yticks=[])
        place.legend()
    figure.savefig(PICTURE, dpi=100)


def main() -> int:
    """Fit on both systems and compare; the means must agree within what sampling leaves open."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000, help="draws of each of two chains, after as many of tuning")
    parser.add_argument("--fit", action="store_true", help="fit on whatever pytensor is in this process; print JSON")
    options = parser.parse_args()
    if options.fit:
        warnings.simplefilter("ignore")
        print(json.dumps(fit(options.draws)))
        return 0
    answers = {system: run(system, options.draws) for system in SYSTEMS}
    print_tables(answers)
    draw_picture(answers, load())
    print(f"\nSaved {PICTURE.name}.")
    far = []
    for name in PARAMETERS:
        first, second = (np.array(answers[system]["draws"][name]) for system in SYSTEMS)
        # Draws of a chain are not independent: a tenth of them count here.
        error = np.sqrt((first.var() + second.var()) / (len(first) / 10))
        if abs(first.mean() - second.mean()) > 5 * error:
            far.append(name)
    if far:
        print(f"The two disagree about {', '.join(far)}.")
    return bool(far)


if __name__ == "__main__":
    sys.exit(main())
