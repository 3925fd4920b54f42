"""Continuous distributions on the real line."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from treadle.tensor.random.densities.attributes import with_functions
from treadle.tensor.random.implicit import t_by_df
from treadle.tensor.random.methods.conditions import nonnegative
from treadle.tensor.random.op import REQUIRED, RandomVariable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from treadle.tensor.random.methods.generator_methods import Generator, Operand, Size

__all__ = [
    "CauchyRV", "GumbelRV", "LaplaceRV", "LogisticRV", "NormalRV", "StudentTRV", "cauchy", "gumbel", "laplace",
    "logistic", "normal", "standard_cauchy", "standard_normal", "standard_t", "t",
]  # fmt: skip


class LocationScaleRV(RandomVariable):
    """Base of distributions of loc + scale * z, where z is drawn by `standard` from the parameters before them."""

    signature = "(),()->()"
    dtype = "floatX"
    parameters: ClassVar = {"loc": 0.0, "scale": 1.0}

    def standard(self, rng: Generator, *shapes: Operand, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        raise NotImplementedError

    def definition(self, rng: Generator, *dist_params: Operand, size: Size) -> Operand:
        """Draw."""
        *shapes, loc, scale = dist_params
        return loc + nonnegative(scale, "scale") * self.standard(rng, *shapes, size=size)

    def by_shapes(self, z: Operand, *shapes: Operand) -> Sequence[Operand]:
        """Return the derivatives of a draw with loc 0 and scale 1 by the parameters before them."""
        return ()

    def derivatives(self, draw: Operand, cotangent: Operand, *dist_params: Operand) -> Sequence[Operand]:
        """Return those of loc + scale * z.

        Through the definition: none where `standard` is a generator's method; elsewhere the numbers are drawn again:
        with the draw itself, 10 ms in place of 2 for 100000 of Maxwell's, though the gradient alone has 5 nodes in
        place of 8 there; 140 in place of 92 of the truncated normal distribution's.
        """
        *shapes, loc, scale = dist_params
        z = (draw - loc) / scale
        return [*(cotangent * scale * d for d in self.by_shapes(z, *shapes)), cotangent, cotangent * z]


class NormalRV(LocationScaleRV):
    """The normal distribution, of mean `loc` and standard deviation `scale` (0 or more).

    From NumPy's generators by ``Generator.normal``.
    """

    name = "normal"
    _print_name = ("Normal", "\\operatorname{Normal}")

    def definition(self, rng: Generator, loc: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.normal(loc, scale, size)


class CauchyRV(LocationScaleRV):
    """The Cauchy distribution, of median `loc` and half width at half height `scale` (0 or more).

    From NumPy's generators by ``Generator.standard_cauchy``.
    """

    name = "cauchy"
    _print_name = ("Cauchy", "\\operatorname{Cauchy}")

    def standard(self, rng: Generator, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return rng.standard_cauchy(size)


class GumbelRV(LocationScaleRV):
    """The Gumbel distribution of largest values, of mode `loc`; its distribution function is exp(-exp(-z)).

    From NumPy's generators by ``Generator.gumbel``.
    """

    name = "gumbel"
    parameters: ClassVar = {"loc": REQUIRED, "scale": 1.0}
    _print_name = ("Gumbel", "\\operatorname{Gumbel}")

    def definition(self, rng: Generator, loc: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.gumbel(loc, scale, size)


class LaplaceRV(LocationScaleRV):
    """The Laplace distribution, of density exp(-abs(z)) / 2.

    From NumPy's generators by ``Generator.laplace``.
    """

    name = "laplace"
    _print_name = ("Laplace", "\\operatorname{Laplace}")

    def definition(self, rng: Generator, loc: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.laplace(loc, scale, size)


class LogisticRV(LocationScaleRV):
    """The logistic distribution, whose distribution function is 1 / (1 + exp(-z)).

    From NumPy's generators by ``Generator.logistic``.
    """

    name = "logistic"
    _print_name = ("Logistic", "\\operatorname{Logistic}")

    def definition(self, rng: Generator, loc: Operand, scale: Operand, *, size: Size) -> Operand:
        """Draw."""
        return rng.logistic(loc, scale, size)


class StudentTRV(LocationScaleRV):
    """Student's t distribution of `df` degrees of freedom (above 0), moved by `loc` and stretched by `scale`.

    From NumPy's generators by ``Generator.standard_t``. The derivative by `df` is implicit.
    """

    name = "t"
    signature = "(),(),()->()"
    parameters: ClassVar = {"df": REQUIRED, "loc": 0.0, "scale": 1.0}
    _print_name = ("StudentT", "\\operatorname{StudentT}")

    def standard(self, rng: Generator, df: Operand, *, size: Size) -> Operand:
        """Draw with loc 0 and scale 1."""
        return rng.standard_t(df, size)

    def by_shapes(self, z: Operand, df: Operand) -> Sequence[Operand]:
        """Return the derivative by the degrees of freedom."""
        return [t_by_df(z, df)]


cauchy = CauchyRV()
gumbel = GumbelRV()
laplace = LaplaceRV()
logistic = LogisticRV()
normal = NormalRV()
t = StudentTRV()


@with_functions
def standard_normal(size: Size = None, **options: Operand) -> Operand:
    """Return a draw of the normal distribution of mean 0 and standard deviation 1.

    Parameters
    ----------
    size
        Shape of the draw, a scalar if None.
    options
        `rng`, `dtype`, `name` and `return_next_rng`, as for `normal`.

    Examples
    --------
    >>> tt.random.standard_normal(size=3).eval().shape
    (3,)
    """
    return normal(0.0, 1.0, size=size, **options)


@with_functions
def standard_cauchy(size: Size = None, **options: Operand) -> Operand:
    """Return a draw of the Cauchy distribution of median 0 and scale 1; parameters are those of `standard_normal`.

    Examples
    --------
    >>> tt.random.standard_cauchy(size=3).eval().shape
    (3,)
    """
    return cauchy(0.0, 1.0, size=size, **options)


@with_functions
def standard_t(df: Operand, size: Size = None, **options: Operand) -> Operand:
    """Return a draw of Student's t distribution; size and options are those of `standard_normal`.

    Examples
    --------
    >>> tt.random.standard_t(5.0, size=3).eval().shape
    (3,)
    """
    return t(df, 0.0, 1.0, size=size, **options)
