"""Processes that a launcher starts: see `torch.distributed.run`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.elastic.multiprocessing import errors as errors
