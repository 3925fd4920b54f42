"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.tensor.random import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.tensor.random": (
                "BernoulliRV BetaBinomialRV BetaRV BinomialRV CategoricalRV CauchyRV ChoiceWithoutReplacement "
                "DirichletRV ExponentialRV GammaRV GenGammaRV GeometricRV GumbelRV HalfCauchyRV HalfNormalRV "
                "HyperGeometricRV IntegersRV InvGammaRV LaplaceRV LogNormalRV LogisticRV MultinomialRV MvNormalRV "
                "NegBinomialRV NormalRV ParetoRV PermutationRV PoissonRV ScipyRandomVariable StudentTRV TriangularRV "
                "TruncExponentialRV UniformRV VonMisesRV WaldRV WeibullRV _gamma bernoulli beta betabinom binomial "
                "categorical cauchy chisquare choice dirichlet exponential gamma gengamma geometric gumbel halfcauchy "
                "halfnormal hypergeometric integers invgamma laplace logistic lognormal multinomial "
                "multivariate_normal nbinom negative_binomial normal pareto permutation poisson standard_normal t "
                "triangular truncexpon uniform vonmises wald weibull"
            ),
        },
    )
