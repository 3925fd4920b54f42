"""Where names are looked for beside the module of the same path, and why some stand for nothing."""

from __future__ import annotations


class _Homes:
    """The modules of treadle that hold the names of a package of PyTensor's."""

    def __init__(self, table: dict[str, str]) -> None:
        self._table = {package: tuple(homes.split()) for package, homes in table.items()}

    def of(self, module: str) -> tuple[str, ...]:
        """Return the modules to look in for a name that is defined in a module, those of the nearest package first."""
        homes: list[str] = []
        package = module
        while package:
            homes += self._table.get(package, ())
            package = package.rpartition(".")[0]
        return tuple(dict.fromkeys(homes))


HOMES = _Homes(
    {
        "pytensor": "treadle.compile treadle.config",
        "pytensor.assumptions": "treadle.assumptions.core treadle.surface.assumption_keys",
        "pytensor.compile": "treadle.compile treadle.link.vm treadle.tensor treadle.graph",
        "pytensor.conditional": "treadle.tensor treadle.graph",
        "pytensor.gradient": "treadle.gradient treadle.tensor",
        "pytensor.graph": "treadle.graph treadle.graph.rewriting.basic treadle.graph.rewriting.db treadle.rewrite",
        "pytensor.link": "treadle.link.vm.basic treadle.link.vm treadle.compile",
        "pytensor.printing": "treadle.graph.printing",
        "pytensor.scalar": "treadle.scalar treadle.scalar.basic",
        "pytensor.scan": "treadle.tensor treadle.scan",
        "pytensor.sparse": "treadle.sparse",
        "pytensor.tensor": "treadle.tensor treadle.tensor.linalg treadle.tensor.special treadle.surface.ops.op_names",
        "pytensor.tensor.fft": "treadle.tensor.fft",
        "pytensor.tensor.linalg": "treadle.tensor.linalg treadle.tensor.slinalg treadle.tensor.nlinalg",
        "pytensor.tensor.optimize": "treadle.tensor.optimize",
        "pytensor.tensor.random": "treadle.tensor.random treadle.tensor.random.op treadle.tensor.random.utils",
        "pytensor.tensor.rewriting": "treadle.tensor.rewriting.basic",
        "pytensor.tensor.signal": "treadle.tensor.signal",
        "pytensor.typed_list": "treadle.typed_list",
        "pytensor.xtensor": "treadle.named",
        "pytensor.xtensor.linalg": "treadle.named.linalg",
        "pytensor.xtensor.math": "treadle.named.math",
        "pytensor.xtensor.random": "treadle.named.random",
    }
)

# The reasons, by module or name; the longest that fits is given.
_OP = "treadle has no op of its own for it: the function of the same subject builds it of other ops."
_DISPATCH = "it registers PyTensor's own ops. In treadle, an op says what a batch of it is by `vectorize_node`."
_FACTS = "it is one of PyTensor's rules about facts. treadle's are in treadle.tensor.rewrites.FACT_RULES."
_BLAS = "products of matrices are one op, MatMul; backends choose between gemm, gemv and dot when they lower it."
_TYPE_VARIABLE = "it is a variable of type annotations."
_BLOCKS = "sparse types are of the formats csr and csc; a csr_matrix takes SciPy's matrices of blocks as values."
_OPTION = "options are declared by treadle.config.config.add(treadle.config.Option(...))."
_C = "it writes C for PyTensor's C backend. Register rules with treadle.link.c.TABLE."
_INTERNAL = "it belongs to how PyTensor does its work, which treadle does otherwise."


def _in(package: str, names: str, reason: str) -> dict[str, str]:
    """Return a reason for each of some names in a package."""
    return dict.fromkeys((f"{package}.{name}" for name in names.split()), reason)


ABSENT = {
    "pytensor": _INTERNAL,
    **_in(
        "pytensor.assumptions",
        "alloc blockwise diagonal dimshuffle dot elemwise orthogonal permutation positive_definite reshape selection "
        "shape subtensor symmetric triangular tridiagonal unit_magnitude",
        _FACTS,
    ),
    "pytensor.assumptions.core": "treadle keeps rules about facts in registries of its own: see register_assumption.",
    "pytensor.basic": "treadle makes variables of what is given by `treadle.tensor.as_tensor_variable`.",
    "pytensor.bin": "compiled programs are kept by treadle: the command `treadle cache` shows and empties the cache.",
    "pytensor.breakpoint": "set a breakpoint in a function given to MonitorMode or Print, which see the values.",
    "pytensor.compile.compiledir": "the command `treadle cache` shows and empties the cache of compiled programs.",
    "pytensor.compile.compilelock": "treadle's cache locks its folder itself.",
    "pytensor.compile.debug.debugmode": "treadle's DebugMode checks nodes by means of its own; see its report.",
    "pytensor.compile.debug.nanguardmode": "NanGuardMode looks for NaN itself.",
    "pytensor.compile.mode.MLX": "treadle has no MLX backend.",
    "pytensor.compile.ops.register_deep_copy_op_c_code": _C,
    "pytensor.compile.ops.register_view_op_c_code": _C,
    "pytensor.configdefaults": _OPTION,
    "pytensor.configparser": _OPTION,
    "pytensor.d3viz": "treadle.printing.pydotprint and treadle.d3viz.d3viz write graphs.",
    "pytensor.gradient.V": _TYPE_VARIABLE,
    "pytensor.graph.rewriting.unify": "terms are not unified: PatternNodeRewriter and RULES.law match patterns.",
    "pytensor.graph.traversal.T": _TYPE_VARIABLE,
    "pytensor.graph.type.D": _TYPE_VARIABLE,
    "pytensor.graph.utils.T": _TYPE_VARIABLE,
    "pytensor.link.numba": "it lowers ops for PyTensor's Numba backend; treadle's own rules are in "
    "treadle.link.numba.TABLE. `numba_funcify.register` registers others.",
    "pytensor.link.jax": "it lowers ops for PyTensor's JAX backend; treadle's own rules are in treadle.link.jax.JAX. "
    "`jax_funcify.register` registers others.",
    "pytensor.link.pytorch": "it lowers ops for PyTensor's PyTorch backend. Register rules with treadle.link.torch.",
    "pytensor.link.mlx": "treadle has no MLX backend.",
    "pytensor.link.c": _C,
    "pytensor.misc": "it is a tool of PyTensor's own distribution. `./dev` and benchmarks/ hold treadle's.",
    "pytensor.npy_2_compat": "treadle needs NumPy 2, where NumPy itself does it.",
    "pytensor.scalar": "scalar ops are rows of treadle.scalar; one of your own is a ScalarOp with a body.",
    "pytensor.scalar.C_CODE_PATH": _C,
    "pytensor.scalar.math.C_CODE_PATH": _C,
    "pytensor.tensor.blas": _BLAS,
    "pytensor.tensor.blas.c_code": _C,
    "pytensor.tensor.einsum.Einsum": _OP,
    "pytensor.tensor.elemwise_cgen": _C,
    **_in("pytensor.tensor", "extra_ops fft fourier interpolate optimize pad signal special math basic linalg", _OP),
    **_in(
        "pytensor.tensor",
        "basic.vectorize_alloc basic.vectorize_extract_diag basic.vectorize_join basic.vectorize_make_vector "
        "basic.vectorize_scalar_from_tensor basic.vectorize_split basic.vectorize_tensor_from_scalar "
        "blockwise.vectorize_node_fallback elemwise.vectorize_careduce elemwise.vectorize_dimshuffle "
        "extra_ops.vectorize_cum_op math.vectorize_argmax_node math.vectorize_node_dot shape.vectorize_shape "
        "random.op.vectorize_random_variable special.vectorize_softmax_node subtensor.vectorize_advanced_subtensor "
        "subtensor.vectorize_subtensor",
        _DISPATCH,
    ),
    "pytensor.raise_op.vectorize_check_and_raise": _DISPATCH,
    "pytensor.tensor.random.type.T": _TYPE_VARIABLE,
    "pytensor.tensor.rewriting": "treadle's rules have other names; `treadle rewrites list` lists them.",
    "pytensor.tensor.shape.register_shape_c_code": _C,
    "pytensor.tensor.shape.register_shape_i_c_code": _C,
    "pytensor.tensor.subtensor.T": _TYPE_VARIABLE,
    "pytensor.tensor.type.ST": _TYPE_VARIABLE,
    "pytensor.scan.rewriting": "treadle's rules for loops have other names; `treadle rewrites list` lists them.",
    "pytensor.sparse.rewriting": "treadle's rules have other names; `treadle rewrites list` lists them.",
    "pytensor.xtensor.rewriting": "treadle's rules have other names; `treadle rewrites list` lists them.",
    **_in("pytensor.sparse", "basic.bsr_matrix basic.bsr_dmatrix basic.bsr_fmatrix", _BLOCKS),
    **_in("pytensor.sparse", "bsr_matrix bsr_dmatrix bsr_fmatrix", _BLOCKS),
    "pytensor.sparse.basic.Stack": "HStack and VStack have no base class of their own.",
    "pytensor.sparse": "it needs the distribution of treadle.sparse, which is not installed.",
    "pytensor.xtensor": "it needs the distribution of treadle.named, which is not installed.",
}
