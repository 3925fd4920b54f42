"""Bitwise and logical functions; nothing flows back through them."""

from __future__ import annotations

import numpy as np

from treadle.graph import Infix, Precedence, Prefix
from treadle.tensor.elemwise import Elemwise
from treadle.tensor.scalar_op import ScalarOp, of_ufunc

bitwise_and = Elemwise(
    ScalarOp(
        "and",
        2,
        of_ufunc("bitwise_and"),
        np.bitwise_and,
        {"iub": "{0} & {1}"},
        ufunc="bitwise_and",
        commutative=True,
        associative=True,
        form=Infix("&", Precedence.AND).form,
    )
)
bitwise_or = Elemwise(
    ScalarOp(
        "or",
        2,
        of_ufunc("bitwise_or"),
        np.bitwise_or,
        {"iub": "{0} | {1}"},
        ufunc="bitwise_or",
        commutative=True,
        associative=True,
        identity=0,
        form=Infix("|", Precedence.OR).form,
    )
)
bitwise_xor = Elemwise(
    ScalarOp(
        "xor",
        2,
        of_ufunc("bitwise_xor"),
        np.bitwise_xor,
        {"iub": "{0} ^ {1}"},
        ufunc="bitwise_xor",
        commutative=True,
        associative=True,
        identity=0,
        form=Infix("^", Precedence.XOR).form,
    )
)
invert = Elemwise(
    ScalarOp(
        "invert", 1, of_ufunc("invert"), np.invert, {"iu": "~{0}", "b": "!{0}"}, ufunc="invert", form=Prefix("~").form
    )
)
left_shift = Elemwise(
    ScalarOp(
        "left_shift",
        2,
        of_ufunc("left_shift"),
        np.left_shift,
        {"iu": "tr_shl_{t}({0}, {1})"},
        ufunc="left_shift",
        form=Infix("<<", Precedence.SHIFT).form,
    )
)
right_shift = Elemwise(
    ScalarOp(
        "right_shift",
        2,
        of_ufunc("right_shift"),
        np.right_shift,
        {"iu": "tr_shr_{t}({0}, {1})"},
        ufunc="right_shift",
        form=Infix(">>", Precedence.SHIFT).form,
    )
)
logical_and = Elemwise(
    ScalarOp(
        "logical_and",
        2,
        of_ufunc("logical_and"),
        np.logical_and,
        {"fiub": "({0} != 0) && ({1} != 0)"},
        ufunc="logical_and",
        commutative=True,
    )
)
logical_or = Elemwise(
    ScalarOp(
        "logical_or",
        2,
        of_ufunc("logical_or"),
        np.logical_or,
        {"fiub": "({0} != 0) || ({1} != 0)"},
        ufunc="logical_or",
        commutative=True,
    )
)
logical_xor = Elemwise(
    ScalarOp(
        "logical_xor",
        2,
        of_ufunc("logical_xor"),
        np.logical_xor,
        {"fiub": "({0} != 0) != ({1} != 0)"},
        ufunc="logical_xor",
        commutative=True,
    )
)
logical_not = Elemwise(
    ScalarOp("logical_not", 1, of_ufunc("logical_not"), np.logical_not, {"fiub": "{0} == 0"}, ufunc="logical_not")
)

and_, or_, xor, bitwise_not = bitwise_and, bitwise_or, bitwise_xor, invert
