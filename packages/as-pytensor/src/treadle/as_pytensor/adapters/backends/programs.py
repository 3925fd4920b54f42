"""``function.vm.jit_fn``: a program as the function that its library compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.link.vm import Program


def jit_fn(program: Program) -> Callable[..., Any]:
    """Return the program of a function in mode NUMBA or JAX as a function of Numba's jit, or of ``jax.jit``.

    It takes the explicit arguments, then the values of shared variables in the order of ``get_shared()``, and returns
    a tuple.

    Raises
    ------
    AttributeError
        If the program is of another mode.
    """
    home = type(program if program.whole is None else program.whole[0]).__module__
    function: Callable[..., Any]
    if home.startswith("treadle.link.numba."):
        from treadle.link.numba import jit_function  # noqa: PLC0415 - only now is Numba needed

        function = jit_function(program)
    elif home.startswith("treadle.link.jax."):
        import jax  # noqa: PLC0415 - only now is it needed

        from treadle.link.jax import jax_function  # noqa: PLC0415 - as above

        function = jax.jit(jax_function(program))
    else:
        msg = f"{type(program).__name__!r} object has no attribute 'jit_fn': functions of modes NUMBA and JAX have one"
        raise AttributeError(msg)
    # What is compiled is compiled once.
    program.jit_fn = function  # type: ignore[attr-defined]  # given by an entry point
    return function
