"""Write the skeleton of what is added to treadle: ``./dev new-op NAME [--kind KIND] …``.

Kinds: a structured op (the default), an elementwise function, an op on matrices, a distribution of random variables, a
rewriting rule, or a backend's lowering of an op. Each comes with its function, its record or case, and its place in the
tables. What is to be filled in raises NotImplementedError, or says so where it is text.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tools.new_op import distributions, lowerings, ops, rules
from tools.new_op.sources import ROOT

KINDS = {
    "structured": ops,
    "elementwise": ops,
    "matrix": ops,
    "distribution": distributions,
    "rule": rules,
    "lowering": lowerings,
}


def main() -> int:
    """Write the skeleton that the arguments describe."""
    parser = argparse.ArgumentParser(prog="./dev new-op", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("name", help="name of the function, distribution or rule; of a lowering, the class of its op")
    parser.add_argument("--kind", choices=KINDS, default="structured", help="what is added")
    parser.add_argument(
        "--elementwise", dest="kind", action="store_const", const="elementwise", help="as --kind elementwise"
    )
    parser.add_argument("--family", help="module that it belongs to; a new one of the op's name by default")
    parser.add_argument("--room", help="folder of treadle.tensor for a new family of ops")
    parser.add_argument("--op", help="class of op or elementwise function that a rule is about")
    parser.add_argument("--backend", help="backend of a lowering: kernels (of C and Numba), c, numba, jax or torch")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout; this one by default")
    args = parser.parse_args()
    kind = KINDS[args.kind]
    reason = kind.refusal(args.root, args)
    if reason:
        parser.error(reason)
    for path in dict.fromkeys(kind.write(args.root, args)):
        print(path.relative_to(args.root))
    print("Fill in what says so, then run ./dev pages and the tests of its family.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
