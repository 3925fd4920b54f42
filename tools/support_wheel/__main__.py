"""The command ./dev support-wheel: compile helper functions beforehand, into a wheel for this platform and Python."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.environment import ROOT, say
from tools.support_wheel.building import BuildError, build, levels_here
from tools.support_wheel.collecting import CollectionError, usual
from tools.support_wheel.wheel import make_wheel, stage


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="./dev support-wheel", description=__doc__)
    parser.add_argument("--out-dir", type=Path, default=ROOT / "dist", help="where the wheel goes (dist)")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        levels = levels_here()
        say("Collecting the helper functions of usual programs.")
        helpers = usual()
        say(f"Compiling {helpers.count} of them for {', '.join(levels)}.")
        with TemporaryDirectory() as folder:
            staged = Path(folder) / "staged"
            build(stage(staged), helpers, levels)
            wheel = make_wheel(staged, options.out_dir.absolute())
    except (BuildError, CollectionError) as error:
        print(error, file=sys.stderr)
        return 1
    say(f"{wheel} has {wheel.stat().st_size / 2**20:.1f} MiB; it took {(time.monotonic() - began) / 60:.1f} minutes.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
