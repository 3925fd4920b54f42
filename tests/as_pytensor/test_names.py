"""PyTensor's names: each stands for an object, or importing it says why not."""

from __future__ import annotations

from tests.as_pytensor.processes import printed, values

EVERY_NAME = """
import warnings
warnings.simplefilter("ignore")
from treadle.as_pytensor.resolution import TABLE, resolve

resolved, absent, silent = 0, 0, []
for module, names in TABLE.modules.items():
    for name in names:
        if name.startswith("_"):
            continue
        try:
            resolve(module, name)
            resolved += 1
        except AttributeError as error:
            absent += 1
            if "on treadle: " not in str(error) or len(str(error).partition("on treadle: ")[2]) < 20:
                silent.append(f"{module}.{name}")
values.update(resolved=resolved, absent=absent, silent=silent)
"""


def test_every_public_name_stands_for_an_object_or_has_a_reason() -> None:
    counts = values(EVERY_NAME)
    assert counts["silent"] == []
    assert counts["resolved"] + counts["absent"] > 7_700
    assert counts["resolved"] > 5_200


def test_names_of_scalars_dtypes_and_collections_do_what_pytensor_does() -> None:
    code = """
import numpy as np
from pytensor import scalar as ps
from pytensor.scalar import basic
from pytensor.tensor.type import float_dtypes, integer_dtypes, values_eq_approx_remove_nan, ubscalar
from pytensor.tensor.utils import broadcast_static_dim_lengths, normalize_reduce_axis, shape_of_variables
from pytensor.tensor.linalg.dtype_utils import linalg_output_dtype, linalg_real_output_dtype
from pytensor.utils import flatten, uniq, unzip, hash_from_code, difference
from pytensor.misc.ordered_set import OrderedSet
from pytensor.misc.frozendict import frozendict
from pytensor.graph.utils import AssocList
from pytensor.graph import FunctionGraph
import pytensor.tensor as pt
from pytensor.tensor.basic import infer_static_shape

def types(rule, *dtypes):
    try:
        return [kind.dtype for kind in rule(*map(ps.get_scalar_type, dtypes))]
    except TypeError:
        return "TypeError"

pairs = [("int8", "int8"), ("int8", "float32"), ("bool", "bool"), ("int64", "float32"), ("uint8", "int8")]
for name in ("upcast_out", "upcast_out_nobool", "upcast_out_min8", "upgrade_to_float", "int_out", "float_out"):
    values[name] = [types(getattr(basic, name), *pair) for pair in pairs]
values["upcast_out_no_complex"] = types(basic.upcast_out_no_complex, "complex64", "float32")
values["same_out"] = [types(basic.same_out, "bool"), types(basic.same_out_nobool, "bool"),
                      types(basic.same_out_float_only, "int8"), types(basic.real_out, "complex64")]
values["dtypes"] = [float_dtypes, integer_dtypes]
nan = np.array([np.nan, 1.0])
values["close"] = [values_eq_approx_remove_nan(nan, np.array([2.0, 1.0])), values_eq_approx_remove_nan(nan, nan + 1)]
values["lengths"] = [broadcast_static_dim_lengths([1, None]), broadcast_static_dim_lengths([None, 3, 1]),
                     normalize_reduce_axis(-1, 2), normalize_reduce_axis(None, 2)]
values["lapack"] = [linalg_output_dtype("int8"), linalg_output_dtype("int32"), linalg_output_dtype("float16", "int64"),
                    linalg_real_output_dtype("complex64")]
values["lists"] = [flatten([1, (2, [3])]), uniq([2, 1, 2]), unzip([], 2), difference([1, 2], [2])]
values["digest"] = hash_from_code("a")[:9]
values["sets"] = [list(OrderedSet("ba") | OrderedSet("c")), len({frozendict(a=1), frozendict(a=1)})]
pairs = AssocList()
pairs[slice(1)] = 2
pairs["a"] = 3
values["pairs"] = [pairs[slice(1)], pairs.get("b", 4), pairs["a"]]
x = pt.matrix("x")
y = x[5:]
fgraph = FunctionGraph([x], [y], clone=False)
values["shapes"] = shape_of_variables(fgraph, {x: (10, 3)})[y]
values["static"] = infer_static_shape([pt.constant(3), pt.lscalar("n")])[1]
values["scalar"] = [ubscalar("u").dtype, ps.math.gammainc.name, basic.scalar_maximum.name]
"""
    found = values(code)
    assert found["upcast_out"] == [["int8"], ["float32"], ["bool"], ["float64"], ["int16"]]
    assert found["upcast_out_nobool"] == [["int8"], ["float32"], "TypeError", ["float64"], ["int16"]]
    assert found["upcast_out_min8"] == [["int8"], ["float32"], ["int8"], ["float64"], ["int16"]]
    assert found["upgrade_to_float"] == [["float32"], ["float32"], ["float32"], ["float64"], ["float32"]]
    assert found["int_out"] == [["int64"]] * 5
    assert found["float_out"] == [["float64"]] * 5
    assert found["upcast_out_no_complex"] == "TypeError"
    assert found["same_out"] == [["bool"], "TypeError", "TypeError", ["float32"]]
    assert found["dtypes"][0] == ["float16", "float32", "float64"]
    assert len(found["dtypes"][1]) == 8
    assert found["close"] == [True, False]
    assert found["lengths"] == [None, 3, [1], None]
    assert found["lapack"] == ["float32", "float64", "float64", "float32"]
    assert found["lists"] == [[1, 2, 3], [2, 1], [[], []], [1]]
    assert found["digest"] == "mca978112"
    assert found["sets"] == [["b", "a", "c"], 1]
    assert found["pairs"] == [2, 4, 3]
    assert found["shapes"] == [5, 3]
    assert found["static"] == [3, None]
    assert found["scalar"] == ["uint8", "gammainc", "maximum"]


def test_importing_an_absent_name_or_module_says_why() -> None:
    code = """
import treadle.as_pytensor
treadle.as_pytensor.install()
import pytensor
for line in (
    "from pytensor.breakpoint import PdbBreakpoint",
    "from pytensor.configparser import BoolParam",
    "from pytensor.tensor.blas.gemm import Gemm, Dot22",
    "from pytensor.assumptions.alloc import eye_is_square",
    "from pytensor.tensor import no_such_name",
    "import pytensor.no_such_module",
    "pytensor.tensor.no_such_name",
):
    try:
        exec(line)
        print("nothing")
    except (ImportError, AttributeError) as error:
        print(type(error).__name__, error)
"""
    told = printed(code).splitlines()
    assert "set a breakpoint in a function given to MonitorMode or Print" in told[0]
    assert "options are declared by treadle.config.config.add" in told[1]
    assert "MatMul" in told[2]
    assert "FACT_RULES" in told[3]
    assert all(line.startswith("ImportError pytensor.") for line in told[:4])
    assert told[4].startswith("ImportError cannot import name 'no_such_name'")
    assert told[5] == "ModuleNotFoundError No module named 'pytensor.no_such_module'"
    assert told[6] == "AttributeError module 'pytensor.tensor' has no attribute 'no_such_name'"


def test_modules_list_their_names_and_modules() -> None:
    code = """
import rlcompleter
import pytensor
values["tensor"] = sorted({"exp", "dvector", "linalg", "random"} & set(dir(pytensor.tensor)))
values["top"] = sorted({"function", "shared", "compile", "tensor", "__version__"} & set(dir(pytensor)))
complete = rlcompleter.Completer({"pytensor": pytensor}).complete
values["completed"] = complete("pytensor.tensor.expm", 0)
values["version"] = pytensor.__version__
from pytensor import scan
values["scan"] = callable(scan)
"""
    found = values(code)
    assert found["tensor"] == ["dvector", "exp", "linalg", "random"]
    assert {"function", "shared", "compile", "tensor"} <= set(found["top"])
    assert found["completed"].startswith("pytensor.tensor.expm1")
    assert found["version"] == "3.3.8"
    assert found["scan"] is True
