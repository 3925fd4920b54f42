"""Where names are looked for beside the module of the same path, and why some stand for nothing."""

from __future__ import annotations


class _Homes:
    """The modules of treadle that hold the names of a package of PyTensor's."""

    def __init__(self, table: dict[str, str]) -> None:
        self._table = {package: tuple(homes.split()) for package, homes in table.items()}

    def of(self, module: str) -> tuple[str, ...]:
        """Return the modules to look in for a name that is defined in a module, those of the nearest package first."""
        homes: list[str] = []
        package = module
        while package:
            homes += self._table.get(package, ())
            package = package.rpartition(".")[0]
        return tuple(dict.fromkeys(homes))


HOMES = _Homes(
    {
        "pytensor": "treadle.compile treadle.config",
        "pytensor.assumptions": "treadle.assumptions.core treadle.surface.assumption_keys",
        "pytensor.compile": "treadle.compile treadle.link.vm treadle.tensor treadle.graph",
        "pytensor.conditional": "treadle.tensor treadle.graph",
        "pytensor.gradient": "treadle.gradient treadle.tensor",
        "pytensor.graph": "treadle.graph treadle.graph.rewriting.basic treadle.graph.rewriting.db treadle.rewrite",
        "pytensor.link": "treadle.link.vm.basic treadle.link.vm treadle.compile",
        "pytensor.printing": "treadle.graph.printing",
        "pytensor.scalar": "treadle.scalar treadle.scalar.basic",
        "pytensor.scan": "treadle.tensor treadle.scan",
        "pytensor.sparse": "treadle.sparse",
        "pytensor.tensor": "treadle.tensor treadle.tensor.linalg treadle.tensor.special treadle.surface.op_names",
        "pytensor.tensor.fft": "treadle.tensor.fft",
        "pytensor.tensor.linalg": "treadle.tensor.linalg treadle.tensor.slinalg treadle.tensor.nlinalg",
        "pytensor.tensor.optimize": "treadle.tensor.optimize",
        "pytensor.tensor.random": "treadle.tensor.random treadle.tensor.random.op treadle.tensor.random.utils",
        "pytensor.tensor.rewriting": "treadle.tensor.rewriting.basic",
        "pytensor.tensor.signal": "treadle.tensor.signal",
        "pytensor.typed_list": "treadle.typed_list",
        "pytensor.xtensor": "treadle.named",
        "pytensor.xtensor.linalg": "treadle.named.linalg",
        "pytensor.xtensor.math": "treadle.named.math",
        "pytensor.xtensor.random": "treadle.named.random",
    }
)

# The reasons, by module or name; the longest that fits is given.
ABSENT = {
    "pytensor": "it belongs to how PyTensor does its work, which treadle does otherwise.",
    "pytensor.link.numba": "it lowers ops for PyTensor's Numba backend. Register rules with treadle.link.numba.NUMBA.",
    "pytensor.link.jax": "it lowers ops for PyTensor's JAX backend. Register rules with treadle.link.jax.JAX.",
    "pytensor.link.pytorch": "it lowers ops for PyTensor's PyTorch backend. Register rules with treadle.link.torch.",
    "pytensor.link.mlx": "treadle has no MLX backend.",
    "pytensor.link.c": "it writes C for PyTensor's C backend. Register rules with treadle.link.c.TABLE.",
    "pytensor.tensor.rewriting": "treadle's rules have other names; `treadle rules` lists them.",
    "pytensor.scan.rewriting": "treadle's rules for loops have other names; `treadle rules` lists them.",
    "pytensor.sparse.rewriting": "treadle's rules have other names; `treadle rules` lists them.",
    "pytensor.xtensor.rewriting": "treadle's rules have other names; `treadle rules` lists them.",
    "pytensor.sparse": "it needs the distribution of treadle.sparse, which is not installed.",
    "pytensor.xtensor": "it needs the distribution of treadle.named, which is not installed.",
}
