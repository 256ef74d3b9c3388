"""Adafactor, under the name of PyTorch's module."""

from retrograd.optim.adafactor import Adafactor as Adafactor
from retrograd.optim.adafactor import adafactor as adafactor
