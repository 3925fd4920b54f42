"""``python -m treadle.as_pytensor script.py ...`` or ``-m module ...`` or ``-c code ...``: run a program on treadle."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from treadle.as_pytensor.installing import install

USAGE = "usage: python -m treadle.as_pytensor (SCRIPT | -m MODULE | -c CODE) [ARGS]"


def main(arguments: list[str]) -> int:
    """Run the program that the arguments name, as ``python`` does."""
    if not arguments or arguments[0] in {"-h", "--help"} or (arguments[0] in {"-m", "-c"} and len(arguments) == 1):
        print(USAGE, file=sys.stdout if arguments[:1] in (["-h"], ["--help"]) else sys.stderr)
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    install()
    kind = arguments[0]
    if kind == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path.insert(0, "")
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
    else:
        if not Path(kind).exists():
            print(f"as_pytensor: there is no script {kind}.", file=sys.stderr)
            return 2
        sys.argv = arguments
        sys.path.insert(0, str(Path(kind).resolve().parent))
        runpy.run_path(kind, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.path.pop(0)
    sys.exit(main(sys.argv[1:]))
