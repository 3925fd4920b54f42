"""Rules and converters of installed packages are loaded once, whichever thread asks first."""

import os
import sys
import threading
from types import ModuleType
from typing import Any

import pytest

from treadle.config import EntryPointRef
from treadle.graph.ir import plugins
from treadle.graph.ir.plugins import PluginLoader


class Entry:
    """A published entry; loading it can be made to wait."""

    def __init__(self, value: Any, gate: threading.Event | None = None) -> None:
        self.value = value
        self.gate = gate
        self.asked = threading.Event()

    def load(self) -> Any:
        self.asked.set()
        if self.gate is not None:
            self.gate.wait()
        return self.value


def test_entries_are_taken_once_in_order() -> None:
    taken: list[Any] = []
    published = PluginLoader(lambda: {"a": Entry(1), "b": Entry(2)}, taken.append)
    published.load()
    published.load()
    assert taken == [1, 2]
    assert published.is_complete


def test_other_threads_wait_until_all_is_taken() -> None:
    gate, taken, seen = threading.Event(), list[Any](), list[Any]()
    slow = Entry(1, gate)
    published = PluginLoader(lambda: {"slow": slow, "last": Entry(2)}, taken.append)
    first = threading.Thread(target=published.load)
    first.start()
    slow.asked.wait()

    def look() -> None:
        published.load()
        seen.extend(taken)

    second = threading.Thread(target=look)
    second.start()
    assert taken == []
    gate.set()
    first.join()
    second.join()
    assert seen == taken == [1, 2]


def test_package_that_asks_while_it_is_taken_in_gets_what_is_there() -> None:
    taken: list[Any] = []

    def take(value: Any) -> None:
        published.load()
        taken.append(value)

    published = PluginLoader(lambda: {"a": Entry(1), "b": Entry(2)}, take)
    published.load()
    assert taken == [1, 2]


def test_failure_is_raised_again_and_nothing_is_loaded_twice() -> None:
    taken: list[Any] = []

    class Broken(Entry):
        def load(self) -> Any:
            msg = "broken: the package cannot be imported"
            raise ImportError(msg)

    entries: dict[str, Entry] = {"a": Entry(1), "b": Broken(2)}
    published = PluginLoader(lambda: entries, taken.append)
    for _ in range(2):
        with pytest.raises(ImportError, match="the package cannot be imported"):
            published.load()
    entries["b"] = Entry(2)
    published.load()
    assert taken == [1, 2]


def test_entry_that_awaits_a_module_is_loaded_once_that_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    awaiting = EntryPointRef("demo", "later", "os.path:sep", "demo")
    monkeypatch.setattr(plugins, "modules_awaited", {awaiting: ("demo_ops", "demo_others")}.__getitem__)
    taken: list[Any] = []
    published = PluginLoader(lambda: {"later": awaiting, "now": Entry(1)}, taken.append)
    published.load()
    published.load()
    assert taken == [1]
    assert not published.is_complete
    monkeypatch.setitem(sys.modules, "demo_others", ModuleType("demo_others"))
    published.load()
    assert taken == [1, os.path.sep]
    assert published.is_complete


def test_entries_that_await_modules_are_loaded_where_everything_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    awaiting = EntryPointRef("demo", "later", "os.path:sep", "demo")
    monkeypatch.setattr(plugins, "modules_awaited", {awaiting: ("demo_ops",)}.__getitem__)
    taken: list[Any] = []
    published = PluginLoader(lambda: {"later": awaiting}, taken.append)
    published.load(everything=True)
    assert taken == [os.path.sep]
    assert published.is_complete
