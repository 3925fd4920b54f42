"""Units: functions of generated source, each compiled once and shared by all graphs that use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from treadle.cache import digest
from treadle.config import dataclass

INDENT = "    "
# In texts, calls of functions that LLVM computes on vectors where elements lie one behind the other.
ON_VECTORS = ("libm_", "size_c", "many_")


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One function of generated source."""

    name: str
    # Its source text.
    source: str
    # Code of each argument's type: ``f8``; ``*f8`` is a pointer to elements.
    signature: tuple[str, ...]
    # The units it calls.
    uses: tuple[Unit, ...] = ()
    # Whether it is not inlined in machine code, since it has loops.
    is_kernel: bool = False
    # Whether it is inlined into every caller, whatever its size, so that LLVM can vectorize loops around it.
    is_inlined: bool = False
    # Whether its machine code is kept by itself, which all programs call by its symbol.
    is_apart: bool = False
    # Whether, being apart, its loops are not unrolled.
    is_compact: bool = False
    # A digest of all this, the key in memory and on disk.
    key: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the key."""
        asked = {"inlined": self.is_inlined, "apart": self.is_apart, "compact": self.is_compact}
        how = [word for word, holds in asked.items() if holds]
        key = digest(self.name, self.source, *self.signature, *how, "uses", *(u.key for u in self.uses))
        object.__setattr__(self, "key", key)

    @property
    def calls_vector_functions(self) -> bool:
        """Whether loops of the unit may call functions on vectors, itself or by what is inlined into them."""
        inlined = [unit for unit in self.uses if not unit.is_kernel]
        return any(mark in self.source for mark in ON_VECTORS) or any(u.calls_vector_functions for u in inlined)

    def with_uses(self) -> list[Unit]:
        """Return this unit after all units that it uses, each once."""
        order: dict[str, Unit] = {}
        pending: list[tuple[Unit, bool]] = [(self, False)]
        while pending:
            unit, ready = pending.pop()
            if unit.key in order:
                continue
            if ready:
                order[unit.key] = unit
                continue
            pending.append((unit, True))
            pending += [(u, False) for u in reversed(unit.uses)]
        return list(order.values())


def make_kernel(
    stem: str,
    params: Sequence[tuple[str, str]],
    lines: Sequence[str],
    uses: Sequence[Unit] = (),
    *,
    is_inlined: bool = False,
) -> Unit:
    """Return the unit with a function body.

    A digest of the text follows `stem` in its name; `params` are names and type codes; `lines` are indented here.
    """
    body = "".join(f"{INDENT}{line}\n" for line in lines)
    names = ", ".join(name for name, _ in params)
    codes = tuple(code for _, code in params)
    mark = digest(names, body, *codes, *(u.key for u in uses))[:8]
    name = f"{stem}_{mark}"
    return Unit(
        name, f"def {name}({names}):\n{body}", codes, tuple(uses), is_kernel=not is_inlined, is_inlined=is_inlined
    )


def apart(unit: Unit, *, is_compact: bool = False) -> Unit:
    """Return a unit under another name, whose machine code is kept by itself."""
    name = f"{unit.name}_apart"
    source = unit.source.replace(f"def {unit.name}(", f"def {name}(", 1)
    return replace(unit, name=name, source=source, is_apart=True, is_compact=is_compact)


def indented(lines: Sequence[str], steps: int = 1) -> list[str]:
    """Return lines indented by some levels."""
    return [INDENT * steps + line for line in lines]
