"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode` and rarer switches.

They are defined in `engine.grad_mode`; here is where PyTorch has them.
"""

from retrograd.engine.grad_mode import _DecoratorContextManager as _DecoratorContextManager
from retrograd.engine.grad_mode import (
    _force_original_view_tracking as _force_original_view_tracking,
)
from retrograd.engine.grad_mode import (
    _NoParamDecoratorContextManager as _NoParamDecoratorContextManager,
)
from retrograd.engine.grad_mode import (
    _unsafe_preserve_version_counter as _unsafe_preserve_version_counter,
)
from retrograd.engine.grad_mode import enable_grad as enable_grad
from retrograd.engine.grad_mode import enforce_grad_layout_policy as enforce_grad_layout_policy
from retrograd.engine.grad_mode import inference_mode as inference_mode
from retrograd.engine.grad_mode import no_grad as no_grad
from retrograd.engine.grad_mode import set_grad_enabled as set_grad_enabled
from retrograd.engine.grad_mode import set_multithreading_enabled as set_multithreading_enabled

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]
