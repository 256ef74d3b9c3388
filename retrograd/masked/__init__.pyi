"""Functions over the elements that a mask lets through, and tensors that carry their mask.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.masked.tensor import MaskedTensor as MaskedTensor
from retrograd.masked.reductions import amax as amax
from retrograd.masked.reductions import amin as amin
from retrograd.masked.reductions import argmax as argmax
from retrograd.masked.reductions import argmin as argmin
from retrograd.masked.tensor import as_masked_tensor as as_masked_tensor
from retrograd.masked.normalizations import cumprod as cumprod
from retrograd.masked.normalizations import cumsum as cumsum
from retrograd.masked.tensor import is_masked_tensor as is_masked_tensor
from retrograd.masked.normalizations import log_softmax as log_softmax
from retrograd.masked.reductions import logaddexp as logaddexp
from retrograd.masked.reductions import logsumexp as logsumexp
from retrograd.masked.tensor import masked_tensor as masked_tensor
from retrograd.masked.reductions import mean as mean
from retrograd.masked.reductions import median as median
from retrograd.masked.reductions import norm as norm
from retrograd.masked.normalizations import normalize as normalize
from retrograd.masked.reductions import prod as prod
from retrograd.masked.normalizations import softmax as softmax
from retrograd.masked.normalizations import softmin as softmin
from retrograd.masked.reductions import std as std
from retrograd.masked.reductions import sum as sum
from retrograd.masked.reductions import var as var
