"""Public names of `treadle.tensor`, by the modules imported when one is asked for; written by `./dev pages`.

For each module the names of its ``__all__``. One line for each module, however long: these are tables.
"""

NAMES = {
    "treadle.tensor": {
        "treadle.tensor.random": "random",
        "treadle.tensor.random.generators.compiled_samplers": "COMPILED_SAMPLERS CompiledSamplerError SAMPLER_CONDITIONS bit_generator_functions sampler_address",
        "treadle.tensor.random.generators.generator_draws": "GENERATOR_SAMPLERS GeneratorDraws",
        "treadle.tensor.random.generators.lanes": "DrawLanes LANE_SAMPLERS",
        "treadle.tensor.random.generators.portable_draws": "PortableDraws",
    },
    "treadle.tensor.random": {
        "treadle.tensor.random.consumer": "RNGConsumerOp",
        "treadle.tensor.random.distributions.bounded": "ArcSineRV BetaRV KumaraswamyRV LogUniformRV LogitNormalRV PowerRV TriangularRV TruncExponentialRV TruncNormalRV UniformRV VonMisesRV arcsine beta kumaraswamy logit_normal loguniform power triangular truncated_normal truncexpon truncnorm uniform vonmises",
        "treadle.tensor.random.distributions.categories": "CategoricalRV DirichletMultinomialRV DirichletRV MultinomialRV MvHyperGeometricRV categorical dirichlet dirichlet_multinomial multinomial multivariate_hypergeometric",
        "treadle.tensor.random.distributions.continuous": "CauchyRV GumbelRV LaplaceRV LogisticRV NormalRV StudentTRV cauchy gumbel laplace logistic normal standard_cauchy standard_normal standard_t t",
        "treadle.tensor.random.distributions.counts": "BetaNegBinomialRV DiscreteLaplaceRV DiscreteUniformRV HurdlePoissonRV OrderedLogisticRV OrderedProbitRV PlanckRV SkellamRV YuleSimonRV ZeroInflatedBinomialRV ZeroInflatedNegBinomialRV ZeroInflatedPoissonRV ZeroTruncatedPoissonRV betanbinom discrete_uniform dlaplace hurdle_poisson ordered_logistic ordered_probit planck skellam yulesimon zero_inflated_binomial zero_inflated_negative_binomial zero_inflated_poisson zero_truncated_poisson",
        "treadle.tensor.random.distributions.discrete": "BernoulliRV BetaBinomialRV BinomialRV GeometricRV HyperGeometricRV IntegersRV LogSeriesRV NegBinomialRV PoissonRV ZipfRV bernoulli betabinom binomial geometric hypergeometric integers logseries nbinom negative_binomial poisson zipf",
        "treadle.tensor.random.distributions.gamma_family": "ChiRV FRV GammaRV GenGammaRV InvGammaRV MaxwellRV NonCentralChiSquareRV NonCentralFRV _gamma chi chisquare f gamma gengamma invgamma maxwell noncentral_chisquare noncentral_f standard_gamma",
        "treadle.tensor.random.distributions.matrices": "InverseWishartRV LKJCholeskyRV LKJCorrRV StickBreakingRV WishartRV inverse_wishart invwishart lkj_cholesky lkj_corr stick_breaking wishart",
        "treadle.tensor.random.distributions.multivariate": "MatrixNormalRV MvLaplaceRV MvNormalRV MvStudentTRV matrix_normal multivariate_laplace multivariate_normal multivariate_t",
        "treadle.tensor.random.distributions.permutations": "ChoiceWithoutReplacement PermutationRV choice permutation permuted shuffle",
        "treadle.tensor.random.distributions.positive": "ExponentialRV GompertzRV HalfCauchyRV HalfNormalRV HalfStudentTRV LevyRV LogLogisticRV LogNormalRV ParetoRV RayleighRV WaldRV WeibullRV exponential fisk gompertz half_student_t halfcauchy halfnormal inverse_gaussian levy log_logistic lognormal pareto rayleigh standard_exponential wald weibull",
        "treadle.tensor.random.distributions.skewed": "AsymmetricLaplaceRV ExponNormRV JohnsonSURV MoyalRV SkewNormalRV asymmetric_laplace exponnorm johnsonsu laplace_asymmetric moyal skewnorm",
        "treadle.tensor.random.generators.portable": "PortableGenerator",
        "treadle.tensor.random.generators.portable_keys": "PortableKey RandomStreamWarning",
        "treadle.tensor.random.generators.sampler_table": "SamplerTable",
        "treadle.tensor.random.generators.samplers": "PORTABLE_SAMPLERS PortableSampler",
        "treadle.tensor.random.generators.seeding": "DefaultGeneratorMakerOp FoldIn Spawn default_rng portable_rng",
        "treadle.tensor.random.generators.states": "GeneratorInState GeneratorState",
        "treadle.tensor.random.generators.stream": "RandomStream rng shared_rng",
        "treadle.tensor.random.generators.types": "PortableGeneratorType RandomGeneratorConstant RandomGeneratorSharedVariable RandomGeneratorType RandomGeneratorVariable RandomType portable_generator_type random_generator_type",
        "treadle.tensor.random.op": "RandomVariable",
        "treadle.tensor.random.parameters": "broadcast_params compute_batch_shape explicit_expand_dims params_broadcast_shapes supp_shape_from_ref_param_shape",
        "treadle.tensor.random.scipy_variable": "ScipyRandomVariable",
        "treadle.tensor.random.size": "normalize_size_param",
    },
}
