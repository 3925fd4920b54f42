"""Public names of `treadle.tensor`, by the modules imported when one is asked for; written by `./dev pages`.

For each module the names of its ``__all__``. One line for each module, however long: these are tables.
"""

NAMES = {
    "treadle.tensor": {
        "treadle.tensor.optimize": "optimize",
    },
    "treadle.tensor.optimize": {
        "treadle.tensor.optimize.optimize": "FixedPoint Optimum fixed_point minimize minimize_scalar root root_scalar",
    },
}
