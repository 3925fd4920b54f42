"""Shared generators, inputs that are generators, and RandomStream."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treadle.config import TreadleError, config, new_lock, text_of
from treadle.graph import Variable, shared
from treadle.tensor.arguments.values import check_flags
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.random.generators.portable import PortableGenerator
from treadle.tensor.random.generators.types import (
    UNSEEDED,
    RandomGeneratorSharedVariable,
    RandomGeneratorVariable,
    RandomType,
    portable_generator_type,
    random_generator_type,
)
from treadle.tensor.random.namespace import distribution, distribution_names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from treadle.tensor.variables.variable import TensorVariable

    Kind = Literal["numpy", "portable"]
    Seed = int | Sequence[int] | None

__all__ = ["RandomStream", "rng", "shared_rng"]

_KINDS: dict[str, RandomType] = {"numpy": random_generator_type, "portable": portable_generator_type}


def _kind(what: str, generator: Kind | None) -> RandomType:
    name = config.random__generator if generator is None else generator
    if not isinstance(name, str) or name not in _KINDS:
        msg = f"{what}: generator must be 'numpy' or 'portable', got {text_of(name)}."
        raise ArgumentError(msg)
    return _KINDS[name]


def _seeds(what: str, seed: Any) -> np.random.SeedSequence:
    """Return what the seeds of generators are spawned from."""
    try:
        return np.random.SeedSequence(seed)
    except (TypeError, ValueError) as error:
        msg = (
            f"{what}: seed: {text_of(seed)} is not a seed ({error}). Pass an integer of 0 or more, or a list of these."
        )
        raise ArgumentError(msg) from error


def shared_rng(
    value: np.random.Generator | PortableGenerator | None = None,
    *,
    seed: Any = UNSEEDED,
    name: str | None = None,
    borrow: bool = False,
) -> RandomGeneratorSharedVariable:
    """Return a shared variable of a generator.

    Parameters
    ----------
    value
        A ``numpy.random.Generator`` or a `PortableGenerator`. If None, one of the kind that option
        `random__generator` says is made of the seed.
    seed
        What ``numpy.random.default_rng`` takes; fresh entropy if it is None or left out.
    name
        Name of the variable.
    borrow
        Whether the generator itself may be kept, which nobody else should then use; else a copy.

    Raises
    ------
    ArgumentError
        If there are both a generator and a seed.
    TensorTypeError
        If the value is not a generator; it is a TypeError too.

    >>> rng = shared_rng(seed=5)
    >>> next_rng, x = rng.normal(size=3)
    """
    check_flags("shared_rng", borrow=borrow)
    if value is None:
        kind = _kind("shared_rng", None)
        try:
            value = kind.make(None if seed is UNSEEDED else seed)
        except TreadleError:
            raise
        except (TypeError, ValueError) as error:
            msg = f"shared_rng: seed: {text_of(seed)} is not a seed ({error}). Pass an integer of 0 or more, or none."
            raise ArgumentError(msg) from error
        borrow = True
    elif seed is not UNSEEDED:
        msg = "shared_rng: either a generator or a seed is needed, got both. Leave one of them out."
        raise ArgumentError(msg)
    received: object = value
    if not isinstance(received, np.random.Generator | PortableGenerator):
        advice = "Pass a seed by name: shared_rng(seed=...)." if isinstance(received, int) else "Pass a generator."
        msg = (
            f"shared_rng: a numpy.random.Generator or a PortableGenerator is needed, got {text_of(received)}. {advice}"
        )
        raise TensorTypeError(msg)
    variable: RandomGeneratorSharedVariable = shared(value, name, borrow=borrow)
    return variable


def rng(name: str | None = None, *, generator: Kind | None = None) -> RandomGeneratorVariable:
    """Return a symbolic generator, an input of functions.

    Parameters
    ----------
    name
        Name of the variable.
    generator
        Of which kind: ``"numpy"`` or ``"portable"``; what option `random__generator` says if None.

    Examples
    --------
    >>> rng = tt.random.rng("rng")
    >>> _, draw = rng.normal()
    >>> draw.eval({rng: np.random.default_rng(1)}).round(6)
    np.float64(0.345584)
    """
    variable: RandomGeneratorVariable = _kind("rng", generator).make_variable(name)  # type: ignore[assignment]  # its kind
    return variable


def as_generator(what: str, value: object) -> RandomGeneratorVariable:
    """Return a generator as a variable; a new shared one for None.

    Raises
    ------
    TensorTypeError
        If it is none.
    """
    if value is None:
        return shared_rng()
    if isinstance(value, RandomGeneratorVariable):
        return value
    advice = "Wrap it by shared_rng(...)." if isinstance(value, np.random.Generator | PortableGenerator) else ""
    msg = f"{what}: rng must be a variable of a generator, got {text_of(value)}. {advice}"
    raise TensorTypeError(msg.rstrip())


class RandomStream:
    """A source of random variables, each with a shared generator of its own, which functions move on by default.

    It has every distribution as a method: ``stream.normal(0, 1, size=3)`` makes a shared generator, seeded by the
    next seed of the stream, and returns a draw by it. The generator's default update is the generator after the draw.

    Parameters
    ----------
    seed
        An integer of 0 or more, a sequence of such, or None for fresh entropy: what ``numpy.random.SeedSequence``
        takes.
    namespace
        A module of other distributions, in place of those of `treadle.tensor.random`.
    rng_ctor
        What makes a generator from a ``numpy.random.SeedSequence``: by default ``numpy.random.default_rng``, or
        `PortableGenerator`.
    generator
        Which of the two by default, ``"numpy"`` or ``"portable"``; what option `random__generator` says if None.

    Attributes
    ----------
    default_instance_seed
        The seed.
    gen_seedgen
        The ``numpy.random.SeedSequence`` that the generators' seeds are spawned from.
    state_updates
        Pairs of the shared generators, in the order in which they were made, and their updates.

    >>> stream = RandomStream(7)
    >>> x = stream.normal(size=2)
    >>> [name for name, _ in stream.updates()]
    [normal_rng_0]
    """

    def __init__(
        self,
        seed: Seed = None,
        namespace: ModuleType | None = None,
        rng_ctor: Callable[[np.random.SeedSequence], Any] | None = None,
        generator: Kind | None = None,
    ) -> None:
        if rng_ctor is not None and generator is not None:
            msg = "RandomStream: either rng_ctor or generator says how generators are made, got both."
            raise ArgumentError(msg)
        self.default_instance_seed = seed
        self.namespace = namespace
        self.rng_ctor = rng_ctor if rng_ctor is not None else _kind("RandomStream", generator).make
        self.gen_seedgen = _seeds("RandomStream", seed)
        self.state_updates: list[tuple[RandomGeneratorSharedVariable, Variable]] = []
        self._lock = new_lock()

    def updates(self) -> list[tuple[RandomGeneratorSharedVariable, Variable]]:
        """Return the pairs of shared generators and their updates."""
        return list(self.state_updates)

    def seed(self, seed: Seed = None) -> None:
        """Seed all generators anew, in functions that are compiled already too.

        A call of a function in another thread draws from all of them before it, or from all of them after it.

        Parameters
        ----------
        seed
            A seed as for the constructor; None for the one given there.
        """
        with self._lock:
            seeds = _seeds("seed", self.default_instance_seed if seed is None else seed)
            generators = [self.rng_ctor(own) for own in seeds.spawn(len(self.state_updates))]
            held = [generator for generator, _ in self.state_updates]
            with ExitStack() as locks:
                # In the order that calls take them in.
                for cell in sorted((generator.container for generator in held), key=lambda cell: cell.order):
                    locks.enter_context(cell.lock)
                for generator, value in zip(held, generators, strict=True):
                    generator.set_value(value, borrow=True)
                self.gen_seedgen = seeds

    def gen(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> TensorVariable:
        """Return a draw by a new generator of the stream.

        Parameters
        ----------
        op
            The distribution: an op, or a function that takes ``rng`` and ``return_next_rng``.
        args, kwargs
            What to call it with.

        Raises
        ------
        ArgumentError
            If a generator is given.
        """
        if "rng" in kwargs:
            msg = "RandomStream: a stream's draws have generators of their own, got rng. Call the distribution itself."
            raise ArgumentError(msg)
        # With a seed of its own only once the arguments have turned out to be right.
        held = shared(self.rng_ctor(np.random.SeedSequence(0)), borrow=True)
        with self._lock:
            next_rng, draw = op(*args, **kwargs, rng=held, return_next_rng=True)
            (own,) = self.gen_seedgen.spawn(1)
            held.set_value(self.rng_ctor(own), borrow=True)
            held.name = f"{getattr(op, 'name', None) or getattr(op, '__name__', 'draw')}_rng_{len(self.state_updates)}"
            held.default_update = next_rng
            self.state_updates.append((held, next_rng))
        return draw  # type: ignore[no-any-return]  # a tensor variable

    def __getattr__(self, name: str) -> Callable[..., TensorVariable]:
        """Return a distribution as a method."""
        # Where there is no namespace yet, the stream is being unpickled.
        draw = distribution(name, "RandomStream", vars(self).get("namespace"))

        def method(*args: Any, **kwargs: Any) -> TensorVariable:
            return self.gen(draw, *args, **kwargs)

        method.__name__ = name
        method.__doc__ = draw.__doc__
        return method

    def __dir__(self) -> list[str]:
        """List the distributions too."""
        return [*super().__dir__(), *distribution_names(self.namespace)]

    def __getstate__(self) -> dict[str, object]:
        """Leave the lock out."""
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Take what was pickled, with a new lock."""
        vars(self).update(state)
        self._lock = new_lock()
