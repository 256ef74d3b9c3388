"""Muon, under the name of PyTorch's module.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.optim.muon import Muon as Muon
from retrograd.optim.muon import muon as muon
