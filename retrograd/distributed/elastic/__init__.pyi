"""Processes that a launcher starts anew: see `torch.distributed.run`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.elastic import multiprocessing as multiprocessing
