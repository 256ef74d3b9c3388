"""Gradients that are made smaller on their way to a step: clipped, or divided by a loss scale.

That writes into `.grad`, but it is no new gradient. Where a `GradScaler` has multiplied the loss,
gradients are clipped after it has divided them again; before, they are thousands of times too big.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from retrograd.watching.gradients import Gradients, parameters_of
from retrograd.watching.lines import Step
from retrograd.watching.records import Call, ClippedScaled, ScaledStep, ScalerCall
from retrograd.watching.replacing import Undo, replaced
from retrograd.watching.torch_types import OptimizerLike

CLIPPING = ("clip_grad_norm_", "clip_grad_value_")
MOST = 12  # that are kept
MOST_CALLS = 32  # of scalers, the newest

Safely = Callable[..., Any]
Here = Callable[[], list[Step]]


class Scaling:
    """Follows clipping and unscaling of the gradients that optimizers hold."""

    def __init__(self, gradients: Gradients) -> None:
        self.clipped_scaled: list[ClippedScaled] = []
        self._gradients = gradients
        self._clipped: dict[int, tuple[tuple[int, int], list[Step]]] = {}  # id -> state, stack
        self.scaled_steps: list[ScaledStep] = []
        self._losses: list[tuple[weakref.ref[Any], float]] = []  # multiplied, with the scale
        self._multiplied: dict[int, tuple[Call, float]] = {}  # parameter id -> who sent one back
        self._unscaling_now = 0
        self.calls: deque[ScalerCall] = deque(maxlen=MOST_CALLS)  # by the program itself
        self.sent = 0  # losses

    def install(self, torch: Any, safely: Safely, here: Here) -> list[Undo]:
        """Put the patches in place; each of the results takes one away."""
        utils = torch.nn.utils
        undo = [
            replaced(utils, name, self._clipping(getattr(utils, name), safely, here))
            for name in CLIPPING
        ]
        scaler = torch.amp.GradScaler
        undo.append(replaced(scaler, "unscale_", self._unscaling(scaler.unscale_, safely, here)))
        undo.append(replaced(scaler, "scale", self._scaling(torch, scaler.scale, safely)))
        undo.append(replaced(scaler, "step", self._stepping(scaler.step, safely, here)))
        undo.append(replaced(scaler, "update", self._updating(scaler.update, safely, here)))
        self._gradients.follow(self._multiplied)
        return undo

    def _scaling(self, torch: Any, original: Any, safely: Safely) -> Any:
        def scale(scaler: Any, outputs: Any) -> Any:
            result = original(scaler, outputs)
            if scaler.is_enabled():
                safely(self._note_scaled, torch, scaler, result)
            return result

        return scale

    def _note_scaled(self, torch: Any, scaler: Any, result: Any) -> None:
        factor = float(scaler.get_scale())
        if isinstance(result, torch.Tensor) and factor != 1:
            self._losses = [*self._losses[1 - MOST :], (weakref.ref(result), factor)]

    def _note_call(self, name: str, scaler: Any, optimizer: object, here: Here) -> None:
        if not self._unscaling_now and scaler.is_enabled():
            self.calls.append(ScalerCall(name, id(scaler), id(optimizer), here(), self.sent))

    def _updating(self, original: Any, safely: Safely, here: Here) -> Any:
        def update(scaler: Any, *args: object, **keywords: object) -> object:
            safely(self._note_call, "update", scaler, None, here)
            return original(scaler, *args, **keywords)

        return update

    def _stepping(self, original: Any, safely: Safely, here: Here) -> Any:
        def step(*args: object, **keywords: object) -> object:
            given = args[1] if len(args) > 1 else keywords.get("optimizer")
            safely(self._note_call, "step", args[0], given, here)
            self._unscaling_now += 1
            try:
                return original(*args, **keywords)
            finally:
                self._unscaling_now -= 1

        return step

    def after_backward(self, call: Call, tensors: Sequence[Any]) -> None:
        """Gradients of a loss that was multiplied."""
        self.sent += 1
        for loss, factor in self._losses:
            if any(loss() is tensor for tensor in tensors):
                for parameter in self._gradients.held():
                    if self._gradients.is_given_by(parameter, call):
                        self._multiplied[id(parameter)] = call, factor

    def before_step(self, optimizer: OptimizerLike, stack: list[Step]) -> None:
        """Are the gradients still multiplied?"""
        if not self._multiplied or self._unscaling_now or len(self.scaled_steps) >= MOST:
            return
        for parameter in parameters_of(optimizer):
            call, factor = self._multiplied.pop(id(parameter), (None, 1.0))
            if call is not None and self._gradients.is_given_by(parameter, call):
                self.scaled_steps.append(ScaledStep(stack, call, factor, optimizer))
                break

    def _clipping(self, original: Any, safely: Safely, here: Here) -> Any:
        def clip(*args: object, **keywords: object) -> object:
            before = safely(self._gradients.untouched)
            result = original(*args, **keywords)
            if before is not None:
                safely(self._note_clipped, before, here())
            return result

        return clip

    def _note_clipped(self, before: dict[int, int], stack: list[Step]) -> None:
        for key, state in self._gradients.scaled(before).items():
            self._clipped[key] = state, stack

    def _unscaling(self, original: Any, safely: Safely, here: Here) -> Any:
        def unscale_(scaler: Any, optimizer: OptimizerLike) -> object:
            for parameter in parameters_of(optimizer):
                self._multiplied.pop(id(parameter), None)
            safely(self._note_call, "unscale_", scaler, optimizer, here)
            before = safely(self._before_unscaling, scaler, optimizer, here())
            result = original(scaler, optimizer)
            if before is not None:
                safely(self._gradients.scaled, before)
            return result

        return unscale_

    def _before_unscaling(
        self, scaler: Any, optimizer: OptimizerLike, stack: list[Step]
    ) -> dict[int, int]:
        if scaler.is_enabled() and len(self.clipped_scaled) < MOST:
            for parameter in parameters_of(optimizer):
                state, clipped = self._clipped.get(id(parameter), ((0, 0), []))
                gradient = parameter.grad
                if gradient is not None and state == (id(gradient), gradient._version):
                    scale = float(scaler.get_scale())
                    if scale != 1:
                        found = ClippedScaled(stack, clipped, scale, optimizer)
                        self.clipped_scaled.append(found)
                    break
        self._clipped.clear()
        return self._gradients.untouched()
