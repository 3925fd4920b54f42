"""Types of random number generators: NumPy's, and the portable one."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import text_of
from treadle.graph import ENCODERS, Constant, SharedVariable, Type, Variable, tagged
from treadle.tensor.arguments.values import as_integer
from treadle.tensor.errors import ArgumentError, TensorTypeError
from treadle.tensor.random.generators.portable import PortableGenerator
from treadle.tensor.random.namespace import distribution, distribution_names
from treadle.tensor.random.words import copied, like, separated, with_words, words_of
from treadle.tensor.types.tensor_type import TensorType
from treadle.tensor.upward import upward

if TYPE_CHECKING:
    from collections.abc import Callable

    from treadle.graph import Value

__all__ = [
    "PortableGeneratorType", "RandomGeneratorConstant", "RandomGeneratorSharedVariable", "RandomGeneratorType",
    "RandomGeneratorVariable", "RandomType", "portable_generator_type", "random_generator_type",
]  # fmt: skip


class RandomType(Type):
    """Base of the types of generators.

    Attributes
    ----------
    generator
        The class of its values.
    storage
        The type of the arrays that stand for their states in compiled code.
    portable
        Whether they draw the same numbers on every backend.
    """

    __props__ = ()
    generator: ClassVar[type]
    storage: ClassVar[TensorType]
    portable: ClassVar[bool] = False
    shared_type: ClassVar[type[SharedVariable]]

    def filter(self, data: Value, strict: bool = False, allow_downcast: bool | None = None) -> Any:
        """Take a generator as it is.

        Raises
        ------
        TensorTypeError
            If it is something else.
        """
        del strict, allow_downcast
        if not isinstance(data, self.generator):
            msg = f"{self}: a {self.generator.__name__} is needed, got {text_of(data)}. {self.advice}"
            raise TensorTypeError(msg)
        return data

    def guard(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return a test for the class of the generator."""
        kind = self.generator.__name__
        return f"isinstance({name}, {kind})", {kind: self.generator}

    def nbytes(self, value: Value) -> int:
        """Return the size of the state."""
        return self.state_of(value).nbytes

    @classmethod
    def make(cls, seed: Any) -> Any:
        """Return a generator with a seed, None for fresh entropy."""
        return cls.generator(seed)

    def sample(self, seed: int) -> Any:
        """Return a generator with the seed."""
        return self.make(seed)

    # What to do about a value that is none.
    advice: ClassVar[str]

    def fork(self, value: Any) -> Any:
        """Return a generator in the same state to draw with: `copy_value`, or something faster."""
        return self.copy_value(value)

    @staticmethod
    @abstractmethod
    def spawned(value: Any, count: int) -> tuple[Any, list[Any]]:
        """Return what a generator is after it spawned others, and these; the one given stays as it is."""

    @staticmethod
    @abstractmethod
    def state_of(rng: Any) -> np.ndarray:
        """Return a generator's state as an array of type `storage`."""

    @staticmethod
    @abstractmethod
    def with_state(like: Any, state: np.ndarray) -> Any:
        """Return a generator in a state, otherwise as another one."""

    def __str__(self) -> str:
        return type(self).__name__


class RandomGeneratorType(RandomType):
    """The type of NumPy's generators, ``numpy.random.Generator``, with any bit generator."""

    generator = np.random.Generator
    storage = TensorType("uint64", (None,))
    advice = (
        "Make one with numpy.random.default_rng(seed); the legacy RandomState draws other numbers and is not taken."
    )

    @staticmethod
    def state_of(rng: np.random.Generator) -> np.ndarray:
        """Return its state as words (see `treadle.tensor.random.words`)."""
        return words_of(rng)

    @staticmethod
    def with_state(like: np.random.Generator, state: np.ndarray) -> np.random.Generator:
        """Return a generator in the state."""
        return with_words(like, state)

    def copy_value(self, value: Value) -> np.random.Generator:
        """Return a generator in the same state, which draws and spawns for itself."""
        return separated(value)

    def fork(self, value: np.random.Generator) -> np.random.Generator:
        """Return a generator in the same state to draw with, which shares the seeds of what is spawned."""
        return copied(value)

    @staticmethod
    def spawned(value: np.random.Generator, count: int) -> tuple[np.random.Generator, list[np.random.Generator]]:
        """Return what a generator is after it spawned others by its seed sequence, and these.

        Raises
        ------
        TypeError
            If its seed sequence cannot spawn.
        """
        after = separated(value)
        return after, [like(value, held) for held in after.bit_generator.spawn(count)]

    @staticmethod
    def values_eq(a: Value, b: Value) -> bool:
        """Whether two generators are in the same state."""
        return type(a) is type(b) and _encoded_state(a) == _encoded_state(b)

    @staticmethod
    def may_share_memory(a: Value, b: Value) -> bool:
        """Whether two generators move on together."""
        both = isinstance(a, np.random.Generator) and isinstance(b, np.random.Generator)
        return both and a.bit_generator is b.bit_generator

    @classmethod
    def make(cls, seed: Any) -> np.random.Generator:
        """Return a generator with a seed, None for fresh entropy."""
        return np.random.default_rng(seed)


class PortableGeneratorType(RandomType):
    """The type of portable generators, whose numbers are the same on every backend."""

    generator = PortableGenerator
    portable = True
    storage = TensorType("int64", (3,))
    advice = "Make one with PortableGenerator(seed)."

    @staticmethod
    def state_of(rng: PortableGenerator) -> np.ndarray:
        """Return key, stream and position."""
        return rng.state

    @staticmethod
    def with_state(like: PortableGenerator, state: np.ndarray) -> PortableGenerator:
        """Return a generator with this key, stream and position."""
        del like
        return PortableGenerator.from_state(state)

    def copy_value(self, value: Value) -> PortableGenerator:
        """Return a generator in the same state."""
        return PortableGenerator.from_state(value.state)

    @staticmethod
    def spawned(value: PortableGenerator, count: int) -> tuple[PortableGenerator, list[PortableGenerator]]:
        """Return what a generator is after it spawned others, and these."""
        after = PortableGenerator.from_state(value.state)
        return after, after.spawn(count)


class RandomGeneratorVariable(Variable[RandomType]):
    """A symbolic generator, with every distribution as a method that returns the next generator and the draw."""

    __slots__ = ()
    __hash__ = Variable.__hash__

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return a distribution as a method."""
        draw = distribution(name, type(self).__name__)

        def method(*args: object, **kwargs: object) -> Any:
            return draw(*args, rng=self, return_next_rng=True, **kwargs)

        method.__name__ = name
        method.__doc__ = draw.__doc__
        return method

    def spawn(self, n_children: int) -> tuple[RandomGeneratorVariable, list[RandomGeneratorVariable]]:
        """Return the next generator, and n generators of streams that are apart from it and from each other.

        NumPy's are spawned by the generator's seed sequence, as by ``Generator.spawn``.
        """
        count = as_integer("spawn: n_children", n_children, 0)
        after, *children = upward.function("random").Spawn(count)(self, return_list=True)
        return after, children

    def fold_in(self, data: object) -> RandomGeneratorVariable:
        """Return the portable generator of the stream that belongs to this one's and an integer, which may be symbolic.

        This one is not moved on by it.
        """
        folded: RandomGeneratorVariable = upward.function("random").FoldIn()(self, data)
        return folded

    def __dir__(self) -> list[str]:
        """List the distributions too."""
        return [*super().__dir__(), *distribution_names()]


class RandomGeneratorConstant(RandomGeneratorVariable, Constant[RandomType]):
    """A generator that is known when the graph is built: a copy of the one given, which never moves on."""

    __slots__ = ()
    __hash__ = Variable.__hash__

    def __init__(self, type: RandomType, data: object, name: str | None = None) -> None:
        super().__init__(type, type.copy_value(type.filter(data)), name)

    def __str__(self) -> str:
        # NumPy's repr has the address.
        return f"{self.name}{{{self.data!s}}}" if self.name is not None else str(self.data)

    __repr__ = __str__


# In place of a seed that is not given: None stands for fresh entropy.
UNSEEDED: Any = object()


class RandomGeneratorSharedVariable(RandomGeneratorVariable, SharedVariable[RandomType]):
    """A generator that is kept from call to call."""

    __slots__ = ()
    __hash__ = Variable.__hash__

    def set_value(self, new_value: object = None, borrow: bool = False, *, seed: Any = UNSEEDED) -> None:
        """Set the generator.

        Parameters
        ----------
        new_value
            A generator.
        borrow
            Whether it may be kept, which nobody else should then use; else a copy.
        seed
            In place of a generator: what to seed a new one with, of the kind that this variable holds.

        Raises
        ------
        TypeError
            If the value is not a generator of the variable's kind.
        ArgumentError
            If there are both a generator and a seed, or neither.
        """
        if (new_value is None) is (seed is UNSEEDED):
            msg = f"{self}: either a generator or a seed is needed, got {'neither' if new_value is None else 'both'}."
            raise ArgumentError(msg)
        if new_value is None:
            super().set_value(self.type.make(seed), borrow=True)
        else:
            super().set_value(new_value, borrow=borrow)


RandomType.variable_type = RandomGeneratorVariable
RandomType.constant_type = RandomGeneratorConstant
RandomType.shared_type = RandomGeneratorSharedVariable
random_generator_type = RandomGeneratorType()
portable_generator_type = PortableGeneratorType()


def generator_type_of(value: object) -> RandomType:
    """Return the type of a generator."""
    kind = portable_generator_type if isinstance(value, PortableGenerator) else random_generator_type
    kind.filter(value)
    return kind


def _encoded_state(rng: np.random.Generator) -> bytes:
    held = rng.bit_generator
    return repr((type(held), held.state)).encode()


def _encode_generator(rng: np.random.Generator) -> bytes:
    # The seeds tell apart what would be spawned.
    return tagged("rng", _encoded_state(rng), repr(rng.bit_generator.seed_seq).encode())


def _encode_portable(rng: PortableGenerator) -> bytes:
    return tagged("portable", rng.state.tobytes())


ENCODERS.register(np.random.Generator, _encode_generator)
ENCODERS.register(PortableGenerator, _encode_portable)
