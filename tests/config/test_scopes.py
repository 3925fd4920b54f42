"""change_flags, assignment, and snapshots."""

import asyncio
import contextvars
import os
import pickle
import threading
from collections.abc import AsyncIterator, Generator, Iterator

import pytest

from tests.config.conftest import MakeConfig
from treadle.config import OptionScopeError, OptionValueError, ReadOnlyOptionError, Snapshot, UnknownOptionError


def test_blocks_nest_and_end(make_config: MakeConfig) -> None:
    config = make_config()
    with config.change_flags(floatX="float32", loud=True):
        with config.change_flags(floatX="float16"):
            assert (config.floatX, config.loud) == ("float16", True)
        assert config.floatX == "float32"
    assert (config.floatX, config.loud) == ("float64", False)


def test_block_ends_when_its_body_raises(make_config: MakeConfig) -> None:
    config = make_config()
    with pytest.raises(ZeroDivisionError), config.change_flags(loud=True):
        _ = 1 / 0
    assert config.loud is False


def test_block_with_one_bad_value_changes_nothing(make_config: MakeConfig) -> None:
    config = make_config()
    with pytest.raises(OptionValueError, match="floatX"), config.change_flags(loud=True, floatX="float31"):
        pass
    assert config.loud is False


def test_block_refuses_an_unknown_option(make_config: MakeConfig) -> None:
    config = make_config()
    with pytest.raises(KeyError, match="Did you mean loud"), config.change_flags(lowd=True):
        pass


def test_assignment_inside_a_block_that_sets_the_option_is_refused(make_config: MakeConfig) -> None:
    config = make_config()
    with config.change_flags(loud=True):
        config.floatX = "float32"
        with pytest.raises(OptionScopeError, match="assigned inside a change_flags block"):
            config.loud = False
        with pytest.raises(OptionScopeError):
            del config.loud
    assert (config.floatX, config.loud) == ("float32", False)


def test_decorator_applies_to_each_call(make_config: MakeConfig) -> None:
    config = make_config()

    @config.change_flags(floatX="float32")
    def read(depth: int) -> list[str]:
        """Read."""
        return [config.floatX, *(read(depth - 1) if depth else [])]

    assert read(2) == ["float32"] * 3
    assert read.__doc__ == "Read."
    assert config.floatX == "float64"


def test_decorator_applies_to_the_body_of_a_coroutine(make_config: MakeConfig) -> None:
    config = make_config()

    @config.change_flags(floatX="float32")
    async def read() -> str:
        await asyncio.sleep(0)
        value: str = config.floatX
        return value

    async def main() -> tuple[str, str]:
        return await read(), config.floatX

    assert asyncio.run(main()) == ("float32", "float64")


def test_decorator_refuses_what_runs_later(make_config: MakeConfig) -> None:
    flags = make_config().change_flags(loud=True)

    def generate() -> Iterator[int]:
        yield 1

    async def generate_async() -> AsyncIterator[int]:
        yield 1

    class Thing:
        pass

    for thing in (generate, generate_async, Thing):
        with pytest.raises(TypeError, match="cannot decorate"):
            flags(thing)


def test_blocks_of_tasks_do_not_mix(make_config: MakeConfig) -> None:
    config = make_config()

    async def work(value: int) -> list[int]:
        seen = []
        with config.change_flags(compile__wait=value):
            for _ in range(3):
                await asyncio.sleep(0)
                seen.append(config.compile__wait)
        return seen

    async def main() -> list[list[int]]:
        return list(await asyncio.gather(*(work(i) for i in range(10))))

    assert asyncio.run(main()) == [[i] * 3 for i in range(10)]


def test_block_lasts_across_awaits_and_is_handed_to_tasks_started_inside(make_config: MakeConfig) -> None:
    config = make_config()

    @config.change_flags(loud=True)
    async def child() -> tuple[bool, str]:
        await asyncio.sleep(0)
        with config.change_flags(floatX="float16"):
            await asyncio.sleep(0)
            return config.loud, config.floatX

    async def main() -> list[object]:
        with config.change_flags(floatX="float32"):
            task = asyncio.create_task(child())
            await asyncio.sleep(0)
            before = config.floatX, config.loud
            of_task = await task
            return [before, of_task, (config.floatX, config.loud)]

    assert asyncio.run(main()) == [("float32", False), (True, "float16"), ("float32", False)]
    assert (config.floatX, config.loud) == ("float64", False)


def test_block_of_a_cancelled_task_ends(make_config: MakeConfig) -> None:
    config = make_config()

    async def wait() -> None:
        try:
            with config.change_flags(loud=True):
                await asyncio.sleep(60)
        finally:
            assert config.loud is False

    async def main() -> bool:
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        loud: bool = config.loud
        return loud

    assert asyncio.run(main()) is False


def test_one_block_may_be_entered_inside_itself(make_config: MakeConfig) -> None:
    config = make_config()
    block = config.change_flags(loud=True)
    with block:
        with block:
            pass
        assert config.loud is True
    assert config.loud is False


def test_block_with_a_part_of_the_options_keeps_those_of_the_block_around(make_config: MakeConfig) -> None:
    config = make_config()
    with config.change_flags(floatX="float32"), config.using({"loud": True}):
        assert (config.floatX, config.loud) == ("float32", True)


def test_one_block_object_serves_many_threads(make_config: MakeConfig) -> None:
    config = make_config()
    block = config.change_flags(loud=True)
    barrier = threading.Barrier(4, timeout=60)
    seen: list[tuple[bool, bool]] = []

    def work() -> None:
        with block:
            barrier.wait()
            inside = config.loud
            barrier.wait()
        seen.append((inside, config.loud))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [(True, False)] * 4


def test_thread_started_inside_a_block_sees_it_only_through_a_copied_context(make_config: MakeConfig) -> None:
    config = make_config()
    seen: list[bool] = []

    def read() -> None:
        seen.append(config.loud)

    with config.change_flags(loud=True):
        for target in (read, lambda: contextvars.copy_context().run(read)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()
        context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(read,))
    thread.start()
    thread.join()
    assert seen == [False, False, True]


def test_blocks_of_generators_may_end_out_of_order(make_config: MakeConfig) -> None:
    config = make_config()

    def hold(**flags: object) -> Generator[None, None, None]:
        with config.change_flags(**flags):
            yield

    first, second = hold(loud=True), hold(floatX="float32")
    next(first)
    next(second)
    first.close()
    assert (config.loud, config.floatX) == (False, "float32")
    second.close()
    assert config.floatX == "float64"


def test_block_left_in_another_thread_is_refused(make_config: MakeConfig) -> None:
    block = make_config().change_flags(loud=True)
    block.__enter__()
    with pytest.raises(OptionScopeError, match="another thread or task"):
        contextvars.Context().run(block.__exit__, None, None, None)


def test_deleting_an_assignment_brings_back_the_value_below(make_config: MakeConfig) -> None:
    config = make_config("floatX=float32")
    config.floatX = "float16"
    del config.floatX
    assert config.floatX == "float32"
    del config.floatX  # nothing assigned: nothing to undo
    assert config.source("floatX").startswith("TREADLE_FLAGS")


def test_read_only_option_may_be_assigned_before_its_first_use(make_config: MakeConfig) -> None:
    config = make_config()
    config.fixed = "second"
    config.snapshot()
    repr(config)  # neither is a use
    config.fixed = "third"
    assert config.fixed == "third"


def test_read_only_option_names_its_first_use_when_assigned_later(make_config: MakeConfig) -> None:
    config = make_config()
    assert config.fixed == "first"
    config.fixed = "first"  # no change
    with pytest.raises(ReadOnlyOptionError, match=r"test_scopes\.py:\d+, with the value 'first'; given 'second'"):
        config.fixed = "second"
    with pytest.raises(ReadOnlyOptionError), config.change_flags(fixed="second"):
        pass
    assert config.fixed == "first"


def test_assigned_read_only_option_cannot_be_unassigned_after_use(make_config: MakeConfig) -> None:
    config = make_config()
    config.fixed = "second"
    assert config.fixed == "second"
    with pytest.raises(ReadOnlyOptionError):
        del config.fixed


def test_snapshot_holds_every_value_and_does_not_follow(make_config: MakeConfig) -> None:
    config = make_config()
    with config.change_flags(loud=True):
        snapshot = config.snapshot()
    config.floatX = "float16"
    assert set(snapshot) == {option.name for option in config.options()}
    assert (snapshot["loud"], snapshot["floatX"]) == (True, "float64")


def test_snapshot_is_the_same_object_until_something_changes(make_config: MakeConfig) -> None:
    config = make_config()
    first = config.snapshot()
    assert config.snapshot() is first
    config.loud = True
    assert config.snapshot() is not first
    with config.change_flags(loud=False):
        inner = config.snapshot()
        assert config.snapshot() is inner
        assert inner["loud"] is False
        config.floatX = "float32"
        assert config.snapshot()["floatX"] == "float32"


def test_using_a_snapshot_sets_every_option(make_config: MakeConfig) -> None:
    config = make_config()
    snapshot = config.snapshot()
    config.loud = True
    with config.using(snapshot):
        assert (config.loud, config.source("loud").rpartition(":")[0]) == (False, f"snapshot at {__file__}")
        with config.change_flags(loud=True):
            assert config.loud is True
    assert config.loud is True


def test_snapshot_cannot_be_changed(make_config: MakeConfig) -> None:
    snapshot = make_config().snapshot()
    with pytest.raises(AttributeError, match="cannot be changed"):
        snapshot._values = {}
    with pytest.raises(TypeError):
        snapshot["loud"] = True  # type: ignore[index]  # this is the mistake under test


def test_snapshot_pickles_by_value(make_config: MakeConfig) -> None:
    snapshot = make_config().snapshot()
    copy = pickle.loads(pickle.dumps(snapshot))
    assert isinstance(copy, Snapshot)
    assert (copy, hash(copy), copy.code_key()) == (snapshot, hash(snapshot), snapshot.code_key())


def test_code_key_holds_the_options_that_affect_code(make_config: MakeConfig) -> None:
    config = make_config()
    before = config.snapshot().code_key()
    assert ("floatX", "'float64'") in before
    config.compile__wait = 9
    assert config.snapshot().code_key() == before
    config.loud = True
    assert config.snapshot().code_key() != before


def test_unknown_option_cannot_be_assigned(make_config: MakeConfig) -> None:
    with pytest.raises(UnknownOptionError, match="Did you mean loud"):
        make_config().lound = True


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_options_can_be_read_after_a_fork_while_another_thread_holds_the_lock(make_config: MakeConfig) -> None:
    config = make_config()
    context = threading.Event(), threading.Event()

    def hold() -> None:
        with config._lock:
            context[0].set()
            context[1].wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    context[0].wait(60)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of forks beside threads
        child = os.fork()
    if child == 0:
        os._exit(0 if config.loud is False else 1)
    _, status = os.waitpid(child, 0)
    context[1].set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
