"""Adafactor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from retrograd.backend import xp_of
from retrograd.dtypes import F32, HALF_TYPES, finfo, from_numpy_dtype
from retrograd.notices import runtime_error
from retrograd.optim.arithmetic import add_scaled, approach, count, decay_weights, reals, scalar
from retrograd.optim.forms import step_lists
from retrograd.optim.optimizer import Group, Optimizer, ParamsT, State
from retrograd.optim.options import by_name, check, check_rate
from retrograd.tensor import Array, Tensor, wrap


class Adafactor(Optimizer):
    """Adam's scale from the means of rows and columns, in little memory (Shazeer, Stern, 2018).

    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
    >>> (w * 2).sum().backward()
    >>> optimizer.step()
    >>> w[0]
    tensor([0.9000, 0.9000], grad_fn=<SelectBackward0>)
    """

    _later_options: ClassVar[dict[str, object]] = {"foreach": None}
    _scalar_state = ("step",)
    _decay_joins_gradient = False

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_rate(lr, "Learning rate should be >= 0 but is: {}")
        check(0.0 >= beta2_decay, "beta2_decay should be <= 0 but is: {}", beta2_decay)
        check(eps[0] is None or 0.0 <= eps[0], "epsilon1 should be >= 0 but is: {}", eps[0])
        check(0.0 <= eps[1], "epsilon2 should be >= 0 but is: {}", eps[1])
        check(1.0 <= d, "Clipping threshold d should be >= 1 but is: {}", d)
        check(0.0 <= weight_decay, "weight_decay should be >= 0 but is: {}", weight_decay)
        defaults = by_name(locals(), "lr beta2_decay eps d weight_decay foreach maximize")
        super().__init__(params, defaults)

    def _start(self, group: Group, parameter: Tensor, state: State) -> None:
        state["step"] = scalar(0.0)
        array = parameter._array
        xp = xp_of(array)
        if array.ndim > 1:
            state["row_var"] = wrap(xp.zeros((*array.shape[:-1], 1), array.dtype))
            columns = (*array.shape[:-2], 1, array.shape[-1])
            state["col_var"] = wrap(xp.zeros(columns, array.dtype))
        else:
            state["variance"] = wrap(xp.zeros_like(array))

    def _update(self, group: Group, parameters: list[Tensor], gradients: list[Tensor]) -> None:
        if any(parameter.is_complex() for parameter in parameters):
            raise runtime_error("Adafactor does not support complex parameters", code="RG304")
        super()._update(group, parameters, gradients)

    def _change(self, group: Any, state: State, value: Array, g: Array) -> None:
        xp = xp_of(value)
        smallest, least_size = group["eps"]
        if smallest is None:
            smallest = finfo(from_numpy_dtype(value.dtype)).eps
        step = count(state)
        weight = step ** group["beta2_decay"]
        rate = min(float(group["lr"]), 1 / step**0.5)
        alpha = max(least_size, _root_mean_square(value)) * rate
        decay_weights(group, value)
        update = _variance(state, g, weight, smallest)
        xp.maximum(update, smallest * smallest, out=update)
        xp.sqrt(update, out=update)
        xp.divide(g, update, out=update)
        clipped = max(1.0, _root_mean_square(update) / group["d"])
        add_scaled(value, update, -alpha / clipped, update)


def _variance(state: State, g: Array, weight: float, smallest: float) -> Array:
    """A new array: the running mean of ``g * g``, or its estimate from rows and columns."""
    xp = xp_of(g)
    if "variance" in state:
        variance = reals(state["variance"])
        approach(variance, g * g, weight, xp.empty_like(variance))
        return variance.copy()
    squares = _wide(g) ** 2
    rows, columns = state["row_var"]._array, state["col_var"]._array
    for means, axis in ((rows, -1), (columns, -2)):
        newest = squares.mean(axis, keepdims=True).astype(means.dtype)
        approach(means, newest, weight, xp.empty_like(means))
    # One factor each, so the product of matrices is an elementwise one.
    estimate = rows * columns
    estimate /= xp.maximum(_wide(rows).mean(-2, keepdims=True), smallest).astype(rows.dtype)
    return estimate


def _root_mean_square(array: Array) -> float:
    if array.size == 0:
        return 0.0
    flat = _wide(array).ravel()
    return float(xp_of(flat).sqrt(flat @ flat)) / float(array.size**0.5)


def _wide(array: Array) -> Array:
    """Half precision in single precision, in which means and norms are accumulated."""
    return array.astype(F32 if array.dtype in HALF_TYPES else array.dtype, copy=False)


def adafactor(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    row_vars: Sequence[Tensor | None],
    col_vars: Sequence[Tensor | None],
    variances: Sequence[Tensor | None],
    state_steps: Sequence[Tensor],
    foreach: bool | None = None,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
    has_complex: bool = False,
    *,
    d: float,
    lr: float | Tensor,
    beta2_decay: float,
    weight_decay: float,
    eps1: float | None,
    eps2: float,
    maximize: bool,
) -> None:
    """One step of `Adafactor`, in place, on lists; entries that a parameter lacks are None."""
    step_lists(Adafactor, params, grads, locals())
