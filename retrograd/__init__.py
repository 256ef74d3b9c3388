"""retrograd: PyTorch's autograd in Python, with a graph whose life is visible.

>>> import retrograd as torch
"""

from retrograd import autograd as autograd
from retrograd import ops as ops
from retrograd.ops.registry import PUBLIC as _PUBLIC
from retrograd.tensor import Tensor as Tensor

globals().update(_PUBLIC["torch"])
