"""States of models and optimizers under the parameters' own names.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.parallel.checkpoint.state_dict import StateDictOptions as StateDictOptions
from retrograd.parallel.checkpoint.state_dict import get_model_state_dict as get_model_state_dict
from retrograd.parallel.checkpoint.state_dict import get_optimizer_state_dict as get_optimizer_state_dict
from retrograd.parallel.checkpoint.state_dict import get_state_dict as get_state_dict
from retrograd.parallel.checkpoint.state_dict import set_model_state_dict as set_model_state_dict
from retrograd.parallel.checkpoint.state_dict import set_optimizer_state_dict as set_optimizer_state_dict
from retrograd.parallel.checkpoint.state_dict import set_state_dict as set_state_dict
