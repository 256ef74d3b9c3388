"""Mixed precision: `autocast` chooses the dtype of each op, `GradScaler` keeps gradients in range.

>>> import retrograd as torch
>>> weight = torch.ones(2, 3, requires_grad=True)
>>> with torch.autocast("cpu", dtype=torch.bfloat16):
...     y = torch.nn.functional.linear(torch.ones(1, 3), weight)
>>> y
tensor([[3., 3.]], dtype=torch.bfloat16, grad_fn=<MmBackward0>)
>>> y.sum().backward()
>>> weight.grad.dtype
torch.float32
"""

from retrograd.amp.autocast_mode import _enter_autocast as _enter_autocast
from retrograd.amp.autocast_mode import _exit_autocast as _exit_autocast
from retrograd.amp.autocast_mode import autocast as autocast
from retrograd.amp.autocast_mode import custom_bwd as custom_bwd
from retrograd.amp.autocast_mode import custom_fwd as custom_fwd
from retrograd.amp.autocast_mode import is_autocast_available as is_autocast_available
from retrograd.amp.grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
