"""`autocast`: regions in which each op runs in the dtype that suits it.

Matrix products, convolutions and attention run in bfloat16 (or float16), most losses and linear
algebra in float32, everything else in the dtype of what it is given; `calling.autocasting` has the
lists. Backward is best called outside of the region: gradients then come in the dtypes of the
forward pass.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal

import numpy as np

from retrograd import dtypes
from retrograd.amp import switches
from retrograd.backend.cuda import cuda_backend
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

_SUPPORTED = (dtypes.bfloat16, dtypes.float16)


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a kind of device, be the device there or not.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return switches.device_kind(device_type, "_is_autocast_available") in switches.AVAILABLE


def autocast_decorator(autocast_instance: autocast, func: Callable[..., object]) -> Any:
    """A function that runs in a region of autocast."""

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: object) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """A region of mixed precision; also a decorator.

    device_type    "cpu"; others can be named: without such a device they change nothing
    dtype          the lower precision, bfloat16 or float16; default `torch.get_autocast_dtype`
    enabled        False: in this region autocast is off
    cache_enabled  whether weights are cast once in the outermost region

    >>> a, b = torch.ones(2, 2), torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     (a @ b).dtype, (a * b).dtype
    (torch.bfloat16, torch.float32)
    """

    def __init__(
        self,
        device_type: str,
        dtype: dtypes.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.fast_dtype = switches.get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        if not is_autocast_available(device_type):
            raise RuntimeError(
                f"User specified an unsupported autocast device_type '{device_type}'"
            )
        self.custom_backend_name = "privateuseone"
        if device_type == self.custom_backend_name:
            raise AssertionError(
                "Tried to use AMP with the `privateuseone` backend, but the backend has not "
                "registered a module or  the module miss some necessary funcs. The backend should "
                "register a module by `torch._register_device_module`, and the module must have "
                "these funcs: \n`get_amp_supported_dtype() -> List[torch.dtype]`. \n"
            )
        if cache_enabled is None:
            cache_enabled = switches.is_autocast_cache_enabled()
        self._cache_enabled = cache_enabled
        self._enabled = enabled and self._is_possible()
        self._before: list[tuple[bool, bool, dtypes.dtype]] = []

    def _is_possible(self) -> bool:
        if self.device == "cuda":
            if cuda_backend() is not None:
                return True
            text = "CUDA is not available or torch_xla is imported. Disabling autocast."
        elif self.fast_dtype not in _SUPPORTED:
            name = self.device.upper()
            text = (
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
            )
        else:
            return True
        warnings.warn(text, stacklevel=user_level())
        return False

    def __enter__(self) -> autocast:
        kind = self.device
        before = (
            switches.is_autocast_cache_enabled(),
            switches.is_autocast_enabled(kind),
            switches.get_autocast_dtype(kind),
        )
        switches.set_autocast_enabled(kind, self._enabled)
        switches.set_autocast_dtype(kind, self.fast_dtype)
        switches.autocast_increment_nesting()
        switches.set_autocast_cache_enabled(self._cache_enabled)
        self._before.append(before)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> Literal[False]:
        cached, enabled, lower = self._before.pop()
        if switches.autocast_decrement_nesting() == 0:
            switches.clear_autocast_cache()
        switches.set_autocast_enabled(self.device, enabled)
        switches.set_autocast_dtype(self.device, lower)
        switches.set_autocast_cache_enabled(cached)
        return False

    def __call__(self, func: Callable[..., Any]) -> Any:
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you "
                "mean to use autocast as a context manager? For example:\n"
                "    with torch.autocast(device_type=...):\n        output = model(input)"
            )
        return autocast_decorator(self, func)


def _enter_autocast(*vals: Any) -> autocast:
    """Enter a region without ``with``; `_exit_autocast` leaves it."""
    return autocast(*vals).__enter__()


def _exit_autocast(mode: autocast) -> None:
    mode.__exit__(None, None, None)


# ---------------------------------------------------------------------------- custom Functions


def _cast(value: object, device_type: str, dtype: dtypes.dtype) -> Any:
    """Floating-point tensors in another dtype, float64 excepted; containers item by item."""
    if isinstance(value, Tensor):
        fits = value.is_floating_point() and value.device.type == device_type
        return value.to(dtype) if fits and value.dtype is not dtypes.float64 else value
    if isinstance(value, (str, bytes, np.ndarray)):
        return value
    if isinstance(value, Mapping):
        return {
            _cast(key, device_type, dtype): _cast(item, device_type, dtype)
            for key, item in value.items()
        }
    if isinstance(value, Iterable):
        items = (_cast(item, device_type, dtype) for item in value)
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def custom_fwd(
    fwd: Callable[..., object] | None = None,
    *,
    device_type: str,
    cast_inputs: dtypes.dtype | None = None,
) -> Any:
    """Decorate the `forward` of a custom Function that is used under autocast.

    With `cast_inputs`, floating-point arguments are cast to that dtype and `forward` runs with
    autocast off. Without, `forward` runs as it is called; `custom_bwd` lets `backward` follow.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> with torch.autocast("cpu"):
    ...     Square.apply(torch.ones(1, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    forward: Callable[..., object] = fwd

    @functools.wraps(forward)
    def decorate_fwd(*args: Any, **kwargs: object) -> Any:
        ctx = args[0]
        ctx._dtype = switches.get_autocast_dtype(device_type)
        enabled = switches.is_autocast_enabled(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = enabled
            return forward(*args, **kwargs)
        ctx._fwd_used_autocast = False
        if not enabled:
            return forward(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return forward(
                *_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs)
            )

    return decorate_fwd


def custom_bwd(bwd: Callable[..., object] | None = None, *, device_type: str) -> Any:
    """Decorate the `backward` of a custom Function: it runs with the autocast of its `forward`.

    >>> torch.amp.custom_bwd(lambda ctx, grad: grad, device_type="cpu").__name__
    '<lambda>'
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    backward: Callable[..., object] = bwd

    @functools.wraps(backward)
    def decorate_bwd(*args: Any, **kwargs: object) -> Any:
        ctx = args[0]
        with autocast(device_type, ctx._dtype, ctx._fwd_used_autocast):
            return backward(*args, **kwargs)

    return decorate_bwd


def _check_device_type(device_type: str) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
