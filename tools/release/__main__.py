"""The command ./dev release: a dry run, or what is missing for a release."""

from __future__ import annotations

import argparse
import signal
import sys
import time

from tools.release import missing
from tools.release.dry_run import DryRun, Report, write_record
from tools.release.environments import ROOT, say
from tools.release.pythons import VERSIONS, Interpreter, find
from tools.release.workspace import ReleaseError, chosen, projects


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="./dev release", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="do everything but publish")
    parser.add_argument("--python", action="append", metavar="3.X", help="on this Python only; may be repeated")
    parser.add_argument(
        "--only", action="append", default=[], metavar="PACKAGE", help="look through and test this one; may be repeated"
    )
    parser.add_argument("--quick", action="store_true", help="a few tests of each package; implies --without-torch")
    parser.add_argument("--without-torch", action="store_true", help="without PyTorch, which may be 3 GB to download")
    parser.add_argument("--pages", action="store_true", help="follow the pages word for word, nothing else")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="workers of pytest (2)")
    return parser.parse_args()


def interpreters(wanted: list[str] | None) -> list[Interpreter]:
    """Find the interpreters, and say which are not there.

    Raises
    ------
    ReleaseError
        If one that was asked for by name, or every one, is missing.
    """
    found = {version: find(version) for version in wanted or VERSIONS}
    lacking = [version for version, interpreter in found.items() if interpreter is None]
    if lacking:
        text = f"Python {', '.join(lacking)} with venv and pip is neither on the PATH nor one of pyenv's"
        if wanted or len(lacking) == len(found):
            msg = f"release: {text}. Install it, or name another by --python."
            raise ReleaseError(msg)
        say(f"{text}: left out.")
    return [interpreter for interpreter in found.values() if interpreter is not None]


def main() -> int:
    """Run the command line."""
    options = parsed()
    try:
        every = projects(ROOT)
        if not options.dry_run:
            print("Nothing was done. A release that is more than a dry run needs:")
            for entry in missing.missing(every):
                print(f"  - {entry}")
            return 1
        selected = chosen(every, options.only)
        dry_run = DryRun(
            every,
            selected,
            interpreters(options.python),
            quick=options.quick,
            pages_only=options.pages,
            torch=not (options.quick or options.pages or options.without_torch),
            jobs=options.jobs,
        )
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 2
    # A run that is told to end removes its environments too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    report = Report()
    began = time.monotonic()
    dry_run.run(report)
    write_record(dry_run, report)
    print("\n".join(report.lines()))
    say(f"The dry run took {(time.monotonic() - began) / 60:.1f} minutes; nothing was published.")
    return 1 if report.faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
