"""The options of treadle.tensor.random."""

from treadle.config import Option, choice

OPTIONS = (
    Option(
        "random__generator",
        "numpy",
        "Which generators RandomStream, shared_rng, rng and random variables without a generator make: NumPy's "
        "(numpy), or those whose numbers are the same on every backend (portable).",
        choice("numpy", "portable"),
        affects_code=False,
    ),
    Option(
        "random__check_size",
        "build",
        "When the lengths of a size are compared with those of the parameters: already where the draw is built, as far "
        "as they are known (build), or where it is made (draw).",
        choice("build", "draw"),
        affects_code=False,
    ),
)
