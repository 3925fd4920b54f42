"""Helper functions are compiled once, and linked to the programs that call them, which read no headers."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import treadle.tensor as tt
from treadle.cache import default_cache
from treadle.compile import function
from treadle.config import config
from treadle.link.c import linking
from treadle.link.c.assembly import helper_head
from treadle.link.c.errors import CompileError
from treadle.link.c.linking import LINKS_HELPERS, helper_library
from treadle.link.c.objects import OBJECTS, Source
from treadle.link.c.runtime import Library
from treadle.link.c.runtime.linked import LEAST, declarations
from treadle.link.c.text.prelude import HEADERS, prelude
from treadle.link.c.text.unit import FEWEST_OPERANDS
from treadle.link.c.toolchain import Toolchain, find_toolchain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    Link = Callable[[Sequence[Any], Sequence[Any]], Any]

pytestmark = pytest.mark.skipif(not LINKS_HELPERS, reason="this platform's programs have their helpers inside")
LONG = f"  /* {'so that it is long enough ' * (LEAST // 25)} */\n"


def objects() -> list[Path]:
    return sorted(default_cache().directory.rglob("support/**/*.o"))


def test_program_whose_helpers_are_there_takes_one_run(link: Link, commands: list[list[str]]) -> None:
    x, m = tt.dvector("x"), tt.dmatrix("m")
    assert link([x], [x * 2])(np.ones(2))[0].tolist() == [2, 2]
    made = objects()
    assert len(made) == 1
    commands.clear()
    assert link([x], [x - 1])(np.ones(2))[0].tolist() == [0, 0]
    # The support libraries may be compiled meanwhile.
    (command,) = [each for each in commands if "/support/" not in each[each.index("-o") + 1]]
    assert str(made[0]) in command
    assert objects() == made
    # One that needs other helpers too: for these alone an object is made.
    assert link([m, x], [(m * x).sum(axis=1)])(np.ones((2, 3)), np.ones(3))[0].tolist() == [3, 3]
    assert len(objects()) == 2


@pytest.mark.usefixtures("commands")
def test_older_text_of_a_helper_is_not_linked_where_its_object_is(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    x, m = tt.dvector("x"), tt.dmatrix("m")
    find = Library.find

    def older(self: Library, name: str) -> tuple[str, str] | None:
        found = find(self, name)
        if found is None or found[0] != "tr_vectors":
            return found
        return found[0], found[1].replace("{\n", "{\n  return TR_SHAPE;\n", 1)

    with monkeypatch.context() as patch:
        patch.setattr(Library, "find", older)
        patch.setattr(linking, "_library", linking._library.__wrapped__)
        old = link([m, x], [(m * x).sum(axis=1), x * 2])
    with pytest.raises(ValueError, match="shape"):
        old(np.ones((2, 3)), np.ones(3))
    # This one links the object of the old program, for the other helpers in it.
    new = link([m, x], [(m * x).sum(axis=1), x - 1])
    assert [each.tolist() for each in new(np.ones((2, 3)), np.ones(3))] == [[3, 3], [0, 0, 0]]


@pytest.mark.usefixtures("commands")
def test_removed_object_is_made_again(link: Link) -> None:
    x = tt.dvector("x")
    link([x], [x * 2])
    (made,) = objects()
    made.unlink()
    assert link([x], [x - 5])(np.ones(1))[0].tolist() == [-4]
    assert len(objects()) == 1


def test_helpers_share_what_runs_once_for_an_array(link: Link, commands: list[list[str]]) -> None:
    x, m = tt.dvector("x"), tt.dmatrix("m")
    link([m], [tt.dot(m, m)])
    link([x], [tt.cumsum(x)])
    defined = [
        line.split()[-1]
        for made in objects()
        for line in subprocess.run(["nm", made], capture_output=True, text=True, check=True).stdout.splitlines()
        if " W " in line or " V " in line
    ]
    assert any(name.startswith("tr_alloc_linked_") for name in defined)
    assert len(defined) == len(set(defined))
    assert sum("-c" in command for command in commands) >= 2


@pytest.mark.usefixtures("commands")
def test_program_takes_an_object_with_a_helper_that_needs_others(link: Link) -> None:
    toolchain = find_toolchain()
    assert isinstance(toolchain, Toolchain)
    library = helper_library(toolchain)
    # Products of float64 copy operands, which the sum does not.
    names = ("tr_matmul_f64", "tr_keep")
    library.linked(" ".join(names))
    head = HEADERS + helper_head(2, FEWEST_OPERANDS)
    made = OBJECTS.make(toolchain, Source("", head, library, names), names)
    x = tt.dmatrix("x")
    program = link([x], [x.sum(axis=0)])
    np.testing.assert_array_equal(program(np.ones((2, 3)))[0], [2, 2, 2])
    assert made in OBJECTS.find(toolchain, Source("", head, library, ("tr_keep",)))[0]
    assert "tr_keep" in program.source
    assert "tr_copy" not in program.source


def test_rejected_helper_is_told_at_the_node_that_calls_it(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    x = tt.dvector("x")
    text = f"static int tr_vectors(tr_var *v) {{\n{LONG}  return wrong(v);\n}}\n"
    find = Library.find
    monkeypatch.setattr(Library, "find", lambda self, name: (name, text) if name == "tr_vectors" else find(self, name))
    with pytest.raises(CompileError, match="wrong"):
        link([x], [x * 6.25])


@pytest.mark.parametrize(
    "text",
    [
        "static int tr_a(int x) {\n  return x;\n}\n",
        f"static int tr_state;\nstatic int tr_a(int x) {{\n{LONG}  return tr_state += x;\n}}\n",
        f"static volatile int tr_state = 1;\nstatic int tr_a(int x) {{\n{LONG}  return tr_state;\n}}\n",
        f"#define TR_TWICE(x) (2 * (x))\nstatic int tr_a(int x) {{\n{LONG}  return TR_TWICE(x);\n}}\n",
        f"static double tr_a(double x) {{\n{LONG}  return x;\n}}\n",
        f"static int tr_a(int x) {{\n{LONG}  return x;\n}}\nint treadle_b(void) {{ return 1; }}\n",
    ],
    ids=["short", "state", "volatile", "macro", "value", "global"],
)
def test_what_cannot_be_shared_stays_in_the_program(text: str) -> None:
    assert declarations(text, {"tr_a"}, "0") is None


def test_headers_of_a_linked_helper_stay_with_its_object() -> None:
    text = f"#include <time.h>\nstatic int tr_a(int x) {{\n{LONG}  return x;\n}}\n"
    declared = declarations(text, {"tr_a"}, "12ab")
    assert declared == 'extern int tr_a(int x) __asm__("tr_a_linked_12ab") __attribute__((visibility("hidden")));\n'


def bodies(source: str) -> list[str]:
    """Return the names of the functions that a program's text defines."""
    return re.findall(r"^(?:static )?(?:inline )?[\w ]+?\b(\w+)\([^;{}]*\) \{", source, re.MULTILINE)


def test_small_program_holds_its_own_loops_and_what_belongs_into_them(link: Link) -> None:
    x, k = tt.dvector("x"), tt.dscalar("k")
    source = link([x, k], [tt.exp(3 * x) + 1 + k]).source
    inside = {"tr_block", "tr_free"}
    own = {re.sub(r"\d+$", "", name) for name in bodies(source)} - inside
    assert sorted(own) == ["k", "run", "treadle_call", "treadle_run"]
    assert "#include" not in source


def _loop() -> tuple[list[Any], list[Any]]:
    w, x, h = tt.dmatrix("w"), tt.dmatrix("x"), tt.dvector("h")
    rows, _ = tt.scan(lambda row, before, w: tt.tanh(w @ before + row), [x], [h], [w])
    cost = (rows**2).sum()
    return [w, x, h], [cost, tt.grad(cost, w)]


def _long_kernel() -> tuple[list[Any], list[Any]]:
    x = total = tt.dvector("x")
    for k in range(50):
        total = tt.sin(total) * 1.01 + 0.01 * k if k % 2 else tt.tanh(total) - 0.5
    return [x], [total]


@pytest.mark.parametrize("graph", [_loop, _long_kernel])
def test_programs_of_loops_and_of_long_kernels_read_no_headers(
    graph: Callable[[], tuple[list[Any], list[Any]]],
) -> None:
    program: Any = function(*graph(), mode="C").maker.compiled_program()
    assert "#include" not in program.source


def test_own_texts_are_linked_without_start_files_and_without_reading_glibc(
    link: Link, commands: list[list[str]]
) -> None:
    x = tt.dvector("x")
    program = link([x], [x * 3])
    # The support libraries may be compiled meanwhile.
    links = [each for each in commands if "-c" not in each and "/support/" not in each[each.index("-o") + 1]]
    assert links
    assert all({"-nostdlib", "-lm"} <= {*each} and "-lc" not in each for each in links)
    # Else memcpy would be the first version of it, which takes twice as long.
    assert 'memcpy(void *__restrict, const void *__restrict, __SIZE_TYPE__) __asm__("memmove")' in program.source
    commands.clear()
    with config.change_flags(gcc__cxxflags="-lm"):
        link([x], [x * 3])
    assert commands
    assert not any("-nostdlib" in each for each in commands)


def test_declarations_have_the_types_that_they_mention() -> None:
    text = (
        "typedef struct { int n; } tr_t;\n#define JOIN(a, b) (a + b)\n"
        f"static double tr_a_run(const double *x) {{\n{LONG}  return JOIN(x[0], 1);\n}}\n#undef JOIN\n"
        "static inline int tr_own(tr_t *t) { return t->n; }\n"
        "static int tr_a(tr_t *t) { return tr_own(t); }\nstatic const tr_given tr_table = {0, 0, 0, 0};\n"
    )
    hidden = '__attribute__((visibility("hidden")))'
    assert declarations(text, {"tr_a", "tr_a_run"}, "12ab") == (
        "typedef struct { int n; } tr_t;\n"
        f'extern double tr_a_run(const double *x) __asm__("tr_a_run_linked_12ab") {hidden};\n'
        f'extern int tr_a(tr_t *t) __asm__("tr_a_linked_12ab") {hidden};\n'
    )


def test_program_declares_what_it_uses_of_the_c_library() -> None:
    text = "static double tr_f(double x) { return exp(x) + powf(x, 2) > INT64_MAX; } /* sinh(x) */\n"
    declared = prelude(text)
    assert "double exp(double);" in declared
    assert "float powf(float, float);" in declared
    assert "#define INT64_MAX __INT64_MAX__" in declared
    assert "sinh" not in declared
    assert "#include" not in declared


@pytest.mark.parametrize("unknown", ["lround(x)", "M_PI", "RAND_MAX"])
def test_program_that_uses_anything_else_reads_the_headers(unknown: str) -> None:
    assert prelude(f"static double tr_f(double x) {{ return {unknown}; }}\n") == HEADERS
