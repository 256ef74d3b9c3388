"""Processes that a launcher starts: here there is one.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.elastic.multiprocessing import errors as errors
