"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.backend import xp_of
from retrograd.engine.grad_mode import enable_grad, no_grad
from retrograd.lifecycle.site import user_site
from retrograd.optim.arithmetic import reals, zeros_like
from retrograd.optim.line_search import Point, Size, strong_wolfe
from retrograd.optim.optimizer import Optimizer, ParamsT
from retrograd.optim.options import by_name, check_rate
from retrograd.tensor import Tensor, wrap

Loss = float | Tensor


class LBFGS(Optimizer):
    """Newton's method with curvature estimated from the last gradients.

    A step calls the closure several times; `line_search_fn` is None or ``"strong_wolfe"``.

    >>> w = torch.tensor([3.0, -2.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((w - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(13., grad_fn=<SumBackward0>)
    >>> bool((w - 1).abs().max() < 1e-5)
    True
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = by_name(
            locals(),
            "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn",
        ) | {"max_eval": max_iter * 5 // 4 if max_eval is None else max_eval}
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @property
    def _params(self) -> list[Tensor]:
        params: list[Tensor] = self.param_groups[0]["params"]
        return params

    # ------------------------------------------------------------------ one long vector

    def _flat_gradient(self) -> Tensor:
        parts = []
        for parameter in self._params:
            gradient = parameter.grad
            values = (
                reals(zeros_like(parameter)) if gradient is None else reals(gradient.to_dense())
            )
            parts.append(values.reshape(-1))
        return wrap(xp_of(parts[0]).concatenate(parts))

    def _move(self, size: Size, direction: Tensor) -> None:
        offset, factor = 0, float(size)
        for parameter in self._params:
            value = reals(parameter)
            part = direction._array[offset : offset + value.size]
            value += (part * factor).reshape(value.shape)
            offset += value.size
        self._count_writes(self._params, *user_site(4))

    def _evaluate(self, closure: Callable[[], Loss]) -> Loss:
        with enable_grad():
            return closure()

    # ------------------------------------------------------------------ the step

    def step(self, closure: Callable[[], Loss]) -> Loss:
        """Minimise `closure` for up to `max_iter` iterations; the loss before the first."""
        with no_grad():
            return self._minimise(closure)

    def _minimise(self, closure: Callable[[], Loss]) -> Loss:
        group = self.param_groups[0]
        rate, tolerance = group["lr"], group["tolerance_change"]
        if isinstance(rate, Tensor) and rate.ndim:
            rate = rate.squeeze()
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = self._evaluate(closure)
        loss = _number(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        flat = _largest(gradient) <= group["tolerance_grad"]
        if flat:
            return first_loss
        direction, size = state.get("d"), state.get("t")
        history = {key: state.get(key) for key in ("old_dirs", "old_stps", "ro", "H_diag")}
        previous_gradient, previous_loss = state.get("prev_flat_grad"), state.get("prev_loss")
        iteration = 0
        while iteration < group["max_iter"]:
            iteration += 1
            state["n_iter"] += 1
            fresh = state["n_iter"] == 1
            if fresh:
                direction = gradient.neg()
                history.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                _remember(
                    history, gradient - previous_gradient, direction * size, group["history_size"]
                )
                weights = state.setdefault("al", [None] * group["history_size"])
                direction = _newton_direction(history, gradient, weights)
            previous_gradient, previous_loss = gradient.clone(), loss
            size = min(1.0, 1.0 / gradient.abs().sum()) * rate if fresh else rate
            slope = gradient.dot(direction)
            if slope > -tolerance:
                break
            used = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                here = Point(0, loss, gradient, slope)
                found, used = strong_wolfe(
                    self._objective(closure, direction),
                    here,
                    size,
                    _largest(direction),
                    group["max_eval"] - evaluations,
                )
                loss, gradient, size = found.loss, found.gradient, found.size
                self._move(size, direction)
                flat = _largest(gradient) <= group["tolerance_grad"]
            else:
                self._move(size, direction)
                if iteration != group["max_iter"]:
                    loss = _number(self._evaluate(closure))
                    gradient = self._flat_gradient()
                    flat = _largest(gradient) <= group["tolerance_grad"]
                    used = 1
            evaluations += used
            state["func_evals"] += used
            if (
                iteration == group["max_iter"]
                or evaluations >= group["max_eval"]
                or flat
                or _largest(direction * size) <= tolerance
                or abs(loss - previous_loss) < tolerance
            ):
                break
        state["d"], state["t"] = direction, size
        state.update(history)
        state["prev_flat_grad"], state["prev_loss"] = previous_gradient, previous_loss
        return first_loss

    def _objective(self, closure: Callable[[], Loss], direction: Tensor) -> Callable[[Size], Point]:
        """The closure along a line; the parameters are back where they were afterwards."""
        start = [parameter._array.copy() for parameter in self._params]

        def at(size: Size) -> Point:
            self._move(size, direction)
            loss = _number(self._evaluate(closure))
            gradient = self._flat_gradient()
            for parameter, value in zip(self._params, start, strict=True):
                parameter._array[...] = value
            self._count_writes(self._params, *user_site(4))
            return Point(size, loss, gradient, gradient.dot(direction))

        return at


def _number(loss: Loss) -> float:
    return float(loss.detach() if isinstance(loss, Tensor) else loss)


def _largest(vector: Tensor) -> Tensor:
    return vector.abs().max()


def _remember(history: dict[str, Any], change: Tensor, move: Tensor, limit: int) -> None:
    """Keep one more pair of gradient change and move, if the curvature along it is positive."""
    curvature = change.dot(move)
    if not curvature > 1e-10:
        return
    changes, moves, inverses = history["old_dirs"], history["old_stps"], history["ro"]
    if len(changes) == limit:
        for kept in (changes, moves, inverses):
            kept.pop(0)
    changes.append(change)
    moves.append(move)
    inverses.append(1.0 / curvature)
    history["H_diag"] = curvature / change.dot(change)


def _newton_direction(history: dict[str, Any], gradient: Tensor, weights: list[Tensor]) -> Tensor:
    """The estimated inverse Hessian times the negative gradient, by the two loops."""
    changes, moves, inverses = history["old_dirs"], history["old_stps"], history["ro"]
    direction: Tensor = gradient.neg()
    for index in reversed(range(len(changes))):
        weights[index] = moves[index].dot(direction) * inverses[index]
        direction.add_(changes[index] * -weights[index])
    direction = direction * history["H_diag"]
    for index in range(len(changes)):
        back = changes[index].dot(direction) * inverses[index]
        direction.add_(moves[index] * (weights[index] - back))
    return direction
