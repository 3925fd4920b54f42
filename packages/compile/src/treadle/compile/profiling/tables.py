"""The printed profile: plain text, a section each for calls, compilation, classes, ops, nodes and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treadle.compile.profiling.memory import least_memory, memory_use
from treadle.compile.profiling.totals import (
    all_nodes,
    by_class,
    by_op,
    by_rule,
    counted,
    rewriting_seconds,
    span_seconds,
)
from treadle.config import dataclass, lazy_module
from treadle.graph import Branching

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from treadle.compile.profiling.memory import MemoryUse
    from treadle.compile.profiling.recording import FunctionRecord, Timer
    from treadle.compile.profiling.totals import Total
    from treadle.graph import Op, Variable, printing
else:
    printing = lazy_module("treadle.graph.printing")

_RULES_SHOWN = 5
_RULES_ASKED_FOR = 50  # with option profile_optimizer


@dataclass(frozen=True, slots=True)
class Layout:
    """How much a profile shows."""

    width: int = 512  # most characters in a line
    ops: int = 20  # how many classes and ops are listed
    nodes: int = 20  # how many nodes are listed
    smallest: int = 1024  # nodes whose outputs have fewer bytes are not listed under memory
    least_peak: bool = False  # whether to look for the order of evaluation that needs the least memory
    graphs: bool = False  # whether to print the graphs of the functions
    rules: bool = False  # whether to list many of the rewrites, not only the costliest


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole > 0 else 0.0


def _titled(title: str, lines: Iterable[str]) -> list[str]:
    listed = list(lines)
    return [title, "-" * len(title), *listed, ""] if listed else []


def _seconds(value: float) -> str:
    return f"{value:.3e} s"


def _average(timer: Timer) -> float:
    return timer.whole * 1e-9 / timer.count if timer.count else 0.0


# Calls


def calls_section(records: Sequence[FunctionRecord]) -> list[str]:
    """Return how often functions were called, and what their time was spent on."""
    count = sum(r.calls.count for r in records)
    whole = sum(r.calls.whole for r in records) * 1e-9
    program = sum(r.program.whole for r in records) * 1e-9
    nodes = sum(record.timer.own for r in records for record in r.nodes.values()) * 1e-9
    lines = [f"Time in {count} calls of Function.__call__: {_seconds(whole)}"]
    if count:
        lines.append(f"  Time in the program: {_seconds(program)} ({_percent(program, whole):.1f}%)")
        if any(r.nodes for r in records):
            lines.append(f"  Time in nodes: {_seconds(nodes)} ({_percent(nodes, whole):.1f}%)")
        lines.append(f"  Time for one call: {_seconds(whole / count)}")
    call_spans = [span for r in records for span in r.call_spans]
    lines += [
        f"  Time in calls for {name}: {_seconds(sum(span.seconds for span in call_spans if span.path[-1] == name))}"
        for name in dict.fromkeys(span.path[-1] for span in call_spans)
    ]
    lines += [f"  First call of {r.title}: {_seconds(r.first_call * 1e-9)}" for r in records if r.first_call]
    return [*lines, *(line for r in records for line in _segment_lines(r)), ""]


def _segment_lines(record: FunctionRecord) -> list[str]:
    if record.left_whole:
        return [f"Note: nodes of {record.title} are not timed: mode {record.mode} does something at each by itself."]
    if not record.segmented:
        return []
    lines = [
        f"Note: to time its nodes, {record.title} ran in segments, every node by itself.",
        f"  Backend {record.backend} computed them; results were awaited and brought to the host.",
        "  As one program, without a profile, it takes another time: work between nodes is fused.",
    ]
    if record.whole_program.count:
        whole, segments = _seconds(_average(record.whole_program)), _seconds(_average(record.program))
        count = record.whole_program.count
        lines.append(f"  For comparison, the whole program was run {count} times: {whole}, against {segments} each.")
    else:
        lines.append("  To time it as one program, set the option profiling__time_thunks to False.")
    return lines


# Compilation


def compilation_section(records: Sequence[FunctionRecord], layout: Layout) -> list[str]:
    """Return the spans of the compilations, the cache's part in them, and what each rewrite cost if asked for."""
    total = sum(r.compile_ns for r in records) * 1e-9
    lines = [f"Total compile time: {_seconds(total)}"]
    lines += [
        f"{'  ' * len(path)}{path[-1]}: {_seconds(seconds)} ({_percent(seconds, total):.1f}%)"
        for path, seconds in span_seconds(records).items()
    ]
    checks, merging = rewriting_seconds(records)
    lines.append(f"  Of rewriting, checks of the graph: {_seconds(checks)}; merging equal nodes: {_seconds(merging)}")
    nodes = [len(r.fgraph) for r in records if r.fgraph is not None]
    lines.append(f"Number of nodes: {sum(nodes)}")
    hits, misses = counted(records, "cache hits"), counted(records, "cache misses")
    lines += [f"Compile cache: {hits} hits, {misses} misses, {counted(records, 'cache made')} made", ""]
    return [*lines, *_rules_section(records, _RULES_ASKED_FOR if layout.rules else _RULES_SHOWN)]


def _rules_section(records: Sequence[FunctionRecord], limit: int) -> list[str]:
    rules = {name: cost for name, cost in by_rule(records).items() if cost.tries or cost.hits}
    head = f"{'time':>12} {'of it checks':>12} {'tries':>8} {'changes':>8} {'new nodes':>9}  rewrite"
    lines = [
        f"{_seconds(c.seconds):>12} {_seconds(c.validation):>12} {c.tries:>8} {c.hits:>8} {c.added:>9}  {name}"
        for name, c in list(rules.items())[:limit]
    ]
    more = len(rules) - limit
    if more > 0:
        lines.append(f"... ({more} further rewrites)")
    return _titled("Rewrites", [head, *lines] if lines else [])


# Nodes


def _totals_section(title: str, totals: Mapping[Op, Total] | Mapping[type, Total], limit: int) -> list[str]:
    all_seconds = sum(t.seconds for t in totals.values())
    lines = [f"{'time':>6} {'sum':>6} {'seconds':>11} {'per run':>11} {'runs':>9} {'nodes':>6}  {'by':<8} name"]
    sum_ = 0.0
    for total in list(totals.values())[:limit]:
        sum_ += total.seconds
        lines.append(
            f"{_percent(total.seconds, all_seconds):>5.1f}% {_percent(sum_, all_seconds):>5.1f}% "
            f"{_seconds(total.seconds):>11} {_seconds(total.seconds / total.runs):>11} {total.runs:>9} "
            f"{total.nodes:>6}  {','.join(sorted(total.backends)):<8} {total.name}"
        )
    unlisted = list(totals.values())[limit:]
    if unlisted:
        left = sum(t.seconds for t in unlisted)
        lines.append(f"... ({len(unlisted)} further ones take {_seconds(left)}, {_percent(left, all_seconds):.1f}%)")
    return _titled(title, lines) if totals else []


def classes_section(records: Sequence[FunctionRecord], layout: Layout) -> list[str]:
    """Return what each class of ops cost."""
    return _totals_section("Class", by_class(records), layout.ops)


def ops_section(records: Sequence[FunctionRecord], layout: Layout) -> list[str]:
    """Return what each op cost."""
    return _totals_section("Ops", by_op(records), layout.ops)


def nodes_section(records: Sequence[FunctionRecord], layout: Layout) -> list[str]:
    """Return what each node cost, with the user's line."""
    ran = [item for item in all_nodes(records) if item[2].timer.count]
    all_seconds = sum(record.timer.own for _, _, record in ran) * 1e-9
    lines = [f"{'time':>6} {'sum':>6} {'seconds':>11} {'per run':>11} {'runs':>9}  {'by':<8} node"]
    sum_ = 0.0
    for function, node, record in ran[: layout.nodes]:
        seconds = record.timer.own * 1e-9
        sum_ += seconds
        line = f" at {node.user_line}" if node.user_line is not None else ""
        owner = f" in {function.title}" if len(records) > 1 else ""
        lines.append(
            f"{_percent(seconds, all_seconds):>5.1f}% {_percent(sum_, all_seconds):>5.1f}% {_seconds(seconds):>11} "
            f"{_seconds(seconds / record.timer.count):>11} {record.timer.count:>9}  {record.backend:<8} "
            f"{node}{_shapes(record.shapes)}{line}{owner}"
        )
    unlisted = ran[layout.nodes :]
    if unlisted:
        left = sum(record.timer.own for _, _, record in unlisted) * 1e-9
        lines.append(f"... ({len(unlisted)} further nodes take {_seconds(left)}, {_percent(left, all_seconds):.1f}%)")
    return _titled("Apply", lines) if ran else []


def _shapes(shapes: Sequence[object]) -> str:
    texts = [str(tuple(map(int, s))) for s in shapes if isinstance(s, tuple)]
    return f" -> {', '.join(texts)}" if texts else ""


# Memory


def sizes_of(record: FunctionRecord) -> dict[Variable, int]:
    """Return the bytes of each variable's value in the latest run of its node."""
    return {
        out: size
        for node, node_record in list(record.nodes.items())
        for out, size in zip(node.outputs, node_record.sizes, strict=False)
    }


def memory_section(record: FunctionRecord, layout: Layout) -> list[str]:
    """Return the memory of one function's values; nothing where it was not measured."""
    sizes = sizes_of(record)
    if record.fgraph is None or not sizes:
        return []
    order = Branching.of(record.fgraph).linear()
    use = memory_use(record.fgraph, order, sizes)
    lines = [
        "(Bytes of the values that nodes make, by the sizes of each node's latest run.",
        " Inputs, shared variables and constants are not counted, nor what a backend needs inside a node.)",
        f"Most memory in use at once: {use.peak:,} bytes",
        f"  without allow_gc: {use.total:,} bytes",
        f"  spared by views and results in place: {use.shared:,} bytes",
        f"  outputs: {use.outputs:,} bytes",
    ]
    if record.device_peak is not None:
        lines.append(f"Most memory of the device in use during a call: {record.device_peak:,} bytes")
        lines.append("  as its library counts them: everything that is there, arguments and shared variables included")
    if layout.least_peak:
        least = least_memory(record.fgraph, order, sizes)
        how = "exact" if least.exact else "the best order that a search found, the graph being too large to try all"
        lines.append(f"  in the order that needs the least: {least.peak:,} bytes ({how})")
    return [*_titled(f"Memory of {record.title}", [*lines, *_memory_steps(use, layout)])]


def _memory_steps(use: MemoryUse, layout: Layout) -> list[str]:
    large = [step for step in use.steps if step.made + step.shared >= layout.smallest]
    largest = sorted(large, key=lambda step: -(step.made + step.shared))[: layout.nodes]
    listed = {step.node for step in largest}
    lines = [f"{'new':>14} {'shared':>14} {'in use':>14} {'after':>14}  node, in the order in which they run"]
    lines += [
        f"{step.made:>14,} {step.shared:>14,} {step.live:>14,} {step.left:>14,}  {step.node}"
        + (f" at {step.node.user_line}" if step.node.user_line is not None else "")
        for step in use.steps
        if step.node in listed
    ]
    left_out = len(use.steps) - len(listed)
    if left_out:
        smaller = len(use.steps) - len(large)
        lines.append(f"... ({left_out} further nodes, {smaller} of them below {layout.smallest} bytes)")
    return lines


# All of it


def profile_text(title: str, records: Sequence[FunctionRecord], layout: Layout) -> str:
    """Return the whole profile of some functions."""
    lines = ["Function profiling", "=" * len("Function profiling"), f"  Message: {title}"]
    lines += [_headline(record) for record in records]
    lines += ["", *calls_section(records), *compilation_section(records, layout)]
    lines += [*classes_section(records, layout), *ops_section(records, layout), *nodes_section(records, layout)]
    for record in records:
        lines += memory_section(record, layout)
    if layout.graphs:
        for record in records:
            if record.fgraph is not None:
                graph = str(printing.debugprint(record.fgraph, file="str"))
                lines += _titled(f"Graph of {record.title}", graph.splitlines())
    return "\n".join(line[: layout.width].rstrip() for line in lines) + "\n"


def _headline(record: FunctionRecord) -> str:
    where = f", compiled at {record.source_line}" if record.source_line is not None else ""
    return f"  Function: {record.title} in mode {record.mode} on backend {record.backend}{where}"
