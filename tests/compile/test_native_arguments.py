"""Arrays of JAX and PyTorch as arguments: passed on as they are."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import numpy as np
import pytest

import treadle.tensor as tt
from treadle.compile import Out, function, get_mode, shared
from treadle.config import config

torch: Any = pytest.importorskip("torch")


def array_of(library: str, value: Any) -> Any:
    if library == "PYTORCH":
        return torch.from_numpy(np.array(value))
    with jax.enable_x64(True):
        return jax.device_put(value)


@pytest.mark.parametrize("library", ["JAX", "PYTORCH"])
def test_an_argument_of_the_librarys_own_is_not_made_a_host_value(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, k = tt.dvector("x"), tt.iscalar("k")
    with config.change_flags(torch__compile=False):
        f = function([x, k], x * k + 1, mode=library)
    argument = array_of(library, np.array([1.0, 2.0]))
    monkeypatch.setattr(tt.TensorType, "filter", None)
    monkeypatch.setattr(tt.TensorType, "accept", None)
    for result in (f(argument, array_of(library, np.int32(3))), f(k=array_of(library, np.int32(3)), x=argument)):
        np.testing.assert_array_equal(result, [4.0, 7.0])


def test_a_tensor_is_not_made_a_host_value_where_a_graph_has_choices_and_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    x, k = tt.dvector("x"), tt.lscalar("k")
    chosen = tt.ifelse(k > 0, x, x * 2)
    total = tt.scan_with_carry(lambda c, row: (c + row, c), tt.constant(0.0), x)[0]
    with config.change_flags(torch__compile=False):
        f = function([x, k], [chosen, total], mode="PYTORCH")
    argument = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    monkeypatch.setattr(tt.TensorType, "accept", None)
    for result in (f(argument, torch.tensor(1)), f(k=torch.tensor(1), x=argument)):
        np.testing.assert_array_equal(result[0], [1.0, 2.0])
        assert float(result[1]) == 3.0
        result[0][...] = 5.0  # in memory of its own
    assert argument.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("library", ["JAX", "PYTORCH"])
def test_argument_of_another_dtype_rank_or_length_is_converted_or_refused(library: str) -> None:
    x, y = tt.dvector("x"), tt.TensorType("float64", (2,))("y")
    with config.change_flags(torch__compile=False):
        f = function([x, y], x.sum() + y.sum(), mode=library)
    good = array_of(library, np.array([1.0, 2.0]))
    assert float(f(array_of(library, np.array([1.0, 2.0], "float32")), good)) == 6.0
    with pytest.raises(TypeError):
        f(array_of(library, np.ones((2, 2))), good)
    with pytest.raises(TypeError):
        f(good, array_of(library, np.ones(3)))


@pytest.mark.documents("FunctionMaker.native_outputs")
def test_outputs_stay_in_the_librarys_form_where_they_are_borrowed_updates_or_the_linker_says_so() -> None:
    x, total = tt.dvector("x"), shared(0.0, "total")
    plain = get_mode("PYTORCH")
    whole = plain.clone(link_kwargs={"device_outputs": True})
    outputs = [x * 2, Out(x + 1, borrow=True)]
    for mode, expected in ((plain, {1, 2}), (whole, {0, 1, 2})):
        with config.change_flags(torch__compile=False):
            maker = function([x], outputs, updates={total: total + x.sum()}, mode=mode).maker
        assert maker.native_outputs == expected


@pytest.mark.documents("FunctionMaker.program_of")
def test_a_maker_compiles_other_expressions_to_programs_whose_results_stay_in_the_librarys_form() -> None:
    x, y = tt.dvector("x"), tt.dvector("y")
    with config.change_flags(torch__compile=False):
        program = function([x], x, mode="PYTORCH").maker.program_of([y, x], [y * 2])
    (result,) = program(np.ones(2), np.ones(1))
    assert isinstance(result, torch.Tensor)
    assert result.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("mode", ["VM", "C", "NUMBA", "JAX", "PYTORCH"])
def test_pickled_arrays_are_taken_as_others_are(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their dtype is another object; arguments of the wrong dtype, and of the other byte order, are still noticed."""
    x, k = tt.dvector("x"), tt.ivector("k")
    state = shared(pickle.loads(pickle.dumps(np.array([4.0, 5.0]))), name="state")
    f = function([x, k], (x * k).sum() + state, mode=mode)
    values = [np.array([1.0, 2.0]), np.array([3, 4], "int32")]
    expected = f(*values)
    with pytest.raises(TypeError, match="would lose precision"):
        f(values[0], np.array([3.5, 4.0]))
    np.testing.assert_array_equal(f(values[0].astype(">f8"), values[1].astype(">i4")), expected)
    np.testing.assert_array_equal(f(values[1], values[1]), [29.0, 30.0])
    for module in ("treadle.link.c.program", "treadle.link.numba.program"):
        monkeypatch.setattr(f"{module}.plain_arrays", None)
    monkeypatch.setattr(tt.TensorType, "filter", None)
    monkeypatch.setattr(tt.TensorType, "accept", None)
    pickled = [pickle.loads(pickle.dumps(value)) for value in values]
    assert all(p.dtype is not v.dtype for p, v in zip(pickled, values, strict=True))
    np.testing.assert_array_equal(f(*pickled), expected)
