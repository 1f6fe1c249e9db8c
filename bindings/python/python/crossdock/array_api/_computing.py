"""The functions of the standard that compute, and the calls of NumPy to make instead."""

UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan "
    "log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square sqrt tan tanh "
    "trunc argmax argmin count_nonzero nonzero unique_all unique_counts unique_inverse unique_values argsort sort "
    "cumulative_sum cumulative_prod max mean min prod std sum var all any diff clip"
).split()
BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal "
    "floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum "
    "minimum multiply nextafter not_equal pow remainder subtract matmul tensordot vecdot searchsorted isin"
).split()


def call_of_numpy(name: str) -> str | None:
    """The call of NumPy for a name of the standard; None for other names."""
    if name in UNARY:
        return f"np.{name}(np.asarray(x))"
    if name in BINARY:
        return f"np.{name}(np.asarray(x), np.asarray(y))"
    if name == "where":
        return "np.where(np.asarray(condition), np.asarray(x), np.asarray(y))"
    if name in ("linalg", "fft"):
        return f"np.{name} has functions that take np.asarray(x)"
    return None
