"""What PyTorch has in ``torch.nn.modules.container``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.container import Container as Container
from retrograd.nn.container import ModuleDict as ModuleDict
from retrograd.nn.container import ModuleList as ModuleList
from retrograd.nn.parameter_container import ParameterDict as ParameterDict
from retrograd.nn.parameter_container import ParameterList as ParameterList
from retrograd.nn.container import Sequential as Sequential
