"""Types of random number generators: NumPy's, and the portable one."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from treadle.config import text_of
from treadle.graph import ENCODERS, Constant, SharedVariable, Type, Variable, tagged
from treadle.tensor.errors import TensorTypeError
from treadle.tensor.random.portable import PortableGenerator
from treadle.tensor.random.words import copied, with_words, words_of
from treadle.tensor.types import TensorType

if TYPE_CHECKING:
    from treadle.graph import Value

__all__ = [
    "PortableGeneratorType",
    "RandomGeneratorConstant",
    "RandomGeneratorSharedVariable",
    "RandomGeneratorType",
    "RandomGeneratorVariable",
    "RandomType",
    "portable_generator_type",
    "random_generator_type",
]


class RandomType(Type):
    """Base of the types of generators.

    Attributes
    ----------
    generator
        The class of its values.
    storage
        The type of the arrays that stand for their states in compiled code.
    """

    __props__ = ()
    generator: ClassVar[type]
    storage: ClassVar[TensorType]

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

    # What to do about a value that is none.
    advice: ClassVar[str]

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
    advice = "Make one with numpy.random.default_rng(seed)."

    @staticmethod
    def state_of(rng: np.random.Generator) -> np.ndarray:
        """Return its state as words (see `treadle.tensor.random.words`)."""
        return words_of(rng)

    @staticmethod
    def with_state(like: np.random.Generator, state: np.ndarray) -> np.random.Generator:
        """Return a generator in the state."""
        return with_words(like, state)

    def copy_value(self, value: Value) -> np.random.Generator:
        """Return a generator in the same state."""
        return copied(value)

    @staticmethod
    def values_eq(a: Value, b: Value) -> bool:
        """Whether two generators are in the same state."""
        return type(a) is type(b) and _encoded_state(a) == _encoded_state(b)

    def sample(self, seed: int) -> np.random.Generator:
        """Return a generator with the seed."""
        return np.random.default_rng(seed)


class PortableGeneratorType(RandomType):
    """The type of portable generators, whose numbers are the same on every backend."""

    generator = PortableGenerator
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

    def sample(self, seed: int) -> PortableGenerator:
        """Return a generator with the seed."""
        return PortableGenerator(seed)


class RandomGeneratorVariable(Variable[RandomType]):
    """A symbolic generator, with every distribution as a method that returns the next generator and the draw."""

    __slots__ = ()
    __hash__ = Variable.__hash__


class RandomGeneratorConstant(RandomGeneratorVariable, Constant[RandomType]):
    """A generator that is known when the graph is built."""

    __slots__ = ()
    __hash__ = Variable.__hash__


class RandomGeneratorSharedVariable(RandomGeneratorVariable, SharedVariable[RandomType]):
    """A generator that is kept from call to call."""

    __slots__ = ()
    __hash__ = Variable.__hash__


RandomType.variable_type = RandomGeneratorVariable
RandomType.constant_type = RandomGeneratorConstant
random_generator_type = RandomGeneratorType()
portable_generator_type = PortableGeneratorType()


def _encoded_state(rng: np.random.Generator) -> bytes:
    return repr(rng.bit_generator.state).encode()


def _encode_generator(rng: np.random.Generator) -> bytes:
    return tagged("rng", _encoded_state(rng))


def _encode_portable(rng: PortableGenerator) -> bytes:
    return tagged("portable", rng.state.tobytes())


ENCODERS.register(np.random.Generator, _encode_generator)
ENCODERS.register(PortableGenerator, _encode_portable)
