"""Rounding: floor, ceil, round, trunc, frac, and nan_to_num."""

from __future__ import annotations

from collections.abc import Callable

from retrograd import dtypes, samples
from retrograd.engine.state import STATE
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.registry import OPS, RECORDED, composite, inner_op, method_only, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_EVERY = (*FLOATS, *HALVES, *COMPLEX)
_NAN, _INF = float("nan"), float("inf")
_HALFWAY = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, _INF, -_INF, _NAN]
_SAMPLES = samples.unary(dtypes=_EVERY, extra=[Sample(T(values=_HALFWAY))])


def _check_rounding(name: str) -> Callable[..., None]:
    def check(input: Array) -> None:
        if input.dtype in dtypes.COMPLEX_TYPES:
            if name == "round":
                raise errors.not_implemented_for("round_vml_cpu", input.dtype)
            raise errors.explained(
                NotImplementedError(f"{name} is not supported for complex inputs"), code="RG304"
            )
        if input.dtype.kind == "b":
            raise errors.not_implemented_for(f"{name}_vml_cpu", input.dtype)

    return check


def _kept_or(xp: Namespace, function: Callable[[Array], Array], input: Array) -> Array:
    """Integers are round already."""
    return xp.array(input) if input.dtype.kind in "iu" else function(input)


@op(
    input=lambda m, g: m.zeros_like(g),
    check=_check_rounding("floor"),
    inplace=True,
    out="elementwise",
    samples=_SAMPLES,
    elementwise=True,
)
def floor(xp: Namespace, input: Array) -> Array:
    """The largest integer not above every element."""
    return _kept_or(xp, xp.floor, input)


@op(
    input=lambda m, g: m.zeros_like(g),
    check=_check_rounding("ceil"),
    inplace=True,
    out="elementwise",
    samples=_SAMPLES,
    elementwise=True,
)
def ceil(xp: Namespace, input: Array) -> Array:
    """The smallest integer not below every element."""
    return _kept_or(xp, xp.ceil, input)


@op(
    input=lambda m, g: m.zeros_like(g),
    check=_check_rounding("trunc"),
    inplace=True,
    out="elementwise",
    public=("trunc", "fix"),
    samples=_SAMPLES,
    elementwise=True,
)
def trunc(xp: Namespace, input: Array) -> Array:
    """Every element without its fraction."""
    return _kept_or(xp, xp.trunc, input)


def _check_frac(input: Array) -> None:
    if input.dtype not in dtypes.DIFFERENTIABLE or input.dtype.kind == "c":
        raise errors.not_implemented_for("frac_cpu", input.dtype)


@op(
    input=lambda m, g: g,
    check=_check_frac,
    inplace=True,
    out="elementwise",
    samples=_SAMPLES,
    elementwise=True,
)
def frac(xp: Namespace, input: Array) -> Array:
    """The fraction of every element, with its sign."""
    return xp.subtract(input, xp.trunc(input))


# ----------------------------------------------------------------------------------------- round


@inner_op(
    input=lambda m, g: m.zeros_like(g),
    check=_check_rounding("round"),
    inplace="round_",
    out="elementwise",
    elementwise=True,
)
def round(xp: Namespace, input: Array) -> Array:
    """The nearest integer, the even one of two equally near."""
    return _kept_or(xp, xp.rint, input)


def _check_decimals(input: Array, decimals: int) -> None:
    if input.dtype not in dtypes.DIFFERENTIABLE or input.dtype.kind == "c":
        kernel = "round_vml_cpu" if decimals == 0 else "round_cpu"
        raise errors.not_implemented_for(kernel, input.dtype)


@op(
    input=lambda m, g: m.zeros_like(g),
    check=_check_decimals,
    node_name="RoundBackward1",
    inplace="round_",
    out="elementwise",
    elementwise=True,
    aten="round.decimals",
)
def _round_decimals(xp: Namespace, input: Array, decimals: int) -> Array:
    if decimals == 0:
        return xp.rint(input)
    power = xp.asarray(10.0 ** abs(decimals), input.dtype)
    if decimals > 0:
        return xp.rint(input * power) / power
    return xp.rint(input / power) * power


def _round_samples() -> list[Sample]:
    found = _SAMPLES()
    for decimals in (0, 1, 3, -1):
        found += [
            Sample(T(3, 4, low=-50, high=50), decimals=decimals, dtypes=(*FLOATS, *COMPLEX)),
            Sample(T(4, dtype="int64"), decimals=decimals, grad=False),
            Sample(T(4, dtype="bool"), decimals=decimals, grad=False),
        ]
    return found


@composite(samples=_round_samples)
def _round(input: Tensor, *, decimals: int | None = None, out: Tensor | None = None) -> Tensor:
    """Every element rounded to integers, or to `decimals` places; halves go to even.

    >>> torch.round(torch.tensor([0.5, 1.5, 2.5]))
    tensor([0., 2., 2.])
    """
    more = {} if out is None else {"out": out}
    if decimals is None:
        return RECORDED.round(input, **more)
    return RECORDED._round_decimals(input, decimals, **more)


@composite(
    namespace="special",
    samples=lambda: [Sample(T(4)), Sample(T(4), decimals=1)],
    out="elementwise",
)
def _special_round(input: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
    """Every element rounded to `decimals` places; halves go to even."""
    return _round(input, decimals=decimals, out=out)


@method_only(second_names=("torch.round_",))
def _round_in_place(self: Tensor, *, decimals: int | None = None) -> Tensor:
    """In-place version of `round`."""
    if decimals is None:
        plain = OPS["round"].in_place
        return plain(self)
    places = OPS["_round_decimals"].in_place
    return places(self, decimals)


# ------------------------------------------------------------------------------------ nan_to_num


def _replaced(xp: Namespace, input: Array, nan: float, posinf: float, neginf: float) -> Array:
    result = xp.array(input)
    result[xp.isnan(input)] = nan
    result[input == _INF] = posinf
    result[input == -_INF] = neginf
    return result


@inner_op(
    input=lambda m, g, input: m.mul(g, m.isfinite(input)),
    half="move",
    inplace=True,
    out="nan_to_num: dtype of out: {out} should be same as input: {result}",
    elementwise=True,
    inplace_names=("torch.nan_to_num_",),
)
def nan_to_num(
    xp: Namespace,
    input: Array,
    nan: float | None = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Array:
    """Replaces nan by `nan` and infinities by the given or the largest finite numbers."""
    if input.dtype.kind in "biu":
        return xp.array(input)
    limits = dtypes.finfo(dtypes.from_numpy_dtype(input.dtype))
    replacements = (
        0.0 if nan is None else nan,
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )
    if input.dtype.kind != "c":
        return xp.asarray(_replaced(xp, input, *replacements))
    result = xp.empty_like(input)
    result.real = _replaced(xp, input.real, *replacements)
    result.imag = _replaced(xp, input.imag, *replacements)
    return xp.asarray(result)


def _nan_to_num_samples() -> list[Sample]:
    return [
        *samples.unary(dtypes=_EVERY)(),
        *(
            Sample(T(values=[0.5, _NAN, _INF, -_INF]), *args, dtypes=(*FLOATS, *HALVES))
            for args in ((), (1.5,), (0.0, 7.0), (0.0, 7.0, -8.0))
        ),
        Sample(T(values=[_NAN, _INF, -_INF]), posinf=3.0),
        Sample(T(values=[complex(_NAN, 1), complex(_INF, -_INF), 1j]), dtypes=COMPLEX, grad=False),
    ]


@composite(samples=_nan_to_num_samples)
def _nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Replaces nan by `nan` (0) and infinities by the given or the largest finite numbers.

    >>> torch.nan_to_num(torch.tensor([1.0, float("nan")]))
    tensor([1., 0.])
    """
    if input._array.dtype.kind == "c" and input.requires_grad and STATE.grad_enabled:
        raise RuntimeError(
            "nan_to_num does not support automatic differentiation for outputs with complex dtype."
        )
    more = {} if out is None else {"out": out}
    result: Tensor = OPS["nan_to_num"].function(input, nan, posinf, neginf, **more)
    return result
