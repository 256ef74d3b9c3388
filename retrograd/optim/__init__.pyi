"""Optimizers: update parameters from their gradients.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.optim.asgd import ASGD as ASGD
from retrograd.optim.adadelta import Adadelta as Adadelta
from retrograd.optim.adafactor import Adafactor as Adafactor
from retrograd.optim.adagrad import Adagrad as Adagrad
from retrograd.optim.adam import Adam as Adam
from retrograd.optim.adamw import AdamW as AdamW
from retrograd.optim.adamax import Adamax as Adamax
from retrograd.optim.lbfgs import LBFGS as LBFGS
from retrograd.optim.muon import Muon as Muon
from retrograd.optim.nadam import NAdam as NAdam
from retrograd.optim.optimizer import Optimizer as Optimizer
from retrograd.optim.radam import RAdam as RAdam
from retrograd.optim.rmsprop import RMSprop as RMSprop
from retrograd.optim.rprop import Rprop as Rprop
from retrograd.optim.sgd import SGD as SGD
from retrograd.optim.sparse_adam import SparseAdam as SparseAdam
from retrograd.optim import _adafactor as _adafactor
from retrograd.optim import _functional as _functional
from retrograd.optim import _muon as _muon
from retrograd.optim import _stateless as _stateless
from retrograd.optim import lr_scheduler as lr_scheduler
from retrograd.optim import swa_utils as swa_utils
from retrograd.optim.stateless import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
