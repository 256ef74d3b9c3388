"""Optimizers: update parameters from their gradients."""

from retrograd.optim.adam import Adam as Adam
from retrograd.optim.optimizer import Optimizer as Optimizer
from retrograd.optim.sgd import SGD as SGD
