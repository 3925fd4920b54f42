"""The command ./dev fast: a selection of the tests on another Python than that of .venv, in a minute or so.

The environment is kept in .venv-3.X and filled again when what it depends on has changed.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tools import environment as settings
from tools.release.environments import ROOT, CommandError, Environment, clean, say
from tools.release.pythons import find

if TYPE_CHECKING:
    from tools.release.pythons import Interpreter

VERSION = "3.13"
# What the chosen tests import besides what our packages need.
LIBRARIES = ("pytest", "pytest-xdist", "hypothesis", "cloudpickle", "ipython", "mpmath", "netron")
# Every public module is imported and its names are asked for; sessions of the guide are run; every op is computed by
# the virtual machine, in double; options, rules and graphs have their own tests.
CHOSEN = (
    (
        "tests/repo/test_discoverable.py",
        "tests/repo/test_imports.py",
        "tests/repo/test_versions.py",
        "tests/repo/test_public_names.py",
        "tests/repo/test_front_door.py",
        "tests/config",
        "tests/rewrite/test_database.py",
        "tests/rewrite/test_patterns.py",
        "tests/rewrite/test_explanation.py",
        "tests/graph/test_function_graph.py",
        "tests/graph/test_printing.py",
        "tests/graph/test_serialization.py",
        "tests/link_vm/test_generation.py",
        "tests/link_vm/test_machine.py",
        "tests/compile/test_function.py",
        "tests/compile/test_pickling.py",
    ),
    (
        "tests/contract/test_contract.py",
        "tests/repo/test_blocks.py",
        "-k",
        "(test_backend_keeps_the_contract and [vm- and float64-values) or tutorial or docs/start",
    ),
)


def prepared(interpreter: Interpreter) -> Environment:
    """Return the environment for an interpreter, made and filled unless it is as it should be."""
    environment = Environment(interpreter, ROOT / f".venv-{interpreter.version}")
    stamp = environment.folder / "treadle-synced"
    inputs = [ROOT / "uv.lock", ROOT / "pyproject.toml", *sorted(ROOT.glob("packages/*/pyproject.toml"))]
    text = f"{ROOT} {interpreter.full_version} {LIBRARIES} {[path.read_text(encoding='utf-8') for path in inputs]}"
    now = hashlib.sha256(text.encode()).hexdigest()
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != now:
        say(f"Making {environment.folder.name} with {interpreter}.")
        environment = Environment.make(interpreter, environment.folder)
        environment.install(*settings.declared_requirements(()), *LIBRARIES, without=["torch"])
        environment.install_workspace()
        stamp.write_text(now, encoding="utf-8")
    return environment


def main() -> int:
    """Run the command line: further arguments go to pytest in the place of the chosen tests."""
    parser = argparse.ArgumentParser(prog="./dev fast", description=__doc__)
    parser.add_argument("--python", metavar="3.X", help=f"the Python ({VERSION} where there is one)")
    options, arguments = parser.parse_known_args()
    interpreter = find(options.python or VERSION)
    if interpreter is None:
        say(f"No Python {options.python or VERSION} on the PATH or of pyenv's: its fast tests are left out.")
        return 1 if options.python else 0
    began = time.monotonic()
    try:
        environment = prepared(interpreter)
    except CommandError as error:
        say(f"The environment of {interpreter} was not made. {error}")
        return 1
    say(f"The environment took {time.monotonic() - began:.0f} s.")
    command: list[str | Path] = [environment.python, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
    codes = [
        subprocess.run([*command, *chosen], cwd=ROOT, env=clean(**environment.variables()), check=False).returncode
        for chosen in ([tuple(arguments)] if arguments else CHOSEN)
    ]
    say(f"The fast tests on {interpreter} took {time.monotonic() - began:.0f} s in all.")
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(main())
