"""What importing the graph library loads."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("names", ["treadle.graph", "treadle.graph, treadle.link.vm"])
def test_import_loads_no_third_party_module(names: str) -> None:
    program = (
        f"import sys; before = set(sys.modules); import {names}; "
        "print(sorted({m.partition('.')[0] for m in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['treadle']\n"


def test_import_loads_none_of_the_slow_standard_modules() -> None:
    slow = "dataclasses inspect pathlib difflib shlex textwrap hashlib sysconfig linecache asyncio argparse"
    program = f"import sys; sys.path[:0] = {sys.path!r}; import treadle.graph; "
    program += f"print([m for m in {slow.split()} if m in sys.modules])"
    # By standard input: Python 3.13 itself loads linecache for a program in the command line.
    command = [sys.executable, "-I", "-S", "-"]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
