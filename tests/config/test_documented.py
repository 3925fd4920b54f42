"""Every documented option exists, with its documented values, default, owner and effect."""

import ast
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from treadle.config import Config, Option, OptionValueError, OptionWarning, ReadOnlyOptionError, config
from treadle.config.owners import OWNERS

ROOT = Path(__file__).resolve().parents[2]
COMPUTED = object()

# Name: default, accepted values, refused values.
Documented = Mapping[str, tuple[Any, tuple[Any, ...], tuple[Any, ...]]]
FLAG = ((True, False, "1", "0", "true", "False"), ("yes", 2, None))
POSITIVE = ((1, "7"), (0, -1, "x", 1.5, True))
DOCUMENTED: Documented = {
    "device": ("cpu", ("cpu",), ("gpu", "cuda0")),
    "print_active_device": (True, *FLAG),
    "floatX": ("float64", ("float64", "float32", "float16"), ("float31", "FLOAT32", 32)),
    "warn_float64": ("ignore", ("ignore", "warn", "raise", "pdb"), ("off",)),
    "allow_gc": (True, *FLAG),
    "scan__allow_output_prealloc": (True, *FLAG),
    "scan__allow_gc": (False, *FLAG),
    "cycle_detection": ("regular", ("regular", "fast"), ("faster",)),
    "check_stack_trace": ("off", ("off", "log", "warn", "raise"), ("on",)),
    "openmp": (False, *FLAG),
    "openmp_elemwise_minsize": (200000, *POSITIVE),
    "cast_policy": ("numpy", ("numpy", "custom", "numpy+floatX"), ("numpy+float32",)),
    "int_division": ("true", ("true", "int", "floatX", "raise"), ("floor",)),
    "mode": (
        "Mode",
        ("Mode", "mode", "DebugMode", "NanGuardMode", "FAST_RUN", "fast_run", "FAST_COMPILE", "jax", "NUMBA", "vm"),
        ("FAST_RUNN", "", 3),
    ),
    "profile": (False, *FLAG),
    "profile_memory": (False, *FLAG),
    "profile_optimizer": (False, *FLAG),
    "profiling__n_apply": (20, *POSITIVE),
    "profiling__n_ops": (20, *POSITIVE),
    "profiling__min_memory_size": (1024, (0, 1, "7"), (-1, "x")),
    "profiling__min_peak_memory": (False, *FLAG),
    "profiling__destination": ("stderr", ("stderr", "stdout", "file.txt"), (3,)),
    "profiling__debugprint": (False, *FLAG),
    "profiling__ignore_first_call": (False, *FLAG),
    "lib__amdlibm": (False, *FLAG),
    "linker": (
        COMPUTED,
        ("auto", "c|py", "py", "c", "c|py_nogc", "cvm", "vm", "vm_nogc", "cvm_nogc", "numba", "jax", "C|PY"),
        ("fast", 3),
    ),
    "optimizer": ("fast_run", ("fast_run", "merge", "fast_compile", "None", None, "o1", "o4"), ("o9",)),
    "on_opt_error": ("warn", ("warn", "raise", "pdb", "ignore"), ("log",)),
    "on_shape_error": ("warn", ("warn", "raise"), ("ignore",)),
    "warn__ignore_bug_before": ("0.9", ("None", "all", "0.3", "0.4.1", "1.0.5"), ("2.0",)),
    "base_compiledir": (COMPUTED, ("/somewhere", Path("here")), (3,)),
    "compiledir_format": (
        "compiledir_%(short_platform)s-%(processor)s-%(python_version)s-%(python_bitwidth)s",
        ("x",),
        (3,),
    ),
    "compiledir": (COMPUTED, ("/somewhere",), (3,)),
    "blas__ldflags": ("", ("-lblas",), (3,)),
    "experimental__local_alloc_elemwise_assert": (True, *FLAG),
    "conv__assert_shape": (False, *FLAG),
    "ctc__root": ("", ("/somewhere",), (3,)),
    "gcc__cxxflags": ("", ("-O3 -g",), (3,)),
    "cxx": (COMPUTED, ("", "g++"), (3,)),
    "optimizer_excluding": ("", ("inplace", "inplace:fusion"), (3,)),
    "optimizer_including": ("", ("inplace",), (3,)),
    "optimizer_requiring": ("", ("inplace",), (3,)),
    "optimizer_verbose": (False, *FLAG),
    "nocleanup": (False, *FLAG),
    "compile__timeout": (COMPUTED, *POSITIVE),
    "compile__wait": (5, *POSITIVE),
    "DebugMode__check_preallocated_output": (
        "",
        ("", "initial", "previous:strided", "c_contiguous:f_contiguous:wrong_size", "ALL"),
        ("first", "initial:", "initial,previous", 3),
    ),
    "DebugMode__check_preallocated_output_ndim": (4, *POSITIVE),
    "DebugMode__warn_input_not_reused": (True, *FLAG),
    "NanGuardMode__nan_is_error": (True, *FLAG),
    "NanGuardMode__inf_is_error": (True, *FLAG),
    "NanGuardMode__big_is_error": (True, *FLAG),
    "compute_test_value": ("off", ("off", "ignore", "warn", "raise", "pdb"), ("on",)),
    "compute_test_value_opt": ("off", ("off", "ignore", "warn", "raise", "pdb"), ("on",)),
    "print_test_value": (False, *FLAG),
    "exception_verbosity": ("low", ("low", "medium", "high"), ("loud",)),
    "cmodule__warn_no_version": (False, *FLAG),
    "cmodule__remove_gxx_opt": (False, *FLAG),
    "cmodule__compilation_warning": (False, *FLAG),
    "cmodule__preload_cache": (False, *FLAG),
    "cmodule__age_thresh_use": (60 * 60 * 24 * 24, *POSITIVE),
    "cmodule__debug": (False, *FLAG),
    "traceback__limit": (8, (0, 20, -1), (-2, "x")),
    "traceback__compile_limit": (0, (0, 20, -1), (-2, "x")),
    "metaopt__verbose": (0, (0, 1, 2, "2"), (3, -1)),
    "print_global_stats": (False, *FLAG),
    "unpickle_function": (True, *FLAG),
    "optimizer_verbose_ignore": ("", ("a,b",), (3,)),
    "compiler_verbose": (False, *FLAG),
    "on_unused_input": ("raise", ("raise", "warn", "ignore"), ("off",)),
    "gcc_version_str": ("", ("12",), (3,)),
    "tensor__cmp_sloppy": (0, (0, 1, 2), (3,)),
    "tensor__insert_inplace_optimizer_validate_nb": (-1, (5,), ("x",)),
    "check_input": (True, *FLAG),
    "NanGuardMode__action": ("raise", ("raise", "warn", "pdb"), ("off",)),
    "DebugMode__patience": (10, *POSITIVE),
    "DebugMode__check_c": (COMPUTED, *FLAG),
    "DebugMode__check_py": (True, *FLAG),
    "DebugMode__check_finite": (True, *FLAG),
    "DebugMode__check_strides": (0, (0, 1, 2), (3,)),
    "profiling__time_thunks": (True, *FLAG),
    "profiling__output_line_width": (512, *POSITIVE),
    "optdb__position_cutoff": (math.inf, (1.5, "2", "inf"), ("x",)),
    "optdb__max_use_ratio": (8.0, (2, "3.5"), ("x",)),
    "vm__lazy": (None, (None, "None", True, "False"), ("maybe",)),
    "numba__fastmath": (False, *FLAG),
    "numba__cache": (True, *FLAG),
    "blas__check_openmp": (True, *FLAG),
}
READ_ONLY = [
    "device",
    "scan__allow_output_prealloc",
    "optimizer",
    "warn__ignore_bug_before",
    "base_compiledir",
    "compiledir_format",
    "compiledir",
    "optimizer_excluding",
    "optimizer_including",
    "optimizer_requiring",
    "compile__timeout",
    "compile__wait",
    "cmodule__preload_cache",
    "cmodule__age_thresh_use",
    "gcc_version_str",
    "tensor__cmp_sloppy",
]


def declared(name: str) -> Option[object]:
    """Return the declaration of an installed option."""
    return next(option for option in config.options() if option.name == name)


def fresh() -> Config:
    """Return a config object with the installed options that ignores the settings of this machine."""
    return Config({"TREADLERC": ""})


def test_there_are_88_documented_options() -> None:
    assert len(DOCUMENTED) == 88
    assert set(DOCUMENTED) <= set(OWNERS)


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_default_and_values_are_as_documented(name: str) -> None:
    default, taken, refused = DOCUMENTED[name]
    option = declared(name)
    assert option.doc.endswith(".")
    if default is COMPUTED:
        assert callable(option.default)
        assert option.default_text
    else:
        assert option.default == default
        assert type(option.default) is type(default)
    for value in taken:
        option.accept(value)
    for value in refused:
        with pytest.raises(OptionValueError, match=f"^option {name}: cannot be "):
            option.accept(value)


def test_options_fixed_by_their_use_are_the_documented_ones() -> None:
    assert sorted(option.name for option in config.options() if option.read_only) == sorted(READ_ONLY)


@pytest.mark.parametrize("name", [name for name in sorted(READ_ONLY) if not declared(name).no_effect])
def test_read_only_option_refuses_assignment_after_its_use(name: str) -> None:
    settings = fresh()
    used = getattr(settings, name)
    other = next(v for v in DOCUMENTED[name][1] if declared(name).accept(v) != used)
    with pytest.raises(ReadOnlyOptionError, match=rf"^option {name}: read-only since its first use, by \S*documented"):
        setattr(settings, name, other)
    if declared(name).scoped:
        with settings.change_flags({name: other}):
            assert getattr(settings, name) == declared(name).accept(other)
    assert getattr(settings, name) == used


@pytest.mark.documents("option:device", "option:print_active_device", "option:warn__ignore_bug_before")
@pytest.mark.parametrize("name", [option.name for option in config.options() if option.no_effect])
def test_option_without_meaning_is_taken_and_warns_once(name: str) -> None:
    settings = fresh()
    default = declared(name).make_default()
    others = [v for v in DOCUMENTED[name][1] if declared(name).accept(v) != default]
    setattr(settings, name, default)
    for value in others[:1]:
        with pytest.warns(OptionWarning, match=f"^option {name}: .* has no effect: "):
            setattr(settings, name, value)
    for value in others:
        setattr(settings, name, value)
    assert others or name == "device"


def names_read(package: Path) -> set[str]:
    """List the attributes of `config` that a package's code reads, and the strings that it holds."""
    names: set[str] = set()
    for path in package.rglob("*.py"):
        if path.name == "options.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "config":
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
    return names


@pytest.mark.parametrize("owner", sorted(set(OWNERS.values())))
def test_every_option_with_a_meaning_is_read_by_its_owner(owner: str) -> None:
    read = names_read(ROOT / "packages" / owner / "src")
    # The default of compiledir is built from these two, in the module that declares all three.
    read |= {"base_compiledir", "compiledir_format"} if owner == "compile-cache" else set()
    mine = [option for option in config.options() if option.owner == owner]
    assert mine
    assert [option.name for option in mine if not option.no_effect and option.name not in read] == []
