"""Ways of several processes to train one model: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.algorithms.join import Join as Join
from retrograd.distributed.algorithms.join import JoinHook as JoinHook
from retrograd.distributed.algorithms.join import Joinable as Joinable
from retrograd.distributed.algorithms import join as join
