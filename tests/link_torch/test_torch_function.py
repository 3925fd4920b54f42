"""f.torch_function: a compiled function inside PyTorch, its gradients and batches."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

import treadle.tensor as tt
from treadle.compile import CallError, In, function, get_mode, shared
from treadle.config import config
from treadle.graph import NodeTypeError, NodeValueError, Variable, VectorizeError
from treadle.link.torch import TorchFunction, functional
from treadle.link.torch.functional import Expressions
from treadle.tensor.random import RandomStream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

DOUBLE = torch.float64
# PyTorch's own rules of forward mode are written with it.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")


@pytest.fixture(autouse=True)
def _uncompiled() -> Iterator[None]:
    with config.change_flags(torch__compile=False):
        yield


def random(*shape: int, gradients: bool = True, dtype: torch.dtype = DOUBLE) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_(gradients)


def compiled(inputs: Any, outputs: Any, mode: str = "PYTORCH", **options: Any) -> Any:
    return function(inputs, outputs, mode=mode, **options)


def layer() -> Any:
    x, w = tt.dvector("x"), tt.dmatrix("w")
    return compiled([x, w], tt.tanh(w @ x)).torch_function


def by_hand(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.tanh(w @ x)


def test_it_is_made_once_and_shows_the_signature() -> None:
    x = tt.dvector("x")
    f = compiled([x], x * 2, name="twice")
    assert isinstance(f.torch_function, TorchFunction)
    assert f.torch_function is f.torch_function
    assert "twice(x" in repr(f.torch_function)


def test_results_come_as_tensors_in_the_form_of_the_function() -> None:
    x = tt.dvector("x")
    w: Any = {"a": tt.dscalar("a"), "b": [tt.dscalar("b")]}
    ones = torch.ones(2, dtype=DOUBLE)
    assert torch.equal(compiled([x], x * 2).torch_function(ones), ones * 2)
    first, second = compiled([x], [x, x.sum()]).torch_function(ones)
    assert torch.equal(first, ones)
    assert float(second) == 2.0
    assert float(compiled([x], {"s": x.sum()}).torch_function(x=ones)["s"]) == 2.0
    nested = compiled([w, x], {"y": [w["a"] * x + w["b"][0]]}).torch_function
    assert torch.equal(nested({"a": ones[0], "b": [ones[0]]}, ones)["y"][0], ones * 2)


def test_gradients_pass_pytorchs_own_check_forwards_backwards_and_twice() -> None:
    f = layer()
    values = random(3), random(2, 3)
    assert torch.autograd.gradcheck(f, values, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(f, values)
    z = tt.zvector("z")
    g = compiled([z], tt.exp(z) * z.conj()).torch_function
    assert torch.autograd.gradcheck(g, (random(2, dtype=torch.complex128),))


def test_gradients_of_a_loop_pass_pytorchs_own_check() -> None:
    x = tt.dvector("x")
    last, rows = tt.scan_with_carry(lambda c, e: (tt.tanh(c * e + 0.1), c), tt.constant(0.3), x)
    f = compiled([x], rows.sum() + last).torch_function
    assert torch.autograd.gradcheck(f, (random(4),))


@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: jacrev(f, (0, 1)),
        lambda f: jacfwd(f, (0, 1)),
        lambda f: hessian(lambda x, w: f(x, w).sum()),
        lambda f: lambda x, w: jvp(lambda y: f(y, w), (x,), (x * 2,)),
        lambda f: lambda x, w: vmap(f, (None, 2))(x, torch.stack([w, w * 2], 2)),
        lambda f: lambda x, w: vmap(grad(lambda y, v: f(y, v).sum()), (1, None))(torch.stack([x, x + 1], 1), w),
        lambda f: lambda x, w: vmap(vmap(f, (0, None)), (None, 0))(torch.stack([x, -x]), torch.stack([w, w, w * 2])),
    ],
    ids=["jacrev", "jacfwd", "hessian", "jvp", "vmap", "vmap of grad", "vmap of vmap"],
)
def test_transformations_of_torch_func_agree_with_those_of_the_function_by_hand(
    transformed: Callable[[Any], Callable[..., Any]],
) -> None:
    values = random(3, gradients=False), random(2, 3, gradients=False)
    for got, expected in zip(transformed(layer())(*values), transformed(by_hand)(*values), strict=True):
        for one, other in zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]:
            torch.testing.assert_close(one, other)


def test_what_has_no_rule_for_batches_is_called_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        del args
        msg = "no rule"
        raise VectorizeError(msg)

    monkeypatch.setattr(functional, "vectorize_graph", refuse)
    rows, w = random(4, 3, gradients=False), random(2, 3, gradients=False)
    torch.testing.assert_close(vmap(layer(), (0, None))(rows, w), vmap(by_hand, (0, None))(rows, w))


def test_nothing_is_compiled_before_it_is_needed_and_nothing_twice() -> None:
    asked: list[tuple[int, int]] = []
    x, y = tt.dvector("x"), tt.dvector("y")
    maker = compiled([x, y], x, on_unused_input="ignore").maker

    def compiler(inputs: Sequence[Variable], outputs: Sequence[Variable]) -> Any:
        asked.append((len(inputs), len(outputs)))
        return maker.program_of(inputs, outputs)

    f = Expressions([x, y], [(x * y).sum(), x.argmax()], compiler)
    one, other = random(3), random(3, gradients=False)
    assert not asked
    f(one.detach(), other)
    assert asked == [(2, 2)]
    for _ in range(2):
        result, position = f(one, other)
        assert not position.requires_grad
        result.backward()
    # The gradient by one input, of the cotangent of the one result that has one.
    assert asked == [(2, 2), (3, 1)]
    torch.testing.assert_close(one.grad, other * 2)


def test_values_of_shared_variables_and_defaults_are_read_at_each_call() -> None:
    x, k = tt.dvector("x"), tt.dscalar("k")
    scale = shared(np.array(2.0), "scale")
    f = compiled([x, In(k, value=1.0)], x * scale + k)
    value = random(2)
    torch.testing.assert_close(f.torch_function(value), value * 2 + 1)
    scale.set_value(np.array(3.0))
    f["k"] = 2.0
    torch.testing.assert_close(f.torch_function(value), value * 3 + 2)
    torch.testing.assert_close(f.torch_function(value, k=0.5), value * 3 + 0.5)
    (gradient,) = torch.autograd.grad(f.torch_function(value).sum(), value)
    torch.testing.assert_close(gradient, torch.full((2,), 3.0, dtype=DOUBLE))


def test_arguments_are_converted_where_nothing_is_lost_with_their_gradients() -> None:
    x = tt.dvector("x")
    f = compiled([x], (x * 2).sum()).torch_function
    single = torch.ones(2, requires_grad=True)
    f(single).backward()
    assert single.grad is not None
    assert single.grad.tolist() == [2.0, 2.0]
    assert float(f([1.0, 2.0])) == 6.0
    assert float(f(np.ones(3))) == 6.0


def test_arguments_that_do_not_fit_are_refused() -> None:
    x = tt.fvector("x")
    f = compiled([x], x * 2).torch_function
    with pytest.raises(NodeTypeError, match=r"x is of type .*float32.*got a tensor of float64.*x.to\(torch.float32\)"):
        f(torch.ones(2, dtype=DOUBLE))
    with pytest.raises(NodeTypeError, match=r"got a tensor of shape \(2, 2\)"):
        f(torch.ones(2, 2))
    with pytest.raises(CallError, match="missing"):
        f()


def test_functions_that_it_cannot_be_made_of_are_refused() -> None:
    x, count = tt.dvector("x"), shared(0, "count")
    counting = compiled([x], x, updates={count: count + 1})
    with pytest.raises(AttributeError, match="has updates"):
        _ = counting.torch_function
    assert not hasattr(counting, "torch_function")
    drawing = compiled([x], x + RandomStream(seed=1, generator="portable").normal(size=(2,)))
    with pytest.raises(AttributeError, match="in place of random draws, which move generators on, take arguments"):
        _ = drawing.torch_function
    given = compiled([x], x + RandomStream(seed=1, generator="portable").normal(size=(2,)), no_default_updates=True)
    with pytest.raises(AttributeError, match="in place of a generator, take draws as arguments"):
        _ = given.torch_function
    assert "maker" in dict(inspect.getmembers(counting))  # asks for every name that dir lists
    with pytest.raises(AttributeError, match=r"functions on VM have no torch_function\. Compile it in mode PYTORCH"):
        _ = compiled([x], x, mode="VM").torch_function
    with pytest.raises(AttributeError, match="no attribute 'jorch_function'"):
        _ = compiled([x], x).jorch_function


def test_errors_name_the_line_in_gradients_too() -> None:
    x, i = tt.dvector("x"), tt.lscalar("i")
    f = compiled([x, i], x[i]).torch_function
    with pytest.raises((NodeValueError, IndexError), match=r"test_torch_function\.py.*x\[i\]"):
        f(random(3), torch.tensor(7))


def test_a_function_may_be_compiled_inside_of_a_transformation() -> None:
    x = tt.dvector("x")

    def scaled(value: torch.Tensor) -> Any:
        f: Any = function([x], tt.tanh(x) * tt.constant(np.array([1.0, 2.0])), mode="PYTORCH")
        return f.torch_function(value)

    value = torch.tensor([0.5, -1.0], dtype=torch.float64)
    expected = torch.diag(torch.tensor([1.0, 2.0]) * (1 - torch.tanh(value) ** 2))
    torch.testing.assert_close(jacrev(scaled)(value), expected)
    torch.testing.assert_close(vmap(scaled)(value.expand(3, 2))[1], scaled(value))


@pytest.mark.parametrize("name", ["linear", "floor", "constant"])
def test_derivatives_that_depend_on_nothing_are_the_same_for_a_whole_batch(name: str) -> None:
    x = tt.dvector("x")
    y = {"linear": 2 * x, "floor": x // 0.7, "constant": tt.ones_like(x)}[name]
    f: Any = function([x], [y, tt.constant(np.arange(2.0))], mode="PYTORCH")
    value = torch.tensor([0.3, -0.4, 0.9], dtype=torch.float64)

    def total(given: Any) -> Any:
        return f.torch_function(given)[0].sum()

    zeros = torch.zeros(3, 3, dtype=torch.float64)
    for second in (hessian(total), jacrev(jacrev(total)), jacfwd(grad(total))):
        torch.testing.assert_close(second(value), zeros)
    constant = vmap(f.torch_function)(torch.stack([value, 2 * value]))[1]
    torch.testing.assert_close(constant, torch.tensor([[0.0, 1.0]] * 2, dtype=torch.float64))


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("by_name", [False, True])
def test_the_function_itself_is_refused_inside_transformations_of_pytorch(loops: bool, by_name: bool) -> None:
    x = tt.dvector("x")
    y = tt.ifelse(x.sum() > 0, tt.exp(x).sum(), x.sum()) if loops else tt.exp(x).sum()
    f: Any = function([x], y, mode=get_mode("PYTORCH").clone(link_kwargs={"device_outputs": True}))
    value = torch.ones(2, dtype=torch.float64)

    def called(given: Any) -> Any:
        return f(x=given) if by_name else f(given)

    for transformed, args in (
        (torch.func.grad(called), (value,)),
        (torch.func.vmap(called), (value[None],)),
        (torch.func.vmap(torch.func.grad(called)), (value[None],)),
        (lambda v: torch.func.vjp(called, v), (value,)),
    ):
        with pytest.raises(NodeTypeError, match=r"transformed by torch\.func .* its attribute torch_function"):
            transformed(*args)
    assert called(value) == torch.func.vmap(f.torch_function)(value[None])[0]
    # What is not transformed itself may be passed inside.
    assert torch.func.grad(lambda v: v * called(value))(torch.tensor(2.0, dtype=torch.float64)) == called(value)


def test_modules_that_hold_one_are_copied_and_pickled() -> None:
    x, scale = tt.dvector("x"), shared(2.0, "scale")
    f: Any = function([x], (x * scale).sum(), mode="PYTORCH")
    value = torch.ones(2, dtype=torch.float64)
    for other in (copy.deepcopy(f.torch_function), pickle.loads(pickle.dumps(f.torch_function))):
        assert torch.func.grad(other)(value).tolist() == [2.0, 2.0]


NARROW = ("bfloat16", "float8_e5m2", "float8_e4m3fn")


@pytest.mark.parametrize("narrow", NARROW)
def test_tensors_of_dtypes_that_numpy_lacks_are_widened_and_their_gradients_narrowed(narrow: str) -> None:
    values = torch.tensor([1.0, -2.0]).to(getattr(torch, narrow))
    assert tt.as_tensor(values).dtype == shared(values).dtype == "float32"
    for kind in ("float64", "float32", "complex64"):
        x = tt.tensor("x", dtype=kind, shape=(None,))
        f: Any = function([x], x * 2, mode="PYTORCH")
        for found in (f(values), f(x=values), f(values.requires_grad_()), f.torch_function(values).detach().numpy()):
            assert found.dtype == kind
            np.testing.assert_array_equal(found, [2, -4])
    x = tt.dvector("x")
    f = function([x], (x**2).sum(), mode="PYTORCH")
    (gradient,) = torch.autograd.grad(f.torch_function(values), values)
    assert gradient.dtype == values.dtype
    assert gradient.float().tolist() == [2.0, -4.0]


def test_tensors_whose_numbers_may_not_fit_are_to_be_converted() -> None:
    x = tt.tensor("x", dtype="float16", shape=(None,))
    f: Any = function([x], x * 2, mode="PYTORCH")
    with pytest.raises(NodeTypeError, match=r"tensor of bfloat16, .* Convert it \(x\.to\(torch\.float16\)\)\.$"):
        f.torch_function(torch.ones(2, dtype=torch.bfloat16))
    assert f(torch.ones(2, dtype=torch.bfloat16)).tolist() == [2, 2]
    with pytest.raises(TypeError, match=r"would lose precision.* astype\('float16'\)"):
        f(torch.tensor([1e-30], dtype=torch.bfloat16))


# What PyTorch's compiler itself reads of a tensor between two of its graphs; it is not shown to users.
@pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf:UserWarning")
@pytest.mark.parametrize("name", ["expression", "loop"])
def test_pytorch_s_compiler_leaves_it_alone(name: str) -> None:
    x = tt.dvector("x")
    start = tt.zeros(())
    loop = tt.scan(lambda c, h: tt.tanh(h + c), sequences=x, outputs_info=start, return_updates=False)
    f: Any = function([x], (loop if name == "loop" else tt.tanh(x)) * x, mode="PYTORCH")
    graphs = []

    def noted(module: Any, _: Any) -> Any:
        graphs.append(module)
        return module.forward

    def total(given: Any, call: Any = f.torch_function) -> Any:
        return (call(given * 2) ** 2).sum()

    value = torch.tensor([0.3, -0.4, 0.9], dtype=torch.float64, requires_grad=True)
    compiled = torch.compile(total, backend=noted)
    for _ in range(2):
        torch.testing.assert_close(compiled(value), total(value))
        (slope,), (expected,) = torch.autograd.grad(compiled(value), value), torch.autograd.grad(total(value), value)
        torch.testing.assert_close(slope, expected)
    # What stands before the call, and behind it.
    assert len(graphs) == 2
