"""Kernels mean the same in C, for LLVM and as functions of Python; what the language lacks is refused with its line."""

from __future__ import annotations

import importlib.util
import math
import random
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TypeVar

import numpy as np
import pytest

from treadle.config import config
from treadle.graph import DuplicateRegistrationError
from treadle.kernels import KernelError, c_text, kernel, kernel_of_text, numba_lines
from treadle.kernels.language import OK, Pointer, Vector
from treadle.testing import ContractError, check_kernel, compiled_kernel

HEAD = """\
import math
from typing import TypeVar
from treadle.kernels import Kernel, kernel
from treadle.kernels.language import *
from treadle.kernels.language import float32, float64, int8, int16, int32, int64, uint8, uint32, uint64
from treadle.kernels.language import Matrix, Number, Pointer, Vector, complex64, complex128, independent

T = TypeVar("T", bound=Number)
"""

Write = Callable[[str], ModuleType]


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with config.change_flags(compiledir=tmp_path_factory.mktemp("kernels")):
        yield


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Write:
    """Return a function that makes a module of a text with kernels, once for each text."""
    tmp_path = tmp_path_factory.mktemp("texts")
    known: dict[str, ModuleType] = {}

    def module(text: str) -> ModuleType:
        if text not in known:
            known[text] = fresh(text)
        return known[text]

    def fresh(text: str) -> ModuleType:
        name = f"kernels_{len(list(tmp_path.iterdir()))}_{tmp_path.name}"
        path = tmp_path / f"{name}.py"
        path.write_text(HEAD + text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        spec.loader.exec_module(made)
        return made

    return module


class Expressions:
    """Random expressions of the language."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def integer(self, depth: int) -> str:
        choose = self.random.choice
        if not depth:
            return choose(["a", "b", "k", "x[k]", "s[k]", "(k - 7)", "(a ^ 3)", f"(b | {2**62})"])
        a, b = self.integer(depth - 1), self.integer(depth - 1)
        return choose(
            [
                f"({a} {choose(['+', '-', '*', '&', '|', '^'])} {b})",
                f"({a} {choose(['//', '%'])} {choose(['1', '3', '8', '1000'])})",
                f"({a} {choose(['<<', '>>'])} ({b} & 63))",
                f"quotient({a}, ({b} & 255) + 1)",
                f"remainder({a}, ({b} & 255) + 1)",
                f"{choose(['min', 'max'])}({a}, {b})",
                f"({a} if {self.condition(depth - 1)} else {b})",
                f"int({self.condition(depth - 1)})",
                f"abs({a})",
                f"(-{a})",
                f"(~({a}))",
            ]
        ).replace("(--", "(- -")

    def real(self, depth: int) -> str:
        choose = self.random.choice
        if not depth:
            return choose(["u", "y[k]", "(u - 0.5)", "(1 - y[k])", "(math.inf * u)", f"float({choose('ab')})"])
        a, b = self.real(depth - 1), self.real(depth - 1)
        return choose(
            [
                f"({a} {choose(['+', '-', '*', '/'])} {b})",
                f"{choose(['floor', 'ceil', 'trunc', 'rint', 'abs'])}({a})",
                f"sqrt(abs({a}))",
                f"copysign({a}, {b})",
                f"({a} if {self.condition(depth - 1)} else {b})",
                f"float({self.integer(depth - 1)})",
            ]
        )

    def condition(self, depth: int) -> str:
        choose = self.random.choice
        comparison = choose(["==", "!=", "<", "<=", ">", ">="])
        kind = self.integer if self.random.random() < 0.6 else self.real
        test = f"({kind(max(depth - 1, 0))} {comparison} {kind(max(depth - 1, 0))})"
        if depth and self.random.random() < 0.4:
            test = f"({test} {choose(['and', 'or'])} {self.condition(depth - 1)})"
        return f"(not {test})" if self.random.random() < 0.2 else test


@pytest.mark.parametrize("seed", range(3))
def test_random_expressions_mean_the_same_everywhere(write: Write, seed: int) -> None:
    made = Expressions(seed)
    lines = []
    for k in range(24):
        lines += [f"        p[{k} + 24 * k] = {made.integer(3)}", f"        q[{k} + 24 * k] = {made.real(3)}"]
    text = f"""
@kernel
def expressions_{seed}(
    a: int, b: int, u: float, x: Vector[int64], s: Vector[int8], y: Vector[float64], p: Pointer[int64],
    q: Pointer[float64]
) -> int:
    for k in range(len(x)):
{chr(10).join(lines)}
    return 5
"""
    rng = np.random.default_rng(seed)
    count = 12
    wide = np.array([0, 1, -1, 2**63 - 1, -(2**63), *rng.integers(-(2**62), 2**62, count - 5)])
    reals = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, *rng.normal(size=count - 5) * 100])
    short = rng.integers(-128, 128, 2 * count).astype("int8")[::2]
    arguments = (-12345678901, 77, -0.75, wide, short, reals, np.zeros(24 * count, "int64"), np.zeros(24 * count))
    check_kernel(getattr(write(text), f"expressions_{seed}"), *arguments)


CONTROL = """
@kernel
def control(x: Vector[int32], o: Pointer[int16], *, backwards: bool) -> int:
    count = 0
    if backwards:
        for i in range(len(x) - 1, -1, -1):
            if x[i] < 0:
                continue
            o[count] = x[i]
            count += 1
    else:
        for i in range(0, len(x), 3):
            j = i
            while True:
                if j >= len(x) or x[j] == 13:
                    break
                j += 1
            o[i] = j
            if i > 100:
                return VALUE
            count += 1
    n = len(x)
    for i in range(n):
        n = n - 1
    return count + n
"""


@pytest.mark.parametrize("backwards", [False, True])
def test_loops_end_and_go_on_everywhere_alike(write: Write, backwards: bool) -> None:
    x = np.random.default_rng(0).integers(-20, 40000, 40).astype("int32")
    x[[7, 30]] = 13
    check_kernel(write(CONTROL).control, x[::-1], np.zeros(40, "int16"), backwards=backwards)


GENERIC = """
@kernel(inline=True)
def scaled(x: T, by: T) -> T:
    return x * by

@kernel
def generic(x: Matrix[T], o: Pointer[T], r: Pointer[float64]) -> int:
    at = 0
    room = local(T, 4)
    for i in range(x.shape[0]):
        room[i & 3] = 0
        for j in range(x.shape[1]):
            room[i & 3] = room[i & 3] + x[i, j]
            o[at] = scaled(x[i, j], room[i & 3]) + convert(T, 1)
            if is_complex(T):
                o[at] = o[at] * conj(x[i, j]) / (x[i, j] + convert(T, 3))
                r[at] = float(real(o[at]) - imag(x[i, j]))
            at += 1
    return itemsize(T)
"""
DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", [*DTYPES, "complex64", "complex128"])
def test_type_parameters_stand_for_every_dtype(write: Write, dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, 10)) * 30
    values = (x + 1j * rng.normal(size=x.shape) if "complex" in dtype else np.abs(x) if "u" in dtype else x).astype(
        dtype
    )
    rtol = {"complex64": 1e-6, "complex128": 1e-14}.get(dtype, 0)
    check_kernel(write(GENERIC).generic, values[:, ::2], np.zeros(30, dtype), np.zeros(30), rtol=rtol)


ROUTINES = """
@kernel
def factor(a: Pointer[T], x: Pointer[T], pivots: Pointer[int32], m: int) -> int:
    info = lapack.getrf(m, m, a, m, pivots)
    if info != 0:
        return info
    blas.trsm("L", "L", "N", "U", m, 1, convert(T, 1), a, m, x, m)
    return lapack_free(a, m)

@kernel
def lapack_free(a: Pointer[T], m: int) -> int:
    info = lapack.potrf("U", m, a, m)
    return info
"""


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_routines_of_lapack_are_called_by_name(write: Write, dtype: str) -> None:
    a = np.random.default_rng(2).normal(size=(5, 5)).astype(dtype)
    factor = write(ROUTINES).factor
    check_kernel(factor, a.ravel(), np.ones(5, dtype), np.zeros(5, "int32"), 5)
    assert compiled_kernel(factor, np.zeros(25, dtype), np.ones(5, dtype), np.zeros(5, "int32"), 5, mode="C")[0] == 1


SORTED = """
@kernel
def sorted_by_numpy(x: Pointer[T], n: int, *, kind: str) -> int:
    failed = numpy.sort(kind, x + 1, n - 1)
    return failed
"""


@pytest.mark.parametrize("dtype", ["int16", "uint16", "float32", "int64", "uint64", "float64"])
def test_numpy_sorts_elements_read_as_any_kind(write: Write, dtype: str) -> None:
    x = np.array([3, -1, 7, -5, 2, 0, -9], "int64").astype(dtype)
    if dtype[0] == "f":
        x[2] = np.nan
    bits = x.view(f"u{x.itemsize}")
    for mode in ("VM", "C", "NUMBA"):
        status, (after,) = compiled_kernel(write(SORTED).sorted_by_numpy, bits, len(x), mode=mode, kind=dtype[0])
        assert status == 0
        np.testing.assert_array_equal(after.view(dtype), [x[0], *np.sort(x[1:])])


def test_only_numbers_are_sorted_by_numpy(write: Write) -> None:
    sorted_by_numpy = write(SORTED).sorted_by_numpy
    with pytest.raises(KernelError, match="no kind and pointer of numbers, in line"):
        sorted_by_numpy.specialised([("uint8", -1), ("int64", 0)], {"kind": "u"})
    with pytest.raises(KernelError, match="no kind and pointer of numbers, in line"):
        sorted_by_numpy.specialised([("uint64", -1), ("int64", 0)], {"kind": "c"})


SCHUR = """
@kernel
def schur(
    a: Pointer[T], m: int, w: Pointer[T], z: Pointer[T], work: Pointer[T], rwork: Pointer[R], found: Pointer[int32]
) -> int:
    if is_complex(T):
        return lapack.gees("V", "N", None, m, a, m, found, w, z, m, work, 8 * m, rwork, 0)
    return lapack.gees("V", "N", None, m, a, m, found, w, w + m, z, m, work, 8 * m, 0)
"""


@pytest.mark.parametrize("dtype", ["float64", "complex64"])
def test_routines_take_no_function_and_return_at_once(write: Write, dtype: str) -> None:
    made = write('R = TypeVar("R", bound=Number)\n' + SCHUR).schur
    a = np.random.default_rng(3).normal(size=(4, 4)).astype(dtype)
    real = np.float32 if dtype == "complex64" else np.float64
    room = [np.zeros(8, dtype), np.zeros(16, dtype), np.zeros(32, dtype), np.zeros(4, real), np.zeros(1, "int32")]
    check_kernel(made, a.ravel(), 4, *room, rtol=1e-4)
    t, vectors = a.T.copy().ravel(), np.zeros(16, dtype)
    assert made(t, 4, room[0].copy(), vectors, *(x.copy() for x in room[2:])) == 0
    z = vectors.reshape(4, 4).T
    np.testing.assert_allclose(z @ t.reshape(4, 4).T @ np.conj(z.T), a, atol=1e-5)


COMPLEX = """
@kernel
def sizes(x: Vector[complex64], wide: Pointer[complex128], o: Pointer[float32]) -> int:
    for i in independent(range(min(len(x), 3), len(x) - 1)):
        z = convert(complex128, x[i])
        wide[i] = z * z
        o[i] = abs(x[i])
    o[0] = float32(log2(abs(convert(complex128, x[1]))))
    return OK
"""


def test_complex_numbers_have_types_and_absolute_values(write: Write) -> None:
    x = np.random.default_rng(4).normal(size=(2, 9)).astype("float32")
    check_kernel(
        write(COMPLEX).sizes, (x[0] + 1j * x[1]).astype("complex64"), np.zeros(9, "complex128"), np.zeros(9, "float32")
    )


def test_kernels_are_put_together_as_text(write: Write) -> None:
    inner = write("@kernel(inline=True)\ndef doubled(x: T) -> T:\n    return x + x\n").doubled
    text = "def around(x: Vector[T], o: Pointer[T]) -> int:\n"
    text += "    for i in range(len(x)):\n        o[i] = doubled(x[i])\n    return OK\n"
    scope = {"T": TypeVar("T"), "Vector": Vector, "Pointer": Pointer, "OK": OK, "doubled": inner, "__name__": __name__}
    check_kernel(kernel_of_text("around", text, scope), np.arange(4.0), np.zeros(4))


UNSIGNED = """
@kernel
def mixed(x: Vector[uint64], o: Pointer[uint64], b: Pointer[bool]) -> int:
    for i in independent(range(len(x))):
        z = x[i] * uint64(0x9E3779B97F4A7C15) + uint64(1)
        z = (z ^ (z >> 30)) * 18446744073709551557
        o[i] = z // uint64(7) + z % uint64(11) + (z << 5)
        b[i] = (z >> 63) == uint64(1) and x[i] != 0
    low = uint64(7)
    for j in range(len(x)):
        low = min(max(low, x[j]), x[len(x) - 1], 18446744073709551557)
    return int(x[0] >> 32) ^ int(low)
"""


def test_unsigned_integers_wrap_around(write: Write) -> None:
    x = np.random.default_rng(3).integers(0, 2**63, 20).astype("uint64") * np.uint64(2)
    check_kernel(write(UNSIGNED).mixed, x, np.zeros(20, "uint64"), np.zeros(20, "bool"))


BITS = """
_COEFFICIENTS = (0.5, -0.25, 3.0)

@kernel(inline=True)
def horner(x: float) -> float:
    y = _COEFFICIENTS[2]
    for k in unrolled(range(1, -1, -1)):
        y = y * x + _COEFFICIENTS[k] * (k + 1)
    return y

@kernel(inline=True)
def scaled_down(x: float) -> float:
    return from_bits(bits(x) - (1 << 52))

@kernel
def mapped(x: Vector[float64], o: Pointer[float64], u: Pointer[uint64], *, by: Kernel) -> int:
    for i in independent(range(len(x)), 8):
        o[i] = by(x[i])
        u[i] = uint64(bits(x[i])) >> 52
        for k in unrolled(range(2)):
            o[i] = o[i] + from_bits(u[i] << 52) * k
    return OK

@kernel
def applied(x: Vector[float64], o: Pointer[float64], u: Pointer[uint64], *, by: Kernel) -> int:
    return mapped(x, o, u, by=by)
"""


@pytest.mark.parametrize("by", ["horner", "scaled_down"])
def test_bits_steps_in_a_row_and_kernels_as_static_parameters(write: Write, by: str) -> None:
    made = write(BITS)
    x = np.array([1.0, -2.5, 1e300, -1e-300, 0.1, 7.0, 8.0, 9.0, 10.0])
    function = getattr(made, by)
    check_kernel(made.applied, x, np.zeros(9), np.zeros(9, "uint64"), by=function)
    version = made.mapped.specialised([("float64", 1), ("float64", -1), ("uint64", -1)], {"by": function})
    assert version.name == f"mapped_by_{by}_i64"
    assert "#pragma omp simd simdlen(8)" in c_text(version)
    (inner,) = version.kernels
    assert "for" not in c_text(inner)
    halved = compiled_kernel(made.mapped, x, np.zeros(9), np.zeros(9, "uint64"), mode="C", by=made.scaled_down)[1][0]
    np.testing.assert_array_equal(halved, x / 2 + 2.0 ** np.frexp(x)[1] / 2 * np.sign(x))


SELECTED = """
@kernel
def selected(x: Vector[T], o: Pointer[T], n: Pointer[int64]) -> int:
    for i in range(len(x)):
        o[i] = select(x[i] > 0, x[i], 0)
        n[0] = n[0] + select(x[i] > x[0], i, -1)
    return OK
"""


@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", "uint8"])
def test_one_of_two_values_is_selected_without_a_jump(write: Write, dtype: str) -> None:
    made = write(SELECTED)
    x = np.array([3, 0, 7, 1, 250], dtype)
    check_kernel(made.selected, x, np.zeros(5, dtype), np.zeros(1, "int64"))
    after = compiled_kernel(made.selected, x, np.zeros(5, dtype), np.zeros(1, "int64"), mode="NUMBA")[1]
    np.testing.assert_array_equal(after[0], x)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return [1][0]", "the language has no List, in line 11"),
        ("return a / 2", "Div of int64"),
        ("return a + u", "int64 is needed, got float64"),
        ("return a // b", "a quotient by an int that is not a positive constant"),
        ("if a:\n        b = 1\n    return b", "a condition is int64"),
        ("if a > 0:\n        c = 1\n    return c", "c may have no value here"),
        ("c = 1\n    c = 2.5\n    return c", "int64 is needed, got float, in line 12"),
        ("for i in range(3):\n        i = 4\n    return 0", "i is the number of a loop"),
        ("for i in range(3):\n        pass\n    return i", "i is the number of a loop that has ended"),
        ("for i in x:\n        pass\n    return 0", "a loop over something else than a range"),
        ("while a > 0:\n        a -= 1", "it may end without a return"),
        ("return 0\n    a = 1", "it is never reached"),
        ("return print(a)", "a call of something else"),
        ("return x", "x is an array"),
        ("return int(x[a, b])", "x has rank 1"),
        ("return nothing", "nothing is not known"),
        ("a, b = 1, 2\n    return a", "no variable and no element"),
        ("return 2**a", "Pow of int64"),
        ("return 9223372036854775808", "is not an int64"),
        ("return min(u, 1.0)", "min and max of other numbers than integers"),
        ("return a < b < u", "int64 is needed, got float64"),
        ("r = local(float64, a)\n    return 0", "room for a number of elements that is not known"),
        ("return lambda: a", "the language has no Lambda"),
        ("for i in unrolled(range(a)):\n        pass\n    return 0", "an unrolled loop of bounds that are not known"),
        ("for i in unrolled(range(2)):\n        break\n    return 0", "an unrolled loop is left"),
        ("for b in unrolled(range(2)):\n        pass\n    return 0", "b is a variable already"),
        ("for i in unrolled(range(2)):\n        pass\n    return i", "i is not known"),
        ("for i in independent(range(2), a):\n        pass\n    return 0", "how many steps at once is not known"),
        ("return bits(a)", "a call of something else"),
        ("special.gammaln(a)\n    return 0", "a function of SciPy's of other than real numbers"),
        ("u = _MIXED[a]\n    return 0", "_MIXED has more than floats"),
        ("blas.trsm('L', a)\n    return 0", "no argument is an array of numbers"),
    ],
)
def test_what_the_language_lacks_is_refused_with_its_line(write: Write, body: str, said: str) -> None:
    text = f"@kernel\ndef wrong(a: int, b: int, u: float, x: Vector[float64]) -> int:\n    {body}\n_MIXED = (1, 2.5)\n"
    with pytest.raises(KernelError, match=said.replace("(", r"\(")) as caught:
        write(text).wrong.specialised([("int64", 0), ("int64", 0), ("float64", 0), ("float64", 1)], {})
    assert "wrong" in str(caught.value)
    assert str(caught.value).endswith(".")


def test_arguments_that_do_not_fit_are_refused(write: Write) -> None:
    made = write(GENERIC)
    with pytest.raises(KernelError, match="parameter o is a pointer of float64, got a pointer of float32"):
        made.generic(np.zeros((2, 2)), np.zeros(4, "float32"), np.zeros(4))
    with pytest.raises(KernelError, match="it takes 3 arguments, got 1"):
        made.generic(np.zeros((2, 2)))
    with pytest.raises(KernelError, match=r"static parameters are \['backwards'\], got \[\]"):
        write(CONTROL).control(np.zeros(2, "int32"), np.zeros(2, "int16"))


def test_element_out_of_bounds_is_found_in_python(write: Write) -> None:
    text = "@kernel\ndef beyond(x: Vector[float64], n: int) -> float:\n    return x[n]\n"
    beyond = write(text).beyond
    assert beyond(np.ones(3), 2) == 1
    with pytest.raises(KernelError, match="out of bounds"):
        beyond(np.ones(3), 3)
    with pytest.raises(KernelError, match="out of bounds"):
        beyond(np.ones(3), -1)


def test_kernel_with_a_closure_is_refused() -> None:
    outer = 3

    def inner(a: int) -> int:
        return a + outer

    with pytest.raises(KernelError, match="it uses outer of a function around it"):
        kernel(inner).specialised([("int64", 0)], {})


def test_versions_are_made_once_and_named_by_dtypes_and_static_values(write: Write) -> None:
    control = write(CONTROL).control
    known = [("int32", 1), ("int16", -1)]
    first = control.specialised(known, {"backwards": True})
    assert first is control.specialised(known, {"backwards": True})
    assert first.name == "control_backwards_i64"
    assert control.specialised(known, {"backwards": False}).name == "control_not_backwards_i64"


def test_branch_of_a_static_condition_is_all_there_is(write: Write) -> None:
    text = """
@kernel
def folded(x: Vector[T], *, lower: bool) -> int:
    if lower and is_floating(T):
        return 1
    return 2 if not lower else 3
"""
    folded = write(text).folded
    version = folded.specialised([("float32", 1)], {"lower": True})
    assert numba_lines(version, str) == ["return 1"]
    assert "if" not in c_text(folded.specialised([("int8", 1)], {"lower": True}))
    assert "return 2;" in c_text(folded.specialised([("int8", 1)], {"lower": False}))


def test_two_kernels_of_one_name_are_refused_in_c(write: Write) -> None:
    one, other = (write(f"@kernel\ndef twice_named(n: int) -> int:\n    return n + {k}\n") for k in (1, 2))
    assert compiled_kernel(one.twice_named, 1, mode="C")[0] == 2
    with pytest.raises(DuplicateRegistrationError, match="kernels of one name"):
        compiled_kernel(other.twice_named, 1, mode="C")


def test_check_tells_what_differs(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    made = write(
        "@kernel\ndef halved(x: Vector[float64], o: Pointer[float64]) -> int:\n    o[0] = x[0] / 2\n    return 0\n"
    )
    check_kernel(made.halved, np.ones(1), np.zeros(1))
    monkeypatch.setattr("treadle.kernels.interpretation.as_value", lambda _, value: value)
    monkeypatch.setattr("treadle.kernels.language.Pointer.__setitem__", lambda *_: None)
    with pytest.raises(ContractError, match=r"C: kernel halved leaves .*0\.5.* at 0 of pointer 0, and .*0\.0"):
        check_kernel(made.halved, np.ones(1), np.zeros(1))


VECTORS = """
@kernel
def rows(x: Pointer[T], w: Pointer[T], n: int, o: Pointer[T], *, several: int) -> int:
    width = lanes(T)
    for j in range(n):
        a = vectors(T, several)
        for k in range(3):
            b = filled(T, w[k])
            for v in unrolled(range(several)):
                a[v] = fused(b, vector(x + (64 * (j + k) + v * width)), a[v])
        for v in unrolled(range(several)):
            o[64 * j + v * width] = a[v] - vector(x + 64 * j) * filled(T, 2)
    return width


@kernel
def summed(x: Pointer[T], n: int, o: Pointer[T]) -> int:
    s = vectors(T, 1)
    i = 0
    while i < n:
        own = vector(x + i)
        if n - i < lanes(T):
            own = first(own, n - i)
        s[0] += own
        i += lanes(T)
    o[0] = total(s[0])
    return OK


@kernel
def part_sum(x: Pointer[int64], start: int, stop: int, o: Pointer[int64], at: int) -> int:
    for i in range(start, stop):
        o[at] += x[i]
    return stop


@kernel
def shared_sums(x: Pointer[int64], n: int, o: Pointer[int64]) -> int:
    last = 0
    members = team(10**9)
    for m in shared(range(members)):
        stop = quotient(n * (m + 1), members)
        last = max(last, part_sum(x, quotient(n * m, members), stop, o, m))
    return last
"""
_LANED = ["int8", "uint8", "int16", "int32", "int64", "uint64", "float32", "float64"]


@pytest.mark.parametrize("dtype", _LANED)
@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_vectors_compute_many_elements_at_once(write: Write, dtype: str, mode: str) -> None:
    made = write(VECTORS)
    x = np.random.default_rng(4).integers(0, 9, 64 * 5).astype(dtype)
    w = np.array([1, 2, 5], dtype)
    width, (_, _, found) = compiled_kernel(made.rows, x, w, 2, np.zeros(64 * 5, dtype), mode=mode, several=3)
    assert width * w.itemsize in {4 * w.itemsize, 16, 32, 64}
    lines = x.reshape(5, 64)
    for j in range(2):
        wanted = sum(lines[j + k] * w[k] for k in range(3))[: min(3 * width, 64)]
        wanted = wanted - np.resize(lines[j, :width], len(wanted)) * w.dtype.type(2)
        if 3 * width <= 64:
            np.testing.assert_array_equal(found[64 * j : 64 * j + 3 * width], wanted)
    for n in (1, 9, 64, 100):
        padded = np.concatenate([x[:n], np.full(64, 7, dtype)])
        _, (_, found) = compiled_kernel(made.summed, padded, n, np.zeros(1, dtype), mode=mode)
        assert found[0] == x[:n].sum(dtype=dtype)


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA"])
def test_steps_of_a_shared_loop_have_variables_of_their_own(write: Write, mode: str) -> None:
    x = np.arange(1000)
    with config.change_flags(openmp=True):
        last, (_, parts) = compiled_kernel(write(VECTORS).shared_sums, x, len(x), np.zeros(256, "int64"), mode=mode)
    assert last == len(x)
    assert parts.sum() == x.sum()
