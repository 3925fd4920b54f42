"""Run the programs beside this file on treadle and print what they return as JSON."""

from __future__ import annotations

import json
import sys
import traceback

import treadle.as_pytensor


def main() -> None:
    """Run every program; one that fails gives its traceback, and the others go on."""
    treadle.as_pytensor.install()
    import numpy as np

    from tests.as_pytensor.programs import PROGRAMS

    answers: dict[str, object] = {}
    for name, program in PROGRAMS.items():
        try:
            arrays = {key: np.asarray(value) for key, value in program.run().items()}
            answers[name] = {key: {"dtype": a.dtype.str, "data": a.tolist()} for key, a in arrays.items()}
        except Exception:  # noqa: BLE001 - the test of this program shows it
            answers[name] = traceback.format_exc()
    sys.stdout.write(json.dumps(answers))


if __name__ == "__main__":
    main()
