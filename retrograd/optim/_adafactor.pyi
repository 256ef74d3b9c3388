"""Adafactor, under the name of PyTorch's module.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.optim.adafactor import Adafactor as Adafactor
from retrograd.optim.adafactor import adafactor as adafactor
