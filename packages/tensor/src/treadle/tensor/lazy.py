"""The modules that load when one of their names is first asked for, so that importing the package stays quick."""

from __future__ import annotations

from types import ModuleType

from treadle.config import lazy_module

# For each module of `treadle.tensor` its public names: its ``__all__``. `treadle/tensor/__init__.py` has a star import
# of each for type checkers; a test compares the three. One line for each module, however long: it is a table.
LAZY = {
    "arguments.signatures": "parse_gufunc_signature safe_signature",
    "arrangement.array_functions": "array asanyarray asarray ascontiguousarray astype copy empty empty_like isscalar ndim permute_dims ravel size",
    "arrangement.diagonals": "AllocDiag ExtractDiag diag diagflat diagonal extract_diag fill_diagonal fill_diagonal_offset identity_like trace",
    "arrangement.joined_axes": "JoinDims SplitDims join_dims pack split_dims unpack",
    "arrangement.rearrangement": "flip fliplr flipud roll rollaxis rot90",
    "arrangement.repetition": "RepeatedPositions repeat resize tile",
    "arrangement.spaced_numbers": "geomspace linspace logspace meshgrid mgrid ogrid vander",
    "arrangement.triangles": "tri tril tril_indices tril_indices_from triu triu_indices triu_indices_from",
    "batches.blockwise": "Blockwise",
    "batches.gufunc_loops": "CompiledLoopError compiled_loop",
    "control.assertion": "Assert CheckAndRaise assert_op",
    "control.assumption": "FACTS SpecifyAssumptions assume",
    "control.conditional": "ifelse",
    "control.gradient_control": "DisconnectedGrad GradClip GradScale GradientControl UndefinedGrad ZeroGrad consider_constant disconnected_grad grad_clip grad_scale undefined_grad zero_grad",
    "differentiation.custom_gradients": "custom_jvp custom_vjp",
    "differentiation.jacobians": "gauss_newton_vector_product hessian hessian_vector_product jacobian",
    "elementwise.floating": "cbrt copysign fabs float_power fmax fmin fmod frexp heaviside hypot ldexp logaddexp2 modf nextafter positive rint signbit spacing",
    "elementwise.integers": "bitwise_count ceil_intdiv gcd lcm",
    "embedding.external_op": "ExternalOp wrap_external",
    "embedding.from_function": "FromFunctionOp as_op wrap_py",
    "embedding.from_graph": "OpFromGraph",
    "embedding.functional": "apply_along_axis transfer values_eq_approx_always_true variadic_add variadic_mul vectorize vmap",
    "embedding.symbolic_op": "SymbolicOp construct_nominal_fgraph",
    "fft.fourier": "FourierTransform",
    "gradients.derivatives": "Lop Rop as_list_or_tuple pullback pushforward pushforward_through_pullback subgraph_grad",
    "gradients.numeric": "mode_not_slow numeric_grad verify_grad",
    "gradients.reverse_mode": "grad value_and_grad",
    "indexing.coordinates": "diag_indices diag_indices_from indices mask_indices ravel_multi_index unravel_index",
    "indexing.gathering": "choose inverse_permutation ix_ permute_row_elements piecewise put put_along_axis select take take_along_axis",
    "indexing.masks": "argwhere compress extract flatnonzero nonzero nonzero_values place putmask",
    "indexing.ranges": "ARange arange eye range_length",
    "indexing.searching": "BinCount CheckMask Nonzero RowOrder SearchSorted",
    "indexing.slice_values": "MakeSlice SliceBounds make_slice",
    "indexing.slices": "advanced_subtensor as_index_literal as_index_variable basic_subtensor get_canonical_form_slice get_idx_list get_slice_elements index_vars_to_types indexed_result_shape indices_from_subtensor slice_at_axis unflatten_index_variables",
    "joins.common_shapes": "broadcast_arrays broadcast_shape broadcast_shapes",
    "joins.joining": "Join concatenate hstack join stack vstack",
    "joins.splitting": "Split array_split dsplit hsplit split vsplit",
    "joins.stacking": "block column_stack concat concat_with_broadcast dstack horizontal_stack row_stack stacklists unstack vertical_stack",
    "library.calculus": "cumulative_trapezoid diff ediff1d gradient trapezoid",
    "library.closeness": "allclose array_equal array_equiv isclose nan_to_num unwrap",
    "library.editing": "append delete insert trim_zeros",
    "library.interpolate": "interp interpolate1d",
    "library.nan_functions": "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar",
    "library.padding": "pad",
    "library.polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "library.statistics": "apply_over_axes average corrcoef cov mode trim_mean",
    "linalg.norms": "matrix_norm norm vector_norm",
    "linalg.ops.banded": "LUFactorTridiagonal SolveBanded SolveHermitianBanded SolveLUFactorTridiagonal",
    "linalg.ops.block_diagonal": "BlockDiagonal",
    "linalg.ops.cholesky": "Cholesky CholeskyPullback CholeskySolve",
    "linalg.ops.determinants": "Det SLogDet SingularCofactors",
    "linalg.ops.eigenvalues": "Eig Eigh Eigvals Eigvalsh",
    "linalg.ops.inverse": "MatrixInverse",
    "linalg.ops.least_squares": "Lstsq MatrixPinv",
    "linalg.ops.linear_systems": "Solve",
    "linalg.ops.lu": "LU LUFactor LUSolve PivotToPermutations",
    "linalg.ops.matrix_equations": "Riccati Sylvester",
    "linalg.ops.matrix_functions": "Expm Logm Sqrtm",
    "linalg.ops.matrix_op": "MatrixOp",
    "linalg.ops.matrix_sign": "MatrixSign",
    "linalg.ops.qr": "HouseholderProduct QR",
    "linalg.ops.schur": "QZ RealToComplexSchur Schur",
    "linalg.ops.svd": "PolarFactor SVD",
    "linalg.ops.triangular": "SolveTriangular",
    "linking.generator_states": "expand_generators",
    "linking.portable_linker": "PortableLinker",
    "loops.loops": "ENDLESS LoopInputs RowLengths Scan",
    "loops.parts": "LoopParts LoopResults",
    "loops.plain": "fori_loop scan_with_carry while_loop",
    "loops.scan.checkpoints": "scan_checkpoints",
    "loops.scan.results": "until",
    "loops.scan.scanning": "scan",
    "op_names": "All Any_ Argmax Argmin BinaryScalarOp CAReduce CumOp Max Min Prod Sum UnaryScalarOp",
    "ops.undefined_gradients": "grad_not_implemented grad_undefined",
    "products.contraction": "batched_dot batched_tensordot cross dense_dot inner kron matrix_dot matvec multi_dot vdot vecdot vecmat",
    "products.einstein": "einsum",
    "products.product": "Gemm MatMul dot matmul outer tensordot",
    "random.compiled_samplers": "COMPILED_SAMPLERS CompiledSamplerError SAMPLER_CONDITIONS bit_generator_functions sampler_address",
    "random.generator_draws": "GENERATOR_SAMPLERS GeneratorDraws",
    "random.lanes": "DrawLanes LANE_SAMPLERS",
    "random.portable_draws": "PortableDraws",
    "reductions.accumulation": "ACCUMULATIONS Accumulation LinearRecurrence cummax cummin cumprod cumsum cumulative_prod cumulative_sum logcumsumexp",
    "reductions.fused_reduction": "FusedReduction",
    "reductions.normalization": "LogSoftmax LogSumExp Peak Softmax log_softmax logsumexp softmax",
    "scalar_values": "ScalarConstant ScalarFromTensor ScalarType ScalarVariable TensorFromScalar as_scalar get_scalar_type scalar_from_tensor tensor_from_scalar",
    "shapes.shape_specification": "SpecifyShape specify_broadcastable specify_shape",
    "signal.convolution": "ConvND",
    "signal.convolved": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "signal.filtering": "convolve correlate",
    "signal.pooling": "avg_pool1d avg_pool2d avg_pool3d max_pool1d max_pool2d max_pool3d pool_2d pool_3d",
    "signal.windows": "bartlett blackman hamming hanning kaiser",
    "sorting.counting": "bincount digitize histogram histogram2d histogram_bin_edges histogramdd searchsorted",
    "sorting.quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "sorting.sets": "UniqueAll UniqueCounts UniqueInverse intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse unique_values",
    "sorting.sorting": "ArgSort OrderStatistics Sort argpartition argsort lexsort partition sort sort_complex topk",
    "special_functions.bessel_functions": "i0 i0e i1 i1e iv ive j0 j1 jn jv jve k0 k0e k1 k1e kn kv kve y0 y1 yn yv yve",
    "special_functions.entropy": "entr kl_div rel_entr xlog1py xlogx xlogy xlogy0",
    "special_functions.error_functions": "erf erfc erfcinv erfcx erfinv log_ndtr ndtr ndtri ndtri_exp owens_t",
    "special_functions.gamma_functions": "beta betaln digamma factorial gamma gammaln loggamma multigammaln poch polygamma psi tri_gamma trigamma",
    "special_functions.hypergeometric": "hyp2f1",
    "special_functions.incomplete_beta": "betainc betaincinv",
    "special_functions.incomplete_gamma": "chi2sf gammainc gammaincc gammainccinv gammaincinv gammal gammau",
    "special_functions.stable_quotients": "exprel log_expit logit sinc",
    "special_functions.tail_moments": "NEWTON_STEPS QUADRATURE beta_tail_integral gamma_tail_integral",
    "staging.constant_values": "get_scalar_constant_value get_underlying_scalar_constant_value get_vector_length is_flat shape_tuple",
    "staging.stages": "Staging shape_values stage static_positions",
    "types.constants": "complex_matrix_types complex_scalar_types complex_types complex_vector_types e euler_gamma float_matrix_types float_scalar_types float_types float_vector_types inf int_matrix_types int_scalar_types int_types int_vector_types nan newaxis pi",
    "types.none_and_slices": "NoneConst NoneSliceConst NoneTypeT SliceConstant SliceType none_type_t slicetype",
}
# The same for the modules of `treadle.tensor.linalg`.
LINALG = {
    "banded_systems": "solve_banded solveh_banded tridiagonal_lu_factor tridiagonal_lu_solve",
    "eigenvalues": "eig eigh eigvals eigvalsh",
    "inverses": "SlogdetResult det inv matrix_power slogdet tensorinv tensorsolve",
    "least_squares": "cond lstsq matrix_rank pinv pinvh",
    "matrix_diagonals": "diagonal trace",
    "matrix_equations": "solve_continuous_are solve_continuous_lyapunov solve_discrete_are solve_discrete_lyapunov solve_sylvester",
    "matrix_functions": "coshm cosm expm expm_frechet fractional_matrix_power funm logm signm sinhm sinm sqrtm tanhm tanm",
    "named_matrices": "dft hadamard helmert hilbert invhilbert invpascal pascal",
    "orthogonal": "householder_product null_space orth polar qr subspace_angles svd svdvals",
    "positive_definite": "cho_factor cho_solve cholesky",
    "schur_forms": "ordqz qz rsf2csf schur",
    "structured": "block_diag circulant companion convolution_matrix fiedler fiedler_companion hankel leslie toeplitz",
    "systems": "lu lu_factor lu_solve pivot_to_permutation solve",
    "triangular_systems": "solve_triangular",
}
# The same for the modules of `treadle.tensor.random`.
RANDOM = {
    "bounded": "ArcSineRV BetaRV KumaraswamyRV LogUniformRV LogitNormalRV PowerRV TriangularRV TruncExponentialRV TruncNormalRV UniformRV VonMisesRV arcsine beta kumaraswamy logit_normal loguniform power triangular truncated_normal truncexpon truncnorm uniform vonmises",
    "categories": "CategoricalRV DirichletMultinomialRV DirichletRV MultinomialRV MvHyperGeometricRV categorical dirichlet dirichlet_multinomial multinomial multivariate_hypergeometric",
    "consumer": "RNGConsumerOp",
    "continuous": "CauchyRV GumbelRV LaplaceRV LogisticRV NormalRV StudentTRV cauchy gumbel laplace logistic normal standard_cauchy standard_normal standard_t t",
    "counts": "BetaNegBinomialRV DiscreteLaplaceRV DiscreteUniformRV HurdlePoissonRV OrderedLogisticRV OrderedProbitRV PlanckRV SkellamRV YuleSimonRV ZeroInflatedBinomialRV ZeroInflatedNegBinomialRV ZeroInflatedPoissonRV ZeroTruncatedPoissonRV betanbinom discrete_uniform dlaplace hurdle_poisson ordered_logistic ordered_probit planck skellam yulesimon zero_inflated_binomial zero_inflated_negative_binomial zero_inflated_poisson zero_truncated_poisson",
    "discrete": "BernoulliRV BetaBinomialRV BinomialRV GeometricRV HyperGeometricRV IntegersRV LogSeriesRV NegBinomialRV PoissonRV ZipfRV bernoulli betabinom binomial geometric hypergeometric integers logseries nbinom negative_binomial poisson zipf",
    "gamma_family": "ChiRV FRV GammaRV GenGammaRV InvGammaRV MaxwellRV NonCentralChiSquareRV NonCentralFRV _gamma chi chisquare f gamma gengamma invgamma maxwell noncentral_chisquare noncentral_f standard_gamma",
    "matrices": "InverseWishartRV LKJCholeskyRV LKJCorrRV StickBreakingRV WishartRV inverse_wishart invwishart lkj_cholesky lkj_corr stick_breaking wishart",
    "multivariate": "MatrixNormalRV MvLaplaceRV MvNormalRV MvStudentTRV matrix_normal multivariate_laplace multivariate_normal multivariate_t",
    "op": "RandomVariable",
    "parameters": "broadcast_params compute_batch_shape explicit_expand_dims params_broadcast_shapes supp_shape_from_ref_param_shape",
    "permutations": "ChoiceWithoutReplacement PermutationRV choice permutation permuted shuffle",
    "portable": "PortableGenerator",
    "portable_keys": "PortableKey RandomStreamWarning",
    "positive": "ExponentialRV GompertzRV HalfCauchyRV HalfNormalRV HalfStudentTRV LevyRV LogLogisticRV LogNormalRV ParetoRV RayleighRV WaldRV WeibullRV exponential fisk gompertz half_student_t halfcauchy halfnormal inverse_gaussian levy log_logistic lognormal pareto rayleigh standard_exponential wald weibull",
    "scipy_variable": "ScipyRandomVariable",
    "seeding": "DefaultGeneratorMakerOp FoldIn Spawn default_rng portable_rng",
    "size": "normalize_size_param",
    "skewed": "AsymmetricLaplaceRV ExponNormRV JohnsonSURV MoyalRV SkewNormalRV asymmetric_laplace exponnorm johnsonsu laplace_asymmetric moyal skewnorm",
    "states": "GeneratorInState GeneratorState",
    "stream": "RandomStream rng shared_rng",
    "types": "PortableGeneratorType RandomGeneratorConstant RandomGeneratorSharedVariable RandomGeneratorType RandomGeneratorVariable RandomType portable_generator_type random_generator_type",
}
# Ops of linear algebra, and functions that are not of linear algebra only: names of `treadle.tensor` that are found in
# `treadle.tensor.linalg` too.
LINALG_TOO = "BlockDiagonal Cholesky CholeskySolve Det Eig Eigh Eigvals Eigvalsh HouseholderProduct LU LUFactor LUFactorTridiagonal LUSolve Lstsq MatrixInverse MatrixPinv PivotToPermutations PolarFactor QR QZ SLogDet SVD Schur Solve SolveBanded SolveHermitianBanded SolveLUFactorTridiagonal SolveTriangular cross kron matmul matrix_dot matrix_norm matrix_transpose multi_dot norm outer tensordot vander vecdot vector_norm"
# Modules that are public themselves, as in ``treadle.tensor.special.softmax``.
SUBMODULES: tuple[str, ...] = ("fft", "linalg", "optimize", "random", "signal", "special")
NAMES = [*(name for names in LAZY.values() for name in names.split()), *SUBMODULES]
# Documented modules of further names, found as attributes too, as in ``treadle.tensor.math.exp``: no public names.
RANDOM_PATHS = ("basic", "type", "utils", "var", "variable")
PATHS = ("basic", "extra_ops", "math", "sharedvar", "subtensor", "type", "utils", "variable")
_MODULES = LAZY | {name: name for name in (*SUBMODULES, *PATHS)}
# What `treadle.tensor` finds names in, by full names of modules.
MODULES = {f"treadle.tensor.{module}": names for module, names in _MODULES.items()}
# What `treadle.tensor.random` finds names in.
RANDOM_MODULES = {
    f"treadle.tensor.random.{module}": names
    for module, names in (RANDOM | {name: name for name in RANDOM_PATHS}).items()
}
# What `treadle.tensor.linalg` finds names in.
LINALG_MODULES = {f"treadle.tensor.linalg.{module}": names for module, names in LINALG.items()} | {
    "treadle.tensor": LINALG_TOO
}


def lazy_scipy_module(name: str) -> ModuleType:
    """Return a module of SciPy's, which is imported when an attribute of it is first asked for.

    >>> lazy_scipy_module("special").erf(0.0)
    0.0
    """
    module: ModuleType = lazy_module(f"scipy.{name}")
    return module
