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
    Option(
        "random__parameters",
        "given",
        "What a random variable has as its inputs before rewriting. given: its parameters, which broadcast to the "
        "batch of draws. padded: the same with dimensions of length 1 in front, so that each has as many as the batch, "
        "for programs that follow dimensions from inputs to draws.",
        choice("given", "padded"),
        affects_code=False,
    ),
)
