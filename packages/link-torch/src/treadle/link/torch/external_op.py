"""wrap_torch: a PyTorch function as an op, with PyTorch's own derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from treadle.graph import Apply, GraphTypeError
from treadle.link.torch.programs.compilation import PROCESS
from treadle.link.torch.programs.storage import STORAGE_DTYPES, from_host, from_native, to_host, to_native
from treadle.link.torch.table import TORCH
from treadle.tensor import ExternalOp, TensorType, wrap_external

Tensors = tuple[torch.Tensor, ...]


class TorchOp(ExternalOp[torch.Tensor]):
    """An op that calls a PyTorch function; `wrap_torch` makes it.

    Mode PYTORCH compiles the function with the rest of the graph. Elsewhere it is a step in Python that calls it on
    tensors that share the arrays' memory; modes C, NUMBA and JAX refuse it.
    """

    library = "torch"

    itypes: Sequence[TensorType]
    otypes: Sequence[TensorType]

    def call(self, *arrays: NDArray[Any]) -> list[NDArray[Any]]:
        """Call the function.

        Raises
        ------
        ForkedProcessError
            In a process forked from one where PyTorch had run.
        """
        PROCESS.check()
        tensors = [to_native(from_host(x, t.dtype), t.dtype) for x, t in zip(arrays, self.itypes, strict=True)]
        with torch.no_grad():
            results = self.function(*tensors)
        outputs = []
        for kind, value in zip(self.otypes, results, strict=True):
            # The function may hand an argument through, or a part of a larger tensor, or mark it as a conjugate only.
            plain = value.detach().cpu().resolve_conj().resolve_neg()
            outputs.append(to_host(from_native(plain, kind.dtype), kind.dtype).copy())
        return outputs

    @staticmethod
    def vjp(
        function: Callable[..., Tensors], primals: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor]
    ) -> Tensors:
        """Return the gradients, by ``torch.func.vjp``."""
        outputs, pull = torch.func.vjp(function, *primals)
        return tuple(pull(tuple(c.to(out.dtype).expand_as(out) for c, out in zip(cotangents, outputs, strict=True))))

    @staticmethod
    def batch(
        function: Callable[..., Sequence[torch.Tensor]], batched: Sequence[bool]
    ) -> Callable[..., Sequence[torch.Tensor]]:
        """Return ``torch.func.vmap`` of the function."""

        # PyTorch asks what it maps for its name.
        def named(*tensors: torch.Tensor) -> Sequence[torch.Tensor]:
            return function(*tensors)

        mapped: Callable[..., Sequence[torch.Tensor]] = torch.func.vmap(
            named, in_dims=tuple(0 if along else None for along in batched)
        )
        return mapped

    @staticmethod
    def evaluate(function: Callable[..., object], types: Sequence[TensorType]) -> object:
        """Call the function with small tensors of ones."""
        tensors = [torch.ones(t.shape, dtype=getattr(torch, t.dtype)) for t in types]
        with torch.no_grad():
            return function(*tensors)

    @staticmethod
    def type_of(result: Any) -> TensorType:
        """Return the type of a tensor.

        Raises
        ------
        GraphTypeError
            If it is no tensor, or of a dtype that NumPy does not have.
        """
        name = str(result.dtype).removeprefix("torch.") if isinstance(result, torch.Tensor) else ""
        if name not in STORAGE_DTYPES:
            msg = f"a result must be a tensor of a dtype that NumPy has, got {result!r}"
            raise GraphTypeError(msg)
        return TensorType(name, tuple(result.shape))


@TORCH.register(TorchOp)
def lower_torch_op(op: TorchOp, node: Apply) -> Callable[..., torch.Tensor | Tensors]:
    """Lower to the function itself."""
    del node

    def run(*stored: torch.Tensor) -> torch.Tensor | Tensors:
        results = op.function(*(to_native(x, t.dtype) for x, t in zip(stored, op.itypes, strict=True)))
        outputs = tuple(from_native(x, t.dtype) for x, t in zip(results, op.otypes, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs

    return run


def wrap_torch(torch_function: Callable[..., object] | None = None, *, allow_eval: bool = True) -> Any:
    """Return a function of variables that applies a PyTorch function as an op; also a decorator.

    Arguments may be nested lists, tuples and dictionaries; the variables among them become inputs of the op, and
    everything else is passed on as it is. Results may be nested too, and hold arrays only.

    Parameters
    ----------
    torch_function
        The function.
    allow_eval
        Whether the function may be called for input lengths that are not known, to find out what is known of the
        results. If not, such inputs are an error.

    Returns
    -------
    A function that returns what `torch_function` does, with variables in place of arrays.

    Notes
    -----
    The types of the results come from calling the function on small tensors of ones; gradients, of any order, from
    ``torch.func.vjp``. The op pickles if the function does. Its tensors are on the CPU, except in mode PYTORCH.

    Examples
    --------
    >>> import torch
    >>> from treadle.link.torch import wrap_torch
    >>> from treadle.tensor import dvector, grad
    >>> @wrap_torch
    ... def total(x):
    ...     return torch.sin(x).sum()
    >>> x = dvector("x")
    >>> grad(total(x), x).eval({x: [0.0]}).tolist()
    [1.0]
    """
    return wrap_external(TorchOp, torch_function, allow_eval=allow_eval)
