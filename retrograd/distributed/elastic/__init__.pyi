"""Processes that come and go: here there is one.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.elastic import multiprocessing as multiprocessing
