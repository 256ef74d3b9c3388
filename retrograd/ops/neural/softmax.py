"""softmax, log_softmax and what is made of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from retrograd import dtypes
from retrograd.backend.cpu_rows import compiled_first
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace, wrap_dim
from retrograd.ops.registry import RECORDED, composite, functional, inner_op, op
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

# ------------------------------------------------------------------------------------- softmax


def _check(name: str) -> Callable[..., None]:
    def check(input: Array, dim: int) -> None:
        axis = wrap_dim(dim, input.ndim)
        if input.size and input.dtype.kind != "f" and input.dtype is not dtypes.BF16:
            last = axis == max(input.ndim - 1, 0)
            kernel = f"{name}_lastdim_kernel_impl" if last else f"{name}_kernel_impl"
            raise errors.not_implemented_for(kernel, input.dtype)

    return check


def _shifted(xp: Namespace, input: Array, dim: int) -> tuple[Array, tuple[int, ...]]:
    """The input minus its maximum along `dim`, so that exponentials stay finite.

    With it comes the shape of a sum along `dim`, which stays as size one.
    """
    if not input.flags.c_contiguous:  # the result is, whatever the input
        input = xp.ascontiguousarray(input)
    largest = xp.max(input, axis=dim, keepdims=True)
    return xp.subtract(input, largest), largest.shape


def _total(xp: Namespace, values: Array, dim: int, shape: tuple[int, ...]) -> Array:
    """The sum along `dim`, of the given shape; small ones by the compiled kernel."""
    total = xp.sum_to(values, shape)
    return xp.sum(values, axis=dim, keepdims=True) if total is None else total


def _kept(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    place = wrap_dim(dim, len(shape))
    return (*shape[:place], 1, *shape[place + 1 :])


@op(
    grad=lambda m, g, output, dim: m._softmax_gradient(g, output, dim),
    output=lambda m, g, grad, output, dim: m.sub(
        m.sub(m.mul(g, grad), m.mul(m.sum(m.mul(g, output), dim, True), grad)),
        m.mul(g, m.sum(m.mul(grad, output), dim, True)),
    ),
    saved_names={"grad_output": "grad"},
    aten="_softmax_backward_data",
)
def _softmax_gradient(xp: Namespace, grad: Array, output: Array, dim: int) -> Array:
    """``output * (grad - sum(grad * output))`` along `dim`."""
    result = xp.multiply(grad, output)
    if not output.ndim:
        return xp.subtract(result, output * result)
    total = _total(xp, result, dim, _kept(result.shape, dim))
    return xp.subtract(result, xp.multiply(output, total))


@inner_op(
    input=lambda m, g, out, dim: m._softmax_gradient(g, out, dim),
    check=_check("softmax"),
    forward=lambda m, tangents, out, dim: m._softmax_gradient(tangents[0], out, dim),
    aten="_softmax",
)
def softmax(xp: Namespace, input: Array, dim: int) -> Array:
    """``exp(input)``, divided by its sum along `dim`."""
    wrap_dim(dim, input.ndim)
    if not input.ndim:
        return xp.exp(input - input)
    if not input.size:
        return xp.empty_like(input)
    result, shape = _shifted(xp, input, dim)
    xp.exp(result, result)
    return xp.divide(result, _total(xp, result, dim, shape))


@op(
    grad=lambda m, g, output, dim: m.sub(g, m.sum(m.mul(g, m.exp(output)), dim, True)),
    output=lambda m, g, grad, output, dim: m.mul(
        m.mul(m.neg(m.sum(grad, dim, True)), m.exp(output)), g
    ),
    saved_names={"grad_output": "grad"},
    aten="_log_softmax_backward_data",
)
def _log_softmax_gradient(xp: Namespace, grad: Array, output: Array, dim: int) -> Array:
    """``grad - exp(output) * sum(grad)`` along `dim`."""
    result = xp.exp(output)
    if not output.ndim:
        return xp.subtract(grad, result * grad)
    total = _total(xp, grad, dim, _kept(grad.shape, dim))
    return xp.subtract(grad, xp.multiply(result, total))


@inner_op(
    input=lambda m, g, out, dim: m._log_softmax_gradient(g, out, dim),
    check=_check("log_softmax"),
    forward=lambda m, tangents, out, dim: m.sub(
        tangents[0], m.sum(m.mul(m.exp(out), tangents[0]), dim, True)
    ),
    aten="_log_softmax",
)
def log_softmax(xp: Namespace, input: Array, dim: int) -> Array:
    """The logarithm of the softmax along `dim`, computed without losing small probabilities."""
    wrap_dim(dim, input.ndim)
    if not input.ndim:
        return input - input
    if not input.size:
        return xp.empty_like(input)
    result, shape = _shifted(xp, input, dim)
    total = _total(xp, xp.exp(result), dim, shape)
    return xp.subtract(result, xp.log(total, total))


for _name in ("softmax", "log_softmax", "_softmax_gradient", "_log_softmax_gradient"):
    compiled_first(_name, _name.removeprefix("_"), short=True)


# ------------------------------------------------------------------------------ public functions


def _samples() -> list[Sample]:
    nan, inf = float("nan"), float("inf")
    every = (*FLOATS, *HALVES)
    found = [Sample(T(3, 4), dim, dtypes=every) for dim in (0, 1, -1)]
    found += [Sample(T(*shape), 0) for shape in ((), (5,), (2, 3, 4), (0, 3), (3, 0))]
    found += [Sample(T(2, 3, 4), dim) for dim in (1, 2, -3)]
    found += [Sample(T(), -1), Sample(T(3, 0), 1), Sample(T(3, 4), 2), Sample(T(), 1)]
    found += [
        Sample(T(values=[[1000.0, 1001.0, -1e4], [0, -inf, 1.0]]), 1),
        Sample(T(values=[[inf, 1.0], [-inf, -inf], [nan, 0.0]]), 1, second=False),
    ]
    found += [Sample(T(3, 4), 1, dtype="dtype:float64")]
    found += [Sample(T(3, 4), 1, dtype="dtype:float16", grad=False)]
    found += [Sample(T(3, dtype="int64"), 0, dtype="dtype:float32", grad=False)]
    found += [
        Sample(T(3, dtype=name), 0, grad=False) for name in ("int64", "bool", "complex64", "uint8")
    ]
    return found


def _functional_samples() -> list[Sample]:
    implicit = [Sample(T(*shape)) for shape in ((), (3,), (2, 3), (2, 3, 4), (2, 1, 2, 2))]
    return [*implicit, *_samples(), Sample(T(2, 3), dim=1)]


def _checked_dim(name: str, dim: int | None, input: Tensor) -> int:
    if type(dim) is int:
        return dim
    if not isinstance(input, Tensor):
        raise errors.argument_type(name, "input", 1, "Tensor", input)
    if dim is None or not hasattr(dim, "__index__"):
        raise errors.argument_type(name, "dim", 2, "int", dim)
    return int(dim.__index__())


def _implicit_dim(name: str, input: Tensor) -> int:
    """The dimension that old code left out: the last of one or three, else the second."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include "
        "dim=X as an argument.",
        UserWarning,
        stacklevel=user_level(),
    )
    return 0 if input.ndim in (0, 1, 3) else 1


def _cast_first(name: str, input: Tensor, dtype: dtypes.dtype | None) -> Tensor:
    kind = dtypes.as_dtype(dtype, name)
    return input if kind is None or kind is input.dtype else input.to(kind)


@composite(samples=_samples, second_names=("special.softmax",))
def _softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along `dim`.

    >>> torch.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    if dtype is not None:
        input = _cast_first("softmax", input, dtype)
    return RECORDED.softmax(input, _checked_dim("softmax", dim, input))


@composite(samples=_samples, second_names=("special.log_softmax",))
def _log_softmax(input: Tensor, dim: int, dtype: dtypes.dtype | None = None) -> Tensor:
    """``log(softmax(input))`` along `dim`, in one step.

    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    if dtype is not None:
        input = _cast_first("log_softmax", input, dtype)
    return RECORDED.log_softmax(input, _checked_dim("log_softmax", dim, input))


@functional(samples=_functional_samples)
def _functional_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """``exp(input) / sum(exp(input))`` along `dim`.

    `_stacklevel` is taken as in PyTorch and changes nothing: a warning is about the caller's line.

    >>> torch.nn.functional.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _implicit_dim("softmax", input)
    if dtype is not None:
        input = _cast_first("softmax", input, dtype)
    return RECORDED.softmax(input, _checked_dim("softmax", dim, input))


@functional(samples=_functional_samples)
def _functional_log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """``log(softmax(input))`` along `dim`, in one step."""
    if dim is None:
        dim = _implicit_dim("log_softmax", input)
    if dtype is not None:
        input = _cast_first("log_softmax", input, dtype)
    return RECORDED.log_softmax(input, _checked_dim("log_softmax", dim, input))


@functional(samples=_functional_samples)
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtypes.dtype | None = None
) -> Tensor:
    """The softmax of the negated input."""
    if dim is None:
        dim = _implicit_dim("softmin", input)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@functional(samples=lambda: [Sample(T(3), dim=1), Sample(T(3, dtype="int64"), grad=False)])
def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> Tensor:
    """A softmax of the logits with Gumbel noise: nearly a random choice, yet differentiable.

    With `hard` the result is a choice, and the gradient is that of the softmax.
    """
    noise = -RECORDED.zeros_like(logits.detach()).exponential_().log()
    soft = _functional_softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = RECORDED.zeros_like(logits.detach()).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft
