"""torch_function: a compiled function inside PyTorch, for its gradients and its transformations."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import torch
from torch.autograd import forward_ad

from treadle.config import new_lock
from treadle.graph import (
    GraphTypeError,
    NodeTypeError,
    SharedVariable,
    Value,
    Variable,
    VectorizeError,
    clone_replace,
    vectorize_graph,
)
from treadle.link.torch.device import DEVICES
from treadle.link.torch.linker import TorchLinker
from treadle.link.torch.programs.storage import STORAGE_DTYPES, from_host, holding, to_native
from treadle.link.vm import Program
from treadle.tensor import TensorType, TensorVariable, alloc, pullback, pushforward, tensors

Tensors: TypeAlias = tuple[torch.Tensor, ...]
# Compiles expressions of variables: inputs, outputs.
Compiler: TypeAlias = Callable[[Sequence[Variable], Sequence[Variable]], Program]


class Expressions:
    """Expressions as a function of PyTorch tensors, with derivatives and batches that are again such functions.

    Nothing is compiled before it is called.
    """

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable], compiler: Compiler) -> None:
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self._compiler = compiler
        self._program: Program | None = None
        self._derived: dict[tuple[object, ...], Expressions] = {}
        self._lock = new_lock()

    def __call__(self, *tensors: torch.Tensor) -> Tensors:
        """Return a tensor for each output; PyTorch can differentiate it, and map it over batches."""
        if _is_plain(tensors):
            return self.values(tensors)
        results: Tensors = _Call.apply(self, *tensors)
        return results

    def values(self, tensors: Sequence[torch.Tensor]) -> Tensors:
        """Run the program."""
        if self._program is None:
            with self._lock:
                if self._program is None:
                    self._program = self._compiler(self.inputs, self.outputs)
        results: Sequence[Any] = self._program(*tensors)
        return tuple(results)

    def differentiable(self, at: int) -> bool:
        """Whether an output has derivatives: a float or complex number."""
        return _kind_of(self.outputs[at]) in "fc"

    def _once(self, key: tuple[object, ...], make: Callable[[], tuple[list[Variable], list[Variable]]]) -> Expressions:
        with self._lock:
            if key not in self._derived:
                self._derived[key] = Expressions(*make(), self._compiler)
            return self._derived[key]

    def pullback(self, wrt: tuple[int, ...], outs: tuple[int, ...]) -> Expressions:
        """Return the gradients by some inputs, of all inputs and then of the cotangents of some outputs."""

        def make() -> tuple[list[Variable], list[Variable]]:
            cotangents = [_like(self.outputs[j]) for j in outs]
            targets = [self.inputs[i] for i in wrt]
            gradients = pullback([self.outputs[j] for j in outs], targets, cotangents, disconnected_inputs="ignore")
            return [*self.inputs, *cotangents], list(gradients)

        return self._once(("pullback", wrt, outs), make)

    def pushforward(self, wrt: tuple[int, ...]) -> Expressions:
        """Return the tangents of the differentiable outputs, of all inputs and then of the tangents of some."""

        def make() -> tuple[list[Variable], list[Variable]]:
            tangents = [_like(self.inputs[i]) for i in wrt]
            outputs = [v for j, v in enumerate(self.outputs) if self.differentiable(j)]
            results = pushforward(outputs, [self.inputs[i] for i in wrt], tangents, disconnected_outputs="ignore")
            return [*self.inputs, *tangents], list(results)

        return self._once(("pushforward", wrt), make)

    def batched(self, which: tuple[bool, ...]) -> Expressions:
        """Return the outputs with a first dimension more, of inputs of which some have it.

        Raises
        ------
        VectorizeError
            If an op has no rule for batches.
        """

        def make() -> tuple[list[Variable], list[Variable]]:
            wide = {v: _wider(v) for v, is_wide in zip(self.inputs, which, strict=True) if is_wide}
            count = next(iter(wide.values())).shape[0]
            # What depends on none of them, such as a derivative that is 0, is the same for the whole batch.
            rows = tensors(vectorize_graph(list(self.outputs), wide))
            each = zip(tensors(self.outputs), rows, strict=True)
            outputs = [y if y.type.ndim > v.type.ndim else alloc(y, count, *y.shape) for v, y in each]
            return [wide.get(v, v) for v in self.inputs], [*outputs]

        return self._once(("batched", which), make)


class _Call(torch.autograd.Function):  # type: ignore[misc]  # PyTorch has no annotations for it
    """A call of expressions, as PyTorch's automatic differentiation sees it."""

    @staticmethod
    def forward(expressions: Expressions, *tensors: torch.Tensor) -> Tensors:
        return expressions.values(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        expressions, *tensors = inputs
        ctx.expressions = expressions
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[x for j, x in enumerate(output) if not expressions.differentiable(j)])

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        expressions: Expressions = ctx.expressions
        wrt = tuple(i for i, needed in enumerate(ctx.needs_input_grad[1:]) if needed)
        outs = tuple(j for j, x in enumerate(cotangents) if x is not None and expressions.differentiable(j))
        results: list[torch.Tensor | None] = [None] * (1 + len(expressions.inputs))
        if wrt and outs:
            gradients = expressions.pullback(wrt, outs)(*ctx.saved_tensors, *[cotangents[j] for j in outs])
            for i, gradient in zip(wrt, gradients, strict=True):
                results[1 + i] = gradient
        return tuple(results)

    @staticmethod
    def jvp(ctx: Any, *tangents: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        expressions: Expressions = ctx.expressions
        wrt = tuple(i for i, x in enumerate(tangents[1:]) if x is not None)
        given = [x for x in tangents[1:] if x is not None]
        pushed = iter(expressions.pushforward(wrt)(*ctx.saved_tensors, *given))
        return tuple(next(pushed) if expressions.differentiable(j) else None for j in range(len(expressions.outputs)))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], expressions: Expressions, *tensors: torch.Tensor
    ) -> tuple[Tensors, tuple[int, ...]]:
        which = tuple(dim is not None for dim in in_dims[1:])
        first = [x if dim is None else x.movedim(dim, 0) for x, dim in zip(tensors, in_dims[1:], strict=True)]
        dims = (0,) * len(expressions.outputs)
        try:
            batched = expressions.batched(which)
        except VectorizeError:
            rows = [
                expressions(*[x[k] if is_wide else x for x, is_wide in zip(first, which, strict=True)])
                for k in range(info.batch_size)
            ]
            return tuple(map(torch.stack, zip(*rows, strict=True))), dims
        return batched(*first), dims


# Taken from the function at each call otherwise, which takes longer than the call.
_Call.forward.__signature__ = inspect.signature(_Call.forward)  # type: ignore[attr-defined]  # inspect looks for it


def _is_plain(tensors: Sequence[torch.Tensor]) -> bool:
    """Whether a call has no derivatives to record, and nothing transforms it."""
    if torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0:
        return False
    return not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))


def _kind_of(var: Variable) -> str:
    return var.type.numpy_dtype.kind if isinstance(var.type, TensorType) else ""


def _like(var: Variable) -> Variable:
    """Return a new variable of the type of another."""
    return var.type.make_variable(None)


def _wider(var: Variable) -> TensorVariable:
    kind = var.type
    assert isinstance(kind, TensorType)  # what tensors are passed for
    return TensorType(kind.dtype, (None, *kind.shape)).make_variable(var.name)


class CompiledFunction(Protocol):
    """What `torch_function` uses of compiled functions."""

    maker: Any
    program: Program
    signature: Any


class TorchFunction:
    """A compiled function as a function of PyTorch tensors. Made by ``f.torch_function``.

    It is called like the compiled function, and returns tensors, in a list or dict where the function does. It can be
    differentiated (``backward``, ``torch.autograd``, ``torch.func.grad``, ``jacrev``, ``jvp``, ``jacfwd`` …, any
    number of times) and mapped over batches (``torch.func.vmap``): gradients and batches are treadle's graphs, each
    compiled when it is first needed. ``torch.compile`` calls it as it is.

    Parameters
    ----------
    function
        A function compiled in mode PYTORCH, without updates.

    Raises
    ------
    GraphTypeError
        If the function has updates, or inputs or outputs that are no tensors.

    Notes
    -----
    The values of shared variables and of defaults are read at each call; they have no gradients. Tensors are moved to
    the device of option ``torch__device``, where the results are too; their gradients are moved back. A tensor of
    another dtype is converted where nothing is lost. A gradient's program computes anew what it needs of the values. A
    pickle or copy is one of the compiled function.

    Examples
    --------
    >>> import torch
    >>> import treadle.tensor as tt
    >>> x = tt.dvector("x")
    >>> f = tt.function([x], (x**2).sum(), mode="PYTORCH").torch_function
    >>> torch.func.grad(f)(torch.tensor([1.0, 2.0], dtype=torch.float64))
    tensor([2., 4.], dtype=torch.float64)
    """

    def __init__(self, function: CompiledFunction) -> None:
        self._function = function
        maker = function.maker
        specification = maker.specification
        self._signature = function.signature
        self._options = maker.options
        # What stands for arguments that are not given.
        self._absent = self._signature.match((), {})
        self._nesting = getattr(function, "nesting", None)
        self._keys = specification.keys
        self._single = specification.single
        self._title = f"{self._signature.title}: torch_function"
        if specification.updates:
            msg = (
                f"{self._title}: the function has updates, which PyTorch's transformations know nothing of. Compile it "
                "with the new values as outputs; in place of random draws, which move generators on, take arguments."
            )
            raise GraphTypeError(msg)
        explicit = [item.variable for item in specification.inputs]
        shared: list[SharedVariable] = list(specification.shared)
        outputs = [item.variable for item in specification.outputs]
        plain = {var: var.type.make_variable(var.name) for var in shared}
        for var in (*explicit, *shared, *outputs):
            if not isinstance(var.type, TensorType):
                msg = (
                    f"{self._title}: {var} is of type {var.type}, which is no tensor. Leave it out of the function; in "
                    "place of a generator, take draws as arguments."
                )
                raise GraphTypeError(msg)
        self._shared = [var.container for var in shared]
        linker = maker.linker
        self._place = linker.place() if isinstance(linker, TorchLinker) else DEVICES.chosen()
        self._expressions = Expressions(
            [*explicit, *plain.values()], clone_replace(outputs, plain) if plain else outputs, maker.program_of
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results as tensors (arguments and errors as for the function itself)."""
        # PyTorch's compiler would trace all of Python's code here, and what compiled loops call is not for it.
        run = _untraced if torch.compiler.is_compiling() else TorchFunction._run
        return run(self, *args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        signature = self._signature
        slots = signature.match(self._leaves(args), kwargs)
        signature.check_complete(slots)
        tensors = []
        for i, (item, value) in enumerate(zip(signature.inputs, slots, strict=True)):
            tensors.append(self._kept(item.container) if value is self._absent[i] else self._tensor(i, value))
        results = self._expressions(*tensors, *map(self._kept, self._shared))
        if self._nesting is not None and self._nesting.results is not None:
            return self._nesting.results.fill(list(results))
        if self._single:
            return results[0]
        return list(results) if self._keys is None else dict(zip(self._keys, results, strict=True))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle or copy the compiled function: modules that hold this one are copied and saved whole."""
        return TorchFunction, (self._function,)

    def __repr__(self) -> str:
        return f"<torch_function of {self._signature}>"

    def _leaves(self, args: Sequence[Any]) -> Sequence[Any]:
        """Return the arguments without nesting."""
        if self._nesting is None:
            return args
        leaves: list[Any] = []
        for form, root, value in zip(self._nesting.arguments, self._nesting.roots, args, strict=False):
            leaves += [value] if form.cls is None else form.leaves(value, root, lambda _: "a tensor")
        return leaves

    def _tensor(self, i: int, value: Any) -> torch.Tensor:
        """Return an argument as a tensor of its input's type, by operations that have gradients."""
        kind: TensorType = self._signature.inputs[i].variable.type
        if not isinstance(value, torch.Tensor):
            host = self._signature.convert(i, value, self._options)
            return to_native(from_host(host, kind.dtype), kind.dtype).to(self._place)
        var = self._signature.inputs[i].variable
        shape = tuple(value.shape)
        if len(shape) != kind.ndim or any(n not in {None, m} for n, m in zip(kind.shape, shape, strict=True)):
            msg = f"{self._title}: input {var} is of type {kind}, got a tensor of shape {shape}. Reshape it."
            raise NodeTypeError(msg)
        dtype = getattr(torch, kind.dtype)
        if value.dtype != dtype:
            source = str(value.dtype).removeprefix("torch.")
            is_known = source in STORAGE_DTYPES  # not bfloat16 and others, which treadle has no numbers of
            holder = source if is_known else holding(value.dtype)
            if holder is None or not np.can_cast(holder, kind.dtype, "safe"):
                other = f", or build the expressions with {source}" if is_known else ""
                msg = (
                    f"{self._title}: input {var} is of type {kind}, got a tensor of {source}, which may not fit. "
                    f"Convert it ({var}.to(torch.{kind.dtype})){other}."
                )
                raise NodeTypeError(msg)
            value = value.to(dtype)
        return value if value.device == self._place else value.to(self._place)

    def _kept(self, cell: Any) -> torch.Tensor:
        """Return a value that is kept, as a tensor."""
        value: Value = cell.read()
        if isinstance(value, torch.Tensor):
            return value.to(self._place)
        dtype = cell.type.dtype
        return to_native(from_host(np.asarray(value), dtype), dtype).to(self._place)


# The first imports PyTorch's compiler when it is first called, torch.compiler.disable at once.
_disable: Callable[..., Any] = getattr(torch, "_disable_dynamo", torch.compiler.disable)
_untraced: Callable[..., Any] = _disable(TorchFunction._run)
