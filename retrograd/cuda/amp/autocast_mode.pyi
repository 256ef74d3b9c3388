"""The older forms of `torch.autocast("cuda")` and of the decorators of custom Functions.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.amp.older import cuda_autocast

from retrograd.amp.older import _cast as _cast
autocast = cuda_autocast
from retrograd.amp.older import custom_bwd as custom_bwd
from retrograd.amp.older import custom_fwd as custom_fwd
