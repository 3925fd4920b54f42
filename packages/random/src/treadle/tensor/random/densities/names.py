"""Which functions there are, and in which modules the laws of distributions stand, by the names of these."""

CONTINUOUS = "logpdf pdf cdf logcdf sf logsf icdf mean variance"
FUNCTIONS = frozenset(f"{CONTINUOUS} logpmf pmf".split())
HOMES = {
    "bounded": (
        "arcsine beta kumaraswamy logit_normal loguniform power triangular truncated_normal truncexpon "
        "truncnorm uniform"
    ),
    "continuous": (
        "cauchy chi chisquare exponential exponnorm f fisk gamma gengamma gompertz gumbel half_student_t "
        "halfcauchy halfnormal invgamma johnsonsu laplace laplace_asymmetric levy logistic lognormal maxwell "
        "moyal noncentral_chisquare normal pareto rayleigh skewnorm standard_cauchy standard_exponential "
        "standard_gamma standard_normal standard_t t vonmises wald weibull"
    ),
    "discrete": (
        "bernoulli beta_binomial beta_negative_binomial binomial discrete_uniform dlaplace geometric hurdle_poisson "
        "hypergeometric integers logseries negative_binomial planck poisson skellam yulesimon zero_inflated_binomial "
        "zero_inflated_negative_binomial zero_inflated_poisson zero_truncated_poisson"
    ),
    "vectors": (
        "categorical dirichlet dirichlet_multinomial inverse_wishart matrix_normal multinomial "
        "multivariate_hypergeometric multivariate_laplace multivariate_normal multivariate_t ordered_logistic "
        "ordered_probit wishart"
    ),
}
