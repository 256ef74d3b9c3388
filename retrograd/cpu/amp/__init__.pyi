"""The older forms of `torch.amp` for the CPU.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.amp.older import cpu_autocast
from retrograd.amp.older import cpu_scaler

GradScaler = cpu_scaler
autocast = cpu_autocast
from retrograd.cpu.amp import autocast_mode as autocast_mode
from retrograd.cpu.amp import grad_scaler as grad_scaler
