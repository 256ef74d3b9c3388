"""Errors that a launcher reads: `record` marks the main function, whose error it shows.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.launcher.failures import ChildFailedError as ChildFailedError
from retrograd.distributed.launcher.failures import ProcessFailure as ProcessFailure
from retrograd.distributed.launcher.failures import record as record
