"""The tables, refusals, and the code that JAX gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
import pytest

import treadle.tensor as tt
from tests.link_jax.programs import assert_like_vm, link
from treadle.compile import function
from treadle.config import config
from treadle.graph import DuplicateRegistrationError, FunctionGraph, LoweringError, NodeError, Op
from treadle.link.jax import BACKEND, JAX, SCALARS, Checked
from treadle.link.jax.errors import BranchShapeError
from treadle.link.vm import ProgramGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Apply, Type


class Halve(Op):
    """An op that no backend knows."""

    __props__ = ()

    def infer(self, *types: Type) -> Sequence[Type]:
        return types

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        del node
        if (inputs[0] < 0).any():
            msg = "numbers must not be negative"
            raise ValueError(msg)
        output_storage[0][0] = inputs[0] / 2


class HalveKnown(Halve):
    """The same, with a rule."""


def halve(op: HalveKnown, node: Apply) -> Callable[..., Any]:
    del op, node
    return lambda x: Checked(x / 2, jnp.any(x < 0))


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the rule for one test only: the tables belong to the process."""
    JAX.load()
    monkeypatch.setitem(JAX._rules, HalveKnown, halve)


def test_structured_ops_without_simpler_ones_have_a_rule() -> None:
    ops = {
        tt.Elemwise, tt.DimShuffle, tt.Shape, tt.ShapeI, tt.Reshape, tt.Alloc, tt.SumTo, tt.Reduction, tt.ArgReduction,
        tt.MatMul, tt.Join, tt.ARange, tt.Subtensor, tt.IncSubtensor, tt.AdvancedSubtensor, tt.AdvancedIncSubtensor,
    }  # fmt: skip
    assert ops <= set(JAX.op_types())


def test_all_nodes_without_a_lowering_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    JAX.load()
    SCALARS.covers(tt.floor_div)
    monkeypatch.delitem(SCALARS._entries, "floor_div")
    monkeypatch.setattr(SCALARS, "_of_ufunc", None)
    x = tt.dvector("x")
    outputs = [Halve()(x), x // 2 + 1]  # both
    with config.change_flags(on_python_step="raise"), pytest.raises(LoweringError) as caught:
        link([x], outputs)
    text = str(caught.value)
    assert "Halve" in text
    assert "register the function in treadle.link.jax.SCALARS" in text
    assert text.count("# both") == 2


@pytest.mark.usefixtures("known")
def test_a_third_party_rule_may_flag_invalid_values() -> None:
    x = tt.dvector("x")
    program = link([x], [HalveKnown()(x)])
    assert program(np.array([2.0]))[0].tolist() == [1]
    with pytest.raises(ValueError, match="must not be negative"):
        program(np.array([-2.0]))


@pytest.mark.usefixtures("known")
def test_a_flag_that_numpy_does_not_confirm_is_an_error_all_the_same() -> None:
    class Doubtful(HalveKnown):
        def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
            del node
            output_storage[0][0] = inputs[0] / 2

    x = tt.dvector("x")
    with pytest.raises(NodeError, match="NumPy finds nothing wrong"):
        link([x], [Doubtful()(x)])(np.array([-2.0]))


def test_second_lowering_of_a_scalar_op_is_refused() -> None:
    with pytest.raises(DuplicateRegistrationError, match=r"jax: the scalar op 'floor_div' is registered .* 'f'"):
        SCALARS.register("floor_div", {"f": np.floor_divide})


def test_tables_load_the_rules_at_the_first_lookup() -> None:
    assert JAX.find(tt.MatMul()) is not None


def test_a_fused_function_computes_what_its_steps_do() -> None:
    x, y = tt.fmatrix("x"), tt.fmatrix("y")
    add, mul = tt.SCALAR_OPS["add"], tt.SCALAR_OPS["mul"]
    steps = (
        tt.Step(mul, (0, 1), ("float32", "float32"), "float32"),
        tt.Step(add, (2, 0), ("float64", "float64"), "float64"),
    )
    fused = tt.Elemwise(tt.Composite(2, ("float32", "float32"), steps, (2, 3)))
    outputs = fused(x, y, return_list=True)
    assert_like_vm([x, y], outputs, np.ones((3, 1), "float32"), np.arange(4, dtype="float32")[None])


def graph_of_all_families() -> tuple[list[Any], list[Any], list[Any]]:
    x, i, v, n = tt.dmatrix("x"), tt.lscalar("i"), tt.lvector("v"), tt.lscalar("n")
    outputs = [
        tt.softmax(tt.dot(x, x.T)), tt.argmax(x, axis=0), x[i], tt.inc_subtensor(x[v], 2.5), x.reshape((n, -1)),
        tt.concatenate([x, x]), tt.arange(n), x.mean(), v**v, v // v, tt.logsumexp(x), tt.log_softmax(x),
    ]  # fmt: skip
    return [x, i, v, n], outputs, [np.ones((3, 4)), np.array(1), np.array([0, 1]), np.array(2)]


def test_compiled_code_does_not_call_back_into_python() -> None:
    inputs, outputs, values = graph_of_all_families()
    text = str(link(inputs, outputs).jaxpr(*values))
    assert "dot_general" in text
    assert "callback" not in text


def test_constants_but_single_numbers_are_arguments_of_the_compiled_code() -> None:
    x = tt.dvector("x")
    jaxpr = link([x], [x * 2.5 + tt.constant(np.arange(3.0))]).jaxpr(np.ones(3))
    assert [x.shape for x in jaxpr.in_avals] == [(3,), (3,)]
    assert "2.5" in str(jaxpr)


def test_constants_that_decide_shapes_are_not_arguments() -> None:
    x = tt.dvector("x")
    assert len(link([x], [x.reshape((2, -1)), x[1:3]]).jaxpr(np.ones(4)).in_avals) == 1


def test_a_large_range_is_not_written_into_the_code() -> None:
    n = tt.lscalar("n")
    assert "iota" in str(link([n], [tt.arange(n)]).jaxpr(np.array(10**6)))


def test_matrix_products_ask_for_full_precision() -> None:
    x = tt.fmatrix("x")
    assert "Precision.HIGHEST" in str(link([x], [tt.matmul(x, x)]).jaxpr(np.ones((2, 2), "float32")))


def test_a_kept_program_of_ops_without_a_rule_compiles_for_other_shapes() -> None:
    x = tt.dvector("x")
    linker, fgraph = BACKEND.linker(), FunctionGraph([x], [tt.softmax(x)])
    kept = linker.load(linker.dump(linker.link(fgraph)), ProgramGraph.of(fgraph))
    for length in (0, 2):
        np.testing.assert_allclose(kept(np.ones(length))[0], np.full(length, 0.5))


def test_a_transposed_matrix_times_a_vector_or_column_is_as_on_the_vm() -> None:
    x, v, column = tt.dmatrix("x"), tt.dvector("v"), tt.matrix("column", shape=(None, 1), dtype="float64")
    values = np.arange(12.0).reshape(4, 3), np.arange(4.0), np.arange(4.0)[:, None]
    assert_like_vm([x, v, column], [x.T @ v, x.T @ column, v @ x, column.T @ x], *values)


@pytest.mark.parametrize("width", [(2, 3), (0, 1), ((1, 0), (0, 2))])
def test_padding_with_a_number_is_one_operation_for_each_dimension(width: Any) -> None:
    x = tt.dmatrix("x")
    values = np.arange(6.0).reshape(2, 3)
    f: Any = function([x], tt.pad(x, width, constant_values=7), mode="JAX")
    np.testing.assert_array_equal(f(values), function([x], tt.pad(x, width, constant_values=7), mode="VM")(values))
    assert "concatenate" not in str(f.vm.jaxpr(values))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_softmax_is_that_of_the_formula_beside_infinite_elements(name: str, dtype: str) -> None:
    rows = [[1, 2, 3], [1, np.inf, 2], [np.inf, np.inf, 0], [-np.inf, 0, 1], [-np.inf] * 3, [np.nan, 1, 2]]
    x = tt.matrix("x", dtype=dtype)
    outputs = [getattr(tt, name)(x, axis=axis) for axis in (0, 1, None)]
    tolerance = 1e-3 if dtype == "float16" else 1e-12
    values = np.array(rows, dtype)
    for ours, theirs in zip(*(function([x], outputs, mode=mode)(values) for mode in ("JAX", "VM")), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_integers_are_divided_once() -> None:
    a, b = tt.lvectors("a", "b")
    values = np.array([7, -7, 0, 5, -(2**63)]), np.array([2, 2, 0, -3, -1])
    for out in (a // b, a % b):
        text = str(link([a, b], [out]).jaxpr(*values))
        assert text.count(" div ") + text.count(" rem ") == 1
        assert_like_vm([a, b], [out], *values)


@pytest.mark.parametrize("taken", [0, 1])
def test_a_branch_whose_lengths_do_not_fit_is_named_although_it_is_not_taken(taken: int) -> None:
    x, y, c = tt.dvector("x"), tt.dvector("y"), tt.lscalar("c")
    first, second = (x + y, x) if taken == 0 else (x, x + y)
    chosen = tt.ifelse(c, first, second)  # this line
    f = function([c, x, y], chosen, mode="JAX")
    name = "first branch, for where the condition is true" if taken == 0 else "second branch, for where the condition"
    with pytest.raises(BranchShapeError, match=rf"^ifelse: .*{name}.*test_lowering\.py:\d+ .*this line.*traces both"):
        f(taken, np.ones(4), np.ones(3))
    assert f(taken, np.ones(4), np.ones(4)).tolist() == [1.0] * 4
    with pytest.raises(ValueError, match=r"Add: .*broadcast"):
        f(1 - taken, np.ones(4), np.ones(3))


def test_a_position_out_of_bounds_in_a_branch_not_taken_is_named() -> None:
    x, c = tt.dvector("x"), tt.lscalar("c")
    f = function([c, x], tt.ifelse(c, x[5], tt.ifelse(tt.gt(x.sum(), 3), x.sum(), x[0])), mode="JAX")
    with pytest.raises(BranchShapeError, match=r"^ifelse: JAX cannot trace the first branch.*out of bounds"):
        f(0, np.ones(4))
    assert f(0, np.ones(6)) == 6
