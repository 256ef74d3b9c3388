"""Muon, under the name of PyTorch's module."""

from retrograd.optim.muon import Muon as Muon
from retrograd.optim.muon import muon as muon
