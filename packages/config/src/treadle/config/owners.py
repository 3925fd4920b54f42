"""What treadle's own distributions provide: for advice on what is not installed, and to recognise their code.

Below the backends this is the only module that names any of them; what is installed is found by its entry points.
"""

from collections.abc import Mapping
from types import MappingProxyType

# Packages, without the namespace that all have in common.
_PACKAGES = (
    *("cache", "compile", "config", "graph", "kernels", "named", "rewrite", "sparse", "surface", "tensor", "testing"),
    *("link.array_api", "link.c", "link.c_support", "link.jax", "link.numba", "link.torch", "link.vm"),
)

# The distributions.
DISTRIBUTIONS = (
    *(
        "compile",
        "config",
        "compile-cache",
        "graph-core",
        "kernel-language",
        "rewrite",
        "pytensor-surface",
        "as-pytensor",
    ),
    *("tensor", "linalg", "named-tensors", "neural", "optimize", "random", "signal", "sparse-tensors"),
    *("link-c", "link-c-support", "link-numba", "link-jax", "link-torch", "link-array-api", "link-testing"),
)

# The modules that distributions beside tensor bring to `treadle.tensor`, with names of it besides.
_ROOMS = (
    *(("linalg", "linalg"), ("neural", "nn"), ("optimize", "optimize"), ("random", "random")),
    ("signal", "fft signal"),
)

# What else `treadle.tensor` has from a distribution that it does not need, so that programs start with one import.
_BROUGHT = (
    (
        "compile",
        (
            "DebugMode FAST_COMPILE FAST_RUN Function In Mode MonitorMode NanGuardMode Out compiled function "
            "get_default_mode"
        ),
    ),
)

# Extras of the distribution compile: with the backends that each brings, and the further names of their linkers.
_BY_EXTRA = (
    ("c", ("c", "cvm"), ("c|py", "c|py_nogc", "cvm_nogc")),
    ("numba", ("numba",), ()),
    ("jax", ("jax",), ()),
    ("torch", ("pytorch",), ()),
    ("array-api", ("array_api",), ()),
)

_BY_OWNER = (
    (
        "compile",
        (
            "device print_active_device mode linker optimizer optimizer_excluding "
            "optimizer_including optimizer_requiring on_unused_input unpickle_function profile profile_memory "
            "profiling__n_apply profiling__n_ops profiling__min_memory_size "
            "profiling__min_peak_memory profiling__destination profiling__trace profiling__debugprint "
            "profiling__ignore_first_call profiling__time_thunks profiling__output_line_width "
            "print_global_stats progress warn__ignore_bug_before cache__functions cache__programs "
            "tiered compile__background "
            "DebugMode__check_preallocated_output DebugMode__check_preallocated_output_ndim "
            "DebugMode__warn_input_not_reused DebugMode__patience DebugMode__check_c DebugMode__check_py "
            "DebugMode__check_finite DebugMode__check_strides DebugMode__backends NanGuardMode__nan_is_error "
            "NanGuardMode__inf_is_error NanGuardMode__big_is_error NanGuardMode__action"
        ),
    ),
    (
        "compile-cache",
        (
            "base_compiledir compiledir_format compiledir compile__timeout compile__wait cache__max_bytes "
            "cache__shared cache__trust_shared cmodule__age_thresh_use"
        ),
    ),
    ("config", "traceback__filtering"),
    (
        "graph-core",
        (
            "allow_gc compute_test_value print_test_value exception_verbosity traceback__limit "
            "traceback__compile_limit vm__lazy on_python_step on_wrong_length "
            "less_known_replacements toposort_from"
        ),
    ),
    (
        "link-c",
        (
            "openmp openmp_elemwise_minsize lib__amdlibm blas__ldflags blas__check_openmp gcc__cxxflags "
            "gcc_version_str cxx nocleanup compiler_verbose check_input "
            "cmodule__warn_no_version cmodule__remove_gxx_opt cmodule__compilation_warning "
            "cmodule__preload_cache cmodule__debug gcc__timeout c__support_libraries"
        ),
    ),
    ("link-array-api", "array_api__namespace array_api__device array_api__device_outputs"),
    ("link-jax", "jax__device jax__device_outputs jax__static_values"),
    ("link-numba", "numba__fastmath numba__cache numba__parallel numba__parallel_minsize numba__threads"),
    ("link-torch", "torch__compile torch__device torch__device_outputs torch__unroll torch__whole_loops"),
    ("as-pytensor", "as_pytensor__constants"),
    ("pytensor-surface", "metaopt__verbose absent_gradients"),
    ("random", "random__generator random__check_size random__parameters"),
    ("signal", "conv__assert_shape"),
    (
        "rewrite",
        (
            "cycle_detection check_stack_trace profile_optimizer on_opt_error optimizer_verbose "
            "optimizer_verbose_ignore compute_test_value_opt optdb__position_cutoff optdb__max_use_ratio "
            "rewrite__unknown_names"
        ),
    ),
    (
        "tensor",
        (
            "floatX warn_float64 numpy_functions length_form accumulation gradient_at_ties nondifferentiable "
            "scan__allow_output_prealloc scan__allow_gc cast_policy int_division on_shape_error "
            "experimental__local_alloc_elemwise_assert ctc__root "
            "tensor__cmp_sloppy tensor__insert_inplace_optimizer_validate_nb"
        ),
    ),
)

PACKAGES = frozenset(_PACKAGES)
# The distribution that brings a module of `treadle.tensor`.
ROOMS: Mapping[str, str] = MappingProxyType({room: owner for owner, rooms in _ROOMS for room in rooms.split()})
# The distribution that brings another name of `treadle.tensor`.
BROUGHT: Mapping[str, str] = MappingProxyType({name: owner for owner, names in _BROUGHT for name in names.split()})
OWNERS: Mapping[str, str] = MappingProxyType({name: owner for owner, names in _BY_OWNER for name in names.split()})
# What pip is to install for a backend, and for a linker, by its name.
BACKEND_REQUIREMENTS: Mapping[str, str] = MappingProxyType(
    {name: f"compile[{extra}]" for extra, names, _ in _BY_EXTRA for name in names}
)
LINKER_REQUIREMENTS: Mapping[str, str] = MappingProxyType(
    {name: f"compile[{extra}]" for extra, names, aliases in _BY_EXTRA for name in (*names, *aliases)}
)


def install_advice(*requirements: str) -> str:
    """Return the command that installs one of some requirements, such as ``compile[c]``, from treadle's own wheels.

    The public index has other people's packages under some of our names: no message may send anybody there.
    """
    names = " or ".join(map(repr, requirements))
    return (
        f"pip install --find-links DIR {names}, where DIR is the folder of treadle's wheels "
        "(README, 'Installing them elsewhere')"
    )
