"""The draws that compiled code makes of Philox: what each takes, how many blocks, and its definition."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from treadle.config import dataclass, text_of
from treadle.graph import DuplicateRegistrationError
from treadle.tensor.errors import ArgumentError
from treadle.tensor.random.generators.array_lanes import drawn_by
from treadle.tensor.random.generators.lanes import LANE_SAMPLERS
from treadle.tensor.random.generators.philox import bits, exponential, normal, uniform
from treadle.tensor.random.generators.rejection import (
    binomial,
    hypergeometric,
    integers,
    log_standard_gamma,
    poisson,
    standard_gamma,
    vonmises,
    zipf,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np

__all__ = ["PORTABLE_SAMPLERS", "PortableSampler"]

FLOATS = ("float64", "float32")
_PARAMETERS = ("float64", "int64")
_DRAWS = (*FLOATS, "int64")


@dataclass(frozen=True, slots=True, eq=False)
class PortableSampler:
    """A draw that compiled code makes of Philox.

    Attributes
    ----------
    name
        Its name, in `PORTABLE_SAMPLERS`.
    signature
        Core dimensions of its parameters and of one draw.
    parameters
        Dtypes of its parameters.
    dtypes
        What it can return.
    per_block
        How many elements a block gives, by dtype; draws that may reject take a block an element, and the same one
        again for each further attempt.
    reference
        ``reference(state, n, dtype, *parameters)`` returns n elements; parameters have that length, and their cores.
    lanes
        ``lanes(lanes, *parameters)`` returns a draw for each lane of a `treadle.tensor.DrawLanes`; None for samplers
        that every backend has code of its own for.
    """

    name: str
    signature: str
    parameters: tuple[str, ...]
    dtypes: tuple[str, ...]
    per_block: Mapping[str, int]
    reference: Callable[..., np.ndarray]
    lanes: Callable[..., Any] | None = None

    def canonical(self) -> bytes:
        """Return what stands for it in encodings: its name, of which there is one."""
        return self.name.encode()


class PortableSamplerTable(Mapping[str, PortableSampler]):
    """The samplers of portable generators, by name."""

    __slots__ = ("_samplers",)

    def __init__(self, samplers: Sequence[PortableSampler] = ()) -> None:
        self._samplers = {sampler.name: sampler for sampler in samplers}

    def add(
        self,
        name: str,
        definition: Callable[..., Any],
        parameters: Sequence[str] = (),
        dtypes: Sequence[str] = FLOATS,
    ) -> PortableSampler:
        """Add a sampler by its definition, and return it.

        ``PortableGenerator.draw(name, shape, dtype, *parameters)`` draws by it, and so do distributions whose
        `RandomVariable.portable_sampler` it is. Every backend draws the same numbers: the Python VM evaluates the
        definition with NumPy's arrays, JAX and PyTorch with theirs, and others compile the graph that it gives with
        variables, unless there is a text of its own in the backend's table of samplers.

        Parameters
        ----------
        name
            Its name.
        definition
            ``definition(lanes, *parameters)`` returns a draw for each lane, as float64 or int64, in terms of the
            methods of `treadle.tensor.DrawLanes`, of the functions of its ``xp``, and of operators. It makes parameters
            one value for each lane by ``lanes.flat``, and has no state. Draws of float32 are rounded at the end.
        parameters
            The dtype of each parameter, float64 or int64.
        dtypes
            What it can return: some of float64, float32 and int64. The first is the default.

        Raises
        ------
        DuplicateRegistrationError
            If there is a sampler of this name.
        ArgumentError
            If the name is no identifier, or a dtype is none of those.
        """
        if not (isinstance(name, str) and name.isidentifier()):
            msg = f"PORTABLE_SAMPLERS: a name is an identifier, got {text_of(name)}. Choose one."
            raise ArgumentError(msg)
        if name in self._samplers:
            msg = f"PORTABLE_SAMPLERS: a sampler named {name!r} exists already. Choose another name."
            raise DuplicateRegistrationError(msg)
        for what, given, known in (("a parameter", parameters, _PARAMETERS), ("a draw", dtypes, _DRAWS)):
            unknown = [dtype for dtype in given if dtype not in known]
            if unknown or isinstance(given, str):
                msg = (
                    f"PORTABLE_SAMPLERS: the dtype of {what} is one of {', '.join(known)}, in a tuple, got "
                    f"{text_of(given)} for {name}. Correct it."
                )
                raise ArgumentError(msg)
        signature = f"{','.join(['()'] * len(parameters))}->()"
        reference = partial(drawn_by, definition)
        sampler = PortableSampler(name, signature, tuple(parameters), tuple(dtypes), {}, reference, definition)
        self._samplers[name] = sampler
        return sampler

    def __getitem__(self, name: str) -> PortableSampler:
        """Return the sampler of a name."""
        return self._samplers[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._samplers)

    def __len__(self) -> int:
        """Return the number of samplers."""
        return len(self._samplers)


def _plain(
    name: str, reference: Callable[..., np.ndarray], dtypes: tuple[str, ...], per_block: Mapping[str, int]
) -> PortableSampler:
    """Return a sampler without parameters, of which each block gives several draws."""
    return PortableSampler(name, "->()", (), dtypes, per_block, reference)


def _by_rejection(
    reference: Callable[..., np.ndarray], *parameters: str, dtypes: tuple[str, ...] = ("int64",)
) -> PortableSampler:
    """Return a sampler that may reject, named by its definition."""
    name = reference.__name__
    signature = f"{','.join(['()'] * len(parameters))}->()"
    return PortableSampler(name, signature, parameters, dtypes, {}, reference, LANE_SAMPLERS[name])


_PER_BLOCK = {"float64": 2, "float32": 4}
PORTABLE_SAMPLERS = PortableSamplerTable(
    [
        _plain("bits", bits, ("uint32", "uint64", "int64"), {"uint32": 4, "uint64": 2, "int64": 2}),
        _plain("random", uniform, FLOATS, _PER_BLOCK),
        _plain("standard_exponential", exponential, FLOATS, _PER_BLOCK),
        _plain("standard_normal", normal, FLOATS, _PER_BLOCK),
        _by_rejection(integers, "int64", "int64"),
        _by_rejection(standard_gamma, "float64", dtypes=FLOATS),
        _by_rejection(log_standard_gamma, "float64", dtypes=("float64",)),
        _by_rejection(poisson, "float64"),
        _by_rejection(binomial, "int64", "float64"),
        _by_rejection(hypergeometric, "int64", "int64", "int64"),
        _by_rejection(vonmises, "float64", dtypes=FLOATS),
        _by_rejection(zipf, "float64"),
    ]
)
