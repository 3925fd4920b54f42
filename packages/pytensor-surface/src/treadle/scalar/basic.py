"""Names that stand elsewhere, at the path that the documentation has them at; written by `./dev pages`."""

from typing import TYPE_CHECKING

from treadle.config import lazy_names

if TYPE_CHECKING:
    from treadle.surface.ops.op_names import *  # noqa: F403
    from treadle.surface.values.scalar_values import *  # noqa: F403
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "treadle.surface.ops.op_names": (
                "AND Abs Add Angle ArcCos ArcCosh ArcSin ArcSinh ArcTan ArcTan2 ArcTanh BetaInc BetaIncInv "
                "BinaryScalarOp Cast Ceil Clip Complex Conj Cos Cosh Deg2Rad EQ Erf Erfc Erfcinv Erfcx Erfinv Exp Exp2 "
                "Expm1 Floor GE GT Gamma GammaInc GammaIncC GammaIncCInv GammaIncInv GammaLn Hyp2F1 I0 I1 Identity "
                "Imag IntDiv Invert IsInf IsNan Iv Ive J0 J1 Jv Kv Kve LE LT Log Log10 Log1mexp Log1p Log2 Maximum "
                "Minimum Mod Mul NEQ NdtriExp Neg OR Owens_t PolyGamma Pow Psi Rad2Deg Real Reciprocal "
                "RoundHalfAwayFromZero RoundHalfToEven Second Sigmoid Sign Sin Sinh Softplus Sqr Sqrt Sub Switch Tan "
                "Tanh TriGamma TrueDiv Trunc UnaryScalarOp XOR upgrade_to_float_no_complex abs add and_=and arccos "
                "arccosh arcsin arcsinh arctan arctan2 arctanh ceil clip complex conj cos cosh eq erf erfc erfcinv "
                "erfcx erfinv exp exp2 expm1 floor ge gt identity imag int_div=floor_div invert le log log10 log1mexp "
                "log1p log2 lt maximum minimum mod mul neg neq or_=or pow real reciprocal round_half_away_from_zero "
                "round_half_to_even second sigmoid sign sin sinh softplus sqr sqrt sub switch tan tanh true_div trunc "
                "xor gammaln psi=digamma"
            ),
            "treadle.surface.values.scalar_values": (
                "bool=bool_ complex128 complex64 float16 float32 float64 int16 int32 int64 int8 uint16 uint32 uint64 "
                "uint8 upcast ScalarConstant ScalarFromTensor ScalarType ScalarVariable as_scalar get_scalar_type"
            ),
            "treadle.tensor": "Composite ScalarOp",
        },
    )
