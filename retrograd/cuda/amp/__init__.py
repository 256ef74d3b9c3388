"""The older forms of `torch.amp` for CUDA: without a device they warn, and change nothing."""

from retrograd.cuda.amp.autocast_mode import autocast as autocast
from retrograd.cuda.amp.autocast_mode import custom_bwd as custom_bwd
from retrograd.cuda.amp.autocast_mode import custom_fwd as custom_fwd
from retrograd.cuda.amp.common import amp_definitely_not_available as amp_definitely_not_available
from retrograd.cuda.amp.grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "amp_definitely_not_available", "autocast", "custom_bwd", "custom_fwd"]
