"""Building blocks of neural networks."""

from retrograd.nn import functional as functional
from retrograd.nn import init as init
from retrograd.nn import utils as utils
from retrograd.nn.activation import ReLU as ReLU
from retrograd.nn.container import Sequential as Sequential
from retrograd.nn.linear import Linear as Linear
from retrograd.nn.loss import MSELoss as MSELoss
from retrograd.nn.module import Module as Module
from retrograd.nn.parameter import Parameter as Parameter
