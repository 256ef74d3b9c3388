"""The older form of `torch.autocast("cpu")`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.amp.older import cpu_autocast

autocast = cpu_autocast
