"""Rules of two backends for NormalizeRows, and kernels of a sampler; each is loaded when its backend first compiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from treadle_markov.ops import NormalizeRows

if TYPE_CHECKING:
    from treadle.graph import LoweringTable
    from treadle.tensor import TensorNode


def register_c(table: LoweringTable) -> None:
    """Add the rule to the C backend's table."""
    table.register(NormalizeRows)(_in_c)


def register_numba(table: LoweringTable) -> None:
    """Add the rule to the Numba backend's table."""
    table.register(NormalizeRows)(_in_numba)


def register_kernels(table: LoweringTable) -> None:
    """Add the kernels of the sampler, for both; rules for all compiling backends would go into the table."""
    from treadle_markov import kernels

    from treadle.tensor.random.lower.kernels import SAMPLER_KERNELS, SamplerKernels, accept, keep

    del table
    SAMPLER_KERNELS.register("sum_uniform", SamplerKernels(2, kernels.attempt_sum, kernels.prepare_sum, accept, keep))


def _in_c(_: NormalizeRows, node: TensorNode, unit: Any) -> None:
    """Write two passes over each row; strides count bytes."""
    from treadle.link.c import ctype

    ((x,), (out,)) = node.inputs, node.outputs
    rank, kind = out.type.ndim, ctype(out)
    source, target = unit.slot(x), unit.owns(out)
    unit.line(f"memcpy(v[{target}].n, v[{source}].n, sizeof v[{target}].n);")
    unit.call(f"tr_alloc(v + {target}, {rank}, {kind.size})")

    def at(slot: int) -> str:
        offsets = [f"i{d} * v[{slot}].s[{d}]" for d in range(rank)]
        return f"*({kind.stored} *)(v[{slot}].p + {' + '.join(offsets)})"

    row = "{d} = 0; {d} < v[{slot}].n[{axis}]; {d}++"
    loops = [f"for (int64_t {row.format(d=f'i{d}', slot=source, axis=d)})" for d in range(rank)]
    unit.line(f"{' '.join(loops[:-1])} {{")
    unit.line(f"{kind.stored} total = 0;")
    unit.line(f"{loops[-1]} total += {at(source)};")
    unit.line(f"{loops[-1]} {at(target)} = {at(source)} / total;")
    unit.line("}")


def _in_numba(_: NormalizeRows, node: TensorNode, writer: Any) -> None:
    """Write two passes over each row; strides count elements."""
    x = writer.array(node.inputs[0])
    result = writer.new_output(node.outputs[0], x.dims)
    rank, code = x.ndim, x.storage.code
    source, target = writer.let(f"as_{code}({x.address})", "p"), writer.let(f"as_{code}({result.address})", "p")

    def at(pointer: str, strides: Any) -> str:
        return f"{pointer}[{' + '.join(f'i{d} * {strides[d]}' for d in range(rank))}]"

    lines: list[str] = [f"{'    ' * d}for i{d} in range({x.dims[d]}):" for d in range(rank - 1)]
    indent = "    " * (rank - 1)
    last = f"for i{rank - 1} in range({x.dims[-1]}):"
    lines += [f"{indent}total = {code}(0)", f"{indent}{last}", f"{indent}    total += {at(source, x.strides)}"]
    lines += [f"{indent}{last}", f"{indent}    {at(target, result.strides)} = {at(source, x.strides)} / total"]
    writer.add(*lines)
