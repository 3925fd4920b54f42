"""What a distribution's functions are made of: formulas in their standard form, the support, and the parameters."""

from __future__ import annotations

import inspect
import math
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeAlias

from treadle.config import alias, config, dataclass
from treadle.graph import composed
from treadle.tensor.elementwise.cast import cast, switch
from treadle.tensor.elementwise.comparison import eq, ge, gt, isnan, le, lt
from treadle.tensor.elementwise.exponential import exp, log, log1p
from treadle.tensor.elementwise.logic import and_, invert
from treadle.tensor.elementwise.rounding import floor
from treadle.tensor.errors import ArgumentError
from treadle.tensor.types.conversion import as_tensor_variable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from treadle.tensor.variables.variable import TensorLike, TensorVariable

# What formulas and bounds give, where they depend on parameters or do not.
Number: TypeAlias = "TensorVariable | float"
Truth: TypeAlias = "TensorVariable | bool"
Formula: TypeAlias = "Callable[..., Number]"
Bounds: TypeAlias = "tuple[Number, Number]"
Shapes: TypeAlias = "tuple[TensorVariable, ...]"
# Shapes, location and scale.
Placed: TypeAlias = "tuple[Shapes, TensorVariable | None, TensorVariable | None]"
REQUIRED = inspect.Parameter.empty

CONTINUOUS = ("logpdf", "pdf", "cdf", "logcdf", "sf", "logsf", "icdf", "mean", "variance")
DISCRETE = ("logpmf", "pmf", "cdf", "logcdf", "sf", "logsf", "icdf", "mean", "variance")
# Every name under which a distribution may have a function.
FUNCTIONS = tuple(dict.fromkeys(CONTINUOUS + DISCRETE))

_WHAT = {
    "logpdf": "the logarithm of the density of {name} at x",
    "pdf": "the density of {name} at x",
    "logpmf": "the logarithm of the probability of x by {name}",
    "pmf": "the probability of x by {name}",
    "cdf": "the probability of numbers up to x by {name}",
    "logcdf": "the logarithm of the probability of numbers up to x by {name}",
    "sf": "the probability of numbers above x by {name}",
    "logsf": "the logarithm of the probability of numbers above x by {name}",
    "icdf": "the quantiles of {name}: the numbers up to which the probability is q",
    "mean": "the mean of {name}",
    "variance": "the variance of {name}",
}
# Functions of SciPy's distributions of other names.
_SCIPY = {"icdf": "ppf", "variance": "var"}


def floats(value: TensorLike) -> TensorVariable:
    """Return a tensor of floats."""
    x = as_tensor_variable(value)
    return x if x.type.numpy_dtype.kind == "f" else cast(x, config.floatX)


def _nowhere(*shapes: TensorVariable) -> Bounds:
    del shapes
    return -math.inf, math.inf


def _always(*shapes: TensorVariable) -> Truth:
    del shapes
    return True


def _standard(*parameters: TensorVariable) -> Placed:
    """Take the last two parameters as location and scale."""
    return parameters[:-2], parameters[-2], parameters[-1]


@dataclass(frozen=True)
class Law:
    """A distribution of numbers.

    Attributes
    ----------
    name
        What it is called in texts, as in "the normal distribution".
    parameters
        Its parameters with their defaults.
    formulas
        Functions by name, in the standard form: of a standard number, or a probability for ``icdf``, and shapes.
        ``mean`` and ``variance`` are of shapes alone.
    place
        Returns shapes, location and scale for values of the parameters; None for a location of 0 or a scale of 1.
    bounds
        Returns the least and the greatest standard number, for shapes.
    valid
        Returns whether shapes make sense; otherwise results are NaN.
    inner
        Returns a standard number inside of the bounds, for shapes: what formulas get in the place of others.
    is_open
        Whether formulas fail at a bound, where the density is 0.
    discrete
        Whether it is one of integers.
    scipy
        Its name in scipy.stats, if it is there.
    given
        Returns values of the parameters for those given, where some may be left out.
    functions
        The functions made so far.
    """

    name: str
    parameters: Mapping[str, object]
    formulas: Mapping[str, Formula]
    place: Callable[..., Placed] = _standard
    bounds: Callable[..., Bounds] = _nowhere
    valid: Callable[..., Truth] = _always
    inner: Callable[..., Number] | None = None
    is_open: bool = False
    discrete: bool = False
    scipy: str = ""
    given: Callable[..., tuple[TensorLike, ...]] | None = None
    functions: dict[str, Callable[..., TensorVariable]] = field(default_factory=dict)

    def has(self, function: str) -> bool:
        """Whether there is a function of a name."""
        given = self.formulas
        if function in {"icdf", "mean", "variance"}:
            return function in given
        if function in {"cdf", "sf", "logcdf", "logsf"}:
            return bool({"cdf", "sf", "logcdf", "logsf"} & given.keys())
        return function in (("logpmf", "pmf") if self.discrete else ("logpdf", "pdf"))

    def names(self) -> list[str]:
        """Return the names of its functions."""
        return [name for name in (DISCRETE if self.discrete else CONTINUOUS) if self.has(name)]

    # Values

    def _placed(
        self, parameters: Sequence[TensorLike]
    ) -> tuple[Shapes, TensorVariable | None, TensorVariable | None, Truth]:
        """Return shapes, location, scale, and whether all of them make sense."""
        shapes, loc, scale = self.place(*map(floats, parameters))
        valid = self.valid(*shapes)
        if scale is not None:
            valid = and_(valid, gt(scale, 0))
        return shapes, loc, scale, valid

    def _inner(self, low: Number, high: Number, shapes: Shapes) -> Number:
        if self.inner is not None:
            return self.inner(*shapes)
        is_below, is_above = _is_infinite(low), _is_infinite(high)
        if is_below:
            return 0 if is_above else high - 1
        return low + 1 if is_above else low if self.discrete else (low + high) / 2

    def at(self, function: str, x: TensorLike, parameters: Sequence[TensorLike]) -> TensorVariable:
        """Return a function of a number."""
        shapes, loc, scale, valid = self._placed(parameters)
        z = floats(x)
        valid = and_(valid, invert(isnan(z)))
        is_density = function in {"logpdf", "pdf", "logpmf", "pmf"}
        if self.discrete and not is_density:
            z = floor(z)
        if loc is not None:
            z = z - loc
        if scale is not None:
            z = z / scale
        low, high = self.bounds(*shapes)
        strict = self.is_open or self.discrete
        inside = and_(_above(z, low, strict=self.is_open), _above(high, z, strict=strict and not is_density))
        if self.discrete and is_density:
            inside = and_(inside, eq(z, floor(z)))
        point = switch(and_(inside, valid), z, self._inner(low, high, shapes))
        if is_density:
            value = self._density(point, shapes, scale)
            if function in {"pdf", "pmf"}:
                value = exp(value)
            outside: Number = -math.inf if function.startswith("log") else 0.0
        else:
            value = self._probability(function, point, shapes)
            ends = {"cdf": (0.0, 1.0), "sf": (1.0, 0.0), "logcdf": (-math.inf, 0.0), "logsf": (0.0, -math.inf)}
            below, above = ends[function]
            outside = switch(le(z, low) if self.is_open or _is_infinite(low) else lt(z, low), below, above)
        return _checked(valid, switch(inside, value, outside))

    def _density(self, z: TensorVariable, shapes: Shapes, scale: TensorVariable | None) -> Number:
        value = self.formulas["logpmf" if self.discrete else "logpdf"](z, *shapes)
        return value if scale is None or self.discrete else value - log(scale)

    def _probability(self, function: str, z: TensorVariable, shapes: Shapes) -> Number:
        formula = self.formulas.get(function)
        if formula is not None:
            return formula(z, *shapes)
        if function in {"logcdf", "logsf"}:
            own, other = ("cdf", "sf") if function == "logcdf" else ("sf", "cdf")
            share, rest = self._probability(own, z, shapes), self._probability(other, z, shapes)
            # The smaller of the two has all its digits.
            is_small = lt(share, 0.5)
            return switch(is_small, log(switch(is_small, share, 0.5)), log1p(-switch(is_small, 0.5, rest)))
        logarithm = self.formulas.get(f"log{function}")
        if logarithm is not None:
            return exp(logarithm(z, *shapes))
        return 1 - self._probability("sf" if function == "cdf" else "cdf", z, shapes)

    def quantile(self, q: TensorLike, parameters: Sequence[TensorLike]) -> TensorVariable:
        """Return the number up to which the probability is q."""
        shapes, loc, scale, valid = self._placed(parameters)
        share = floats(q)
        low, high = self.bounds(*shapes)
        is_inside = and_(gt(share, 0), lt(share, 1))
        z = self.formulas["icdf"](switch(is_inside, share, 0.5), *shapes)
        if self.discrete:
            z = self._rounded(z, switch(is_inside, share, 0.5), shapes)
            low = low - 1 if not _is_infinite(low) else low
        z = switch(is_inside, z, switch(le(share, 0), low, high))
        z = z if scale is None else z * scale
        z = z if loc is None else z + loc
        return _checked(and_(valid, and_(ge(share, 0), le(share, 1))), z)

    def _rounded(self, z: Number, share: TensorVariable, shapes: Shapes) -> TensorVariable:
        """Return the quantile, where rounding made one too many or too few of it."""
        low, high = self.bounds(*shapes)
        least = z - 1
        reaches = ge(self._probability("cdf", switch(lt(least, low), low, least), shapes), share)
        down = switch(and_(ge(least, low), reaches), least, z)
        misses = lt(self._probability("cdf", down, shapes), share)
        return switch(and_(misses, lt(down, high)), down + 1, down)

    def moment(self, function: str, parameters: Sequence[TensorLike]) -> TensorVariable:
        """Return the mean or the variance."""
        shapes, loc, scale, valid = self._placed(parameters)
        value = self.formulas[function](*shapes)
        if scale is not None:
            value = value * (scale if function == "mean" else scale**2)
        if loc is not None and function == "mean":
            value = value + loc
        if loc is not None and function == "variance":
            value = value + 0 * loc
        return _checked(valid, value)

    # Functions of users

    def function(self, name: str, path: str) -> Callable[..., TensorVariable]:
        """Return a function of the user's: of a number, or a probability, and the parameters."""
        known = self.functions.get(f"{path}.{name}")
        if known is None:
            known = self.functions[f"{path}.{name}"] = self._made(name, path)
        return known

    def _made(self, name: str, path: str) -> Callable[..., TensorVariable]:
        own = list(self.parameters)
        first = [] if name in {"mean", "variance"} else ["q" if name == "icdf" else "x"]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        signature = inspect.Signature(
            [
                *(inspect.Parameter(arg, kind) for arg in first),
                *(inspect.Parameter(arg, kind, default=self.parameters[arg]) for arg in own),
            ]
        )

        def call(*args: object, **kwargs: object) -> TensorVariable:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                msg = f"{path}.{name}: {error}. Call {path}.{name}{signature}."
                raise ArgumentError(msg) from None
            bound.apply_defaults()
            values: list[TensorLike] = list(bound.arguments.values())
            if self.given is not None:
                values = [*values[: len(first)], *self.given(*values[len(first) :])]
            if name == "icdf":
                return self.quantile(values[0], values[1:])
            if name in {"mean", "variance"}:
                return self.moment(name, values)
            return self.at(name, values[0], values[1:])

        return documented(call, name, path, signature, self._docstring(name, path, first))

    def _docstring(self, name: str, path: str, first: list[str]) -> str:
        scipy = f" (as scipy.stats.{self.scipy}.{_SCIPY.get(name, name)})" if self.scipy else ""
        values = {"x": "Where: a tensor, array or number.", "q": "Probabilities, from 0 to 1; NaN results of others."}
        lines = [f"Return {_WHAT[name].format(name=f'the {self.name}')}{scipy}.", "", "Parameters", "----------"]
        for arg in first:
            lines += [arg, f"    {values[arg]}"]
        for arg, default in self.parameters.items():
            shown = "" if default is REQUIRED else f" Default: {default!r}."
            lines += [arg, f"    As for `{path}`; all arguments broadcast.{shown}"]
        lines += [
            "", "Returns", "-------", "A tensor of floats: NaN where a parameter makes no sense.",
            "", "Raises", "------", "ArgumentError", "    If arguments are missing, or there are too many.",
            "", "Examples", "--------",
        ]  # fmt: skip
        call = ", ".join([*("0.5" for _ in first), *("2.0" for value in self.parameters.values() if value is REQUIRED)])
        call += ", rate=1.0" if "rate" in self.parameters else ""
        lines += [f">>> tt.random.{path}.{name}({call}).eval().shape", "()", ""]
        return "\n".join(lines)


def documented(
    call: Callable[..., TensorVariable], name: str, path: str, signature: inspect.Signature, text: str
) -> Callable[..., TensorVariable]:
    """Return a function with a name, which its errors give, a signature and a docstring."""
    made: Any = alias(composed(call), f"{path}.{name}")
    made.__name__, made.__qualname__, made.__module__ = name, f"{path}.{name}", "treadle.tensor.random"
    made.__doc__, made.__signature__ = text, signature
    del made.__wrapped__  # its signature is another
    result: Callable[..., TensorVariable] = made
    return result


def _is_infinite(bound: Number) -> bool:
    return isinstance(bound, float) and math.isinf(bound)


def _above(value: Number, bound: Number, *, strict: bool) -> TensorVariable:
    """Whether a value is above a bound; infinite numbers are above none."""
    if _is_infinite(bound) or _is_infinite(value):
        return gt(value, bound)
    return gt(value, bound) if strict else ge(value, bound)


def _checked(valid: Truth, value: Number) -> TensorVariable:
    return switch(valid, value, math.nan)


def either(condition: Truth, value: Number, other: Number) -> TensorVariable:
    """Return a value where a condition holds, another one elsewhere."""
    return switch(condition, value, other)


def positive(*values: TensorVariable) -> Truth:
    """Whether all values are positive."""
    result: Truth = True
    for value in values:
        result = and_(result, gt(value, 0))
    return result


def share(*values: TensorVariable) -> Truth:
    """Whether all values are from 0 to 1."""
    result: Truth = True
    for value in values:
        result = and_(result, and_(ge(value, 0), le(value, 1)))
    return result
