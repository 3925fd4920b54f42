"""Ops of users that bring a C function: what it may need, and what happens when it fails."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Mode, function
from treadle.graph import Apply, DuplicateRegistrationError, FunctionGraph, Op
from treadle.link.c import CFunction, CPointer, c_function
from treadle.link.c.errors import BackendUnavailableError, CFunctionError, CompileError
from treadle.link.c.linker import CLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAGE = Path(__file__).resolve().parents[2] / "docs" / "c_ops.md"
HALF = "static int half(const treadle_array *x, treadle_array *y) { {BODY} return 0; }"
DATA = np.arange(6.0)


class UserOp(Op):
    """A user's op with one operand, half of which it returns, as `perform` does."""

    __props__ = ("tag",)

    def __init__(self, tag: str = "") -> None:
        self.tag = tag

    def make_node(self, *inputs: Any) -> Apply:
        (x,) = map(tt.as_tensor, inputs)
        return Apply(self, [x], [x.type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] / 2


def brought(**fields: Any) -> Any:
    """Return an op of a class of its own that brings this C."""
    kind = type("Brought", (UserOp,), {})
    c_function(kind)(lambda *_: CFunction(**fields))
    return kind()


def halving(per_element: str = "x / 2", **fields: Any) -> Any:
    text = (
        "static int half(const treadle_array *a, treadle_array *b) {\n"
        "  int64_t count = 1;\n"
        "  for (int64_t d = 0; d < a->ndim; d++) count *= a->shape[d];\n"
        f"  for (int64_t i = 0; i < count; i++) {{ const double x = ((const double *)a->data)[i]; "
        f"((double *)b->data)[i] = {per_element}; }}\n"
        "  return 0;\n}\n"
    )
    return brought(name="half", text=text, **fields)


def run(op: Any, data: Any = DATA, mode: Any = "C") -> Any:
    x = tt.tensor(dtype="float64", shape=(None,) * data.ndim)
    return function([x], op(x) + 1, mode=mode)(data)


def test_the_examples_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {"__name__": "page"})
    first, second, third = capsys.readouterr().out.splitlines()
    np.testing.assert_allclose(np.fromstring(first.strip("[]"), sep=" "), np.exp([1.0, 2.5, 4.25]), rtol=1e-6)
    assert second == "[1. 1. 1. 2. 2. 2.]"
    np.testing.assert_allclose(float(third), 1 - 2 * np.euler_gamma)


@pytest.mark.parametrize("mode", ["C", "CVM", Mode("c|py"), None])
def test_c_of_a_user_runs_in_every_mode_with_c(mode: Any) -> None:
    np.testing.assert_array_equal(run(halving("x / 4"), mode=mode), DATA / 4 + 1)  # differs from what perform gives


def test_operands_lie_in_c_order_unless_any_layout_is_asked_for() -> None:
    data = np.arange(12.0).reshape(3, 4).T[::-1]
    np.testing.assert_array_equal(run(halving(), data), data / 2 + 1)
    text = (
        "static int sums(const treadle_array *a, treadle_array *b) {\n"
        "  for (int64_t i = 0; i < a->shape[0]; i++) for (int64_t j = 0; j < a->shape[1]; j++)\n"
        "    *(double *)((char *)b->data + i * b->strides[0] + j * b->strides[1]) =\n"
        "      *(const double *)((const char *)a->data + i * a->strides[0] + j * a->strides[1]) / 2;\n"
        "  return a->strides[0] == -8 ? 0 : 1;\n}\n"
    )
    op = brought(name="sums", text=text, any_layout=True, errors={1: (ValueError, "copied")})
    np.testing.assert_array_equal(run(op, data), data / 2 + 1)


def test_strides_of_operands_in_c_order_count_every_length() -> None:
    text = (
        "static int strides(const treadle_array *a, treadle_array *b) {\n"
        "  for (int d = 0; d < 3; d++) ((double *)b->data)[d] = (double)a->strides[d];\n  return 0;\n}\n"
    )
    x = tt.tensor(dtype="float64", shape=(None, None, None))
    out = function([x], brought(name="strides", text=text)(x), mode="C")(np.zeros((3, 1, 1)))
    assert out.ravel().tolist() == [8, 8, 8]


def test_headers_folders_support_and_flags_are_used(tmp_path: Path) -> None:
    folder = tmp_path / "with space and ü"
    folder.mkdir()
    (folder / "factor.h").write_text("#define FACTOR 3\n")
    fields: dict[str, Any] = {
        "headers": ['"factor.h"', "<complex.h>"],
        "include_dirs": [folder],
        "support": ["static double extra(void) { return 0.5; }"],
        "flags": ["-DMORE=7"],
    }
    per_element = "FACTOR * x + extra() + MORE + creal(I * I)"
    np.testing.assert_array_equal(run(halving(per_element, **fields)), 3 * DATA + 6.5 + 1)
    (folder / "factor.h").write_text("#define FACTOR 4\n")
    np.testing.assert_array_equal(run(halving(per_element, **fields)), 4 * DATA + 6.5 + 1)


def test_libraries_are_linked_and_found_again(tmp_path: Path) -> None:
    source = tmp_path / "own.c"
    source.write_text("double own_function(double x) { return 10 * x; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(tmp_path / "libown_treadle.so")], check=True)
    op = halving(
        "own_function(x)",
        support=["extern double own_function(double);"],
        libraries=["own_treadle"],
        library_dirs=[tmp_path],
    )
    np.testing.assert_array_equal(run(op), 10 * DATA + 1)


def test_a_function_that_no_library_has_is_reported_when_the_code_is_loaded() -> None:
    op = halving("no_such_function(x)", support=["extern double no_such_function(double);"])
    with pytest.raises(CompileError, match="no_such_function"):
        run(op)


def test_init_runs_once_when_the_code_is_loaded() -> None:
    op = halving("x + counter", support=["static int counter;"], init="counter++;")
    x = tt.dvector("x")
    graphs = [FunctionGraph([x], [op(x)]) for _ in range(2)]
    for graph in graphs:
        np.testing.assert_array_equal(CLinker().link(graph)(DATA)[0], DATA + 1)


def test_init_that_fails_makes_the_code_unusable() -> None:
    with pytest.raises(BackendUnavailableError, match="initialisation"):
        run(halving(init="return 4;"))


def test_pointer_of_another_signature_is_refused() -> None:
    wrong = CPointer("scipy.special.cython_special", "gammaln", "double (double, double)")
    with pytest.raises(BackendUnavailableError, match=r"gammaln has the C type 'double \(double, int"):
        wrong.address()
    for module, name, why in (
        ("scipy.special.cython_special", "no_such", "no C function no_such"),
        ("no_such_module", "f", "cannot be imported"),
    ):
        with pytest.raises(BackendUnavailableError, match=why):
            CPointer(module, name, "double (double)").address()


def test_number_that_the_function_returns_raises_its_error_at_the_users_line() -> None:
    text = "static int half(const treadle_array *x, treadle_array *y) { (void)y; return x->shape[0] > 3 ? 7 : 0; }"
    op = brought(name="half", text=text, errors={7: (UnicodeError, "too many")})
    with pytest.raises(ValueError, match=r"Brought.*too many.*test_user_ops\.py") as caught:
        run(op)
    assert isinstance(caught.value.__cause__, UnicodeError)


def test_number_without_an_error_is_named() -> None:
    x = tt.dvector("x")
    text = "static int half(const treadle_array *x, treadle_array *y) { (void)x; (void)y; return 9; }"
    with pytest.raises(RuntimeError, match=r"returned 9.*test_user_ops\.py"):
        function([x], brought(name="half", text=text)(x), mode="C")(DATA)


def test_text_that_does_not_compile_shows_the_line_and_the_node() -> None:
    with pytest.raises(CompileError, match=r"(?s)error:.*\nC line \d+: .*nonsense.*Brought.*test_user_ops\.py"):
        run(halving("nonsense + x"))


def test_rank_that_no_operand_has_needs_a_shape() -> None:
    class Grown(UserOp):
        def make_node(self, *inputs: Any) -> Apply:
            return Apply(self, [tt.as_tensor(inputs[0])], [tt.dmatrix()])

    c_function(Grown)(lambda *_: CFunction(name="half"))
    with pytest.raises(CFunctionError, match="shape="):
        run(Grown())


def test_lengths_that_contradict_the_type_are_refused() -> None:
    class Three(UserOp):
        def make_node(self, *inputs: Any) -> Apply:
            return Apply(self, [tt.as_tensor(inputs[0])], [tt.tensor(dtype="float64", shape=(3,))])

        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            output_storage[0][0] = inputs[0]

    text = (
        "static int lengths(const treadle_array *x, int64_t *n) { n[0] = x->shape[0]; return 0; }\n"
        "static int fill(const treadle_array *x, treadle_array *y) { memset(y->data, 0, 24); (void)x; return 0; }\n"
    )
    c_function(Three)(lambda *_: CFunction(name="fill", shape="lengths", text=text))
    assert run(Three(), np.zeros(3)).tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="shape"):
        run(Three())


def test_result_may_overwrite_an_operand() -> None:
    class InPlace(UserOp):
        destroy_map = {0: [0]}  # noqa: RUF012 - as the documentation writes it

    text = (
        "static int add(const treadle_array *x, treadle_array *y) {\n"
        "  for (int64_t i = 0; i < x->shape[0]; i++) ((double *)y->data)[i] += 100;\n  return 0;\n}\n"
    )
    c_function(InPlace)(lambda *_: CFunction(name="add", text=text))
    x = tt.dvector("x")
    data = DATA.copy()
    np.testing.assert_array_equal(CLinker().link(FunctionGraph([x], [InPlace()(x * 2)]))(data)[0], 2 * DATA + 100)
    np.testing.assert_array_equal(data, DATA)


def test_two_functions_of_one_name_are_refused() -> None:
    x = tt.dvector("x")
    with pytest.raises(CFunctionError, match="own name"):
        function([x], halving("x")(x) + halving("x + 1")(x), mode="C")


def test_second_rule_is_refused() -> None:
    kind = type(halving())
    with pytest.raises(DuplicateRegistrationError, match="has a lowering already"):
        c_function(kind)(lambda *_: CFunction(name="other"))


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"name": "2x"}, "cannot name"),
        ({"name": "tr_x"}, "not tr_"),
        ({"name": "f", "errors": {200: (ValueError, "")}}, "154"),
    ],
)
def test_wrong_descriptions_are_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(CFunctionError, match=why):
        CFunction(**fields)


def test_gradient_graphs_reach_the_c_too(link: Callable[..., Any]) -> None:
    class Halved(UserOp):
        def grad(self, inputs: Sequence[Any], output_grads: Sequence[Any]) -> list[Any]:
            return [self(output_grads[0])]

    c_function(Halved)(
        lambda *_: CFunction(
            name="halved",
            text="static int halved(const treadle_array *x, treadle_array *y) {"
            " for (int64_t i = 0; i < x->shape[0]; i++) ((double *)y->data)[i] = ((const double *)x->data)[i] / 2;"
            " return 0; }",
        )
    )
    x = tt.dvector("x")
    program = link([x], [tt.grad(tt.sum(Halved()(x * x)), x)])
    np.testing.assert_array_equal(program(DATA)[0], DATA)
