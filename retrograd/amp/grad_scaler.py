"""`GradScaler`: a loss is multiplied so that small gradients survive float16, and divided again.

>>> import retrograd as torch
>>> weight = torch.tensor([2.0], requires_grad=True)
>>> optimizer = torch.optim.SGD([weight], lr=0.25)
>>> scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
>>> scaler.scale((weight * weight).sum()).backward()
>>> weight.grad
tensor([32.])
>>> scaler.step(optimizer)
>>> scaler.update()
>>> weight, weight.grad
(tensor([1.], requires_grad=True), tensor([4.]))
"""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import CPU, backend_of
from retrograd.backend.cuda import cuda_backend
from retrograd.engine.grad_mode import no_grad
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import backend_at, device
from retrograd.tensor.size import device as device_class

if TYPE_CHECKING:
    from retrograd.optim.optimizer import Optimizer

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """What a scaler has done for an optimizer since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


def _number(value: float, where: device, dtype: dtypes.dtype = dtypes.float32) -> Tensor:
    return wrap(backend_at(where).from_numpy(np.array(value, dtype.numpy)))


class GradScaler:
    """Scale losses, unscale gradients, and skip the steps in which gradients are inf or nan.

    device           "cpu"; with "cuda" and no such device the scaler warns and does nothing
    init_scale       the first scale
    growth_factor    the scale's factor after `growth_interval` steps without inf or nan
    backoff_factor   the scale's factor after a step with inf or nan
    growth_interval  how many good steps there are between two growths
    enabled          False: `scale` returns its argument, `step` calls the optimizer

    >>> torch.amp.GradScaler("cpu", enabled=False).get_scale()
    1.0
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if device == "cuda" and enabled and cuda_backend() is None:
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=user_level(),
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._scale: Tensor | None = None  # made by the first call of `scale`
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Tensor | None = None
        self._per_optimizer_states: dict[int, dict[str, Any]] = defaultdict(
            _refresh_per_optimizer_state
        )

    def _check_scale_growth_tracker(self, funcname: str) -> tuple[Tensor, Tensor]:
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(
                    f"Attempted {funcname} but {name} is None.  This may indicate your script did "
                    "not use scaler.scale(loss or outputs) earlier in the iteration."
                )
        assert self._scale is not None and self._growth_tracker is not None
        return self._scale, self._growth_tracker

    def _lazy_init_scale_growth_tracker(self, dev: device) -> None:
        if self._growth_tracker is not None:
            raise AssertionError("_growth_tracker initialized before _scale")
        self._scale = _number(self._init_scale, dev)
        self._growth_tracker = _number(self._init_growth_tracker, dev, dtypes.int32)

    def scale(self, outputs: Tensor) -> Tensor:
        """A tensor, or tensors in lists and other iterables, times the scale.

        >>> torch.amp.GradScaler("cpu", init_scale=4.0).scale([torch.ones(1), torch.ones(())])
        [tensor([4.]), tensor(4.)]
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._lazy_init_scale_growth_tracker(outputs.device)
            assert self._scale is not None
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            scaled = map(self.scale, outputs)
            return type(outputs)(scaled) if isinstance(outputs, (list, tuple)) else scaled
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    # ---------------------------------------------------------------------------- unscaling

    def _unscale_grads_(
        self, optimizer: Optimizer, inv_scale: Tensor, found_inf: Tensor, allow_fp16: bool
    ) -> dict[device_class, Tensor]:
        """Multiply the gradients; `found_inf`, by device, tells of inf and nan among them."""
        gradients: list[Tensor] = []
        for group in optimizer.param_groups:
            for param in group["params"]:
                if not isinstance(param, Tensor):
                    raise AssertionError(
                        f"expected param to be torch.Tensor, got {type(param).__name__}"
                    )
                gradient = param.grad
                if gradient is None:
                    continue
                if not allow_fp16 and gradient.dtype is dtypes.float16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                gradients.append(gradient)
        if not gradients:
            return {}
        with no_grad():
            for gradient in gradients:
                values = gradient._array
                if values.dtype is dtypes.BF16:
                    values = values.astype(np.float32)
                # on an accelerator nothing is waited for: the answer stays there
                if type(values) is CPU.array:
                    if not np.isfinite(values).all():
                        found_inf.fill_(1.0)
                else:
                    xp = backend_of(values).xp
                    found_inf._array[...] += 1.0 - xp.isfinite(values).all()
                gradient.mul_(inv_scale)
        return {found_inf.device: found_inf}

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, before `step` would.

        >>> weight = torch.tensor([3.0], requires_grad=True)
        >>> optimizer = torch.optim.SGD([weight], lr=0.1)
        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.scale(weight.sum()).backward()
        >>> scaler.unscale_(optimizer)
        >>> weight.grad
        tensor([1.])
        """
        if not self._enabled:
            return
        scale, _ = self._check_scale_growth_tracker("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = scale.double().reciprocal().float()
        state["found_inf_per_device"] = self._unscale_grads_(
            optimizer, inverse, _number(0.0, scale.device), False
        )
        state["stage"] = OptState.UNSCALED

    def _check_inf_per_device(self, optimizer: Optimizer) -> dict[device_class, Tensor]:
        scale, _ = self._check_scale_growth_tracker("_check_inf_per_device")
        one, zero = _number(1.0, scale.device), _number(0.0, scale.device)
        found = self._unscale_grads_(optimizer, one, zero, True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: object) -> Any:
        return self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]

    # -------------------------------------------------------------------------------- steps

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: object) -> Any:
        """Unscale, unless that is done, then ``optimizer.step(*args, **kwargs)``.

        The optimizer's step is left out where a gradient is inf or nan.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._check_scale_growth_tracker("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_that_scales(optimizer, state, *args, **kwargs)
            state["stage"] = OptState.STEPPED
            return result
        if state["stage"] is OptState.READY:
            self.unscale_(optimizer)
        if not state["found_inf_per_device"]:
            raise AssertionError("No inf checks were recorded for this optimizer.")
        result = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return result

    def _maybe_opt_step(
        self, optimizer: Optimizer, optimizer_state: dict[str, Any], *args: Any, **kwargs: object
    ) -> Any:
        if any(found.item() for found in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _step_that_scales(
        self, optimizer: Any, state: dict[str, Any], *args: Any, **kwargs: object
    ) -> Any:
        """The step of an optimizer that unscales its gradients itself."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them "
                "directly.",
                FutureWarning,
                stacklevel=user_level(),
            )
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        scale, _ = self._check_scale_growth_tracker("step")
        if state["stage"] is OptState.UNSCALED:
            optimizer.grad_scale = getattr(optimizer, "grad_scale", None)
        else:
            optimizer.grad_scale = scale * getattr(optimizer, "grad_scale", 1)
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        result = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return result

    # ------------------------------------------------------------------------------- update

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Let the scale grow or shrink by what the steps since the last call met.

        `new_scale` sets it instead. Called once, after the steps of all optimizers.
        """
        if not self._enabled:
            return
        scale, tracker = self._check_scale_growth_tracker("update")
        if new_scale is not None:
            self._set_scale(scale, new_scale)
        else:
            found = [
                one.item()
                for state in self._per_optimizer_states.values()
                for one in state["found_inf_per_device"].values()
            ]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._grow_or_shrink(scale, tracker, any(found))
        self._per_optimizer_states = defaultdict(_refresh_per_optimizer_state)

    def _set_scale(self, scale: Tensor, new_scale: float | Tensor) -> None:
        if isinstance(new_scale, float):
            scale.fill_(new_scale)
            return
        if (
            new_scale.device.type != self._device
            or new_scale.numel() != 1
            or new_scale.requires_grad
        ):
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                "torch.FloatTensor with requires_grad=False."
            )
        scale.copy_(new_scale)

    def _grow_or_shrink(self, scale: Tensor, tracker: Tensor, found_inf: bool) -> None:
        if found_inf:
            scale.mul_(self._backoff_factor)
            tracker.zero_()
            return
        tracker.add_(1)
        if tracker.item() == self._growth_interval:
            larger = scale * self._growth_factor
            if larger.isfinite().item():  # a scale of inf would never come back
                scale.copy_(larger)
            tracker.zero_()

    # -------------------------------------------------------------------------------- state

    def _get_scale_async(self) -> Tensor | None:
        return self._scale

    def get_scale(self) -> float:
        """The scale; 1.0 where scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor by which the scale shrinks."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """How many steps without inf or nan there are between two growths."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many steps without inf or nan there are between two growths."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def is_enabled(self) -> bool:
        """Whether this scaler does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, object]:
        """What a checkpoint needs of the scaler, as numbers; empty where it is disabled.

        >>> torch.amp.GradScaler("cpu", init_scale=2.0).state_dict()["scale"]
        2.0
        """
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; nothing where the scaler is disabled."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, object]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, "
                    "or at the end after scaler.update()."
                )
            # the tensors are made again by the next call of `scale`
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
