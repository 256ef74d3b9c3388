"""The older form of `torch.amp.GradScaler("cuda")`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.amp.older import cuda_scaler

GradScaler = cuda_scaler
from retrograd.amp.grad_scaler import OptState as OptState
