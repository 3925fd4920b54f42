"""Name scopes: which part of a model a node belongs to."""

import asyncio
import pickle
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.graph.arithmetic import add, inverse, mul, number
from treadle.graph import FunctionGraph, UserLine, clone_replace, current_scope, graph_replace, name_scope
from treadle.rewrite import RewriteDatabaseQuery, default_database


def test_node_outside_of_any_scope_has_none() -> None:
    assert inverse(number("x")).owner.scope == ""
    assert current_scope() == ""


def test_scopes_nest_to_a_path() -> None:
    x = number("x")
    with name_scope("model") as outer:
        a = inverse(x)
        with name_scope("encoder") as inner:
            b = inverse(a)
        c = inverse(b)
    assert (outer, inner) == ("model", "model/encoder")
    assert [v.owner.scope for v in (a, b, c)] == ["model", "model/encoder", "model"]
    assert inverse(c).owner.scope == ""


def test_path_may_be_given_at_once() -> None:
    with name_scope("model/encoder"), name_scope("layer 1"):
        assert current_scope() == "model/encoder/layer 1"


def test_scope_closes_when_the_block_fails() -> None:
    with pytest.raises(ZeroDivisionError), name_scope("model"):
        1 / 0  # noqa: B018 - it is to fail
    assert current_scope() == ""


def test_one_line_in_two_scopes_is_told_apart() -> None:
    x = number("x")
    lines = []
    for name in ("a", "b", "a"):
        with name_scope(name):
            lines.append(inverse(x).owner.user_line)
    assert lines[0] != lines[1]
    assert lines[0] is lines[2]
    assert lines[0].text == lines[1].text == "lines.append(inverse(x).owner.user_line)"


def test_decorator_opens_the_scope_for_each_call() -> None:
    @name_scope("encoder")
    def encode(x: int) -> str:
        """Return the scope."""
        return current_scope() * x

    with name_scope("model"):
        assert encode(1) == "model/encoder"
    assert encode(1) == "encoder"
    assert encode.__name__ == "encode"
    assert current_scope() == ""


def test_recursive_use_of_one_scope_nests() -> None:
    scope = name_scope("block")

    @scope
    def build(depth: int) -> str:
        return build(depth - 1) if depth else current_scope()

    assert build(2) == "block/block/block"


def test_async_function_keeps_its_scope_across_awaits() -> None:
    @name_scope("first")
    async def first() -> str:
        await asyncio.sleep(0)
        return current_scope()

    async def second() -> str:
        with name_scope("second"):
            await asyncio.sleep(0)
            return current_scope()

    async def both() -> list[str]:
        return list(await asyncio.gather(first(), second()))

    assert asyncio.run(both()) == ["first", "second"]


def test_generator_and_class_cannot_be_decorated() -> None:
    def count() -> Iterator[int]:
        yield 1

    for wrong in (count, dict):
        with pytest.raises(TypeError, match=r"name_scope: cannot decorate .*Use 'with name_scope\('part'\):' inside"):
            name_scope("part")(wrong)


def test_scope_left_open_by_a_generator_closes_with_the_one_around_it() -> None:
    def parts() -> Generator[str, None, None]:
        with name_scope("inner"):
            yield current_scope()

    with name_scope("outer"):
        generator = parts()
        assert next(generator) == "outer/inner"
    assert current_scope() == ""
    generator.close()
    assert current_scope() == ""


def test_threads_have_scopes_of_their_own() -> None:
    inside, seen = threading.Barrier(2), []

    def work(name: str) -> None:
        with name_scope(name):
            inside.wait()
            seen.append(inverse(number("x")).owner.scope)
            inside.wait()

    with name_scope("main"):
        threads = [threading.Thread(target=work, args=(name,)) for name in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(seen) == ["one", "two"]


@pytest.mark.parametrize("wrong", ["", "a//b", "/a", "a/", " "])
def test_empty_names_are_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"name_scope: the name, or a part of its path, is empty, got"):
        name_scope(wrong)


def test_name_that_is_not_a_string_is_refused() -> None:
    with pytest.raises(TypeError, match=r"name_scope: the name must be a string, got 3"):
        name_scope(3)  # type: ignore[arg-type]  # what the test is about


def test_scope_survives_copies_and_pickles() -> None:
    x, y = number("x"), number("y")
    with name_scope("model"):
        out = add(inverse(x), x)
    copies = [
        clone_replace(out, {x: y}),
        graph_replace(out, {x: y}),
        FunctionGraph([x], [out], clone=True).outputs[0],
        pickle.loads(pickle.dumps(out)),
    ]
    for copy in copies:
        assert [copy.owner.scope, copy.owner.inputs[0].owner.scope] == ["model", "model"]


def test_scope_survives_rewriting() -> None:
    x = number("x")
    with name_scope("left"):
        a = inverse(x)
    with name_scope("right"):
        out = mul(a, inverse(x))
    graph = FunctionGraph([x], [out])
    default_database().query(RewriteDatabaseQuery(include=("merge",))).rewrite(graph)
    assert len(graph) == 2
    assert {node.scope for node in graph.apply_nodes} == {"left", "right"}


def test_line_shows_and_compares_with_its_scope() -> None:
    line = UserLine("model.py", 3, "encoder")
    assert str(line) == "model.py:3 in encoder"
    assert repr(line) == "UserLine('model.py', 3, 'encoder')"
    assert line != UserLine("model.py", 3)
    assert pickle.loads(pickle.dumps(line)) == line


def test_scope_is_kept_where_no_line_is_known(tmp_path: Path) -> None:
    script = tmp_path / "site-packages" / "acme.py"
    script.parent.mkdir()
    script.write_text(
        "from treadle.graph import name_scope, user_line\n"
        "print(user_line())\n"
        "with name_scope('model'):\n"
        "    print(user_line())\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n<unknown line> in model\n"
