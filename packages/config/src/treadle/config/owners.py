"""Which distribution owns each documented option, for a setting whose package is not installed."""

from collections.abc import Mapping
from types import MappingProxyType

_BY_OWNER = (
    (
        "compile",
        (
            "device print_active_device mode linker optimizer optimizer_excluding "
            "optimizer_including optimizer_requiring profile profile_memory "
            "profiling__n_apply profiling__n_ops profiling__min_memory_size "
            "profiling__min_peak_memory profiling__destination profiling__debugprint "
            "profiling__ignore_first_call warn__ignore_bug_before "
            "DebugMode__check_preallocated_output DebugMode__check_preallocated_output_ndim "
            "DebugMode__warn_input_not_reused NanGuardMode__nan_is_error "
            "NanGuardMode__inf_is_error NanGuardMode__big_is_error"
        ),
    ),
    (
        "compile-cache",
        "base_compiledir compiledir_format compiledir compile__timeout compile__wait",
    ),
    (
        "graph-core",
        "allow_gc compute_test_value print_test_value exception_verbosity traceback__limit traceback__compile_limit",
    ),
    (
        "link-c",
        (
            "openmp openmp_elemwise_minsize lib__amdlibm blas__ldflags gcc__cxxflags cxx nocleanup "
            "cmodule__warn_no_version cmodule__remove_gxx_opt cmodule__compilation_warning "
            "cmodule__preload_cache cmodule__age_thresh_use cmodule__debug"
        ),
    ),
    (
        "rewrite",
        (
            "cycle_detection check_stack_trace profile_optimizer on_opt_error optimizer_verbose "
            "compute_test_value_opt metaopt__verbose"
        ),
    ),
    (
        "tensor",
        (
            "floatX warn_float64 scan__allow_output_prealloc scan__allow_gc cast_policy int_division "
            "on_shape_error experimental__local_alloc_elemwise_assert conv__assert_shape ctc__root"
        ),
    ),
)

OWNERS: Mapping[str, str] = MappingProxyType({name: owner for owner, names in _BY_OWNER for name in names.split()})
