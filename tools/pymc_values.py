"""Record what programs return with PyTensor: ``python -m tools.pymc_values [--pytensor-only] [PROGRAM ...]``.

It needs an environment that has PyMC and PyTensor, such as that of ``./dev pymc``. Ops run in Python, after PyTensor's
rewrites, so that the values depend on no compiler; fusion is left out, since fused ops in Python give ``-inf`` for some
finite densities. The programs of ``tests/pymc`` are written to ``tests/pymc/values``, those of ``tests/as_pytensor`` to
``tests/as_pytensor/values``, a file each.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import sys
import time
import traceback
import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = {"pymc": ROOT / "tests/pymc/values", "as_pytensor": ROOT / "tests/as_pytensor/values"}
FLAGS = "cxx=,linker=py,optimizer=fast_run,optimizer_excluding=fusion"


def written(results: dict[str, Any], packages: tuple[str, ...]) -> str:
    """Return results as the text of a file: one array a line, with the versions that they were computed with."""
    import numpy as np  # noqa: PLC0415 - after the environment is set

    versions = {"python": platform.python_version(), **{name: version(name) for name in packages}}
    lines = []
    for name, value in sorted(results.items()):
        array = np.asarray(value)
        lines.append(f"    {json.dumps(name)}: {json.dumps({'dtype': array.dtype.str, 'data': array.tolist()})}")
    return f'{{\n  "versions": {json.dumps(versions)},\n  "values": {{\n' + ",\n".join(lines) + "\n  }\n}\n"


def record(folder: Path, programs: dict[str, Any], packages: tuple[str, ...]) -> list[str]:
    """Run programs and write what they return; return the names of those that failed."""
    folder.mkdir(exist_ok=True)
    failed = []
    for name, program in programs.items():
        start = time.perf_counter()
        try:
            text = written(program.run(), packages)
        except Exception:  # noqa: BLE001 - the other programs are recorded
            failed.append(name)
            traceback.print_exc()
        else:
            (folder / f"{name}.json").write_text(text, encoding="utf-8")
        print(f"{name}: {time.perf_counter() - start:.1f} s{' FAILED' if name in failed else ''}", flush=True)
    return failed


def main() -> int:
    """Record the programs that are named, or all."""
    parser = argparse.ArgumentParser(prog="pymc_values", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--pytensor-only", action="store_true", help="record the programs that need no PyMC")
    options = parser.parse_args()
    os.environ.setdefault("PYTENSOR_FLAGS", FLAGS)
    warnings.simplefilter("ignore")
    import pytensor  # noqa: PLC0415 - after the environment is set

    if getattr(pytensor, "__file__", None) is None:
        print("pymc_values: pytensor is treadle here. Values are recorded with PyTensor itself.", file=sys.stderr)
        return 2
    kind = "as_pytensor" if options.pytensor_only else "pymc"
    programs: dict[str, Any] = import_module(f"tests.{kind}.programs").PROGRAMS
    packages: tuple[str, ...] = ("pytensor", "numpy", "scipy")
    if not options.pytensor_only:
        logging.getLogger("pymc").setLevel(logging.ERROR)
        packages = ("pymc", *packages)
    unknown = set(options.names) - set(programs)
    if unknown:
        parser.error(f"unknown programs {', '.join(sorted(unknown))}; choose from {', '.join(programs)}")
    chosen = {n: p for n, p in programs.items() if not options.names or n in options.names}
    failed = record(FOLDERS[kind], chosen, packages)
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
