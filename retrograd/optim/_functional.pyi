"""All optimizers as functions of lists, under the name of PyTorch's module.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.optim.adadelta import adadelta as adadelta
from retrograd.optim.adagrad import adagrad as adagrad
from retrograd.optim.adam import adam as adam
from retrograd.optim.adamax import adamax as adamax
from retrograd.optim.adamw import adamw as adamw
from retrograd.optim.asgd import asgd as asgd
from retrograd.optim.nadam import nadam as nadam
from retrograd.optim.radam import radam as radam
from retrograd.optim.rmsprop import rmsprop as rmsprop
from retrograd.optim.rprop import rprop as rprop
from retrograd.optim.sgd import sgd as sgd
