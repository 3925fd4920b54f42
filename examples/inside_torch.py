"""A treadle function inside a PyTorch module: a network that predicts a gamma distribution, trained and checked.

The data are the diabetes measurements that scikit-learn ships (442 patients, progress of the disease after a year). A
small network of PyTorch's gives a mean for each patient; treadle gives the log likelihood of the gamma distribution of
that mean, and its quantiles by the inverse of the incomplete gamma function, of which PyTorch has neither the function
nor a derivative. ``f.torch_function`` makes both functions of PyTorch tensors, with gradients: PyTorch's optimiser
trains the network and the shape through them, and ``torch.func`` maps the gradient of a quantile over all patients.
PyTorch's ``gradcheck`` compares all gradients with differences.

Run it with ``./dev run python examples/inside_torch.py``.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import torch
from sklearn.datasets import load_diabetes

import treadle.tensor as tt
from treadle.compile import function

TRAINED = 331  # three quarters of the patients; the others are held out


def load() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the measurements, standardised, shape (442, 10), and the progress in its mean, shape (442,)."""
    data = load_diabetes()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(0))
    features, target = torch.from_numpy(data.data)[order], torch.from_numpy(data.target)[order]
    return features / features[:TRAINED].std(0), target / target[:TRAINED].mean()


def likelihood_function() -> Any:
    """Return the mean log likelihood of values, given the logarithms of means and of the shape."""
    log_mean, log_shape, y = tt.dvector("log_mean"), tt.dscalar("log_shape"), tt.dvector("y")
    shape = tt.exp(log_shape)
    density = shape * tt.log(shape * y) - shape * log_mean - tt.log(y) - shape * y * tt.exp(-log_mean)
    mean = (density - tt.gammaln(shape)).mean()
    made: Any = function([log_mean, log_shape, y], mean, mode="PYTORCH", name="likelihood")
    return made.torch_function


def quantile_function() -> Any:
    """Return the quantile of the gamma distribution, given the logarithms of its mean and shape."""
    log_mean, log_shape, p = tt.dscalar("log_mean"), tt.dscalar("log_shape"), tt.dscalar("p")
    shape = tt.exp(log_shape)
    result = tt.gammaincinv(shape, p) * tt.exp(log_mean) / shape
    made: Any = function([log_mean, log_shape, p], result, mode="PYTORCH", name="quantile")
    return made.torch_function


class GammaNetwork(torch.nn.Module):  # type: ignore[misc]  # PyTorch has no annotations here
    """A gamma distribution for each row of features, with one shape for all."""

    def __init__(self, features: int, units: int = 8) -> None:
        super().__init__()
        self.log_mean = torch.nn.Sequential(
            torch.nn.Linear(features, units), torch.nn.Tanh(), torch.nn.Linear(units, 1)
        ).double()
        self.log_shape = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
        self.likelihood = likelihood_function()
        self.quantile = quantile_function()

    def forward(self, features: torch.Tensor, target: torch.Tensor) -> Any:
        """Return the mean log likelihood of the targets."""
        return self.likelihood(self.log_mean(features)[:, 0], self.log_shape, target)

    def quantile_of(self, row: torch.Tensor, p: torch.Tensor) -> Any:
        """Return a quantile of the distribution for one row of features."""
        return self.quantile(self.log_mean(row)[0], self.log_shape, p)


def train(network: GammaNetwork, features: torch.Tensor, target: torch.Tensor, steps: int) -> None:
    """Maximise the likelihood."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=0.01, weight_decay=1.0)
    for _ in range(steps):
        optimiser.zero_grad()
        loss = -network(features, target)
        loss.backward()
        optimiser.step()


def check(network: GammaNetwork) -> bool:
    """Whether the gradients, and those of gradients, agree with differences."""
    generator = torch.Generator().manual_seed(1)
    log_mean = torch.randn(5, generator=generator, dtype=torch.float64).requires_grad_()
    y = torch.rand(5, generator=generator, dtype=torch.float64) + 0.5
    log_shape = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    p = torch.tensor(0.9, dtype=torch.float64, requires_grad=True)
    gradcheck, gradgradcheck = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    return bool(
        gradcheck(network.likelihood, (log_mean, log_shape, y), check_forward_ad=True)
        and gradgradcheck(network.likelihood, (log_mean, log_shape, y))
        and gradcheck(network.quantile, (log_mean[0].detach().requires_grad_(), log_shape, p))
    )


def main() -> int:
    """Train, check and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100, help="how many steps to train")
    given = parser.parse_args()
    torch.manual_seed(0)
    features, target = load()
    network = GammaNetwork(features.shape[1])
    seen, held = slice(None, TRAINED), slice(TRAINED, None)
    before = network(features[held], target[held]).item()
    train(network, features[seen], target[seen], given.steps)
    after = network(features[held], target[held]).item()
    print(f"log likelihood of a patient held out: {before:.3f} untrained, {after:.3f} trained")
    p = torch.tensor(0.9, dtype=torch.float64)
    below = torch.func.vmap(network.quantile_of, (0, None))(features[held], p) > target[held]
    print(f"patients held out below their quantile of 90 %: {below.double().mean().item():.0%}")
    slopes = torch.func.vmap(torch.func.grad(network.quantile_of), (0, None))(features[held], p).mean(0)
    names = load_diabetes().feature_names
    strongest = sorted(zip(names, slopes.tolist(), strict=True), key=lambda pair: -abs(pair[1]))[:3]
    print("what moves that quantile most:", ", ".join(f"{name} {slope:+.3f}" for name, slope in strongest))
    agree = check(network)
    print(f"gradients agree with differences: {agree}")
    return 0 if agree and after > before else 1


if __name__ == "__main__":
    sys.exit(main())
