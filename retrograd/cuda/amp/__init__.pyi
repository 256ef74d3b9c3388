"""The older forms of `torch.amp` for CUDA: without a device they warn, and change nothing.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.amp.older import cuda_autocast
from retrograd.amp.older import cuda_scaler

GradScaler = cuda_scaler
def amp_definitely_not_available(*args: object, **options: object) -> bool: 'Whether there is no device for it: so it is.'
autocast = cuda_autocast
from retrograd.cuda.amp import autocast_mode as autocast_mode
from retrograd.cuda.amp import common as common
from retrograd.amp.older import custom_bwd as custom_bwd
from retrograd.amp.older import custom_fwd as custom_fwd
from retrograd.cuda.amp import grad_scaler as grad_scaler
