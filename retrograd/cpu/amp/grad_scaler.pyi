"""The older form of `torch.amp.GradScaler("cpu")`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.amp.older import cpu_scaler

GradScaler = cpu_scaler
