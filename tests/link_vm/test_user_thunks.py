"""How ops' own make_thunk and prepare_node are called, and the errors where they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import function
from treadle.config import config
from treadle.graph import Apply, FunctionGraph, GraphTypeError, Op
from treadle.link.vm import TABLE
from treadle.surface.thunks import PerformLinker, VMLinker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from treadle.graph import Variable


class AddOne(Op):
    __props__ = ()

    def make_node(self, *inputs: Any) -> Apply:
        return Apply(self, inputs, [inputs[0].type()])

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        output_storage[0][0] = inputs[0] + 1


class WithImpl(AddOne):
    """`impl` has no default: the documented call passes it."""

    def make_thunk(self, node: Any, storage_map: Any, compute_map: Any, no_recycling: Any, impl: Any) -> Any:  # type: ignore[override]  # on purpose
        return super().make_thunk(node, storage_map, compute_map, no_recycling, impl)


class WithoutImpl(AddOne):
    def make_thunk(self, node: Any, storage_map: Any, compute_map: Any, no_recycling: Any) -> Any:  # type: ignore[override]  # on purpose
        return super().make_thunk(node, storage_map, compute_map, no_recycling)


class AnyArguments(AddOne):
    def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
        assert "impl" in kwargs
        return super().make_thunk(*args, **kwargs)


@pytest.mark.parametrize("op", [WithImpl(), WithoutImpl(), AnyArguments()])
@pytest.mark.parametrize("mode", ["VM", "FAST_COMPILE", "DebugMode"])
def test_impl_is_passed_to_a_make_thunk_that_takes_it(op: Op, mode: str) -> None:
    x = tt.dvector("x")
    np.testing.assert_array_equal(function([x], op(x), mode=mode)(np.ones(2)), [2, 2])


@pytest.mark.parametrize("linker", [VMLinker, PerformLinker])
@pytest.mark.parametrize("op", [WithImpl(), WithoutImpl()])
def test_impl_is_passed_where_thunks_run_one_by_one(op: Op, linker: Callable[..., Any]) -> None:
    x = tt.dvector("x")
    run, (argument,), (result,), *_ = linker().accept(FunctionGraph([x], [op(x)])).make_all()
    argument.value = np.ones(2)
    run()
    np.testing.assert_array_equal(result.value, [2, 2])


@pytest.mark.parametrize("op", [WithImpl(), WithoutImpl()])
def test_impl_is_passed_for_test_values(op: Op) -> None:
    x = tt.dvector("x")
    x.tag.test_value = np.ones(2)
    with config.change_flags(compute_test_value="raise"):
        np.testing.assert_array_equal(op(x).tag.test_value, [2, 2])


class Own(Exception):  # noqa: N818 - a user's
    """An error class of the user's own."""


class FailingThunk(AddOne):
    def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
        raise Own


class FailingPreparation(AddOne):
    def prepare_node(self, *args: Any) -> None:
        raise Own


@pytest.mark.parametrize("mode", ["VM", "FAST_COMPILE", "NanGuardMode"])
@pytest.mark.parametrize(("op", "method"), [(FailingThunk(), "make_thunk"), (FailingPreparation(), "prepare_node")])
def test_failing_method_keeps_its_error_and_names_op_and_line(op: Op, method: str, mode: str) -> None:
    x = tt.dvector("x")
    out = op(x)
    with pytest.raises(Own) as caught:
        function([x], out, mode=mode)
    (note,) = caught.value.__notes__
    assert note.startswith(f"Raised by {type(op).__name__}.{method} of {op}, built at test_user_thunks.py:")
    assert "out = op(x)" in note


def test_thunk_that_cannot_be_called_is_refused_by_op_and_line() -> None:
    class Nothing(AddOne):
        def make_thunk(self, *args: Any, **kwargs: Any) -> Any:
            del args, kwargs

    x = tt.dvector("x")
    with pytest.raises(GraphTypeError, match="a callable without arguments is needed, got None") as caught:
        function([x], Nothing()(x), mode="VM")
    assert "Nothing.make_thunk" in caught.value.__notes__[0]


def test_failing_rule_of_the_vm_names_op_and_line() -> None:
    class Lowered(AddOne):
        pass

    @TABLE.register(Lowered)
    def lowered(op: Op, node: Apply) -> Any:
        raise Own((op, node))

    x: Variable = tt.dvector("x")
    out = Lowered()(x)
    with pytest.raises(Own) as caught:
        VMLinker().link(FunctionGraph([x], [out]))
    assert "lowering for the VM of Lowered, built at test_user_thunks.py" in caught.value.__notes__[0]
