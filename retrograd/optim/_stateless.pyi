"""Swapping an optimizer's parameters, under the name of PyTorch's module.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.optim.stateless import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
