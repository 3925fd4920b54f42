"""Documented parameters of ops made of graphs, of choices, and of functions of Python, JAX and PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Mode, OpFromGraph, function, ifelse, shared, wrap_py
from treadle.config import config
from treadle.graph import (
    FunctionGraph,
    GraphTypeError,
    GraphValueError,
    LoweringError,
    MethodNotDefinedError,
    MissingInputError,
    debugprint,
    toposort,
)
from treadle.link.vm import PythonStepWarning
from treadle.rewrite import optdb, rewrite_graph
from treadle.scan import scan
from treadle.tensor.errors import DisconnectedInputError, ShapeError, TensorTypeError

if TYPE_CHECKING:
    from collections.abc import Callable


def scalars(*names: str) -> list[Any]:
    return [tt.dscalar(name) for name in names]


def value(out: Any, **values: float) -> float:
    return float(out.eval({name: np.asarray(v) for name, v in values.items()}, mode="VM"))


# OpFromGraph


@pytest.mark.documents("OpFromGraph.inputs", "OpFromGraph.outputs", "OpFromGraph.name")
def test_op_takes_inputs_and_computes_outputs_and_is_printed_by_its_name() -> None:
    x, y, a, b = scalars("x", "y", "a", "b")
    op = OpFromGraph([x, y], [x - y, x * y], name="both")
    difference, product = op(a, b)
    assert (value(difference, a=5, b=2), value(product, a=5, b=2)) == (3.0, 10.0)
    assert "both" in str(debugprint(product, file="str"))
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: OpFromGraph(x, [x]), GraphTypeError, "inputs must be a list of variables, got x"),
        (lambda: OpFromGraph([x], x), GraphTypeError, "outputs must be a list of variables, got x"),
        (lambda: OpFromGraph([x, x], [x]), GraphTypeError, "input 1, x, is given twice"),
        (lambda: OpFromGraph([x], [x * y]), MissingInputError, "the outputs need y of type .*, which is no input"),
        (lambda: op(a), GraphValueError, r"2 inputs are needed, x of type .*, y of type .*; got 1"),
        (lambda: op(a, tt.dvector("v")), GraphTypeError, "input 1: .* got v of type Vector"),
    ]
    for wrong, kind, message in cases:
        with pytest.raises(kind, match=message):
            wrong()


def test_constants_and_shared_variables_are_inputs_like_any_other() -> None:
    x, a, two, state = *scalars("x", "a"), tt.constant(2.0), shared(3.0, name="state")
    op = OpFromGraph([x, two, state], [x * two + state], strict=True)
    assert [str(kind) for kind in op.input_types] == [str(x.type)] * 3
    assert op.output_types == [x.type]
    assert value(op(a, two, state), a=1) == 5.0
    assert value(op(a, 10.0, state + 1), a=1) == 14.0
    assert value(tt.grad(op(a, two, state), state), a=1) == 1.0
    assert op == OpFromGraph([x, (factor := tt.dscalar()), (term := tt.dscalar())], [x * factor + term])
    again = op.clone_with_inner_graph(op.fgraph.unfreeze())
    assert again == op


def test_arguments_of_function_have_no_effect_and_others_are_refused() -> None:
    x, a = scalars("x", "a")
    out = OpFromGraph([x], [x * 2], mode="unknown", profile=True, accept_inplace=True, trust_input=True)(a)
    assert value(out, a=2) == 4.0
    with pytest.raises(GraphTypeError, match=r"no option givens: an op .* replaces nothing\. Leave it out"):
        OpFromGraph([x], [x], givens={})
    with pytest.raises(GraphTypeError, match=r"no option inlined: of the arguments of `function`, .* are taken"):
        OpFromGraph([x], [x], inlined=True)


@pytest.mark.documents("OpFromGraph.inline", "Function.nodes_with_inner_function")
@pytest.mark.parametrize("inline", [True, False])
def test_graph_is_put_in_the_nodes_place_at_once_or_late_or_never(inline: bool) -> None:
    x, a = scalars("x", "a")
    out = OpFromGraph([x], [tt.exp(x)], inline=inline)(a)
    plain, kept = (function([a], out, mode=Mode("vm", q)) for q in ("fast_run", None))
    assert plain(0.0) == kept(0.0) == 1.0
    assert [node.op for node in plain.nodes_with_inner_function] == []
    without = function([a], out, mode=Mode("vm", "fast_run").excluding("inline_ofg"))
    assert len(without.nodes_with_inner_function) == 1 - inline
    assert without(0.0) == 1.0


def test_canonical_forms_keep_the_node_of_a_graph_that_is_put_in_its_place_when_compiling() -> None:
    x, a = scalars("x", "a")
    out = OpFromGraph([x], [tt.exp(x)], inline=True, name="own")(a + 0)
    canonical = rewrite_graph(out, include=("canonicalize", "stabilize"))
    assert [str(node.op) for node in toposort([canonical])] == ["own{inline=True}"]
    graph = FunctionGraph([a], [out])
    optdb.query("+canonicalize").rewrite(graph)
    assert len(graph) == 1
    assert str(rewrite_graph(out, include=("inline",)).owner.op) == "Exp"


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "VM"])
def test_graphs_inside_of_loops_are_put_in_the_nodes_places_too(mode: str) -> None:
    x, a = scalars("x", "a")
    op = OpFromGraph([x], [tt.exp(-x)], inline=True, name="own")

    def step(y: Any) -> Any:
        return op(y) + scan(op, outputs_info=[y], n_steps=2, return_updates=False)[-1]

    out = scan(step, outputs_info=[a], n_steps=3, return_updates=False)[-1]
    compiled = function([a], out, mode=mode)
    expected = 0.5
    for _ in range(3):
        expected = np.exp(-expected) + np.exp(-np.exp(-expected))
    assert compiled(0.5) == pytest.approx(expected)
    assert "own" not in str(debugprint(compiled, file="str"))
    assert "own" in str(debugprint(out, file="str"))


def short(inputs: Any, cotangents: Any) -> Any:
    return [cotangents[0] * inputs[0] * 100]


def full(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return [cotangents[0] * outputs[0] * 100 / inputs[0]]


@pytest.mark.documents("OpFromGraph.pullback", "OpFromGraph.lop_overrides", "OpFromGraph.grad_overrides")
@pytest.mark.parametrize(
    "options",
    [
        {"pullback": full},
        {"lop_overrides": full},
        {"grad_overrides": short},
        {"pullback": [lambda *parts: full(*parts)[0]]},
        {"grad_overrides": [lambda *parts: short(*parts)[0]]},
    ],
)
def test_gradient_is_the_one_that_is_given(options: Any) -> None:
    x, a = scalars("x", "a")
    assert value(tt.grad(OpFromGraph([x], [x * x])(a), a), a=3) == 6.0
    assert value(tt.grad(OpFromGraph([x], [x * x], **options)(a), a), a=3) == 300.0


@pytest.mark.documents("OpFromGraph.pullback", "OpFromGraph.pushforward")
def test_derivatives_that_do_not_fit_are_refused_when_the_op_is_made() -> None:
    x, y, a = scalars("x", "y", "a")
    cases: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"pullback": full, "lop_overrides": full}, GraphValueError, "the gradient is given under 2 names"),
        ({"pullback": 3}, GraphTypeError, "the gradient must be a function, an op or a list of functions, got 3"),
        ({"pullback": [full]}, GraphValueError, "gradients for 2 inputs are needed, got a list of 1"),
        ({"pushforward": "x"}, GraphTypeError, "the directional derivative must be a function, .*, got 'x'"),
        ({"rop_overrides": [full, full]}, GraphValueError, "derivatives for 1 outputs are needed, got a list of 2"),
    ]
    for options, kind, message in cases:
        with pytest.raises(kind, match=message):
            OpFromGraph([x, y], [x * y], **options)
    with pytest.raises(GraphValueError, match="the gradient given returned 2 variables, 1 are needed"):
        tt.grad(OpFromGraph([x], [x * x], pullback=lambda *_: [x, x])(a), a)


@pytest.mark.documents("OpFromGraph.pushforward", "OpFromGraph.pushforward_with_outputs", "OpFromGraph.rop_overrides")
@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, 6.0),
        ({"pushforward": lambda ins, moves: [ins[0] * moves[0] * 7]}, 21.0),
        ({"pushforward": lambda ins, moves: ins[0] * moves[0] * 7}, 21.0),
        ({"pushforward": [None]}, 6.0),
        ({"pushforward_with_outputs": lambda _ins, outs, moves: [outs[0] * moves[0]]}, 9.0),
        ({"rop_overrides": lambda ins, moves: [ins[0] * moves[0] * 7]}, 21.0),
        ({"rop_overrides": [lambda ins, moves: ins[0] * moves[0] * 7]}, 21.0),
    ],
)
def test_directional_derivative_is_the_one_that_is_given(options: Any, wanted: float) -> None:
    x, a, move = scalars("x", "a", "move")
    node = OpFromGraph([x], [x * x], **options)(a).owner
    (tangent,) = node.op.pushforward(node.inputs, node.outputs, [move])
    out = function([a, move], tangent, mode="VM", on_unused_input="ignore")(3.0, 1.0)
    assert out == wanted


def test_what_does_not_move_has_a_direction_of_zeros() -> None:
    x, y, a, b, move = scalars("x", "y", "a", "b", "move")
    op = OpFromGraph([x, y], [x * y], pushforward=lambda ins, moves: [ins[0] * moves[1] + ins[1] * moves[0]])
    assert function([a, b, move], tt.Rop(op(a, b), a, move), mode="VM")(2.0, 3.0, 1.0) == 3.0


@pytest.mark.documents("OpFromGraph.connection_pattern")
def test_gradients_flow_where_the_pattern_says() -> None:
    x, y, a, b = scalars("x", "y", "a", "b")
    op = OpFromGraph([x, y], [x * y, x + y], connection_pattern=[[True, True], [False, True]])
    product, total = op(a, b)
    assert value(tt.grad(product, a), a=2, b=3) == 3.0
    with pytest.raises(DisconnectedInputError, match="does not depend on b"):
        tt.grad(op(a, b)[0], b)
    # Only the cotangent of the second output flows to b.
    assert value(tt.grad(product + total, b), a=2, b=3) == 1.0
    assert value(tt.grad(product + total, a), a=2, b=3) == 4.0
    multiplied = OpFromGraph(
        [x, y], [x * y], connection_pattern=[[True], [False]], pullback=lambda _i, _o, c: [c[0], c[0]]
    )
    with pytest.raises(DisconnectedInputError):
        tt.grad(multiplied(a, b), b)
    for wrong in (3, [[True]], [[True], [True]], [True, True]):
        with pytest.raises(GraphValueError, match="a list with 2 booleans for each of 2 inputs, got"):
            OpFromGraph([x, y], [x * y, x + y], connection_pattern=wrong)


@pytest.mark.documents("OpFromGraph.strict")
def test_shared_variables_are_taken_along_unless_that_is_forbidden() -> None:
    x, a, state = *scalars("x", "a"), shared(3.0, name="state")
    out = OpFromGraph([x], [x * state])(a)
    assert value(out, a=2) == 6.0
    state.set_value(5.0)
    assert value(out, a=2) == 10.0
    with pytest.raises(GraphValueError, match="strict, but the outputs need shared variables: state"):
        OpFromGraph([x], [x * state], strict=True)


# ifelse


@pytest.mark.documents("ifelse", "ifelse.condition", "ifelse.then_branch", "ifelse.else_branch", "ifelse.name")
def test_branch_that_the_condition_names_is_computed() -> None:
    x, y = scalars("x", "y")
    assert [value(ifelse(x, y, -y), x=c, y=2) for c in (1, 0, -3)] == [2.0, -2.0, 2.0]
    first, second = ifelse(x > 0, (y, y + 1), (0, 1.5))
    assert (value(first, x=1, y=2), value(second, x=1, y=2)) == (2.0, 3.0)
    assert float(function([x, y], second, mode="VM")(0.0, 2.0)) == 1.5
    assert "chosen" in str(debugprint(ifelse(x, y, 0, name="chosen"), file="str"))
    v = tt.dvector("v")
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: ifelse(v, x, y), TensorTypeError, "the condition must be a scalar, got v of type Vector"),
        (lambda: ifelse(x, [x], y), ShapeError, "got a sequence of 1 and a single one"),
        (lambda: ifelse(x, [x, y], [y]), ShapeError, "got a sequence of 2 and a sequence of 1"),
        (lambda: ifelse(x, x, v), TensorTypeError, "must have one rank, got x of type .* and v of type"),
    ]
    for wrong, kind, message in cases:
        with pytest.raises(kind, match=message):
            wrong()


# Functions as ops


@pytest.mark.documents("wrap_py", "wrap_py.itypes", "wrap_py.otypes")
def test_python_function_is_an_op_of_the_types_that_are_named() -> None:
    def most(x: Any, least: Any) -> Any:
        return np.maximum(x, least), np.argmax(x)

    largest = wrap_py(itypes=[tt.dvector, tt.dscalar], otypes=[tt.dvector, tt.lscalar])(most)
    x = tt.dvector("x")
    clipped, where = largest(x, 1.0)
    assert (clipped.type, where.type.dtype) == (x.type, "int64")
    for mode in ("VM", "FAST_RUN"):
        results = function([x], [clipped, where], mode=mode)([0.0, 3.0])
        assert [v.tolist() for v in results] == [[1.0, 3.0], 1]
    for mode in ("NUMBA", "JAX"):
        with pytest.warns(PythonStepWarning, match="most"):
            f = function([x], clipped, mode=mode)
        assert f([0.0, 3.0]).tolist() == [1.0, 3.0]
    with config.change_flags(on_python_step="raise"):
        for mode in ("C", "NUMBA", "JAX", "PYTORCH"):
            with pytest.raises(LoweringError, match="most"):
                function([x], clipped, mode=mode)
    cases: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: largest(x), GraphValueError, "2 inputs are needed, got 1"),
        (lambda: largest(x, x), TypeError, "x of type Vector"),
        (lambda: wrap_py(3, [tt.dscalar])(abs), GraphTypeError, "itypes must be types, got 3"),
        (lambda: wrap_py([tt.dscalar], "a")(abs), GraphTypeError, "otypes must be types, got 'a'"),
    ]
    for wrong, kind, message in cases:
        with pytest.raises(kind, match=message):
            wrong()
    lying = wrap_py([tt.dvector], [tt.dscalar])(lambda v: v)
    with pytest.raises(TypeError, match=r"the function's value 0 does not fit its otype: Scalar.*built at test_doc"):
        function([x], lying(x), mode="VM")([1.0, 2.0])


@pytest.mark.documents("wrap_py.infer_shape")
def test_lengths_come_from_the_function_that_is_given() -> None:
    calls: list[int] = []

    def twice(x: Any) -> Any:
        calls.append(1)
        return np.concatenate([x, x])

    x = tt.dvector("x")
    with_shape_rule = wrap_py([tt.dvector], [tt.dvector], infer_shape=lambda _node, shapes: [(shapes[0][0] * 2,)])(
        twice
    )
    older = wrap_py([tt.dvector], [tt.dvector], infer_shape=lambda _g, _node, shapes: [(shapes[0][0] * 2,)])(twice)
    untold = wrap_py([tt.dvector], [tt.dvector])(twice)
    for op, ran in ((with_shape_rule, 0), (older, 0), (untold, 1)):
        calls.clear()
        assert function([x], op(x).shape[0], mode=Mode("vm", "fast_run"))([1.0, 2.0, 3.0]) == 6
        assert len(calls) == ran


@pytest.mark.documents("wrap_py.pullback")
def test_gradient_of_a_python_function_is_given_or_missing() -> None:
    x = tt.dscalar("x")
    kinds: Any = ([tt.dscalar], [tt.dscalar])
    smooth = wrap_py(*kinds, pullback=lambda ins, _outs, cts: [cts[0] * 2 * ins[0]])(lambda v: v * v)
    assert value(tt.grad(smooth(x), x), x=3) == 6.0
    with pytest.raises(MethodNotDefinedError, match=r"the function has no gradient\. Pass one"):
        tt.grad(wrap_py(*kinds)(abs)(x), x)
    with pytest.raises(GraphTypeError, match="pullback must be a function, got 3"):
        wrap_py(*kinds, pullback=3)(abs)


@pytest.mark.documents("wrap_jax", "wrap_jax.jax_function", "wrap_jax.allow_eval")
def test_jax_function_is_an_op() -> None:
    jnp = pytest.importorskip("jax.numpy")
    from treadle.compile import wrap_jax

    check_wrapped(wrap_jax, jnp.sin, "wrap_jax")


@pytest.mark.documents("wrap_torch", "wrap_torch.torch_function", "wrap_torch.allow_eval")
def test_torch_function_is_an_op() -> None:
    torch = pytest.importorskip("torch")
    from treadle.compile import wrap_torch

    check_wrapped(wrap_torch, torch.sin, "wrap_torch")


def check_wrapped(wrap: Any, sin: Callable[[Any], Any], name: str) -> None:
    x: Any = tt.dvector("x")
    fixed: Any = tt.TensorType("float64", (2,))("fixed")

    def wave(parts: Any, factor: float) -> Any:
        return [sin(parts["x"]) * factor, parts["x"].sum()]

    curve, total = wrap(wave)({"x": x}, 2.0)
    assert (curve.type, total.type.ndim) == (x.type, 0)
    f = function([x], [curve, total, tt.grad(curve.sum(), x)], mode="VM")
    results = f([0.0, 1.0])
    np.testing.assert_allclose(results[0], 2 * np.sin([0.0, 1.0]))
    np.testing.assert_allclose(results[2], 2 * np.cos([0.0, 1.0]))
    assert results[1] == 1.0
    # Unknown lengths would have to be tried.
    careful = wrap(allow_eval=False)(sin)
    assert careful(fixed).type == fixed.type
    with pytest.raises(GraphValueError, match=f"{name}: .* takes inputs of unknown lengths: .*allow_eval"):
        careful(x)
    with pytest.raises(GraphTypeError, match=f"{name}: a function is needed, got 3"):
        wrap(3)
    with pytest.raises(GraphTypeError, match=f"{name}: .*return nothing but"):
        wrap(lambda _: "text")(x)
