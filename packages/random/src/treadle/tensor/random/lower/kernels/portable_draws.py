"""The rule of portable draws for all compiling backends, and the table of its samplers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.graph import Unsupported
from treadle.kernels import TABLE, Given, Kernel, Length, Site
from treadle.tensor.random.generators.portable_draws import PortableDraws
from treadle.tensor.random.generators.sampler_table import SamplerTable
from treadle.tensor.random.lower.kernels import counts, plain, samplers
from treadle.tensor.random.lower.kernels.attempts import (
    MOST_PARAMETERS,
    SamplerKernels,
    accept,
    add_dimension,
    begin_table,
    draw_attempts,
    keep,
)

if TYPE_CHECKING:
    from treadle.tensor import TensorNode, TensorVariable

_PLAIN: dict[tuple[str, str], Kernel] = {
    **{("bits", dtype): plain.bits_of for dtype in ("int64", "uint64")},
    ("bits", "uint32"): plain.short_bits_of,
    ("random", "float64"): plain.uniform_of,
    ("random", "float32"): plain.short_uniform_of,
    ("standard_exponential", "float64"): plain.exponential_of,
    ("standard_exponential", "float32"): plain.short_exponential_of,
    ("standard_normal", "float64"): plain.normal_of,
    ("standard_normal", "float32"): plain.short_normal_of,
}
# The kernels of samplers that may reject; others may register theirs.
SAMPLER_KERNELS: SamplerTable[SamplerKernels] = SamplerTable(
    TABLE,
    {
        "integers": SamplerKernels(
            2, samplers.integers_attempt, samplers.integers_prepare, samplers.integers_decide, keep
        ),
        "standard_gamma": SamplerKernels(
            1, samplers.gamma_attempt, samplers.gamma_prepare, accept, samplers.gamma_finish
        ),
        "log_standard_gamma": SamplerKernels(
            1, samplers.log_gamma_attempt, samplers.log_gamma_prepare, accept, samplers.log_gamma_finish
        ),
        "vonmises": SamplerKernels(
            1, samplers.vonmises_attempt, samplers.vonmises_prepare, accept, samplers.vonmises_finish
        ),
        "zipf": SamplerKernels(1, samplers.zipf_attempt, samplers.zipf_prepare, samplers.zipf_decide, keep),
        "poisson": SamplerKernels(1, counts.poisson_attempt, counts.poisson_prepare, counts.poisson_decide, keep),
        "binomial": SamplerKernels(
            2, counts.binomial_attempt, counts.binomial_prepare, counts.binomial_decide, counts.binomial_finish
        ),
        "hypergeometric": SamplerKernels(
            3,
            counts.hypergeometric_attempt,
            counts.hypergeometric_prepare,
            accept,
            counts.hypergeometric_finish,
        ),
    },
)


def has_kernels(op: PortableDraws, _: TensorNode) -> None:
    """Refuse a sampler without kernels.

    Raises
    ------
    Unsupported
        If there are none.
    """
    if (op.sampler, op.dtype) not in _PLAIN and SAMPLER_KERNELS.find(op.sampler) is None:
        msg = f"there are no kernels of the sampler {op.sampler}"
        raise Unsupported(msg, "register them in treadle.tensor.random.lower.kernels.SAMPLER_KERNELS")


@TABLE.register(PortableDraws, check=has_kernels)
def portable_draws(op: PortableDraws, node: TensorNode, site: Site) -> None:
    """Describe how parameters are broadcast, and draw in C order."""
    state, given_lengths, parameters = op.parts(node.inputs)
    words = site.packed(state).pointer
    lengths = [site.integer(n) for n in given_lengths]
    for n in lengths:
        site.stop_if(n < 0)
    count = Length("1")
    for n in lengths:
        count = count * n
    tables = [_described(p, lengths, site) for p in parameters]
    out = site.output(node.outputs[0], lengths).pointer
    kernels = SAMPLER_KERNELS.find(op.sampler)
    if kernels is None:
        site.run(plain.draw_plain, words, count, out, make=_PLAIN[op.sampler, op.dtype])
        return
    # The places of parameters that the sampler does not have.
    tables += [(words, words)] * (MOST_PARAMETERS - len(tables))
    _, attempt, prepare, decide, finish = kernels
    site.run(
        draw_attempts,
        words,
        count,
        *(part for pair in tables for part in pair),
        out,
        parameters=len(parameters),
        attempt=attempt,
        prepare=prepare,
        decide=decide,
        decides=decide is not accept,
        finish=finish,
    )


def _described(p: TensorVariable, lengths: list[Length], site: Site) -> tuple[Given, Given]:
    """Return the first element of a parameter, and the table that says how it is broadcast."""
    value = site.array(p) if p.type.ndim else site.packed(p)
    table = site.room("int64", 2 * len(lengths) + 1)
    site.run(begin_table, table)
    own = list(zip(value.shape, value.strides, strict=True)) if p.type.ndim else []
    for d in range(len(lengths) - 1, -1, -1):
        at = d - (len(lengths) - len(own))
        n, stride = own[at] if at >= 0 else (Length("1"), Length("0"))
        site.run(add_dimension, table, lengths[d], n, stride)
    return value.pointer, table
