"""Options that treadle.link.jax reads."""

from __future__ import annotations

from treadle.config import BOOL, INT, STR, Option

# The distributions whose versions decide what is compiled.
JAX_LIBRARIES = ("jax", "jaxlib")

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "jax__device_outputs",
        False,
        "Return results of JAX functions as JAX arrays on their device, without a copy to the host.",
        BOOL,
    ),
    Option(
        "jax__device",
        "",
        "The JAX device that programs run on, such as gpu, or cpu:1 for the second one. Empty for JAX's own default.",
        STR,
    ),
    Option.integer(
        "jax__static_values",
        default=64,
        doc="How many compiled forms a JAX program keeps where the values of inputs decide shapes: one for each "
        "combination of these values, the least recently used going first.",
        kind=INT.where("an integer > 0", lambda value: value > 0),
        affects_code=False,
    ),
)
