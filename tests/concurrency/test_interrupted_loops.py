"""Ctrl-C, and other signals, while compiled loops run."""

import subprocess
import sys

import pytest

from tests.contract.backends import BACKENDS

# Each loop would take minutes. The timer sends a signal while it runs; the main thread is in compiled code then.
PROGRAM = """
import os, signal, threading, time
import numpy as np
import treadle.tensor as tt
from treadle.compile import function, shared
from treadle.scan import scan

n, x, v = tt.lscalar("n"), tt.dscalar("x"), tt.dvector("v")
calls, stream = shared(0.0), tt.random.RandomStream(3)
count = 1 << 36


def rows(step, start, **options):
    return scan(step, outputs_info=[start], n_steps=n, return_updates=False, **options)[-1]


def inner(a):
    return scan(lambda b: b * 0.999 + 0.1, outputs_info=[a], n_steps=100, return_updates=False)[-1]


loops = {{
    "scalars": rows(lambda a: tt.tanh(a * 1.01 + 0.1), x),
    "vectors": rows(lambda a: tt.sort(tt.tanh(a * 1.01 + 0.1))[::-1], v).sum() + x,
    "while": tt.while_loop(lambda a: a < 1e18, lambda a: a + 1.0, x) + n,
    "nested": rows(inner, x),
    "draws": rows(lambda a: a + stream.normal(), x),
}}
functions = {{
    name: function([n, x, v], out, updates={{calls: calls + 1}}, mode={mode!r}, on_unused_input="ignore")
    for name, out in loops.items()
}}


def told(f, raised, send):
    threading.Timer(0.2, send).start()
    start = time.monotonic()
    try:
        f(count, 0.5, np.ones(50))
    except raised:
        assert time.monotonic() - start < 120, time.monotonic() - start
        return
    raise AssertionError("not interrupted")


# A process that was started in the background of a shell ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
for name, f in functions.items():
    told(f, KeyboardInterrupt, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert calls.get_value() == 0, name
assert functions["scalars"](3, 0.5, np.ones(2)) == functions["scalars"](3, 0.5, np.ones(2))
assert calls.get_value() == 2


class Late(Exception):
    pass


def raising(number, frame):
    raise Late


seen = []
signal.signal(signal.SIGALRM, raising)
told(functions["while"], Late, lambda: os.kill(os.getpid(), signal.SIGALRM))
# A handler that raises nothing does not end the loop.
signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
long = functions["scalars"](30_000_000, 0.5, np.ones(2))
assert np.isfinite(long) and calls.get_value() == 3
# A call in another thread is not interrupted.
results = []
other = threading.Thread(target=lambda: results.append(functions["scalars"](30_000_000, 0.5, np.ones(2))))
other.start()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)
except KeyboardInterrupt:
    pass
other.join()
assert results == [long]
print("done")
"""


@pytest.mark.parametrize("mode", [name.upper() for name in BACKENDS if name in {"c", "cvm", "numba"}])
def test_signals_end_compiled_loops_and_leave_everything_as_it_was(mode: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.format(mode=mode)],
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
