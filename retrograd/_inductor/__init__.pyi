"""The place of PyTorch's code generator: only its settings, which change nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd._inductor import config as config
