"""``python -m treadle``: the ``treadle`` command, as ``python -m treadle.compile`` is."""

import runpy

runpy.run_module("treadle.compile", run_name="__main__", alter_sys=True)
