"""Options that treadle.tensor reads."""

from __future__ import annotations

from treadle.config import BOOL, INT, STR, Option, choice

_NO_SCAN = "Loops are compiled with their function; what their steps need is allocated before the first one."

OPTIONS: tuple[Option[object], ...] = (
    Option(
        "floatX",
        "float64",
        "Dtype of matrix(), vector() and their like, and of Python floats made into tensors.",
        choice("float64", "float32", "float16"),
    ),
    Option(
        "warn_float64",
        "ignore",
        "What to do when a float64 tensor variable is made, one that is not a constant: nothing, warn, raise, or start "
        "the debugger.",
        choice("ignore", "warn", "raise", "pdb"),
        affects_code=False,
    ),
    Option(
        "cast_policy",
        "numpy",
        "How dtypes are decided where Python numbers and tensors meet in expressions of yours. numpy: as NumPy 2 "
        "does, where Python numbers take the dtype of the tensors. custom: Python integers are of the shortest dtype "
        "that holds them, Python floats are float32 where that holds them exactly and else of floatX, and both count "
        "like any tensor; functions of integers of 16 bits or fewer are float32, and floor, ceil and trunc of integers "
        "are floats. numpy+floatX: Python "
        "integers are int64 and Python floats of floatX, and an elementwise result is wider than floatX only where an "
        "operand is.",
        choice("numpy", "custom", "numpy+floatX"),
        affects_code=False,
    ),
    Option(
        "numpy_functions",
        "symbolic",
        "What functions of NumPy's make of tensors. symbolic: the expression that means the same (np.sum(x) is "
        "tt.sum(x)), and constants are arrays. objects: what they make of any Python object, such as arrays that hold "
        "the variables; ufuncs stay symbolic.",
        choice("symbolic", "objects"),
        affects_code=False,
    ),
    Option(
        "length_form",
        "length",
        "What x.shape[i] is before rewriting. length: the op that gives one length. element: an element of the op that "
        "gives all of them, for programs that look for that. Rewriting makes the one of the other.",
        choice("length", "element"),
        affects_code=False,
    ),
    Option(
        "int_division",
        "true",
        "What x / y of two integer tensors is: what NumPy's true division gives (true), x // y with a deprecation "
        "warning (int), a result of dtype floatX (floatX), or an error (raise).",
        choice("true", "int", "floatX", "raise"),
        affects_code=False,
    ),
    Option(
        "accumulation",
        "numpy",
        "In what dtype sums, products and means of floats are computed where no acc_dtype is given. numpy: in that of "
        "the result, and in float32 where that is float16. wide: in float64 and complex128 where the result is float32 "
        "or complex64, too.",
        choice("numpy", "wide"),
    ),
    Option(
        "gradient_at_ties",
        "shared",
        "What flows back through maximum, minimum, max and min where operands or elements are equal. shared: the "
        "same part to each. first: the whole to the first operand of maximum and minimum, and to each of the elements "
        "that max and min take.",
        choice("shared", "first"),
    ),
    Option(
        "nondifferentiable",
        "refuse",
        "What the gradient is by an integer, of an integer, and by what a cost depends on by comparisons, conditions, "
        "rounding and casts to integers alone. refuse: there is none, as if the cost did not depend on it. zero: "
        "integers are taken for the floats of their values where floats are computed from them, and everything else "
        "gives zeros; gradients by integers are of dtype floatX.",
        choice("refuse", "zero"),
    ),
    Option(
        "on_shape_error",
        "warn",
        "What to do when the infer_shape of an op fails: warn and compute the shape from the value, or raise.",
        choice("warn", "raise"),
        affects_code=False,
    ),
    Option(
        "tensor__cmp_sloppy",
        0,
        "How far values may be apart to count as approximately equal: rounding (0), 10 times that (1), 1000 times (2).",
        INT.where("0, 1 or 2", lambda value: value in {0, 1, 2}),
        affects_code=False,
        read_only=True,
    ),
    Option(
        "tensor__insert_inplace_optimizer_validate_nb",
        -1,
        "How often the graph is checked while elementwise ops are made to work in place.",
        INT,
        no_effect="What works in place is decided in one pass, which is checked once.",
    ),
    Option(
        "scan__allow_output_prealloc",
        True,
        "Let Scan allocate its outputs before its loop.",
        BOOL,
        read_only=True,
        no_effect=_NO_SCAN,
    ),
    Option("scan__allow_gc", False, "Free intermediate results in each step of Scan.", BOOL, no_effect=_NO_SCAN),
    Option(
        "experimental__local_alloc_elemwise_assert",
        True,
        "Insert assertions for shapes that do not fit, where rewrites would hide them.",
        BOOL,
        no_effect="No rewrite hides such a mistake.",
    ),
    Option(
        "ctc__root",
        "",
        "The folder of the library warp-ctc.",
        STR,
        affects_code=False,
        no_effect="The op that it was about does not exist.",
    ),
)
